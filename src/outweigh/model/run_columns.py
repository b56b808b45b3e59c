"""Many runs as columns: what differs among them row by row, and what they have in common once.

A table of another harness fills a few fields of a run. What is the same in all rows is encoded once, and a step for a
whole column costs little more than one for a single run. The lines are byte for byte those of the single records.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Self, TypeVar

import msgspec
from msgspec.structs import replace

from outweigh.model.base import Json
from outweigh.model.run_record import CheckResult, RunRecord, Trial
from outweigh.model.usage import Cost, Usage

StructT = TypeVar("StructT", bound=msgspec.Struct)

Column = Sequence[Any]
"""The values of one field, all in the order of runs."""

_encoder = msgspec.json.Encoder(order="deterministic")


def structs_from_columns(kind: type[StructT], columns: Mapping[str, Iterable[Any]]) -> list[StructT]:
    """Structs from columns, one for each row, until the first column ends.

    Positional arguments cost half as much as keyword arguments, which matters for many rows.
    """
    return [*map(kind, *(columns[name] for name in kind.__struct_fields__))]


class RunColumns:
    """Runs that are all like `alike` but for their columns.

    `columns` are named by the places of their values in a record, such as `duration_seconds` or `usage.input_tokens`.
    `run_id`, `trial.task_id`, `trial.arm` and `trial.repeat` are always there. `checks.passed` is about the one check
    of `alike`; `agent`, `cost` and `extra` may be columns of whole objects. `own` has the columns of `extra` by name
    where every run knows all of them, and `alike` what all of them have there besides.
    """

    def __init__(self, alike: RunRecord, columns: Mapping[str, Column], own: Mapping[str, Column]) -> None:
        self.alike = alike
        self.columns = columns
        self.own = own

    def __len__(self) -> int:
        return len(self.columns["run_id"])

    def __iter__(self) -> Iterator[RunRecord]:
        return iter(self.records())

    def with_columns(self, columns: Mapping[str, Column]) -> Self:
        """The same runs with some columns replaced."""
        return type(self)(self.alike, {**self.columns, **columns}, self.own)

    def labelled(self, name: str, labels: Sequence[str | None]) -> Self:
        """The same runs with a label in `extra`, but for those whose label is None."""
        if "extra" not in self.columns and name not in self.own and None not in labels:
            if len({*labels}) == 1:
                alike = replace(self.alike, extra=self.alike.extra | {name: labels[0]})
                return type(self)(alike, self.columns, self.own)
            return type(self)(self.alike, self.columns, {**self.own, name: labels})
        rows = zip(self.extras(), labels, strict=True)
        marked = [own if label is None else own | {name: label} for own, label in rows]
        return type(self)(replace(self.alike, extra={}), {**self.columns, "extra": marked}, {})

    def places(self) -> set[str]:
        """Where the runs have columns."""
        return {*self.columns, *(["extra"] if self.own or self.alike.extra else [])}

    def tells(self, place: str, unknown: object) -> bool:
        """Whether at least one run has something else than `unknown` at this place."""
        return place not in self.columns or self.columns[place].count(unknown) < len(self)

    def extras(self) -> list[Json]:
        """The runs' own fields, run by run."""
        if "extra" in self.columns:
            return [*self.columns["extra"]]
        same = self.alike.extra
        if not self.own:
            return [{**same} for _ in range(len(self))]
        rows = [dict(zip(self.own, row)) for row in zip(*self.own.values())]  # noqa: B905 - it is slower
        return [same | row for row in rows] if same else rows

    def records(self) -> list[RunRecord]:
        """The runs one by one."""
        fields: dict[str, Iterable[Any]] = {
            name: self.columns.get(name, repeat(getattr(self.alike, name))) for name in RunRecord.__struct_fields__
        }
        fields |= {"trial": self._structs("trial", self.alike.trial), "artifacts": iter(dict, None)}
        fields["extra"] = self.extras()
        if any(place.startswith("usage.") for place in self.columns):
            fields["usage"] = self._structs("usage", self.alike.usage)
        if "cost.usd" in self.columns:
            fields["cost"] = self._structs("cost", self.alike.cost)
        if "checks.passed" in self.columns:
            fields["checks"] = map(self._checks().__getitem__, self.columns["checks.passed"])
        return structs_from_columns(RunRecord, fields)

    def encoded(self) -> list[bytes]:
        """The canonical line of each run, without a checksum."""
        pieces = (repeat(piece) if isinstance(piece, bytes) else piece for piece in _joined(self._pieces()))
        return [*map(b"".join, zip(*pieces))]  # noqa: B905 - constants never end

    def _structs(self, place: str, alike: Trial | Usage | Cost) -> Iterable[Any]:
        columns = {
            name: self.columns.get(f"{place}.{name}", repeat(getattr(alike, name))) for name in alike.__struct_fields__
        }
        return structs_from_columns(type(alike), columns)

    def _checks(self) -> Mapping[bool | None, tuple[CheckResult, ...]]:
        """The one check with each of its outcomes."""
        (check,) = self.alike.checks or ()
        return {passed: (replace(check, passed=passed),) for passed in (True, False, None)}

    def _pieces(self) -> Iterator[bytes | list[bytes]]:
        """What a line consists of: bytes that all lines have, and columns of those that differ."""
        return self._pieces_at(self.alike, "", {place.rpartition(".")[0] for place in self.columns})

    def _pieces_at(self, value: Any, place: str, inner: set[str]) -> Iterator[bytes | list[bytes]]:
        """The pieces of a value; `inner` are the places that have columns below them.

        A function within `_pieces` would be in a cycle with this block, which would then stay for a while.
        """
        if place in self.columns:
            yield _encoded_cells(self.columns[place])
        elif place == "extra" and self.own:
            same = {name: [_encoder.encode(each)] for name, each in value.items()}
            cells = {name: [_encoded_cells(column)] for name, column in self.own.items()}
            yield from _object_pieces(sorted((same | cells).items()))
        elif place in inner and isinstance(value, msgspec.Struct):
            below = f"{place}." if place else ""
            written = msgspec.to_builtins(value)
            yield from _object_pieces(
                (name, self._pieces_at(getattr(value, name, each), f"{below}{name}", inner))
                for name, each in written.items()
            )
        elif place in inner:
            yield from (b"[", *self._pieces_at(value[0], place, inner), b"]")
        else:
            yield _encoder.encode(value)


def _encoded_cells(column: Column) -> list[bytes]:
    """Each value as JSON, which holds no line feed."""
    return _encoder.encode_lines(column)[:-1].split(b"\n")


def _object_pieces(members: Iterable[tuple[str, Iterable[bytes | list[bytes]]]]) -> Iterator[bytes | list[bytes]]:
    mark = b"{"
    for name, value in members:
        yield b"%b%b:" % (mark, _encoder.encode(name))
        yield from value
        mark = b","
    yield b"}"


def _joined(pieces: Iterable[bytes | list[bytes]]) -> Iterator[bytes | list[bytes]]:
    """The same pieces, with bytes that follow one another as one."""
    same = b""
    for piece in pieces:
        if isinstance(piece, bytes):
            same += piece
        else:
            yield same
            yield piece
            same = b""
    yield same
