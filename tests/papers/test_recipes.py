"""The recipes: that their plans can be made, their links read, and the stored results are theirs."""

import inspect
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pytest

from papers.claims import judge
from papers.drawing import picture
from papers.markdown import markdown
from papers.recipe import Job, Measurements, SweepRun, all_recipes
from papers.recipes import (
    population_cd_consistency,
    rates_fpcd_digits,
    rates_fpcd_fewer_samples,
    rates_fpcd_penalization,
    unbiased_cd_bas,
)
from papers.run import estimates_of, identity, pooled, refreshed
from papers.tables import best_curve, falls, late
from rbmviz.datasets import load_dataset
from rbmviz.gradient import gradient_quality
from rbmviz.ledger import SIZES, STORED_FOLDER, figure_name, ledger, stored
from rbmviz.lessons.state import read_state
from rbmviz.metrics import log_z
from rbmviz.models import load_model
from rbmviz.pages import PAGES as SPECS
from rbmviz.trainers.pop_cd import pop_weights
from rbmviz_app import pages

ROOT = Path(__file__).parents[2]
RECIPES = all_recipes()


MOST_MEDIUM = dict.fromkeys(("unbiased_cd_bas", "unbiased_cd_fashion"), 60)
"""Core-minutes of a medium run, where they are more than 30."""


@pytest.mark.parametrize("name", RECIPES)
def test_its_work_can_be_planned(name):
    """Plans are checked when they are made; a piece's arguments are JSON, and those of its function."""
    recipe = RECIPES[name]
    claims = [claim.name for claim in recipe.claims]
    assert len(claims) == len(set(claims)) > 0
    assert recipe.cost["full"] <= 30 or recipe.cost["medium"] <= MOST_MEDIUM.get(name, 30)
    for size in (size for size in SIZES if size in recipe.cost):
        work, identified = recipe.work(size), set()
        names = [part.name for part in work]
        assert len(names) == len(set(names))
        for part in work:
            if isinstance(part, SweepRun):
                assert len(part.plan.seeds) != 2  # two decide nothing
            if isinstance(part, Job):
                assert json.loads(json.dumps(part.arguments)) == part.arguments
                inspect.signature(part.function).bind(**part.arguments)
                identified.add(identity(part))
            else:
                assert isinstance(part, SweepRun)
        assert len(identified) == sum(isinstance(part, Job) for part in work)


@pytest.mark.parametrize("name", RECIPES)
def test_the_links_of_its_claims_open(name):
    """The page is one of the app, its panels can be read, and its settings have values of the page."""
    for link in {claim.live_link or RECIPES[name].live_link for claim in RECIPES[name].claims}:
        address = urlsplit(link)
        page, said = address.path, parse_qsl(address.query, strict_parsing=True)
        assert {key for key, _ in said} <= pages.names_of_page(page), link
        if page in SPECS:  # what lessons may set is checked with its values
            offered = [
                (key, value) for key, value in said if key in {*SPECS[page].settings, SPECS[page].panels_key}
            ]
            state = read_state(f"{page}?{urlencode(offered)}")
            assert len(state.panels) == len(state.algorithms())
            assert state.panels or page == "chain"


@pytest.mark.parametrize("path", sorted(STORED_FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_entry_is_of_todays_recipe(path):
    """``python -m papers --texts`` makes it so; its numbers alone are of the run."""
    result = json.loads(path.read_text())
    assert refreshed(result, RECIPES[result["recipe"]]) == result
    for claim in RECIPES[result["recipe"]].claims:
        [found] = [each for each in result["claims"] if each["claim"] == claim.name]
        if found["measured"]:
            assert judge(claim, estimates_of(result), result["size"]) == (found["verdict"], found["reason"])


def test_a_stored_picture_is_todays_drawing():
    result = stored("population_cd_bias_images")
    drawn = picture(result["figure"]).decode()
    kept = re.sub("<metadata.*?</metadata>", "", (STORED_FOLDER / figure_name(result)).read_text())
    assert re.sub(r"clip\d+", "clip", kept) == re.sub(r"clip\d+", "clip", drawn)
    assert re.search(r">10⁴<|>10,000<", drawn)  # factors, as in the paper, not their logarithms


@pytest.mark.parametrize(("name", "size"), [(name, size) for name in RECIPES for size in RECIPES[name].cost])
def test_further_seeds_of_a_recipe_are_appended(name, size):
    """Its own work is unchanged by pooling; its jobs differ in their seeds alone, so that others follow."""
    work = RECIPES[name].work(size)
    own, more = pooled(work, [None]), pooled(work, [None, [100, 101]])
    assert sorted(item.name for item in own) == sorted(item.name for item in work)
    assert {item.name: item for item in own} == {item.name: item for item in work}
    assert len({item.name for item in more}) == len(more)
    for item in more:
        if isinstance(item, SweepRun):
            assert item.plan.seeds[-2:] == (100, 101)
    kept = [item for item in more if isinstance(item, Job) and item.arguments.get("seed", 0) < 100]
    assert kept == [item for item in own if isinstance(item, Job)]


def test_each_point_of_a_curve_has_the_setting_that_is_best_there():
    """Large steps lead early and small ones late; the test part does not choose."""
    columns = {
        "setting": np.repeat(["large", "small"], 4),
        "seed": np.tile([0, 1], 4),
        "n": np.tile([10, 10, 100, 100], 2),
        "isl_validation": np.array([-1.0, -0.9, -3.0, -2.9, -2.0, -1.9, -1.0, -0.9]),
        "isl_test": np.repeat([-4.0, -1.0, -3.0, -2.0], 2),
    }
    assert [(row["x"], row["y"]) for row in best_curve(columns, "isl_test", "a")] == [(10, -4.0), (100, -2.0)]


def test_every_claim_is_in_the_ledger():
    assert [one["recipe"] for one in ledger()] == list(RECIPES)
    text = markdown("pictures")
    for recipe in RECIPES.values():
        assert all(claim.text in text for claim in recipe.claims)


# What the numbers mean, on made-up results


def test_fewer_samples_counts_from_the_gibbs_curve():
    """Gibbs gets at 50,000 samples to where rates-FPCD is at 100, and never farther."""
    at = np.array([100, 1000, 10_000])

    def table(n, isl):
        rows = len(n) * 3
        models = np.repeat(rates_fpcd_fewer_samples.MODELS, len(n)).astype(object)
        return {"n": np.tile(n, 3), "isl_test": np.tile(isl, 3), "seed": np.zeros(rows, int), "model": models}

    gibbs = table(np.array([1000, 50_000, 200_000]), np.array([-200.0, -150.0, -140.0]))
    rates = table(at, np.array([-150.0, -141.0, -100.0]))
    found = Measurements({"gibbs": gibbs, "rates": rates}, {})
    numbers = rates_fpcd_fewer_samples.numbers(found, "full")
    assert numbers["usps_fpcd_100"].value == pytest.approx(np.log10(500))
    assert numbers["usps_fpcd_1000"].value == pytest.approx(np.log10(200))
    assert numbers["mnist_cd1_10000"].value == pytest.approx(np.log10(20))  # its end: it never got there


def test_the_hot_chain_is_the_coolest_that_moves_as_much():
    def heat(*switches):
        each = [("rates_fpcd", np.nan, 30.0)]
        each += [("gibbs", t, n) for t, n in zip(rates_fpcd_digits.TEMPERATURES, switches, strict=False)]
        names = ("algorithm", "knob_temperature", "switches")
        columns = {name: np.array(x) for name, x in zip(names, zip(*each, strict=True), strict=True)}
        alike = {"n": rates_fpcd_digits.SHORT, "seed": 0, "model": "mnist_fpcd"}
        columns |= {name: np.full(len(each), value) for name, value in alike.items()}
        return Measurements({"heat": columns}, {})

    assert rates_fpcd_digits.hot(heat(1, 9, 20, 40, 50, 45, 9, 9, 9), "mnist_fpcd") == 1.35
    assert rates_fpcd_digits.hot(heat(1, 9, 20, 25, 28, 9, 9, 9, 9), "mnist_fpcd") == 1.5


def test_inverted_pixels_have_the_same_law():
    """The model of inverted pixels gives 1 - v the probability of v: free energies differ by a constant."""
    rbm, rows = load_model("bas_pcd").rbm, load_dataset("bas").train
    gaps = rates_fpcd_penalization.inverted(rbm).free_energy(1 - rows) - rbm.free_energy(rows)
    assert np.ptp(gaps) < 1e-4 < np.ptp(rbm.free_energy(rows))


def test_large_populations_are_joined_from_blocks():
    """A population of 512 made of 32 blocks has the bias of one that is drawn at once."""
    made = population_cd_consistency.large_biases("bas_cd1", "bas", [16, 512], 2**14, 0)["pop_cd-512"]
    rbm, rows = load_model("bas_cd1").rbm, load_dataset("bas").train
    drawn = gradient_quality(rbm, rows, "pop_cd", 128, 1, n_chains=512)
    assert abs(made["bias"] - drawn.bias_corrected) < 4 * np.hypot(made["error"], drawn.std_error) < 0.004


def test_small_weights_have_the_share_of_z_that_is_met():
    """Of weights of at most Z, a mean of samples is certain: it must be the share that pairs have."""
    rbm, rows = load_model("bas_cd1").rbm, load_dataset("bas").train
    met = population_cd_consistency.weights_met("bas_cd1", "bas", 1, 20_000, 0)
    starts = np.repeat(rows, 500, axis=0)
    logs = pop_weights(rbm, starts, seed=1).log_weights - log_z(rbm)
    weights = np.where(logs <= 0, np.exp(logs), 0)
    error = np.hypot(weights.std() / len(weights) ** 0.5, (met["share"] / 20_000) ** 0.5)
    assert abs(met["share"] - weights.mean()) < 4 * error < 0.01


def test_a_fall_is_that_of_the_mean_curve():
    """Noise alone makes none, though each curve's own maximum is far above its end; a true one is found."""
    g, rise = np.random.default_rng(1), np.minimum(np.arange(100), 20.0)
    noisy = [{"y": (rise + g.normal(0, 8, 100)).tolist()} for _ in range(20)]
    assert np.mean([max(run["y"]) - run["y"][-1] for run in noisy]) > 15
    assert abs(np.mean(falls(noisy, "y"))) < 4
    down = [{"y": (np.array(run["y"]) - 7 * (np.arange(100) > 70)).tolist()} for run in noisy]
    assert np.mean(falls(down, "y")) == pytest.approx(7, abs=3)
    assert late(down, "y") == pytest.approx([np.mean(run["y"][-10:]) for run in down])


@pytest.mark.parametrize(
    ("recipe", "panel", "number"),
    [
        ("unbiased_cd_bas", "log-likelihood, rate 0.1", "fall_"),
        ("unbiased_cd_truths", "held-out rows", "fall_held_out_"),
        ("unbiased_cd_simulated", "log-likelihood (AIS, nats a row)", "fall_"),
    ],
)
def test_stored_falls_are_those_of_the_stored_mean_curves(recipe, panel, number):
    entry = stored(recipe)
    for label in ("CD-1", "PCD", "UCD"):
        rows = entry["figure"]["rows"]
        curve = np.array([row["y"] for row in rows if (row["panel"], row["series"]) == (panel, label)])
        tenths = np.convolve(curve, np.full(len(curve) // 10, 10 / len(curve)), "valid")
        found = estimates_of(entry)[number + label].value
        assert found == pytest.approx(tenths.max() - tenths[-1], abs=0.01)


def test_the_papers_meeting_times_are_counted_from_one():
    """Chains that all meet at once, at sweep 2 of algorithm 1, have the paper's mean meeting time 1."""
    run = {"tau_mean": [2.0, 2.0]}
    assert unbiased_cd_bas.mean_tau([run, run]).value == 1


def test_every_number_of_the_findings_is_stored():
    """Each row names the stored numbers, shows each of them, and no other number with an error."""
    rows = [line.split(" | ") for line in (ROOT / "docs" / "findings.md").read_text().splitlines()]
    rows = [row for row in rows if len(row) == 4 and "`" in row[3]]
    assert len(rows) > 15
    for _, _, here, source in rows:
        recipe, *keys = re.findall(r"`([^`]+)`", source)
        numbers = estimates_of(stored(recipe))
        texts = [numbers[key].text for key in keys]
        for text in texts:
            assert text in here, f"docs/findings.md: {recipe} has {text}, and its row says {here}"
            here = here.replace(text, "", 1)
        assert "±" not in here
        assert not re.search(r"\d\.\d", here), here
