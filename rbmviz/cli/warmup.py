"""``rbmviz warmup``: compile and cache the kernels ahead of their first use."""

from typing import Any

from rbmviz.session import warm_up


def warmup() -> dict[str, Any]:
    """Compile and cache the kernels.

    Later starts take about a second.

    Examples
    --------
    rbmviz warmup
    """
    return {"seconds": warm_up()}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    return f"Kernels ready after {result['seconds']:.1f} s."
