"""The reference says of each function what it takes, in which shape, what it refuses, how it is called."""

import doctest
import inspect
import operator
import re
from pathlib import Path

import numpy as np
import pytest

import rbmviz.gradient
import rbmviz.samplers.target_likelihood
import rbmviz.sweeps

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.rst"))
FUNCTION = re.compile(r"autofunction:: rbmviz\.(\S+)$", re.MULTILINE)
PAGE_OF = {name: page.read_text() for page in PAGES for name in FUNCTION.findall(page.read_text())}
REFERS = r"([Ss]ee|[Aa]s for)\s``"  # a function that has the same parameters and errors
SHAPE = r"\((([\w.^+* ]+, ?)+[\w.^+* ]*|n_test|chains.*|samples)\)"
NEVER = """paired_error total_variation noise_floor chain_distances tv_bound answer table list_measures
    save_checkpoint principal_plane trained_model"""  # these check nothing
PAPERS = {
    "rates-FPCD": "metrics.isl metrics.reference plot.isl sweeps.robustness metrics.remove_self_transitions",
    "[Pp]opulation CD": "metrics.tempered_statistics pop_weights plot.log_weights gradient.gradient_quality",
    "2020|unbiased CD": "couple plot.meeting_times metrics.monte_carlo_likelihood",
    "2021": "metrics.chain_diagnostics plot.ess plot.ranks",
    "1975": "metrics.pseudo_likelihood metrics.effective_temperature",
    "20[01].|1991": "coupling.tv_bound metrics.ais_log_z metrics.noise_floor",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_of_the_reference(page):
    names = {"rbmviz": rbmviz, "np": np}
    assert not doctest.testfile(str(page), False, globs=names, optionflags=doctest.ELLIPSIS).failed


@pytest.mark.parametrize("name", PAGE_OF)
def test_a_function_is_described_whole(name):
    function, short = operator.attrgetter(name)(rbmviz), name.rpartition(".")[2]
    doc, signature = inspect.getdoc(function), inspect.signature(function)
    types = re.findall(r"^([\w, *]+) : (.*)$", doc, re.MULTILINE)
    types = {each.strip("* "): text for names, text in types for each in names.split(",")}
    if not re.search(REFERS, doc):
        for parameter in signature.parameters.values():
            assert parameter.name in types, f"{name}: what is {parameter.name}?"
            if "ndarray" in str(parameter.annotation):
                assert re.search(SHAPE, types[parameter.name]), f"{name}: which shape has {parameter.name}?"
        if "ndarray" in str(signature.return_annotation):
            assert re.search(SHAPE, doc), f"{name}: which shape is returned?"
        if signature.parameters and short not in NEVER.split():
            assert re.search("BadInput|Error", doc), f"{name}: what is refused?"
    assert ">>>" in doc or re.search(rf"(>>>|\.\.\.) .*\b{short}\(", PAGE_OF[name]), f"{name}: an example?"
    assert all(re.search(paper, doc) for paper, by in PAPERS.items() if name in by.split()), name
