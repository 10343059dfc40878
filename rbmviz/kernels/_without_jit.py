"""Kernels without compilation, under ``NUMBA_DISABLE_JIT=1``: for debuggers, and for coverage.

A kernel then runs as the Python function that it is written as, and an intrinsic as its meaning, so that each
line can be stepped through. numba computes differently from Python in a few places. These differences are
removed here and nowhere else:

- **Types of arguments.** A Python number adapts to its neighbour: ``np.float32(3) * 0.1`` is float32. numba
  gives every argument a type of its own, int64 or float64, and the product is float64. Arguments are
  therefore converted when a kernel is called. A bool stays one: with numpy, True + True is True; with numba
  it is 2.
- **Overflow.** Integers wrap, and divisions by zero are inf, nan or 0, in numba without a word. numpy
  computes the same values from its scalars, with warnings, which are switched off.
- **Intrinsics** convert their arguments and their result to the types of their signature.

Three differences are left, and kernels are written so that they do not matter; tests compare the bits.

- Literals inside a kernel keep adapting to their neighbours, so kernels write ``f32(0.5)`` and ``u64(1)``.
- numba computes sums of 8, 16 and 32 bits in 64 bits, so kernels convert such results back.
- Python refuses an index beyond the end of an array. Compiled code reads or writes there, silently.
"""

from collections.abc import Callable
from functools import update_wrapper
from types import CodeType
from typing import Any

import numpy as np


class PythonKernel:
    """A kernel that is called as Python, with arguments and warnings as numba has them.

    Attributes
    ----------
    py_func : callable
        The function itself; numba's dispatchers have the same attribute.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function

    @property
    def __code__(self) -> CodeType:
        """The code of the function: a debugger that is told to break at the kernel stops inside."""
        return self.py_func.__code__

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.py_func(*map(_as_numba_types_it, args))


def _as_numba_types_it(argument: Any) -> Any:
    if isinstance(argument, int) and not isinstance(argument, bool):
        return np.int64(argument)
    return np.float64(argument) if type(argument) is float else argument


class PythonIntrinsic(PythonKernel):
    """An intrinsic that is called as its meaning.

    Parameters
    ----------
    means : callable
        The meaning of the intrinsic.
    convert : callable
        Checks and converts the arguments, as the compiler does it.
    result : dtype or None
        Type of the number that is returned; None if nothing is.
    """

    def __init__(
        self, means: Callable[..., Any], convert: Callable[..., list[Any]], result: np.dtype | None
    ) -> None:
        super().__init__(means)
        self._convert, self._result = convert, result

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            found = self.py_func(*self._convert(args))
        return None if self._result is None else self._result.type(found)
