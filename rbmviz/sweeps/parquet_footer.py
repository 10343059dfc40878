"""Read the footer of a Parquet file, to check that no page is compressed, and to find the sizes of columns.

pyarrow can read the footer, too, but its column metadata can crash the process if the footer is damaged, for
example if it names an unknown compression method (pyarrow 26): 6 of 1,920 damaged files did. A damaged file
must not crash a server. The footer is a structure in Apache Thrift's compact protocol; every loop below is
bounded by the number of bytes present.
"""

from typing import Any

from rbmviz.array_files import Damaged

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _, _STRUCT = range(1, 13)

MAX_THRIFT_DEPTH = 12
"""Maximum depth of nested structures; Parquet's footers have six levels."""

_ROW_GROUPS, _COLUMNS, _FILE_PATH, _META_DATA, _CODEC, _TOTAL_COMPRESSED_SIZE = 4, 1, 1, 3, 4, 7
"""Numbers, in parquet.thrift, of the fields that lead to the compression method and the size."""


_Fields = dict[int, tuple[int, Any]]
"""Type and value by field number; only numbers, structures, and lists of these keep their values."""


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def _byte(self) -> int:
        try:
            byte = self._content[self._at]
        except IndexError:
            raise Damaged("its footer ends too early") from None
        self._at += 1
        return byte

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise Damaged("its footer holds a number that is too long")

    def _skip(self, n: int) -> None:
        if n > len(self._content) - self._at:
            raise Damaged("its footer ends too early")
        self._at += n

    def struct(self, depth: int = 0) -> _Fields:
        """Return the fields of a structure by number; no field may occur twice."""
        if depth > MAX_THRIFT_DEPTH:
            raise Damaged("its footer is nested too deeply")
        fields: _Fields = {}
        last = 0
        while header := self._byte():
            last = last + (header >> 4) if header >> 4 else self._signed()
            if last in fields:
                raise Damaged("its footer says something twice")
            kind = header & 15
            value = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
            fields[last] = kind, value
        return fields

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (_TRUE, _FALSE, _BYTE):  # as elements of a list, Booleans take a byte
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind == _DOUBLE:
            return self._skip(8)
        if kind == _BINARY:
            return self._skip(self._number())
        if kind in (_LIST, _SET):
            header = self._byte()
            n = header >> 4 if header >> 4 < 15 else self._number()
            if depth > MAX_THRIFT_DEPTH or n > len(self._content) - self._at:  # an element takes a byte
                raise Damaged("its footer ends too early, or is nested too deeply")
            kind = header & 15
            if kind == _STRUCT:
                return [self.struct(depth + 1) for _ in range(n)]
            for _ in range(n):
                self._value(kind, depth + 1)
            return None
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise Damaged("its footer holds what no footer of a sweep has")


def uncompressed_sizes(content: bytes) -> list[int]:
    """Return the bytes of each column in each row group, according to the footer of a Parquet file.

    Raises Damaged if the footer cannot be read, or does not state that all pages are uncompressed.
    """
    length = int.from_bytes(content[-8:-4], "little")
    if not 0 < length <= len(content) - 12:
        raise Damaged("it has no footer, or not a whole one")
    sizes = []
    for group in _structs(_Reader(content[-8 - length : -8]).struct(), _ROW_GROUPS):
        for column in _structs(group, _COLUMNS):
            kind, fields = column.get(_META_DATA, (0, None))
            if _FILE_PATH in column or kind != _STRUCT or fields is None:
                raise Damaged("its footer does not describe its own columns")
            if fields.get(_CODEC) != (_I32, 0):
                raise Damaged("its pages are compressed")
            kind, size = fields.get(_TOTAL_COMPRESSED_SIZE, (0, -1))
            if kind != _I64 or size < 0:
                raise Damaged("its footer does not say what its columns take")
            sizes.append(size)
    return sizes


def _structs(fields: _Fields, number: int) -> list[_Fields]:
    kind, structs = fields.get(number, (0, None))
    if kind != _LIST or structs is None:
        raise Damaged("its footer does not describe its columns")
    return structs
