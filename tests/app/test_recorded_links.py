"""Old links open what they opened when they were written, whatever the defaults are now.

``recorded_links.json`` holds links and what each of them opened: never mend an entry, add others. An address
that names nothing, not even ``v``, is no link: it opens its page as it is now.

One entry was mended: that with ``coupling_start=data``. The first version passed such a value over in
silence, as its own addresses said ``training data``; now both are read, and open what they say.
"""

import json
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from rbmviz import RBM, Model
from rbmviz.datasets import Dataset
from rbmviz.knobs import current_names, knobs_of, values_of
from rbmviz.links import DEFAULTS, VERSION
from rbmviz.registry import samplers, trainers
from rbmviz.session import Allowance, Coupling

RECORDED = json.loads(Path(__file__).with_name("recorded_links.json").read_text())

RENAMED = {"start_from": "start"}
"""Fields of setups, which no link names, whose names have changed since they were recorded."""


SAID = {
    "train?t=cd&t=pcd:schedule=constant,learning_rate=0.05&t=pop_cd&t=pt:schedule=constant,learning_rate=0.05"
    "&train_data=modes&part=test&log=true&statistic=weights": [
        "The link gives values that settings of this page cannot have: it opens with statistic = ess "
        "(not 'weights')."
    ]
}
"""What pages say of links whose values they have never taken, and passed over in silence before."""


def described(value):
    """Return what a field of a setup is, as JSON; a model by its size and the sum of its weights."""
    match value:
        case Model():
            return described(value.rbm)
        case RBM():
            return [*value.W.shape, round(float(np.abs(value.W).sum(dtype=np.float64)), 2)]
        case Dataset():
            return value.name
        case Allowance():
            return value.n_bytes
    return value


def opened(test, name, settings):
    """Return what a page shows: algorithms with all their knobs, setup, speed, and the settings by name."""
    comparisons = test.session_state["comparisons"] if "comparisons" in test.session_state else {}
    # What is folded away has not been drawn, and will be drawn with its defaults.
    default = DEFAULTS[VERSION].settings[name]
    state = test.session_state
    found = {"settings": {key: state[key] if key in state else default[key] for key in settings}}
    if name in comparisons:
        comparison = comparisons[name][0]
        setup = comparison.setup
        found["panels"] = [
            [panel.worker.algorithm.name, values_of(panel.worker.algorithm)] for panel in comparison.panels
        ]
        found["setup"] = {
            RENAMED.get(field, field): described(getattr(setup, field)) for field in setup._fields
        }
        found["speed"] = str(comparison.rate)
    else:
        [found["second"]] = [text.value for text in test.markdown if "Second eigenvalue" in text.value]
    return found


@pytest.mark.parametrize("link", RECORDED)
def test_a_recorded_link_opens_what_it_opened(page, link):
    name, _, query = link.partition("?")
    test = page(name, shell=True, **parse_qs(query))
    assert not test.error
    assert [one.value for one in test.warning] == SAID.get(link, [])
    found = opened(test, name, RECORDED[link]["settings"])
    # A knob may have another name by now, and one that there was not yet has its default.
    for panel, recorded in zip(found.get("panels", ()), RECORDED[link].get("panels", ()), strict=True):
        algorithm = (
            Coupling
            if panel[0] == Coupling.name
            else (samplers if panel[0] in list(samplers) else trainers)[panel[0]]
        )
        # A knob that was added later has the default with which all is as it was before.
        later = {name: knob.default for name, knob in knobs_of(algorithm).items() if knob.may_lack}
        recorded[1] = {**later, **current_names(algorithm, recorded[1])}
    assert json.loads(json.dumps(found)) == RECORDED[link]
