"""One source into a folder of records: read once, kept once, and all or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from outweigh import __version__
from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.source_fingerprint import source_sha256
from outweigh.adapters.stores.import_folder import ImportFolder
from outweigh.adapters.stores.import_manifest import RECORDS_PREFIX, Import, UnreadRow, remember_imports
from outweigh.adapters.stores.import_tally import Tally
from outweigh.cli.import_summary import count_of, say_known, say_what_came
from outweigh.errors import EvidenceError, UsageError, name_some
from outweigh.ports.importers import FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord

SHOWN_ROWS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user says about a source."""

    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    skip_invalid: bool

    def recorded(self) -> dict[str, Any]:
        """What changes the records, as the manifest has it; what was left out is left out."""
        said = {"arm": self.arm, "tasks": sorted(self.tasks or ()), "columns": dict(self.columns)}
        return {name: value for name, value in said.items() if value}


class Imported(NamedTuple):
    """Whether there are records of a source now, and the arms of all that is in the folder with them."""

    found: bool
    arms: tuple[str, ...]


def import_source(importer: Importer, path: Path, target: Path, wishes: Wishes) -> Imported:
    """Read a source into a folder and say what came; one that was imported before adds nothing."""
    _refuse_what_is_ignored(importer, wishes)
    source = source_sha256(path)
    key = fingerprint({"format": importer.name, "source": source, "options": wishes.recorded()})
    with ImportFolder(target) as folder:
        known = next((each for each in folder.imports if each.key == key), None)
        if known is not None:
            say_known(known, path, target)
            return Imported(bool(known.runs or known.judgments or known.known_before), tuple(folder.arms))
        notes = ImportNotes()
        request = ImportRequest(path=path, arm=wishes.arm, tasks=wishes.tasks, columns=wishes.columns, keep=folder.keep)
        name = f"{RECORDS_PREFIX}{key[:12]}.jsonl"
        tally = folder.write(
            name, importer.read(request, notes), lambda run, reason: notes.unread(path, 0, f"{run}: {reason}")
        )
        try:
            _refuse_faults(path, tally, notes, skip=wishes.skip_invalid)
            imported = Import(
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
                fields=_origins(importer, tally),
                unreadable=tuple(
                    UnreadRow(source=row.source, line=row.line, reason=row.reason) for row in notes.unreadable
                ),
                warnings=tuple(notes.warnings),
                aggregates=tuple(dict(each) for each in notes.aggregates),
                facts=notes.facts,
            )
            remember_imports(target, [*folder.imports, imported])
        except BaseException:
            folder.remove(name)
            raise
    say_what_came(imported, tally, path, target)
    return Imported(bool(tally.runs or tally.judgments or tally.known_before), tuple(folder.arms))


def _refuse_what_is_ignored(importer: Importer, wishes: Wishes) -> None:
    takes: frozenset[str] = getattr(importer, "takes", frozenset())
    for name, option, given in (("tasks", "--tasks", wishes.tasks), ("columns", "--map", wishes.columns)):
        if given and name not in takes:
            raise UsageError(f"{option} means nothing to {importer.name}; leave it out.")


def _origins(importer: Importer, tally: Tally) -> dict[str, str]:
    """Where the fields of these runs come from: what not one of them has is unknown, whatever the format could say."""
    return {
        field: (importer.fields.get(field, FieldOrigin.UNKNOWN) if field in tally.known_fields else FieldOrigin.UNKNOWN)
        for field in RunRecord.__struct_fields__
    }


def _refuse_faults(path: Path, tally: Tally, notes: ImportNotes, *, skip: bool) -> None:
    if tally.clashes:
        twice = list(dict.fromkeys(tally.clashes))
        raise EvidenceError(
            f"{path}: {_stand(twice)} for two different results, in it or in what was imported before. Nothing of it "
            "was imported: remove one, or import into another folder."
        )
    if tally.rivals:
        raise EvidenceError(
            f"{path}: {_stand(tally.rivals)} for a task, arm and repeat that another run stands for already. Nothing "
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


def _stand(run_ids: Sequence[str]) -> str:
    return f"{name_some(run_ids)} {'stands' if len(run_ids) == 1 else 'stand'}"
