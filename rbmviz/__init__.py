"""See Markov chains mix: samplers and trainers of restricted Boltzmann machines.

The public names are listed in ``__init__.pyi``. Each is imported when it is first used, because importing
numba alone takes up to a second.

Papers that docstrings cite by a short name
-------------------------------------------
rates-FPCD     Breuleux, Bengio, Vincent (2011), doi:10.1162/NECO_a_00158
population CD  Krause, Fischer, Igel (2018), doi:10.1016/j.patrec.2017.11.022
UCD            Qiu, Zhang, Wang (2020), openreview.net/forum?id=r1eyceSYPr

All other sources are in docs/algorithms/sources.md.
"""

from typing import Any

import lazy_loader

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes 20 ms to import

        return version("rbmviz")
    return _public_name(name)
