"""Import one source into a folder of records: each source once, and all of it or nothing."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

from outweigh import __version__
from outweigh.cli.console import print_escaped
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.interop.imported_run import fingerprint
from outweigh.interop.result_files import source_sha256
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.store.import_folder import ImportCounts, ImportFolder
from outweigh.store.records import RECORDS_PREFIX, ImportEntry, UnreadRow, write_imports

SHOWN_ITEMS = 10
SHOWN_WARNINGS = 30
_MEASURED_FIELDS = ("checks", "duration_seconds", "usage", "cost", "step_count", "tool_call_count", "task_checksum")


def print_known_import(known: ImportEntry, path: Path, target: Path) -> None:
    """The same source was imported before."""
    print_escaped(
        f"{path}: imported into {target} before, unchanged since; nothing to add ({count_of(known.runs, 'run')})."
    )


def print_import(imported: ImportEntry, tally: ImportCounts, path: Path, target: Path) -> None:
    """The counts on stdout, what to be careful about on stderr."""
    came = [count_of(imported.runs, "run")]
    if imported.runs:
        came.append(f"of {count_of(len(tally.arms), 'arm')} on {count_of(len(tally.tasks), 'task')}")
    if imported.judgments:
        came.append(f"and {count_of(imported.judgments, 'judgment')}")
    print_escaped(f"{path}: {' '.join(came)} read as {imported.format}, into {target}.")
    for arm, runs in list(tally.arms.items())[:SHOWN_ITEMS]:
        print_escaped(f"  {arm}: {count_of(runs, 'run')}")
    if imported.known_before:
        were = "was" if imported.known_before == 1 else "were"
        print_escaped(
            f"  {count_of(imported.known_before, 'record')} {were} there already, the same: before, or in a copy."
        )
    for name, value in list(imported.facts.items())[:SHOWN_ITEMS]:
        print_escaped(f"  the source says {name}: {_shown_value(value)}")
    if imported.aggregates:
        kept = count_of(len(imported.aggregates), "aggregate")
        print_escaped(f"  {kept} kept in imports.json: what stands for many runs is none itself.")
    _print_unknown_fields(imported)
    for warning in imported.warnings[:SHOWN_WARNINGS]:
        print_escaped(f"outweigh: {warning}", to=sys.stderr)
    if (more := len(imported.warnings) - SHOWN_WARNINGS) > 0:
        print_escaped(f"outweigh: imports.json has {count_of(more, 'more warning')}.", to=sys.stderr)
    if imported.aggregates and not (imported.runs or imported.known_before):
        print_escaped(
            f"outweigh: there is no run in {path}, so there is nothing to compare; import the runs behind its figures.",
            to=sys.stderr,
        )
    if imported.unreadable:
        print_escaped(
            f"outweigh: {count_of(len(imported.unreadable), 'row')} could not be read; imports.json has the places and "
            "reasons, and nothing is promoted on what is left.",
            to=sys.stderr,
        )


def print_next_command(arms: Sequence[str], target: Path) -> None:
    """The command that goes on with all that is in the folder now, ready to be typed."""
    folder = quote(str(target))
    if len(arms) == 1:
        print_escaped(f"Next: import what {arms[0]!r} is to be compared with: outweigh import PATH -o {folder}")
    elif arms:
        verb, others = (
            ("verdict", "the reverse") if len(arms) == 2 else ("compare", f"any other two of {len(arms)} arms")
        )
        print_escaped(
            f"Next: outweigh {verb} {folder} --baseline {quote(arms[0])} --candidate {quote(arms[1])} (or {others})"
        )


def _shown_value(value: object) -> object:
    """A figure of the source, without the dust of binary fractions."""
    return float(f"{value:.6g}") if isinstance(value, float) and 1e-4 < abs(value) < 1e6 else value


def _print_unknown_fields(imported: ImportEntry) -> None:
    unknown = [
        name for name in _MEASURED_FIELDS if imported.fields.get(name, FieldOrigin.UNKNOWN) == FieldOrigin.UNKNOWN
    ]
    if imported.runs and unknown:
        print_escaped(f"  unknown in all of them: {', '.join(unknown)}.")


def count_of(number: int, noun: str) -> str:
    """A number of things, with their noun in the right form."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


SHOWN_ROWS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user says about a source."""

    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    skip_invalid: bool

    def recorded(self) -> dict[str, Any]:
        """What changes the records, as the manifest has it; what was left out is left out."""
        said = {"arm": self.arm, "tasks": sorted(self.tasks or ()), "columns": dict(self.columns)}
        return {name: value for name, value in said.items() if value}


class ImportOutcome(NamedTuple):
    """Whether there are records of a source now, and the arms of all that is in the folder with them."""

    found: bool
    arms: tuple[str, ...]


def import_source(importer: Importer, path: Path, target: Path, wishes: ImportOptions) -> ImportOutcome:
    """Read a source into a folder and say what came; one that was imported before adds nothing."""
    _refuse_ignored_options(importer, wishes)
    source = source_sha256(path)
    key = fingerprint({"format": importer.name, "source": source, "options": wishes.recorded()})
    with ImportFolder(target) as folder:
        known = next((each for each in folder.imports if each.key == key), None)
        if known is not None:
            print_known_import(known, path, target)
            return ImportOutcome(bool(known.runs or known.judgments or known.known_before), tuple(folder.arms))
        notes = ImportNotes()
        request = ImportRequest(path=path, arm=wishes.arm, tasks=wishes.tasks, columns=wishes.columns, keep=folder.keep)
        name = f"{RECORDS_PREFIX}{key[:12]}.jsonl"
        tally = folder.write(
            name, importer.read(request, notes), lambda run, reason: notes.unread(path, 0, f"{run}: {reason}")
        )
        try:
            _refuse_faults(path, tally, notes, skip=wishes.skip_invalid)
            imported = ImportEntry(
                key=key,
                format=importer.name,
                source=path.name,
                source_sha256=source,
                options=wishes.recorded(),
                outweigh_version=__version__,
                file=name if tally.runs or tally.judgments else None,
                runs=tally.runs,
                judgments=tally.judgments,
                known_before=tally.known_before,
                fields=_field_origins(importer, tally),
                unreadable=tuple(
                    UnreadRow(source=row.source, line=row.line, reason=row.reason) for row in notes.unreadable
                ),
                warnings=tuple(notes.warnings),
                aggregates=tuple(dict(each) for each in notes.aggregates),
                facts=notes.facts,
            )
            write_imports(target, [*folder.imports, imported])
        except BaseException:
            folder.remove(name)
            raise
    print_import(imported, tally, path, target)
    return ImportOutcome(bool(tally.runs or tally.judgments or tally.known_before), tuple(folder.arms))


def _refuse_ignored_options(importer: Importer, wishes: ImportOptions) -> None:
    takes: frozenset[str] = getattr(importer, "takes", frozenset())
    for name, option, given in (("tasks", "--tasks", wishes.tasks), ("columns", "--map", wishes.columns)):
        if given and name not in takes:
            raise UsageError(f"{option} means nothing to {importer.name}; leave it out.")


def _field_origins(importer: Importer, tally: ImportCounts) -> dict[str, str]:
    """Where the fields of these runs come from: what not one of them has is unknown, whatever the format could say."""
    return {
        field: (importer.fields.get(field, FieldOrigin.UNKNOWN) if field in tally.known_fields else FieldOrigin.UNKNOWN)
        for field in RunRecord.__struct_fields__
    }


def _refuse_faults(path: Path, tally: ImportCounts, notes: ImportNotes, *, skip: bool) -> None:
    if tally.clashes:
        twice = list(dict.fromkeys(tally.clashes))
        raise EvidenceError(
            f"{path}: {_runs_stand(twice)} for two different results, in it or in what was imported before. Nothing of it "
            "was imported: remove one, or import into another folder."
        )
    if tally.rivals:
        raise EvidenceError(
            f"{path}: {_runs_stand(tally.rivals)} for a task, arm and repeat that another run stands for already. Nothing "
            "of it was imported: where these are further repeats, name the folder that holds both at once; where they "
            "are another arm, name it by --arm, or in a table by --map arm=COLUMN+COLUMN."
        )
    if notes.unreadable and not skip:
        more = "; …" if len(notes.unreadable) > SHOWN_ROWS else ""
        shown = "; ".join(str(row)[:300] for row in notes.unreadable[:SHOWN_ROWS]) + more
        raise EvidenceError(
            f"{path}: {count_of(len(notes.unreadable), 'row')} cannot be read: {shown}. Nothing of it was "
            "imported: mend what is wrong, or pass --skip-invalid to go on without (evidence with skipped rows never "
            "promotes)."
        )
    if not (tally.runs or tally.judgments or tally.known_before or notes.aggregates):
        raise EvidenceError(f"{path} holds no result; is it the right one, and had anything finished?")


def _runs_stand(run_ids: Sequence[str]) -> str:
    return f"{quote_names(run_ids)} {'stands' if len(run_ids) == 1 else 'stand'}"
