"""The files of a dataset, and their columns as arrays."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outweigh.errors import EvidenceError, requires_extra
from outweigh.store.dataset_rows import STARTED_AT

Numbers = NDArray[np.float64]


Codes = NDArray[np.int32]


Index = NDArray[np.intp]


TASK = "task_id"


class RowGroup(NamedTuple):
    """Rows that stand together in the file of a part."""

    file: "PartFile"
    number: int
    rows: int


class PartFile:
    """The file with the runs of a part. It is opened for every reading, so that many parts need no more open files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, int] = {}
        self._known: Any = None

    def read(self, index: int, columns: Sequence[str] | None = None, names: Sequence[str] = ()) -> Any:
        """Columns of one row group; those in `names` come with their dictionaries."""
        with self._opened(names) as file:
            return file.read_row_group(index, columns=columns, use_threads=False)

    def only_value(self, index: int, field: str) -> tuple[Any] | None:
        """The value that all rows of a row group have, by what its file says about it; None where they differ."""
        rows = self._metadata.row_group(index)
        known = rows.column(self._places[field]).statistics
        if known is None:
            return None
        if known.null_count == rows.num_rows:
            return (None,)
        if field == STARTED_AT:  # to make moments of what the file says loads pandas, where that is installed
            return None
        if known.null_count or not known.has_min_max or known.min != known.max:
            return None
        return (known.min,)

    def is_known(self, index: int, field: str) -> bool:
        """Whether no row of a row group lacks a field, by what its file says about it."""
        known = self._metadata.row_group(index).column(self._places[field]).statistics
        return known is not None and known.null_count == 0

    @property
    def _metadata(self) -> Any:
        # No cached_property here and below: up to Python 3.11 all objects share the lock of one.
        if self._known is None:
            with self._opened() as file:
                self._places = {name: place for place, name in enumerate(file.schema_arrow.names)}
                self._known = file.metadata
        return self._known

    @contextmanager
    def _opened(self, names: Sequence[str] = ()) -> Iterator[Any]:
        with requires_extra("a dataset", "parquet"):
            import pyarrow  # noqa: PLC0415 - heavy, and only datasets need it
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415
        try:
            with (
                pyarrow.OSFile(str(self.path)) as opened,
                # Columns are read one by one, so there is nothing to fetch ahead.
                ParquetFile(opened, metadata=self._known, read_dictionary=list(names), pre_buffer=False) as file,
            ):
                yield file
        except (pyarrow.ArrowException, OSError, ValueError) as fault:
            raise EvidenceError(f"{self.path} cannot be read as part of a dataset: {fault}.") from fault


def as_indices(places: Index) -> Any:
    """Places as pyarrow wants them. To make an array of them in its usual way loads pandas, where that is installed."""
    import pyarrow  # noqa: PLC0415 - heavy, and only datasets need it

    numbers = np.ascontiguousarray(places, dtype=np.int64)
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(numbers), [None, pyarrow.py_buffer(numbers)])


def as_numbers(column: Any) -> Numbers:
    """Numbers with NaN where there is none; moments in seconds."""
    is_moment = hasattr(column.type, "tz")
    pieces = [_as_floats(chunk.cast("int64") if is_moment else chunk) for chunk in column.chunks]
    found = pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0), *pieces])
    return found / _MICROSECONDS if is_moment else found


def _as_floats(chunk: Any) -> Numbers:
    if str(chunk.type) == "bool":
        chunk = chunk.cast("uint8")
    found = as_array(chunk).astype(np.float64, copy=False)
    if not chunk.null_count:
        return found
    known = np.unpackbits(np.frombuffer(chunk.buffers()[0], np.uint8), bitorder="little")
    return np.where(known[chunk.offset : chunk.offset + len(chunk)], found, np.nan)


def as_array(chunk: Any) -> NDArray[Any]:
    """The numbers as they lie in memory. pyarrow's own way to an array loads pandas, where that is installed."""
    kind = np.dtype("float64" if str(chunk.type) == "double" else str(chunk.type))
    return np.frombuffer(chunk.buffers()[1], kind, len(chunk), chunk.offset * kind.itemsize)


def as_texts(names: Any) -> list[str]:
    """Texts as a list; pyarrow's own way to one takes ten times as long, or loads pandas."""
    if not len(names):
        return []
    _, places, content = names.buffers()
    ends = np.frombuffer(places, np.int32, len(names) + 1, 4 * names.offset)
    whole = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)[ends[0] : ends[-1]]
    if (whole == 0).any():
        text = whole.tobytes()
        return [text[start:end].decode() for start, end in pairwise((ends - ends[0]).tolist())]
    # Put apart by zeros, they are cut at once.
    apart = np.zeros(len(whole) + len(names) - 1, np.uint8)
    apart[np.arange(len(whole)) + np.repeat(np.arange(len(names)), np.diff(ends))] = whole
    return apart.tobytes().decode().split("\0")


_MICROSECONDS = 10**6


def encode_names(column: Any) -> tuple[list[Any], Codes]:
    """The names of a column and the place of every row's own; None is the last of them where a row has none."""
    places: dict[Any, int] = {}
    pieces = []
    for chunk in (column if hasattr(column.type, "index_type") else column.dictionary_encode()).chunks:
        names = [*chunk.dictionary.to_pylist(), *([None] if chunk.null_count else [])]
        mapped = np.array([places.setdefault(name, len(places)) for name in names], dtype=np.int32)
        codes = chunk.indices.fill_null(len(names) - 1) if chunk.null_count else chunk.indices
        pieces.append(mapped[as_array(codes)])
    return list(places), np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
