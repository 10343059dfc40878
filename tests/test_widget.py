"""``rbmviz.play``, as the kernel of a notebook sees it: traits, and messages to and from the page."""

import zlib
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import rbmviz
from rbmviz.knobs import knob
from rbmviz.registry import samplers
from rbmviz.support.notebook import mosaic, png_url
from tests.frames import read_frame


@pytest.fixture(scope="module")
def live():
    return rbmviz.play("bas_pcd", ["gibbs", "rates_fpcd:eps=0.1"], seed=3)


def tell(live, **state):
    """Handle the message by which a page reports what has changed."""
    data = {"method": "update", "state": state, "buffer_paths": []}
    live._handle_msg({"content": {"data": data}, "buffers": []})


def test_the_page_gets_the_run_and_what_makes_it(live):
    state = live.get_state()
    run, made = (read_frame(zlib.decompress(state[name])) for name in ("_run", "_live"))
    assert [panel.head["spec"]["sampler"] for panel in run.panels] == ["gibbs", "rates_fpcd"]
    assert [start["seed"] for start in made.request["chains"][0]["starts"]] == list(range(3, 13))
    assert state["knobs"][1]["eps"] == 0.1
    assert "notebookWidget(" in state["_esm"]


def test_a_saved_notebook_has_pictures(live, monkeypatch):
    """In an output of their own: the first samples, by Python; then those that the page sends."""
    shown = []
    monkeypatch.setattr(
        "IPython.display.display",
        lambda what, **_: shown.append(what) or SimpleNamespace(update=shown.append),
    )
    live._ipython_display_()
    assert "application/vnd.jupyter.widget-view+json" in shown[0]
    first = shown[1].data
    assert [f"{name}, 64 samples" in first for name in ("Gibbs", "rates-FPCD")] == [True, True]
    gibbs = rbmviz.sample("bas_pcd", "gibbs", 64, seed=3, init="data")
    assert png_url(mosaic(gibbs.v.astype(float), (4, 4), 8)) in first
    assert f'class="{live.get_state()["_stand_in"]}"' in first
    tell(live, _still=[[70, "data:a"], [1200, '"><script>']])
    assert "rates-FPCD, 1,200 samples" in shown[2].data
    assert "<script" not in shown[2].data


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


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda live: setattr(live, "knobs", [{}]), "knobs: give 2 dicts, one a panel, and not 1."),
        (lambda live: setattr(live, "knobs", [{"alpha": 1}, {}]), "Unknown knob of a running gibbs 'alpha'"),
        (
            lambda live: setattr(live, "knobs", [{"temperature": 99}, {}]),
            "temperature = 99 is outside",
        ),
        (lambda live: setattr(live, "seed", 99), "The page has the seeds 3, 4, 5"),
        (lambda _: rbmviz.play("bas_pcd", ["gibbs:n_chains=2"]), "browsers run it with n_chains = 1 only"),
    ],
)
def test_refused_in_a_sentence(live, use, sentence):
    with pytest.raises(rbmviz.BadInput) as refused:
        use(live)
    assert sentence in str(refused.value)


def test_knobs_unsupported_in_browsers_are_not_offered():
    """Else its slider would do nothing."""

    @dataclass(frozen=True, kw_only=True)
    class GibbsWithGap(samplers["gibbs"]):
        gap: int = knob(0, 0, 10, label="Gap", help="A knob of newer samplers.")

    live = rbmviz.play("bas_pcd", [GibbsWithGap()])
    assert list(live.knobs[0]) == ["temperature", "k"]
    with pytest.raises(rbmviz.BadInput, match="gap = 0 only, and not 2"):
        rbmviz.play("bas_pcd", [GibbsWithGap(gap=2)])


def test_sampler_with_its_own_step_has_no_kernel_of_its_parent():
    """Else a browser would run the parent's steps under its name."""

    class LazyGibbs(samplers["gibbs"]):
        def step(self, state, n):
            return super().step(state, n)

    with pytest.raises(rbmviz.BadInput, match="has no form for browsers"):
        rbmviz.play("bas_pcd", [LazyGibbs()])
