"""Bounds on the pages of a Parquet file by their headers, before anything is unpacked.

The metadata at the end of the file may be wrong. pyarrow allocates memory by the headers of the pages, which are
therefore summed up here, in the order in which pyarrow reads them.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from relaxwl._memory import check_memory
from relaxwl._storage import BYTES_PER_BYTE, FREE_BYTES

# Bytes of memory per value of a column while rows are converted to graphs.
VALUE_BYTES = 100
# Maximum number of values of a file: a constant, plus this many per byte. A row counts as ten values, because of its
# memory, and a page as a thousand, because of the time to read its header: columns may share pages.
FREE_VALUES, VALUES_PER_BYTE = 2**20, 200
VALUES_PER_ROW, VALUES_PER_PAGE = 10, 1000
# Codes of a struct in Thrift, and of columns of byte arrays and dictionary pages in Parquet.
STRUCT, BYTE_ARRAY, DICTIONARY_PAGE = 12, 6, 2
# The encoding of strings by their difference to the previous one; each string can be as long as all stored bytes.
DELTA_BYTE_ARRAY = 7
# Codes of the compression methods that pyarrow can unpack separately.
CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
# Numbers of bytes of a header to try; only headers with long statistics exceed the first.
HEADER_BYTES = (2**10, 2**16, 2**24)
# pyarrow reads this many bytes beyond the end of a column, because an old writer stated sizes without them.
BYTES_BEYOND = 100
ADVICE = "if you trust it, write it anew with pyarrow.parquet.write_table(…, compression=None, use_dictionary=False)"


class Chunk(NamedTuple):
    """Description of one column of a group of rows, from the end of the file."""

    name: str
    path: str
    is_text: bool
    width: int
    codec: int
    n_values: int
    unpacked: int
    begin: int
    end: int


class Page(NamedTuple):
    """Header of a page; its content lies from ``begin`` to ``end``."""

    kind: int
    encoding: int
    n_values: int
    unpacked: int
    begin: int
    end: int


def read_chunks(path: str | os.PathLike[str]) -> tuple[int, list[list[Chunk]]]:
    """Return the number of rows, and the columns of each group of rows.

    The metadata is read here, because pyarrow ends the process when it reads that of some damaged files.
    """
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        if length > size - 8 or file.read(4) != b"PAR1":
            raise ValueError("it does not end like a Parquet file")
        check_memory(VALUE_BYTES * float(length), "its metadata", "is it a Parquet file?")
        file.seek(size - 8 - length)
        described = _thrift(file.read(length), 0, STRUCT)[0]
    widths = [element.get(2, 0) for element in described[2] if not element.get(5)]
    groups = [
        [_chunk(column[3], width) for column, width in zip(group[1], widths, strict=True)]
        for group in described.get(4, [])
    ]
    n_rows = sum(max(group[3], 0) for group in described.get(4, []))
    return n_rows, groups


def _chunk(column: dict[int, Any], width: int) -> Chunk:
    path = b".".join(column[3]).decode()
    begin = column[9]
    if 0 < column.get(11, 0) < begin:  # the dictionary page
        begin = column[11]
    return Chunk(
        path.split(".")[0],
        path,
        column[1] == BYTE_ARRAY,
        max(width, 0),
        column[4],
        max(column[5], 0),
        max(column[6], 0),
        begin,
        begin + column[7],
    )


def check_pages(path: str | os.PathLike[str], n_rows: int, chunks: list[Chunk]) -> int:
    """Raise an error if the columns hold much more than the size of the file allows; return their number of values.

    Pages may take at most 64 MiB plus 200 times the size of the file, and strings the same again, because dictionaries
    and prefixes repeat strings.
    """
    size = Path(path).stat().st_size
    most_bytes, most_values = FREE_BYTES + BYTES_PER_BYTE * size, FREE_VALUES + VALUES_PER_BYTE * size
    n_values = unpacked = of_texts = 0
    counted = VALUES_PER_ROW * n_rows
    with Path(path).open("rb") as file:
        for chunk in chunks:
            words, repeated = [], 0
            for page in _pages(file, chunk, size):
                n_values += page.n_values if page.kind != DICTIONARY_PAGE else 0
                counted += page.n_values + VALUES_PER_PAGE
                unpacked += page.unpacked
                if counted > most_values:
                    problem = f"{n_rows} rows of {n_values} or more values are too many for a file of {size} bytes"
                    raise ValueError(f"{problem}; {ADVICE}")
                if unpacked > most_bytes:
                    raise ValueError(f"its pages would unpack to {_more(unpacked, most_bytes)}")
                if page.kind == DICTIONARY_PAGE:
                    words.append(page)
                elif chunk.is_text and page.encoding == DELTA_BYTE_ARRAY:
                    of_texts += page.n_values * page.unpacked
                else:
                    repeated += page.n_values
            longest = max((_longest(file, page, chunk.codec) for page in words), default=0) if chunk.is_text else 0
            of_texts += repeated * max(longest, chunk.width)
            if of_texts > most_bytes:
                raise ValueError(f"its texts would take up to {_more(of_texts, most_bytes)}")
    return n_values


def _more(found: int, most: int) -> str:
    return f"{found / 2**20:.0f} MiB, and {most / 2**20:.0f} MiB are allowed; {ADVICE}"


def _pages(file: BinaryIO, chunk: Chunk, size: int) -> Iterator[Page]:
    """Yield the pages of a column in the order in which pyarrow reads them."""
    at, seen = chunk.begin, 0
    if not 0 <= at <= chunk.end <= size:
        raise ValueError("a column lies outside of the file")
    while seen < chunk.n_values and at < min(chunk.end + BYTES_BEYOND, size):
        fields, begin = _header(file, at)
        of_kind = fields.get(5) or fields.get(7) or fields.get(8) or {}
        n_values, encoding = of_kind.get(1, 0), of_kind.get(4 if 8 in fields else 2, 0)
        page = Page(fields[1], encoding, n_values, fields[2], begin, begin + fields[3])
        if min(page.n_values, page.unpacked, fields[3]) < 0:
            raise ValueError("a page of negative size")
        yield page
        seen += page.n_values if page.kind != DICTIONARY_PAGE else 0
        at = page.end


def _header(file: BinaryIO, at: int) -> tuple[dict[int, Any], int]:
    """Return the header of the page that begins at a position, and the position of its content."""
    for length in HEADER_BYTES:
        file.seek(at)
        try:
            fields, taken = _thrift(file.read(length), 0, STRUCT)
        except IndexError:
            continue
        return fields, at + taken
    raise ValueError("the header of a page cannot be read")


def _longest(file: BinaryIO, page: Page, codec: int) -> int:
    """Return the length of the longest entry of a dictionary page, or of the page if it cannot be unpacked here."""
    import pyarrow

    file.seek(page.begin)
    content = file.read(page.end - page.begin)
    if codec:
        try:
            content = pyarrow.decompress(content, page.unpacked, CODECS[codec], asbytes=True)
        except (KeyError, OSError, ValueError):
            return page.unpacked
    at = longest = 0
    for _ in range(page.n_values):
        length = int.from_bytes(content[at : at + 4], "little")
        longest = max(longest, length)
        at += 4 + length
    return min(longest, page.unpacked)


def _thrift(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    """Return a value in the compact protocol of Thrift, a struct as a dictionary by field number, and its end."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at
            if shift > 63:
                raise ValueError("its metadata contains a number that is too large")

    if kind in (1, 2):
        return kind == 1, at
    if kind in (3, 7):
        return None, at + (1 if kind == 3 else 8)
    if kind in (4, 5, 6):
        value, at = varint(at)
        return (value >> 1) ^ -(value & 1), at
    if kind == 8:
        length, at = varint(at)
        return data[at : at + length], at + length
    if kind in (9, 10):
        header, at = data[at], at + 1
        number, at = varint(at) if header >> 4 == 15 else (header >> 4, at)
        if number > len(data):
            raise ValueError("its description holds a list that is too long")
        items = []
        for _ in range(number):
            item, at = _thrift(data, at, 3 if header & 15 in (1, 2) else header & 15)
            items.append(item)
        return items, at
    if kind != STRUCT:
        raise ValueError("its metadata cannot be read")
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        header, at = data[at], at + 1
        if header >> 4:
            number += header >> 4
        else:
            number, at = _thrift(data, at, 4)
        fields[number], at = _thrift(data, at, header & 15)
    return fields, at + 1
