"""The stub that editors complete knobs from is what the registry says."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]


def test_the_stub_is_that_of_the_registered_algorithms():
    loader = SourceFileLoader("knob_stubs", str(ROOT / ".ci" / "knob-stubs"))
    writer = module_from_spec(spec_from_loader("knob_stubs", loader))
    loader.exec_module(writer)
    assert writer.STUB.read_text() == writer.stub(), "run .ci/knob-stubs"


CALLS = """
import rbmviz
rbmviz.make_sampler("rates_fpcd", eps=0.1, share=True)
rbmviz.make_trainer("ucd", t_max=50, learning_rate=0.1)
rbmviz.fit("bas", "pcd", n_hidden=4, n_chains=50)
for name in rbmviz.list_trainers():
    rbmviz.make_trainer(name, learning_rate=0.1)
rbmviz.make_sampler("mine")
rbmviz.make_sampler("gibbs", eps=0.1)
rbmviz.make_trainer("cd", tmax=3)
rbmviz.fit("bas", "pcd", learning_rte=0.1)
rbmviz.fit("bas", "exact", n_chains=3)
rbmviz.make_sampler("rates_fpcd", statistics="means")
"""


def test_a_misspelt_knob_is_a_type_error(tmp_path):
    (tmp_path / "calls.py").write_text(CALLS)
    files = [tmp_path / "calls.py", *(ROOT / "rbmviz" / name for name in ("__init__.pyi", "algorithms.pyi"))]
    # What the stubs import is not read: that would take ten seconds, and says nothing of knobs.
    out, _, _ = api.run([*map(str, files), "--follow-imports=skip", "--ignore-missing-imports"])
    wrong = {int(line.split(":")[1]) for line in out.splitlines() if ": error: " in line}
    assert wrong == {9, 10, 11, 12, 13}, out
