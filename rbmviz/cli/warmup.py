"""``rbmviz warmup``: compile and cache the kernels ahead of their first use."""

from rbmviz.cli import Answer
from rbmviz.session import warm_up


def warmup() -> Answer:
    """Compile and cache the kernels.

    Later starts take about a second.

    Examples
    --------
    rbmviz warmup
    """
    seconds = warm_up()
    return {"seconds": seconds}, f"Kernels ready after {seconds:.1f} s."
