"""Import results of other harnesses into a folder of records: each source once, and all of it or nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.app.arm_figures import figures_of
from outweigh.app.choose_importer import choose_sources, describe_unread_formats, split_format
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.interop.imported_run import fingerprint
from outweigh.interop.result_files import source_sha256
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_name
from outweigh.ports.importers import BlockImporter, FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.report.arms_table import ArmFigures
from outweigh.report.formatting import count_of
from outweigh.score.arm_tally import ArmTally
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.import_folder import ImportCounts, ImportFolder
from outweigh.store.records import MANIFEST_FILE, RECORDS_PREFIX, ImportEntry, UnreadRow, write_imports
from outweigh.store.store import Store
from outweigh.version import __version__

SHOWN_ROWS = 3
_FILE_SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResultsRequest:
    """Paths, the format before them where the user names one, the folder to import into, and what the user says.

    `tasks` is a file with the ids of a fixed suite. `transcripts` asks for transcripts that take long to read. `model`
    is that of transcripts that do not name theirs. `rows` and `where` say which rows of a table to read.
    """

    sources: tuple[str, ...]
    target: Path
    arm: str | None = None
    tasks: str | None = None
    columns: Mapping[str, str]
    skip_invalid: bool = False
    transcripts: bool = False
    model: str | None = None
    rows: str | None = None
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSource:
    """What the manifest has about a source, and what came of it.

    `arm_runs` and `tasks` count what is new; a source that was imported before adds nothing. `arms` have what was
    counted of all that is in the folder now, by the names of its records.
    """

    path: Path
    target: Path
    entry: ImportEntry
    is_new: bool
    arm_runs: Mapping[str, int]
    tasks: int
    arms: Mapping[str, ArmTally]
    manifest: str = MANIFEST_FILE

    @property
    def has_records(self) -> bool:
        """Whether there are records of the source now."""
        return bool(self.entry.runs or self.entry.judgments or self.entry.known_before)

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """Measured fields that not one of its runs has."""
        known = self.entry.fields
        return tuple(name for name in _MEASURED_FIELDS if known.get(name, FieldOrigin.UNKNOWN) == FieldOrigin.UNKNOWN)


_MEASURED_FIELDS = ("checks", "duration_seconds", "usage", "cost", "step_count", "tool_call_count", "task_checksum")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedResults:
    """All sources of one import, and hints about results beside them that were not read."""

    sources: Sequence[ImportedSource]
    hints: tuple[str, ...]
    have_records: bool
    """Whether everything that was named has records now; of a folder with several sources, one of them is enough."""

    def arms(self) -> tuple[ArmFigures, ...]:
        """Every arm of the folder, with what the sources state about it."""
        last = self.sources[-1]
        return figures_of(Store.open(last.target), last.arms)


def import_results(request: ImportResultsRequest, on_imported: Callable[[ImportedSource], None]) -> ImportedResults:
    """Import every path into one folder. `on_imported` hears of each source as soon as it is stored."""
    named, paths = split_format(request.sources)
    target = request.target
    if target.suffix in _FILE_SUFFIXES or target.is_file():
        raise UsageError(f"-o {target}: name a folder; it gets the records, their manifest and what belongs to them.")
    options = ImportOptions(
        arm=request.arm,
        tasks=None if request.tasks is None else _read_task_ids(request.tasks),
        columns=request.columns,
        skip_invalid=request.skip_invalid,
        transcripts=request.transcripts,
        model=_read_model(request.model),
        rows=request.rows,
        where=request.where,
    )
    is_mapped = bool(options.columns or options.rows or options.where)
    for path in paths:
        refuse_dataset(path)
    groups = [choose_sources(named, path, mapped=is_mapped) for path in paths]
    chosen = [source for group in groups for source in group]
    imported: list[ImportedSource] = []
    have_records = True
    for group in groups:
        for source in group:
            imported.append(import_source(source.importer, source.path, target, options, source.remark))
            on_imported(imported[-1])
        have_records &= any(found.has_records for found in imported[-len(group) :])
    read = frozenset(source.importer.name for source in chosen)
    folders = [source for source in chosen if named is None and source.path.is_dir()]
    found = (describe_unread_formats(source.path, source.importer, read) for source in folders)
    return ImportedResults(sources=imported, hints=tuple(filter(None, found)), have_records=have_records)


def _read_model(model: str | None) -> str | None:
    if model is not None and as_name(model.strip()) is None:
        raise UsageError("--model needs the name of a model, such as gpt-5.")
    return None if model is None else model.strip()


def _read_task_ids(path: str) -> frozenset[str]:
    """The lines of a file, or a JSON array of texts."""
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise UsageError(f"--tasks {path} cannot be read: {fault.strerror}.") from fault
    try:
        as_array = content.lstrip().startswith(b"[")
        ids = msgspec.json.decode(content, type=list[str]) if as_array else content.decode().split("\n")
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise UsageError(f"--tasks {path} is neither a list of ids nor a JSON array of them: {fault}.") from fault
    found = frozenset(line.strip() for line in ids) - {""}
    if not found:
        raise UsageError(f"--tasks {path} names no task.")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user says about a source."""

    arm: str | None
    tasks: frozenset[str] | None
    columns: Mapping[str, str]
    skip_invalid: bool
    transcripts: bool = False
    model: str | None = None
    rows: str | None = None
    where: tuple[tuple[str, str], ...] = ()

    def recorded(self) -> dict[str, Any]:
        """What changes the records, as the manifest has it; what was left out is left out."""
        said = {
            "arm": self.arm,
            "tasks": sorted(self.tasks or ()),
            "columns": dict(self.columns),
            "transcripts": self.transcripts,
            "model": self.model,
            "rows": self.rows,
            "where": [f"{column}={value}" for column, value in self.where],
        }
        return {name: value for name, value in said.items() if value}


def import_source(
    importer: Importer, path: Path, target: Path, options: ImportOptions, remark: str | None = None
) -> ImportedSource:
    """Read a source into a folder; one that was imported before adds nothing. A remark is kept with the warnings."""
    _refuse_ignored_options(importer, options)
    source = source_sha256(path)
    key = fingerprint({"format": importer.name, "source": source, "options": options.recorded()})
    with ImportFolder(target) as folder:
        known = next((each for each in folder.imports if each.key == key), None)
        if known is not None:
            return ImportedSource(
                path=path, target=target, entry=known, is_new=False, arm_runs={}, tasks=0, arms=folder.arms
            )
        notes = ImportNotes()
        if remark is not None:
            notes.warn(remark)
        request = ImportRequest(
            path=path,
            arm=options.arm,
            tasks=options.tasks,
            columns=options.columns,
            keep=folder.keep,
            transcripts=options.transcripts,
            model=options.model,
            rows=options.rows,
            where=options.where,
        )
        name = f"{RECORDS_PREFIX}{key[:12]}.jsonl"
        found = importer.read_blocks if isinstance(importer, BlockImporter) else importer.read
        counts = folder.write(
            name, found(request, notes), lambda run, reason: notes.unread(path, 0, f"{run}: {reason}")
        )
        try:
            _refuse_faults(path, counts, notes, skip=options.skip_invalid)
            entry = ImportEntry(
                key=key,
                format=importer.name,
                source=path.name,
                source_sha256=source,
                options=options.recorded(),
                outweigh_version=__version__,
                file=name if counts.runs or counts.judgments else None,
                runs=counts.runs,
                judgments=counts.judgments,
                known_before=counts.known_before,
                fields=_field_origins(importer, counts),
                unreadable=tuple(
                    UnreadRow(source=row.source, line=row.line, reason=row.reason) for row in notes.unreadable
                ),
                warnings=tuple(notes.warnings),
                aggregates=tuple(dict(each) for each in notes.aggregates),
                facts=notes.facts,
                arm_facts=notes.arm_facts,
            )
            write_imports(target, [*folder.imports, entry])
        except BaseException:
            folder.remove(name)
            raise
    if counts.runs:
        _scan_for_cheats(target)
    return ImportedSource(
        path=path,
        target=target,
        entry=entry,
        is_new=True,
        arm_runs=counts.arms,
        tasks=len(counts.tasks),
        arms=folder.arms,
    )


def _scan_for_cheats(folder: Path) -> None:
    """Look through what was imported, where transcripts or diffs came with it."""
    if ArtifactFolder.of_store(folder).exists():
        from outweigh.app.scan import keep_scan  # noqa: PLC0415 - most sources have neither

        keep_scan(folder)


def _refuse_ignored_options(importer: Importer, options: ImportOptions) -> None:
    takes: frozenset[str] = getattr(importer, "takes", frozenset())
    given_options = (
        ("tasks", "--tasks", options.tasks),
        ("columns", "--map", options.columns),
        ("rows", "--rows", options.rows),
        ("where", "--where", options.where),
        ("transcripts", "--transcripts", options.transcripts),
        ("model", "--model", options.model),
    )
    for name, option, given in given_options:
        if given and name not in takes:
            raise UsageError(f"{option} is not used by {importer.name}; leave it out.")


def _field_origins(importer: Importer, counts: ImportCounts) -> dict[str, str]:
    """Where the fields of these runs come from: what not one of them has is unknown, whatever the format could say."""
    return {
        field: (
            importer.fields.get(field, FieldOrigin.UNKNOWN) if field in counts.known_fields else FieldOrigin.UNKNOWN
        )
        for field in RunRecord.__struct_fields__
    }


def _refuse_faults(path: Path, counts: ImportCounts, notes: ImportNotes, *, skip: bool) -> None:
    if counts.clashes:
        twice = list(dict.fromkeys(counts.clashes))
        raise EvidenceError(
            f"{path}: {_runs_stand(twice)} for two different results, in it or in what was imported before. "
            "Nothing was imported: remove one, or import into another folder."
        )
    if counts.rivals:
        raise EvidenceError(
            f"{path}: {_runs_stand(counts.rivals)} for a task, arm and repeat that another run stands for already. "
            "Nothing was imported: where these are further repeats, name the folder that holds both at once; "
            "where they are another arm, name it with --arm, or in a table with --map arm=COLUMN+COLUMN."
        )
    if notes.unreadable and not skip:
        more = "; …" if len(notes.unreadable) > SHOWN_ROWS else ""
        shown = "; ".join(str(row)[:300] for row in notes.unreadable[:SHOWN_ROWS]) + more
        raise EvidenceError(
            f"{path}: {count_of(len(notes.unreadable), 'row')} cannot be read: {shown}. Nothing was imported: fix "
            "the rows, or pass --skip-invalid to continue without them (evidence with skipped rows never promotes)."
        )
    if not (counts.runs or counts.judgments or counts.known_before or notes.aggregates):
        raise EvidenceError(f"{path} holds no result; is it the right one, and is anything finished?")


def _runs_stand(run_ids: Sequence[str]) -> str:
    return f"{quote_names(run_ids)} {'stands' if len(run_ids) == 1 else 'stand'}"
