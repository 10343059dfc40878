"""Kernels without compilation, under ``NUMBA_DISABLE_JIT=1``: for debuggers, and for coverage.

A kernel then runs as its Python function, and an intrinsic as its meaning, so that you can step through each
line. Where numba computes differently from Python, this module removes the difference:

- **Argument types.** A Python number adapts to its neighbour: ``np.float32(3) * 0.1`` is float32. numba types
  it as int64 or float64, and the product is float64. Arguments are therefore converted at the call, except
  bools (True + True is True in numpy and 2 in numba).
- **Overflow.** Integers wrap and divisions by zero give inf, nan or 0, silently. numpy scalars give the same
  values with warnings, which are switched off.
- **Intrinsics** convert their arguments and their result to the types of their signature.

Kernels are written so that the other differences do not matter; tests compare the bits.

- Literals inside a kernel still adapt to their neighbours: kernels write ``f32(0.5)`` and ``u64(1)``.
- numba computes sums of 8, 16 and 32 bits in 64 bits: kernels convert such results back.
- Python raises IndexError beyond the end of an array, where compiled code reads or writes silently.
"""

from collections.abc import Callable
from functools import update_wrapper
from types import CodeType
from typing import Any

import numpy as np


class PythonKernel:
    """A kernel run as Python; ``py_func`` is its function, as in numba's dispatchers."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function

    @property
    def __code__(self) -> CodeType:
        """The function's code, so that debuggers can break inside the kernel."""
        return self.py_func.__code__

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return self.py_func(*map(_as_numba_types_it, args))


def _as_numba_types_it(argument: Any) -> Any:
    if isinstance(argument, int) and not isinstance(argument, bool):
        return np.int64(argument)
    return np.float64(argument) if type(argument) is float else argument


class PythonIntrinsic(PythonKernel):
    """An intrinsic run as its meaning ``means``.

    ``convert`` checks and converts the arguments as the compiler does; ``result`` is the dtype of the result,
    None if there is none.
    """

    def __init__(
        self, means: Callable[..., Any], convert: Callable[..., list[Any]], result: np.dtype | None
    ) -> None:
        super().__init__(means)
        self._convert, self._result = convert, result

    def __call__(self, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            value = self.py_func(*self._convert(args))
        return None if self._result is None else self._result.type(value)
