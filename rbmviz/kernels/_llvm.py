"""What intrinsics are written in: numba has no name for a vector of lanes, LLVM has.

An intrinsic is a function whose body builds instructions. Its parameters are arrays (``Array``) and numbers,
the first is the builder, always ``build``. A *place* counts the values of an array from its first on, also
where it is a matrix: a Python int, or what instructions have computed, 64 bits.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

BIT, BYTE, INT, WORD = (ir.IntType(bits) for bits in (1, 8, 32, 64))
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()

vector = ir.VectorType
"""vector(FLOAT, 16): the type of sixteen floats side by side."""


def in_llvm(function: Callable[..., Any]) -> Any:
    """Make an intrinsic of ``function``, which builds its instructions and returns the value they compute.

    Annotations say, in types of numpy, what kernels hand over and get back. A parameter without one is an
    array, contiguous, which is checked once, when it is typed; a function without one returns nothing.
    """
    hints = inspect.signature(function)
    parameters = list(hints.parameters.values())[1:]
    nothing = hints.return_annotation is hints.empty
    result = types.void if nothing else from_dtype(hints.return_annotation)

    @wraps(function)
    def declare(typing_context: Any, *given: Any) -> Any:
        # Addresses count values from the first on: those of a view with gaps, or reversed, lie elsewhere.
        if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in given):
            raise TypingError(f"{function.__name__}: an array is not contiguous")
        kinds = [
            kind if parameter.annotation is parameter.empty else from_dtype(parameter.annotation)
            for kind, parameter in zip(given, parameters, strict=True)
        ]

        def code(context: Any, build: Any, signature: Any, values: Any) -> Any:
            arguments = [
                Array(context, build, kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, values, strict=True)
            ]
            found = function(build, *arguments)
            return context.get_dummy_value() if nothing else found

        return result(*kinds), code

    return intrinsic(declare)


class Array:
    """An array of numbers; ``shape`` are numbers of 64 bits that instructions have computed."""

    def __init__(self, context: Any, build: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, build, value)
        self.shape = cgutils.unpack_tuple(build, array.shape, kind.ndim)
        self._build, self._data, self._kind = build, array.data, context.get_data_type(kind.dtype)
        self._align = kind.dtype.bitwidth // 8  # that of one number: vectors begin anywhere

    def _address(self, place: Any, kind: Any) -> Any:
        at = constant(WORD, place) if isinstance(place, int) else place
        return self._build.bitcast(self._build.gep(self._data, [at]), kind.as_pointer())

    def value(self, place: Any) -> Any:
        """Return the number at a place."""
        return self._build.load(self._address(place, self._kind), align=self._align)

    def load(self, place: Any, lanes: int) -> Any:
        """Return the vector of so many numbers that begins at a place."""
        return self._build.load(self._address(place, vector(self._kind, lanes)), align=self._align)

    def load_first(self, place: Any, lanes: int, n: Any) -> Any:
        """Return a vector as ``load``, of which only the first n lanes are read; the others are 0."""
        build, kind = self._build, vector(self._kind, lanes)
        inside = build.icmp_signed(
            "<", constant(vector(INT, lanes), range(lanes)), spread(build, build.trunc(n, INT), lanes)
        )
        place, align = self._address(place, kind), constant(INT, self._align)
        name = f"llvm.masked.load.v{lanes}f{8 * self._align}.p0"
        return call(build, name, kind, place, align, inside, constant(kind, 0.0))

    def store(self, place: Any, value: Any) -> None:
        """Write a vector from a place on."""
        self._build.store(value, self._address(place, value.type), align=self._align)


class Register:
    """A value that a loop changes; the compiler keeps it out of memory."""

    def __init__(self, build: Any, value: Any) -> None:
        self._build, self._slot = build, cgutils.alloca_once_value(build, value)

    def read(self) -> Any:
        """Return the value it has now."""
        return self._build.load(self._slot)

    def write(self, value: Any) -> None:
        """Give it another value."""
        self._build.store(value, self._slot)


@contextmanager
def loop(build: Any, first: Any, last: Any, step: int = 1) -> Iterator[Any]:
    """Build the body of ``for place in range(first, last, step)``, of places; yield the place."""
    start = constant(WORD, first) if isinstance(first, int) else first
    with cgutils.for_range_slice(build, start, last, constant(WORD, step)) as (place, _):
        yield place


def constant(kind: Any, value: Any) -> Any:
    """Return a constant of a kind; of a vector from one number for all lanes, or from one number a lane."""
    if not isinstance(kind, ir.VectorType):
        return ir.Constant(kind, value)
    return ir.Constant(kind, list(value) if isinstance(value, list | range) else [value] * kind.count)


def undefined(kind: Any) -> Any:
    """Return what is filled lane by lane."""
    return ir.Constant(kind, ir.Undefined)


def pick(build: Any, x: Any, lanes: Any) -> Any:
    """Return the vector of these lanes of x, each a number known now."""
    return build.shuffle_vector(x, x, constant(vector(INT, len(lanes)), lanes))


def spread(build: Any, value: Any, lanes: int) -> Any:
    """Return the vector with a computed value in all its lanes."""
    first = build.insert_element(undefined(vector(value.type, lanes)), value, constant(INT, 0))
    return pick(build, first, [0] * lanes)


def word_of(build: Any, bits: Any) -> Any:
    """Return a vector of up to 64 BITs as a number of 64, the first lane lowest."""
    return build.zext(build.bitcast(bits, ir.IntType(bits.type.count)), WORD)


def call(build: Any, name: str, kind: Any, *arguments: Any) -> Any:
    """Call what LLVM itself offers under a name, where the builder has no method for it; return its value."""
    taken = ir.FunctionType(kind, [argument.type for argument in arguments])
    return build.call(cgutils.get_or_insert_function(build.module, taken, name), arguments)
