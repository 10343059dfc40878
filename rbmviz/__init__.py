"""See Markov chains mix: samplers and trainers of restricted Boltzmann machines.

The public names stand in ``__init__.pyi``; each is imported when it is first used, for numba alone takes
up to a second.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
