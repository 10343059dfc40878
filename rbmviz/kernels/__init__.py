"""The only package that imports numba.

Kernels take arrays, scalars, named tuples of arrays (``layers.PreActivation``), structured scalars
(``records``) and random streams. Kernels that other packages call raise ValueError if their arrays do not fit
each other; callers check the values. Kernels that only this package calls check nothing: with arrays that do
not fit, compiled code writes elsewhere, silently. ``_jit`` has the decorators, ``_llvm`` the vectors and
words of bits that numba has no name for, ``_numba`` everything that uses numba's internals.

A Gibbs sweep is written five times, because what is worth keeping between two sweeps differs: ``gibbs`` for
one chain (pre-activations, updated by the units that flipped), ``chains`` for many of one model (the same, by
tiles), ``updates`` for a model that is being trained (bits as words), ``fast_weights`` for a chain that
changes its own model (pending rank-1 updates), ``coupling`` for two chains with shared random numbers.

Other packages call a kernel by its module: ``from rbmviz import kernels``, ``kernels.gibbs.gibbs(...)``. A
module is imported when it is first named: importing numba takes most of a second, too long for ``rbmviz
--help``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
