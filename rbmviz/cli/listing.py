"""``rbmviz list``: samplers, trainers, metrics, data sets and models."""

from collections.abc import Callable, Iterator
from typing import Any

from rbmviz.cli import Answer, print_message
from rbmviz.datasets import describe
from rbmviz.errors import known
from rbmviz.knobs import Knob, knobs_of
from rbmviz.metrics import list_metrics
from rbmviz.models import NO_MODELS, describe_model, read_pretrained_headers
from rbmviz.registry import Table, metrics, samplers, trainers

KINDS = ("samplers", "trainers", "metrics", "datasets", "models")


def _knob(knob: Knob) -> dict[str, Any]:
    ends = (knob.lo, knob.hi) if knob.kind in (int, float) else (None, None)
    return {
        **{"name": knob.name, "type": knob.kind.__name__, "default": knob.default},
        **{"range": knob.range_text, "lo": ends[0], "hi": ends[1], "scale": knob.scale},
        **{"choices": list(knob.choices), "live": knob.live, "help": knob.help},
    }


def _first_line(entry: Any) -> str:
    return (entry.__doc__ or "").splitlines()[0]


def _algorithms(table: Table) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "label": table[name].label,
            "paper": table[name].paper,
            "description": _first_line(table[name]),
            "knobs": [_knob(knob) for knob in knobs_of(table[name]).values()],
            **({"where": source} if (source := table.source(name)) else {}),
        }
        for name in table
    ]


def _models() -> list[dict[str, Any]]:
    fields = ("dataset", "trainer", "knobs", "seed", "updates", "scores")
    return [
        {
            "name": name,
            "description": describe_model(header),
            "n_visible": header.n_visible,
            "n_hidden": header.n_hidden,
            **{field: header.meta.get(field) for field in fields},
        }
        for name, header in read_pretrained_headers().items()
    ]


def list_(*kind: str) -> Answer:
    """List samplers and trainers with their knobs, metrics, data sets and models.

    Parameters
    ----------
    kind
        Any of samplers, trainers, metrics, datasets, models; default all.

    Examples
    --------
    rbmviz list samplers
    """
    kinds = [known("kind", name, KINDS) for name in kind] or KINDS
    makers: dict[str, Callable[[], list[Any]]] = {
        "samplers": lambda: _algorithms(samplers),
        "trainers": lambda: _algorithms(trainers),
        "metrics": lambda: [
            {"name": name, "description": _first_line(metrics[name])} for name in list_metrics()
        ],
        "datasets": describe,
        "models": _models,
    }
    entries = {each: makers[each]() for each in kinds}
    if entries.get("models") == []:
        print_message(NO_MODELS)
    lines = [line for each, rows in entries.items() for line in ("", each, *_lines(each, rows))]
    return entries, "\n".join(lines).strip()


def _lines(kind: str, entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        where = f" [{entry['where']}]" if "where" in entry else ""
        yield f"  {entry['name']:<20} {entry['description']}{where}"
        for knob in entry["knobs"] if kind in ("samplers", "trainers") else ():
            yield f"    {knob['name']:<18} {knob['range']}; default {knob['default']}"
