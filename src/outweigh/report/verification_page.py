"""The page and the JSON of `outweigh store verify`: what of a bundle is the same, differs, or cannot be recomputed."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec
from msgspec import Struct

from outweigh.report.document import Block, BulletList, KeyPoints, Report, Table, Tone
from outweigh.report.formatting import count_of
from outweigh.report.json_output import Payload
from outweigh.report.table_changes import ValueChange

SHOWN_CHANGES = 10


class VerifiedState(StrEnum):
    """What verifying something came to."""

    SAME = "same"
    DIFFERS = "differs"
    CANNOT = "cannot be recomputed"


class VerifiedTable(Struct, frozen=True, kw_only=True):
    """A derived table or page. `changes` are where it differs, `reason` why it cannot be computed again.

    `refused` is why there is none about these stores, in the bundle and here.
    """

    path: str
    command: str
    state: VerifiedState
    changes: tuple[ValueChange, ...] = ()
    reason: str | None = None
    refused: str | None = None


class Verification(Struct, frozen=True, kw_only=True):
    """What was found out about a bundle. `faults` are what is wrong with its bytes, files, records and choices.

    `unchecked` is why its tables were not computed again; None where they were.
    """

    bundle: str
    sha256: str
    versions: Mapping[str, str]
    stores: tuple[str, ...]
    files: int
    records: int
    choices: int
    faults: tuple[str, ...]
    tables: tuple[VerifiedTable, ...]
    unchecked: str | None = None

    @property
    def state(self) -> VerifiedState:
        """Differs where anything does; else whether all of it could be computed again."""
        states = {table.state for table in self.tables}
        if self.faults or VerifiedState.DIFFERS in states:
            return VerifiedState.DIFFERS
        return VerifiedState.CANNOT if self.unchecked or VerifiedState.CANNOT in states else VerifiedState.SAME


_TONES = {VerifiedState.SAME: Tone.GOOD, VerifiedState.DIFFERS: Tone.BAD, VerifiedState.CANNOT: Tone.UNSURE}


def verification_report(found: Verification) -> Report:
    """The page of `outweigh store verify`."""
    return Report(
        headline=f"{found.state.value.upper()}: {_sentence(found)}",
        tone=_TONES[found.state],
        blocks=tuple(_blocks(found)),
        payload=_payload(found),
    )


def _sentence(found: Verification) -> str:
    tables = f"{len(found.tables):,} tables and pages"
    if found.state is VerifiedState.SAME:
        return f"all {tables} of {found.bundle} follow from its records"
    if found.state is VerifiedState.CANNOT:
        return f"not all of {found.bundle} can be computed again here"
    changed = sum(table.state is VerifiedState.DIFFERS for table in found.tables)
    parts = []
    if found.faults:
        parts.append(f"{count_of(len(found.faults), 'fault')} in its files or records")
    if changed:
        parts.append(f"{changed} of {tables} do not follow from its records")
    return f"{found.bundle} has {' and '.join(parts)}" if found.faults else f"{parts[0]} in {found.bundle}"


def _blocks(found: Verification) -> Iterator[Block]:
    records = f"{count_of(found.records, 'record')}, {count_of(found.choices, 'choice')} among them"
    yield KeyPoints(rows=(("Stores", ", ".join(found.stores)), ("Records", records)))
    if found.faults:
        yield BulletList(title="Files and records", items=found.faults, tone=Tone.BAD)
    if found.unchecked is not None:
        yield BulletList(title="Not computed again", items=(found.unchecked,), tone=Tone.UNSURE)
    if found.tables:
        yield Table(
            title="Tables and pages",
            columns=("", "state"),
            rows=tuple((table.path, _state(table)) for table in found.tables),
        )
    for table in found.tables:
        if table.changes:
            yield _changes_table(table)
    if reasons := tuple(f"{table.path}: {table.reason}" for table in found.tables if table.reason is not None):
        yield BulletList(title="Cannot be recomputed", items=reasons, tone=Tone.UNSURE)


def _state(table: VerifiedTable) -> str:
    return table.state.value if table.refused is None else f"{table.state.value}, not made"


def _changes_table(table: VerifiedTable) -> Table:
    hidden = len(table.changes) - SHOWN_CHANGES
    more = f"; the first {SHOWN_CHANGES} of {len(table.changes):,} changes" if hidden > 0 else ""
    return Table(
        title=f"{table.path}{more}",
        columns=("where", "in the bundle", "computed again"),
        rows=tuple((each.where, each.old, each.new) for each in table.changes[:SHOWN_CHANGES]),
    )


def _payload(found: Verification) -> Payload:
    return {"schema": "outweigh.verification/1", "state": found.state.value, **msgspec.to_builtins(found)}
