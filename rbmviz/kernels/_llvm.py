"""Intrinsics: LLVM instructions for operations that numba does not offer. Kernels take LLVM from here.

numba's Python cannot express a vector that stays in registers through a loop, a population count, or sixteen
comparisons that become sixteen bits of a word; LLVM has instructions for them. The body of an intrinsic
builds these instructions. Its first parameter is the builder, always called ``build``; the others are arrays
(``Array``) and numbers of LLVM.

An *offset* is the index of a value in the flattened array: a Python int, or a computed number of 64 bits.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils, sigutils
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from rbmviz.kernels._without_jit import PythonIntrinsic

settings: Any = numba.config  # its names appear at run time only

for_webassembly = False
"""Whether kernels are built for browsers (``webassembly``), where only 16 bits become a number at once."""

IRBuilder = ir.IRBuilder
BIT, BYTE, INT, WORD = (ir.IntType(bits) for bits in (1, 8, 32, 64))
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()

vector = ir.VectorType
"""vector(FLOAT, 16): the type of sixteen floats side by side."""


def processor() -> str:
    """Return the name and the features of the processor that kernels are compiled for."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return f"{name} {features},"


def has(feature: str) -> bool:
    """Return whether kernels are compiled for a processor that has this feature, by LLVM's name."""
    return not for_webassembly and f"+{feature}," in processor()


INTRINSICS: dict[str, Any] = {}
"""All intrinsics by name; each has its meaning as the attribute ``means``. The tests go through them."""


def in_llvm(signature: str, *, means: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Make an intrinsic of a function that builds instructions and returns the computed value.

    Parameters
    ----------
    signature : str
        Types in numba's notation: ``"uint64(uint8[::1], int64)"`` takes a contiguous uint8 array and an int64
        and returns a uint64. Numbers are converted. An array of another dtype, number of axes or layout
        raises TypingError before anything is compiled, because offsets would address other memory.
    means : callable
        The same function in numpy, without ``build``: documentation, oracle of the tests, and what runs with
        ``NUMBA_DISABLE_JIT=1``.
    """
    wanted, result = sigutils.normalize_signature(signature)
    names = list(inspect.signature(means).parameters)

    def decorate(function: Callable[..., Any]) -> Any:
        make = _in_python if settings.DISABLE_JIT else _compiled
        intrinsic = make(function, means, names, wanted, result)
        intrinsic.means = means
        INTRINSICS[function.__name__] = intrinsic
        return intrinsic

    return decorate


def _check_array(function: str, name: str, kind: Any, want: Any) -> None:
    """Raise TypingError unless this type of argument is the wanted array."""
    fits = isinstance(kind, types.Array) and (kind.dtype, kind.ndim) == (want.dtype, want.ndim)
    if not (fits and kind.layout == "C"):
        raise TypingError(f"{function}: '{name}' is {kind}, and must be {want}")


def _in_python(function: Any, means: Any, names: list[str], wanted: Any, result: Any) -> Any:
    def convert(args: tuple[Any, ...]) -> list[Any]:
        converted = list(args)
        for i, (name, argument, want) in enumerate(zip(names, args, wanted, strict=True)):
            if isinstance(want, types.Array):
                _check_array(function.__name__, name, numba.typeof(argument), want)
            else:
                converted[i] = as_dtype(want).type(argument)
        return converted

    return PythonIntrinsic(means, convert, None if result == types.void else as_dtype(result))


def _compiled(function: Any, means: Any, names: list[str], wanted: Any, result: Any) -> Any:
    @wraps(function)
    def declare(typing_context: Any, *arguments: Any) -> Any:
        kinds = list(wanted)
        for i, (name, kind, want) in enumerate(zip(names, arguments, wanted, strict=True)):
            if isinstance(want, types.Array):
                _check_array(function.__name__, name, kind, want)
                kinds[i] = kind

        def code(context: Any, build: Any, signature: Any, values: Any) -> Any:
            operands = [
                Array(context, build, kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, values, strict=True)
            ]
            value = function(build, *operands)
            return context.get_dummy_value() if result == types.void else value

        return result(*kinds), code

    return intrinsic(declare)


class Array:
    """A contiguous array of numbers; ``shape`` holds computed numbers of 64 bits."""

    def __init__(self, context: Any, build: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, build, value)
        self.shape = cgutils.unpack_tuple(build, array.shape, kind.ndim)
        self._build, self._data, self._kind = build, array.data, context.get_data_type(kind.dtype)
        self._align = kind.dtype.bitwidth // 8  # bytes, of one number: vectors begin anywhere
        self._mutable = kind.mutable

    def _address(self, offset: Any, kind: Any) -> Any:
        at = constant(WORD, offset) if isinstance(offset, int) else offset
        return self._build.bitcast(self._build.gep(self._data, [at]), kind.as_pointer())

    def value(self, offset: Any) -> Any:
        """Return the number at an offset."""
        return self._build.load(self._address(offset, self._kind), align=self._align)

    def load(self, offset: Any, lanes: int) -> Any:
        """Return ``lanes`` numbers from an offset on, as a vector."""
        return self._build.load(self._address(offset, vector(self._kind, lanes)), align=self._align)

    def load_first(self, offset: Any, lanes: int, n: Any) -> Any:
        """Return ``lanes`` numbers from an offset on; only the first n are read, the others are 0."""
        build, kind = self._build, vector(self._kind, lanes)
        inside = build.icmp_signed(
            "<", constant(vector(INT, lanes), range(lanes)), spread(build, build.trunc(n, INT), lanes)
        )
        address, align = self._address(offset, kind), constant(INT, self._align)
        name = f"llvm.masked.load.v{lanes}f{8 * self._align}.p0"
        return call(build, name, kind, address, align, inside, constant(kind, 0.0))

    def prefetch(self, offset: Any) -> None:
        """Ask the processor for the cache line of an offset, which may lie beyond the array."""
        address = self._build.bitcast(self._build.gep(self._data, [offset]), BYTE.as_pointer())
        flags = (constant(INT, flag) for flag in (0, 3, 1))  # to read, into all caches, data
        call(self._build, "llvm.prefetch.p0", ir.VoidType(), address, *flags)

    def store(self, offset: Any, value: Any) -> None:
        """Write a vector from an offset on; raise TypingError if the array is read-only."""
        if not self._mutable:
            raise TypingError("an intrinsic writes to an array that is read-only")
        self._build.store(value, self._address(offset, value.type), align=self._align)


class Register:
    """A value that a loop changes, kept in a register of the processor."""

    def __init__(self, build: Any, value: Any) -> None:
        self._build, self._slot = build, cgutils.alloca_once_value(build, value)

    def read(self) -> Any:
        """Return the current value."""
        return self._build.load(self._slot)

    def write(self, value: Any) -> None:
        """Replace the value."""
        self._build.store(value, self._slot)


@contextmanager
def loop(build: Any, first: Any, last: Any, step: int = 1) -> Iterator[Any]:
    """Build the body of ``for offset in range(first, last, step)``; yield the offset."""
    start = constant(WORD, first) if isinstance(first, int) else first
    with cgutils.for_range_slice(build, start, last, constant(WORD, step)) as (offset, _):
        yield offset


def constant(kind: Any, value: Any) -> Any:
    """Return a constant; ``value`` of a vector is one number for all lanes, or a list with one for each."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, value)
    return ir.Constant(kind, list(value) if isinstance(value, list | range) else [value] * kind.count)


def undefined(kind: Any) -> Any:
    """Return a value without content, to be filled lane by lane."""
    return ir.Constant(kind, ir.Undefined)


def pick(build: Any, x: Any, lanes: Any) -> Any:
    """Return the listed lanes of x as a vector; ``lanes`` is a list of Python ints."""
    return build.shuffle_vector(x, x, constant(vector(INT, len(lanes)), lanes))


def spread(build: Any, value: Any, lanes: int) -> Any:
    """Return a vector with a computed value in every lane."""
    first = build.insert_element(undefined(vector(value.type, lanes)), value, constant(INT, 0))
    return pick(build, first, [0] * lanes)


def word_of(build: Any, bits: Any) -> Any:
    """Return a vector of up to 64 bits as a number of 64 bits, first lane lowest."""
    if not for_webassembly:
        return build.zext(build.bitcast(bits, ir.IntType(bits.type.count)), WORD)
    word = constant(WORD, 0)
    for first in range(0, bits.type.count, 16):
        lanes = build.sext(pick(build, bits, range(first, first + 16)), vector(BYTE, 16))
        part = build.zext(call(build, "llvm.wasm.bitmask.v16i8", INT, lanes), WORD)
        word = build.or_(word, build.shl(part, constant(WORD, first)))
    return word


def call(build: Any, name: str, kind: Any, *arguments: Any) -> Any:
    """Return the value of one of LLVM's own intrinsics, for which the builder has no method."""
    function_type = ir.FunctionType(kind, [argument.type for argument in arguments])
    return build.call(cgutils.get_or_insert_function(build.module, function_type, name), arguments)
