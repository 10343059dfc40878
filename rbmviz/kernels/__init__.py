"""The only package that imports numba.

Kernels take arrays, scalars, named tuples of arrays (``layers.PreActivation``) and records of scalars
(``records``), and draw from random streams that they are given. Kernels that other packages call check that
the arrays fit each other, and raise ValueError if not; callers check the values. Those that only this package
calls do not check, even where Python calls them (``layers.rebuild``, from ``fast_weights.regime``): with
arrays that do not fit, compiled code writes elsewhere, silently. Kernels are decorated with ``inner`` or
``kernel``; a table in ``_jit`` says what each decorator means, and how kernels are compiled. ``_llvm`` says
what their smallest parts are written in: the vectors and words of bits that numba has no name for.

Outside of this package kernels are called by their module, ``kernels.batch.times(v, W)`` after ``from rbmviz
import kernels``: each module is imported when it is first named, because importing numba takes most of a
second, which ``rbmviz --help``, and all else that computes nothing, does not spend.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
