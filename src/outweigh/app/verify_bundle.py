"""Verify a bundle: its bytes, its files, its records, and every table and page computed again from the records.

The hashes come first: where a file is not what the manifest lists, nothing is computed from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from outweigh.app.bundle_study import versions_now, without_root
from outweigh.app.inherited_choices import check_choices
from outweigh.app.study_tables import Study, StudyTable, TableFiles, study_tables
from outweigh.errors import EvidenceError, OutweighError
from outweigh.model.choice import ChoiceRecord
from outweigh.model.codec import InvalidLine
from outweigh.model.run_record import RunRecord
from outweigh.report.table_changes import ValueChange, table_changes
from outweigh.report.verification_page import Verification, VerifiedState, VerifiedTable
from outweigh.store.bundle import MANIFEST_NAME, PRICES_NAME, Bundle, DerivedFile, open_bundle
from outweigh.store.bundled_stores import STORES_FOLDER
from outweigh.store.store import Store
from outweigh.store.store_files import files_to_keep
from outweigh.store.store_set import StoreSet

_NO_SUCH_TABLE = "this outweigh makes no such table"
_NOT_PACKED_VERSIONS = frozenset({"python", "zlib"})
"""Versions that no number depends on."""


def verify_bundle(path: Path) -> Verification:
    """Find out what of a bundle is the same, differs, or cannot be computed again."""
    with open_bundle(path) as bundle, TemporaryDirectory(prefix="outweigh-verify-", ignore_cleanup_errors=True) as root:
        faults = [*bundle.archive_faults()]
        if changed := [*bundle.content_faults()]:
            why = "files are not what the manifest lists, so nothing is computed from them"
            return _verification(bundle, _Checked(faults=[*faults, *changed]), (), why)
        bundle.unpack(Path(root), "")
        manifest = bundle.manifest
        study = Study(root=Path(root), names=manifest.stores, baseline=manifest.baseline)
        faults += _stray_files(bundle, Path(root))
        checked = _check_records(study, artifacts=manifest.artifacts)
        if checked.faults:
            why = "records cannot be relied on, so nothing is computed from them"
            return _verification(bundle, checked.after(faults), (), why)
        return _verification(bundle, checked.after(faults), tuple(_verify_tables(study, bundle)), None)


@dataclass(slots=True)
class _Checked:
    """What was found in the records of all stores."""

    records: int = 0
    choices: int = 0
    faults: list[str] = field(default_factory=list)

    def after(self, faults: list[str]) -> "_Checked":
        """The same with other faults before its own."""
        return _Checked(records=self.records, choices=self.choices, faults=[*faults, *self.faults])


def _verification(
    bundle: Bundle, checked: _Checked, tables: tuple[VerifiedTable, ...], unchecked: str | None
) -> Verification:
    manifest = bundle.manifest
    return Verification(
        bundle=str(bundle.path),
        sha256=_digest(bundle.path),
        versions=manifest.versions,
        stores=manifest.stores,
        files=len(manifest.files),
        records=checked.records,
        choices=checked.choices,
        faults=tuple(checked.faults),
        tables=tables,
        unchecked=unchecked,
    )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        digest = sha256()
        while chunk := stream.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def _stray_files(bundle: Bundle, root: Path) -> Iterator[str]:
    """Files that are no part of a store and of no table: nothing vouches for what they say."""
    manifest = bundle.manifest
    tables = [table.path for table in manifest.derived if table.refused is None]
    kept = {
        file.relative_to(root).as_posix()
        for name in manifest.stores
        for file in files_to_keep(root / STORES_FOLDER / name, artifacts=True)
    }
    for file in manifest.files:
        derived = any(file.path == path or (path.endswith("/") and file.path.startswith(path)) for path in tables)
        if not (derived or file.path in kept or file.path == PRICES_NAME):
            yield f"{file.path} belongs to no store and to no table"


def _check_records(study: Study, *, artifacts: bool) -> _Checked:
    """Every line is decoded and its checksum compared, rules must be those of the runs, artifacts what runs name.

    Choices must follow from the records that they rest on.
    """
    checked = _Checked()
    for store in study.stores(study.names).stores:
        stream = StoreSet([store]).read(skip_invalid=True)
        try:
            for located in stream:
                checked.records += 1
                checked.choices += isinstance(located.record, ChoiceRecord)
                if artifacts and isinstance(located.record, RunRecord):
                    checked.faults += _artifact_faults(store, located.record)
            stream.check_rules()
            check_choices(store)
        except OutweighError as fault:
            checked.faults.append(without_root(str(fault), study.root))
        unread = {*store.unread_rows()}
        checked.faults += [_describe_line(line) for line in stream.skipped if line not in unread]
    return checked


def _describe_line(line: InvalidLine) -> str:
    return f"{line}."


def _artifact_faults(store: Store, run: RunRecord) -> Iterator[str]:
    for name, digest in run.artifacts.items():
        try:
            store.artifacts.read(digest)
        except EvidenceError:
            yield f"{store.name}: {name} of {run.run_id} is missing, or not what the run names."


def _verify_tables(study: Study, bundle: Bundle) -> Iterator[VerifiedTable]:
    """Every table that the bundle lists, and every table that is made of such stores and is not in it."""
    other = _other_versions(bundle.manifest.versions)
    listed = {table.path: table for table in bundle.manifest.derived}
    made = {table.path: table for table in study_tables(study)}
    for path, derived in listed.items():
        table = made.get(path)
        if table is None:
            yield VerifiedTable(
                path=path, command=derived.command, state=VerifiedState.CANNOT, reason=other or _NO_SUCH_TABLE
            )
        else:
            yield _verify_table(study, derived, table, other)
    for path, table in made.items():
        if path not in listed:
            missing = ValueChange(where=MANIFEST_NAME, old="nothing", new="a table of these stores")
            yield _judge_changes(path, table.command, (missing,), other)


def _verify_table(study: Study, derived: DerivedFile, table: StudyTable, other: str | None) -> VerifiedTable:
    changes: list[ValueChange] = []
    if derived.command != table.command:
        changes.append(ValueChange(where="the command", old=derived.command, new=table.command))
    old, refused = _read_table(study.root, table.path), None
    new: TableFiles = {}
    try:
        new = table.make()
    except OutweighError as fault:
        refused = without_root(str(fault), study.root)
    if derived.refused != refused:
        was, is_now = (said or "it is made" for said in (derived.refused, refused))
        changes.append(ValueChange(where="why it is not made", old=was, new=is_now))
    for path in dict.fromkeys((*old, *new)):
        found = table_changes(path, old.get(path, b""), new.get(path, b""))
        within = path.removeprefix(table.path)
        changes += [replace(each, where=f"{within}: {each.where}") if within else each for each in found]
    return replace(_judge_changes(table.path, table.command, tuple(changes), other), refused=refused)


def _read_table(root: Path, path: str) -> TableFiles:
    """The files of a table as they are in the bundle."""
    if not path.endswith("/"):
        return {path: (root / path).read_bytes()} if (root / path).is_file() else {}
    files = sorted(file for file in (root / path).rglob("*") if file.is_file())
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}


def _judge_changes(path: str, command: str, changes: tuple[ValueChange, ...], other: str | None) -> VerifiedTable:
    """A difference that another version may have made is none that the bundle can be blamed for."""
    if not changes:
        return VerifiedTable(path=path, command=command, state=VerifiedState.SAME)
    if other is not None:
        return VerifiedTable(path=path, command=command, state=VerifiedState.CANNOT, changes=changes, reason=other)
    return VerifiedTable(path=path, command=command, state=VerifiedState.DIFFERS, changes=changes)


def _other_versions(made_with: Mapping[str, str]) -> str | None:
    """How the programs that made the bundle differ from those here; None where they do not."""
    now = {name: version for name, version in versions_now() if name not in _NOT_PACKED_VERSIONS}
    before = {name: version for name, version in made_with.items() if name not in _NOT_PACKED_VERSIONS}
    names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    if not names:
        return None
    told = [f"{name} {before.get(name, 'unknown')} (here {now.get(name, 'unknown')})" for name in names]
    return f"it was made with {', '.join(told)}; verify it with the same versions"
