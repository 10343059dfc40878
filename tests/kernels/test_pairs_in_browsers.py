"""Coupled chains in browsers are those of Python, bit for bit, at any scale of the parameters."""

import shutil

import numpy as np
import pytest

from rbmviz.browser.chains import Blocks
from rbmviz.browser.pairs import pairs_spec
from rbmviz.coupling import ALGORITHMS, PairStream
from rbmviz.models import random_rbm
from rbmviz.rbm import RBM
from rbmviz.session.coupling import Coupling, CouplingRun, CouplingSetup
from rbmviz.view.frames import write_frame
from tests.kernels.engines import ENGINES

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]

SEED, SWEEPS, MAX_SWEEPS = 3, 150, 200


@pytest.mark.parametrize(("sizes", "scale"), [((16, 10), 1.5), ((100, 40), 0.3)])
@pytest.mark.parametrize("name", ["node", pytest.param("chromium", marks=pytest.mark.slow)])
def test_pairs_are_those_of_python(name, sizes, scale):
    base = random_rbm(*sizes, SEED)
    setup = CouplingSetup(base, None, SEED)
    blocks = Blocks()
    spec = pairs_spec(base, [setup.starts(block) for block in range(2)], SEED, MAX_SWEEPS, blocks)
    with ENGINES[name]() as engine:
        engine.open(write_frame({"pairs": spec}, [({}, blocks.by_name)]))
        made = engine("runPairs", scale, SWEEPS)
    run = CouplingRun(1, setup, Coupling(scale=scale, max_sweeps=MAX_SWEEPS))
    run.prepare()
    scaled = RBM(*(scale * x for x in (base.W, base.b, base.c)))
    for algorithm in ALGORITHMS:
        stream = PairStream(scaled, setup.starts, algorithm, MAX_SWEEPS, seed=SEED)
        while stream.finished < spec["pairs"]:
            stream.advance(1000)
        n, counted = spec["pairs"], made["counted"][algorithm]
        assert counted["tau"] == stream.tau[:n].tolist()
        assert counted["cut"] == stream.truncated[:n].tolist()
        np.testing.assert_allclose(counted["rejected"], stream.rejected[:n].mean(axis=0))
    assert len(np.unique(made["counted"]["rbm"]["tau"])) > 5
    for states in made["shown"]:
        for pair in run._displayed:
            pair.sweep()
        for state, pair in zip(states, run._displayed, strict=True):
            expected = pair.state(None)
            fields = ("pair", "t", "met", "truncated", "stride")
            assert [state[field] for field in fields] == [getattr(expected, field) for field in fields]
            assert state["path"] == list(expected.path)
            assert (state["v"], state["v2"]) == (expected.v.tolist(), expected.v2.tolist())
            assert state["ended"] == (-1 if pair.ended is None else pair.ended.pair)
