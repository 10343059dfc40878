"""Charts of Altair that notebooks show as pictures, beside Vega: without a script, a trust or a network."""

from functools import cache
from importlib.util import find_spec
from typing import Any


def pictured(chart: Any) -> Any:
    """Let notebooks show a chart of Altair as SVG, unless one of Altair's renderers has been chosen."""
    kind: Any = type(chart)
    # Altair would take an ordinary assignment for a property of the chart.
    object.__setattr__(chart, "__class__", _pictured(kind))
    return chart


@cache
def _pictured(kind: Any) -> Any:
    from altair import renderers

    class Pictured(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
            whole = super()._repr_mimebundle_
            if renderers.active != "default" or find_spec("vl_convert") is None:
                return whole(*args, **options)
            with renderers.enable("mimetype"):
                vega, _ = whole()
            del vega["text/plain"]
            with renderers.enable("svg"):  # and Altair 6 has a name that no notebook may hold
                return {name.replace(".json", "+json"): spec for name, spec in vega.items()} | whole()

        def __reduce__(self) -> Any:
            return _read, (kind, self.to_dict())  # pickles find no class that was made here

    Pictured.__name__ = Pictured.__qualname__ = kind.__name__
    return Pictured


def _read(kind: Any, spec: dict[str, Any]) -> Any:
    return pictured(kind.from_dict(spec))
