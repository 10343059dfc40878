"""The stub that editors complete knobs from is what the registry says."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_stub_is_that_of_the_registered_algorithms():
    loader = SourceFileLoader("knob_stubs", str(ROOT / ".ci" / "knob-stubs"))
    writer = module_from_spec(spec_from_loader("knob_stubs", loader))
    loader.exec_module(writer)
    assert writer.STUB.read_text() == writer.stub(), "run .ci/knob-stubs"
