"""Rows of JSON Lines whose cells are what they should be, many at a time.

Most tables were written by programs: texts are texts, numbers are numbers. Such rows are decoded and checked by a
structure made for their columns, and become runs column by column. Any other row is given back, to be read cell by
cell; both ways give the same run.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Annotated, Any

import msgspec

from outweigh.adapters.importers.identity import stable_id
from outweigh.adapters.importers.table_block import TableBlocks
from outweigh.adapters.importers.table_map import LABELS, Column
from outweigh.record.run_record import RunRecord
from outweigh.record.stored import Amount, Count
from outweigh.transcript.foreign import LONGEST_NAME

LONGEST_LINE = 10_000
"""All of a shorter row's other columns fit into `extra`."""

_COUNTS = ("repeat", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_TYPES: dict[str, Any] = {
    **dict.fromkeys(LABELS, Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]),
    **dict.fromkeys((*_COUNTS, "step_count", "tool_call_count"), Count),
    **dict.fromkeys(("duration_seconds", "cost_usd"), Amount),
    "success": bool,
    "started_at": Any,
}
CloserLook = Callable[[bytes, int], Sequence[RunRecord]]
"""What reads a line, given with its number, cell by cell."""

_UNFIT = (ValueError, msgspec.MsgspecError, RecursionError)
_UNUSUAL = re.compile(r'["\\\x00-\x1f]')


class LineReader:
    """Reads blocks of lines as runs; lines that want a closer look get it, one by one."""

    def __init__(self, row_type: type[msgspec.Struct], blocks: TableBlocks) -> None:
        self._decode = msgspec.json.Decoder(row_type).decode
        self._blocks = blocks

    def read(self, blocks: Iterable[Sequence[bytes]], closer_look: CloserLook) -> Iterator[list[RunRecord]]:
        """The runs of each block, in the order of their lines."""
        number = 1
        for lines in blocks:
            yield self._runs(lines, number, closer_look)
            number += len(lines)

    def _runs(self, lines: Sequence[bytes], first: int, closer_look: CloserLook) -> list[RunRecord]:
        """All at once, else what lies between the lines that are to blame, and these by themselves."""
        try:
            return self._plain_runs(lines, first)
        except _UNFIT:
            if len(lines) == 1:
                return [*closer_look(lines[0], first)]
        found: list[RunRecord] = []
        for start, end in pairwise((0, *self._cuts(lines), len(lines))):
            found += self._runs(lines[start:end], first + start, closer_look)
        return found

    def _cuts(self, lines: Sequence[bytes]) -> Sequence[int]:
        """Before and after each line that cannot be decoded; where all can, and their cells are odd, in the middle."""
        odd = [place for place, line in enumerate(lines) if not self._is_decodable(line)]
        cuts = {cut for place in odd for cut in (place, place + 1)} - {0, len(lines)}
        return sorted(cuts) or [len(lines) // 2]

    def _is_decodable(self, line: bytes) -> bool:
        try:
            self._decode(line)
        except _UNFIT:
            return False
        return len(line) < LONGEST_LINE

    def _plain_runs(self, lines: Sequence[bytes], first: int) -> list[RunRecord]:
        if max(map(len, lines)) >= LONGEST_LINE:
            raise ValueError("a long line")
        return self._blocks.runs(map(self._decode, lines), first)


def line_reader(columns: Sequence[Column], names: Collection[str], arm: str | None) -> LineReader | None:
    """A reader of such rows; `names` are all columns that one may have, `arm` is for rows that name none.

    There is none where a field takes more than one column, or is to be computed.
    """
    mapped = {column.field: column.paths for column in columns}
    if not mapped.keys() <= _TYPES.keys() or any(len(paths) > 1 or len(paths[0]) > 1 for paths in mapped.values()):
        return None
    others = sorted(set(names) - {paths[0][0] for paths in mapped.values()})
    needed = {"task_id", "repeat"} if arm else {"task_id", "repeat", "arm"}
    row_type = _row_type({field: paths[0][0] for field, paths in mapped.items()}, others, needed)
    if row_type is None:
        return None
    return LineReader(row_type, TableBlocks(row_type.__struct_fields__, others, arm and stable_id(arm)))


def _row_type(mapped: dict[str, str], others: Sequence[str], needed: Collection[str]) -> type[msgspec.Struct] | None:
    """A row of these columns and no other, the others last; what is not needed may be missing or null.

    There is none where one column is two fields, or has a name that cannot be looked for.
    """
    called = mapped | {f"other_{number}": name for number, name in enumerate(others)}
    if len(set(called.values())) < len(called) or any(_UNUSUAL.search(name) for name in called.values()):
        return None
    given: Iterable[Any] = ((field, _TYPES[field]) for field in mapped if field in needed)
    open_: Iterable[Any] = ((field, _TYPES.get(field, Any) | None, None) for field in called if field not in needed)
    return msgspec.defstruct(
        "Row", chain(given, open_), rename=called, forbid_unknown_fields=True, frozen=True, gc=False
    )
