"""``rbmviz.play``, as the kernel of a notebook sees it: traits, and messages to and from the page."""

import sys
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pytest

import rbmviz
from rbmviz.knobs import knob
from rbmviz.registry import samplers
from tests.frames import read_frame


@pytest.fixture(scope="module")
def live():
    return rbmviz.play("bas_pcd", ["gibbs", "rates_fpcd:eps=0.1"], seed=3)


def tell(live, **state):
    """Handle the message by which a page reports what has changed."""
    data = {"method": "update", "state": state, "buffer_paths": []}
    live._handle_msg({"content": {"data": data}, "buffers": []})


def drawn(n, *turns):
    """Return what a page reports of a Gibbs chain: its log as JSON values."""
    knobs = {"temperature": 1, "k": 1, "n_chains": 1}
    return {"seed": 3, "n": n, "turns": [[at, knobs | new] for at, new in ((0, {}), *turns)]}


def test_the_page_gets_the_run_and_what_makes_it(live):
    state = live.get_state()
    run, made = (read_frame(zlib.decompress(state[name])) for name in ("_run", "_live"))
    assert [panel.head["spec"]["sampler"] for panel in run.panels] == ["gibbs", "rates_fpcd"]
    assert [start["seed"] for start in made.request["chains"][0]["starts"]] == list(range(3, 13))
    assert state["knobs"][1]["eps"] == 0.1
    assert "notebookWidget(" in state["_esm"]


def test_knobs_go_both_ways(live, monkeypatch):
    sent = []
    monkeypatch.setattr(live.comm, "send", lambda data=None, **_: sent.append(data))
    live.knobs = [{"temperature": 2}, {}]
    [message] = sent
    assert message["state"]["knobs"][0] == {"temperature": 2.0, "k": 1}
    seen = []
    live.observe(lambda change: seen.append(change["new"][1]["alpha"]), "knobs")
    tell(live, knobs=[live.knobs[0], live.knobs[1] | {"alpha": 0.95}])
    assert seen == [0.95]
    live.knobs = [{}, {"eps": 0.2}]  # what is left out stays
    assert live.knobs[0]["temperature"] == 2
    assert (live.knobs[1]["alpha"], live.knobs[1]["eps"]) == (0.95, 0.2)


def test_python_makes_the_samples_of_the_page(live):
    tell(live, _runs=[drawn(600, (250, {"temperature": 2}), (400, {"k": 3}))])
    sampler = rbmviz.make_sampler("gibbs")
    state = sampler.init(rbmviz.load_model("bas_pcd"), 3)
    turned = [replace(sampler, **new) for new in ({}, {"temperature": 2}, {"k": 3})]
    parts = [each.step(state, n) for each, n in zip(turned, (250, 150, 200), strict=True)]
    made = live.samples()
    for name in ("v", "p"):
        assert np.array_equal(getattr(made, name), np.concatenate([getattr(part, name) for part in parts]))
    assert np.array_equal(made.info["sweeps"], np.repeat([1, 1, 3], (250, 150, 200)))
    assert np.array_equal(live.samples(last=70).v, made.v[-70:])
    assert made.model is not None


def test_a_chain_that_starts_at_data_is_made_again(live):
    started = rbmviz.play("bas_pcd", ["gibbs"], seed=3, init="data")
    tell(started, _runs=[drawn(50)])
    [v0] = [v0 for seed, v0 in started._starts.items() if seed == 3]
    assert np.array_equal(started.samples().v, rbmviz.sample("bas_pcd", "gibbs", 50, seed=3, v0=v0).v)


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda live: setattr(live, "knobs", [{}]), "knobs: give 2 dicts, one a panel, and not 1."),
        (lambda live: setattr(live, "knobs", [{"alpha": 1}, {}]), "Unknown knob of a running gibbs 'alpha'"),
        (lambda live: setattr(live, "knobs", [{"n_chains": 2}, {}]), "Unknown knob of a running gibbs"),
        (
            lambda live: setattr(live, "knobs", [{"temperature": 99}, {}]),
            "temperature = 99 is outside",
        ),
        (lambda live: setattr(live, "seed", 99), "The page has the seeds 3, 4, 5"),
        (lambda live: live.samples(7), "There is no panel 7: the last is 1."),
        (lambda live: live.samples(1), "The panel has drawn nothing that Python knows of"),
        (lambda _: rbmviz.play("bas_pcd", ["gibbs:n_chains=2"]), "browsers run it with n_chains = 1 only"),
        (lambda _: rbmviz.play("bas_pcd", []), "play: 0 samplers: give one to 6."),
        (
            lambda _: rbmviz.play("bas_pcd", ["gibbs"], init="zero"),
            "init = 'zero': give 'random'",
        ),
    ],
)
def test_refused_in_a_sentence(live, use, sentence):
    with pytest.raises(rbmviz.BadInput) as refused:
        use(live)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"turns": [[5, {"k": 1}]]}, "it must begin at 0"),
        ({"turns": [[0, {"temperature": 99}]]}, "outside"),
        ({"turns": [[0, 1, 2]]}, "each change is a pair"),
        ({"turns": []}, "The log has no knobs"),
        ({"seed": 99}, "The page has the seeds 3, 4, 5"),
    ],
)
def test_a_log_from_outside_is_checked(live, wrong, sentence):
    tell(live, _runs=[drawn(10) | wrong])
    with pytest.raises(rbmviz.BadInput, match=sentence):
        live.samples()


def test_without_anywidget_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "rbmviz.view.widget", raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(rbmviz.BadInput) as refused:
        rbmviz.play("bas_pcd", ["gibbs"])
    assert str(refused.value).startswith("A live page in a notebook needs the package anywidget")
    assert str(refused.value).endswith("""run 'pip install "rbmviz[notebook]"'.""")


def test_the_page_can_be_saved(live, tmp_path):
    live.save(tmp_path / "live.html")
    html = (tmp_path / "live.html").read_text()
    assert html.startswith("<!doctype html>")
    assert "showRuns(livePage);" in html


def test_a_knob_that_kernels_of_browsers_do_not_know_is_not_offered():
    """Else its slider would do nothing."""

    @dataclass(frozen=True, kw_only=True)
    class GibbsWithGap(samplers["gibbs"]):
        gap: int = knob(0, 0, 10, label="Gap", help="A knob of newer samplers.")

    live = rbmviz.play("bas_pcd", [GibbsWithGap()])
    assert list(live.knobs[0]) == ["temperature", "k"]
    with pytest.raises(rbmviz.BadInput, match="gap = 0 only, and not 2"):
        rbmviz.play("bas_pcd", [GibbsWithGap(gap=2)])
