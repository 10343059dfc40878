"""The page How it works without a browser: samplers, matrix, error messages, frames and downloads."""

import functools

import numpy as np
import pytest
from page_settings import race_of
from waiting import wait_for_pause

from rbmviz import make_sampler
from rbmviz.metrics import check_chain, eigenvalues, remove_self_transitions
from rbmviz.metrics.finite_chain import resize_chain, second_modulus
from rbmviz.models import LANDSCAPE_PATTERNS, pattern_model
from rbmviz.session import LandscapeSetup
from rbmviz_app.pages.chain.landscape import PAGE
from rbmviz_app.pages.chain.matrix import chain_csv, ordered_chain, preset_table
from rbmviz_app.pages.chain.matrix_charts import distance_chart, matrix_chart
from rbmviz_app.pages.chain.matrix_texts import MATRICES, MATRIX_QUESTION
from rbmviz_app.pages.chain.units import UNITS_QUESTION
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame


@pytest.fixture
def page(page):
    """Run the page, at its landscape."""
    return functools.partial(page, "chain", little="landscape")


# The landscape


def test_the_page_keeps_nothing_of_a_visitor(page):
    """Its module is imported once for all visitors: a run of one must not meet what another's has left."""
    before = dict(vars(PAGE))
    test = page()
    assert not test.exception
    assert vars(PAGE) == before
    assert not vars(PAGE._of_run)  # of this thread, which is none of a script


@pytest.mark.parametrize("source", MATRICES)
def test_the_matrix_of_a_preset_is_a_chain_at_every_size(source):
    table = preset_table(source)
    check_chain(table)
    for n in range(len(table) - 1, 1, -1):
        table = resize_chain(table, n)
        check_chain(table)


def test_small_trained_models_are_offered_and_large_ones_are_not(page, model):
    large = pattern_model(["0" * 12], 3)
    test = page(state={"trained": {"mine": model, "too large": large}}, land="mine")
    assert "mine" in test.selectbox(key="land").options
    assert "too large" not in test.selectbox(key="land").options
    assert race_of(test, "chain").setup.model is model


@pytest.fixture
def race(open_race):
    """Two walks of 300 samples, paused."""
    setup = LandscapeSetup(pattern_model(["110/100", "001/011"], 5), 1)
    race = open_race(setup, make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.1))
    race.step(300)
    wait_for_pause(race, 300)
    return race


def test_frames_carry_the_ground_the_visits_and_the_newest_states(race, monkeypatch):
    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 0.0)
    request = FrameRequest(20, "landscape", "binary", 100, 6, [panel.key for panel in race.panels])
    encoder = FrameEncoder(race)
    for _ in range(2):  # each frame has them all: what was sent may be asked for again
        panels = read_frame(encoder.encode_next(request)).panels
        for (head, blocks), (_, shown) in zip(panels, race.poll(), strict=True):
            assert (head["n"], head["state"]) == (300, shown.trail[-1])
            np.testing.assert_allclose(np.exp(-blocks["ground"]), shown.law, rtol=1e-5)
            np.testing.assert_allclose(blocks["visits"], shown.visits / 300, rtol=1e-6)
            np.testing.assert_array_equal(blocks["trail"], shown.trail[len(shown.trail) - 100 :])
            newest = shown.curve[-1]
            assert head["readouts"]["visits"] == f"{newest.visits:.3f} (noise {newest.floor:.3f})"
    assert read_frame(encoder.encode_next(request._replace(n_visible=5))).panels == []


# The matrix


def text_of(test):
    return " ".join(element.value for kind in (test.markdown, test.caption, test.info) for element in kind)


def test_the_matrix_says_how_much_faster(page):
    test = page(little="matrix")
    assert "**0.9600** of A, **0.9333** of Ã" in text_of(test)
    assert "races" not in test.session_state  # nothing runs that is not seen
    test.selectbox(key="chain_matrix").set_value("it backfires").run()
    assert not test.exception
    assert "**0.8000** of A, **0.8947** of Ã" in text_of(test)


def edited(*rows):
    """Return the session's state with this edited table."""
    return {"edited matrix": np.array(rows, float), "table version": 1}


def test_an_edited_matrix_and_lambda_are_what_is_drawn(page):
    A = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    test = page(little="matrix", state=edited(*A) | {"lambda": 0.2})
    second = abs(eigenvalues(remove_self_transitions(A, 0.2))[1])
    assert f"**{second:.4f}** of Ã" in text_of(test)
    assert test.number_input[0].value == 3


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (edited([1, 0, 0], [0, 1, 0], [0, 0, 1]), "several stationary distributions"),
        ({"lambda": 0.81}, "choose from 0 to 0.8. The largest possible λ is shown"),
        (edited([0, 1, 0], [0, 0, 1], [1, 0, 0]), "A state never stays"),
    ],
)
def test_invalid_matrix_is_explained_on_the_page(page, state, says):
    test = page(little="matrix", state=state)
    said = [element.value for kind in (test.warning, test.error, test.info) for element in kind]
    assert any(says in sentence for sentence in said), said


def test_rows_can_be_made_to_sum_to_one_and_states_added(page):
    test = page(little="matrix", state=edited([0.5, 0.4, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]))
    assert "Row 1 sums to 0.9" in test.error[0].value
    next(button for button in test.button if button.label == "Make every row sum to 1").click().run()
    next(box for box in test.number_input if box.label == "States").set_value(5).run()
    assert not test.exception
    assert not test.error
    assert test.session_state["edited matrix"].shape == (5, 5)
    next(box for box in test.number_input if box.label == "States").set_value(3).run()
    assert not test.exception
    assert not test.error
    assert test.session_state["edited matrix"].shape == (3, 3)


def test_the_matrix_of_a_landscape_is_that_of_its_link_and_its_address_says_so(page, address_of):
    own = {"little": "matrix", "chain_matrix": "the landscape’s Gibbs chain"}
    query = own | {"land": "three patterns", "land_depth": "4", "chain_log": "true"}
    test = page(**query)
    model = pattern_model(LANDSCAPE_PATTERNS["three patterns"], 4.0)
    second = second_modulus(eigenvalues(ordered_chain(model.rbm)[0]))
    assert f"{second:.4f}" in text_of(test)
    address = address_of(test)
    assert {name: address[name] for name in query} == {name: [text] for name, text in query.items()}
    strange = page(**own, land="no such", land_depth="99", land_seed="-3")
    assert "Second eigenvalue" in text_of(strange)
    assert address_of(strange)["land_depth"] == ["9"]


@pytest.mark.parametrize(
    ("parts", "begins"),
    [
        ({"present": "1"}, UNITS_QUESTION),
        ({"land_depth": "12"}, PAGE.question),  # the landscape's links do not name their part
        ({"preset": "the-valley-fills-up"}, PAGE.question),
        ({"l": "gibbs"}, PAGE.question),
        ({"lesson": "push", "step": "1"}, MATRIX_QUESTION),
        ({"little": "matrix"}, MATRIX_QUESTION),
    ],
)
def test_the_journey_begins_at_the_units_and_a_link_at_its_part(page, parts, begins):
    assert page.func("chain", shell=True, **parts).title[0].value == begins


def test_matrix_charts_and_file():
    A = np.array([[0.5, 0.5, 0], [0.25, 0.5, 0.25], [0, 0.5, 0.5]])
    less, law = remove_self_transitions(A, 0.5), np.array([0.25, 0.5, 0.25])
    cells = matrix_chart(A, "123", "A")["bars"]
    assert [cell["text"] for cell in cells] == [f"{share:.2f}" for share in A.ravel()]
    picture = matrix_chart(np.eye(64), [str(i) for i in range(64)], "A")
    assert picture["image"].startswith("data:image/png;base64,")
    rows, _ = distance_chart([np.array([1.0, 0.5, 0]), np.array([1.0, 0, 0])], log=True)
    assert rows["distance"].min() > 0
    rows, _ = distance_chart([np.array([1e-7, 1e-8])] * 2, log=True)
    assert rows.empty  # the page then says so
    lines = chain_csv(A, less, law, "123").decode().splitlines()
    assert lines[:2] == ["chain,from,to 1,to 2,to 3,stationary", "A,1,0.5,0.5,0.0,0.25"]
    assert len(lines) == 7
