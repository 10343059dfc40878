"""The only package that imports numba.

Kernels take arrays, scalars, named tuples of arrays (``layers.PreActivation``), structured scalars
(``records``) and random streams. Kernels that other packages call raise ValueError if their arrays do not fit
each other; callers check the values. Kernels that only this package calls check nothing: with arrays that do
not fit, compiled code writes elsewhere, silently. ``_jit`` has the decorators, ``_llvm`` the vectors and
words of bits that numba has no name for, ``_numba`` everything that uses numba's internals.

Other packages call a kernel by its module: ``from rbmviz import kernels``, ``kernels.batch.times(v, W)``.
A module is imported when it is first named: importing numba takes most of a second, too long for ``rbmviz
--help``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
