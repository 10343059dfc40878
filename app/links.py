"""Panels as text in the page's address, so that a link reproduces what is on the screen."""

from rbmviz import BadInput
from rbmviz.knobs import check_names, knobs_of, values_of
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler, make_sampler


def write_panel(sampler: Sampler) -> str:
    """Write a sampler: ``rates_fpcd:eps=0.03,alpha=1.0,k=1,statistics=sampled``."""
    values = values_of(sampler)
    knobs = ",".join(f"{name}={knob.text(values[name])}" for name, knob in knobs_of(sampler).items())
    return f"{sampler.name}:{knobs}"


def read_panel(text: str) -> Sampler:
    """Read what write_panel writes; knobs left out take their defaults.

    Raises
    ------
    BadInput
        Where the sampler or a knob is unknown, or a value is out of range.
    """
    name, _, knobs = text.partition(":")
    cls = samplers[name]
    given = dict(pair.partition("=")[::2] for pair in knobs.split(",") if pair)
    check_names(cls, given)
    known = knobs_of(cls)
    return make_sampler(name, **{knob: known[knob].parse(value, name) for knob, value in given.items()})


def read_panels(texts: list[str]) -> tuple[list[Sampler], list[str]]:
    """Return the samplers that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(read_panel(text))
        except BadInput as error:
            refused.append(f"The link's panel '{text}' is left out. {error}")
    return read, refused
