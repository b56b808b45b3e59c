"""Bundle a study: copy its stores, make every table of them, refuse secrets, and pack all of it into one archive."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.app.study_tables import TOGETHER, Study, study_tables
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.model.codec import VERSIONS
from outweigh.model.redact import find_keys, secret_values
from outweigh.prices import GenaiPrices
from outweigh.store.bundle import (
    PRICES_NAME,
    SCHEMA_NAME,
    SCHEMA_VERSION,
    BundleManifest,
    DerivedFile,
    describe_files,
    pack_bundle,
    program_versions,
    refuse_oversize,
)
from outweigh.store.bundled_stores import BUNDLE_SUFFIX, STORES_FOLDER
from outweigh.store.durable_files import write_atomic
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.run_artifacts import safe_file_name
from outweigh.store.store import Store
from outweigh.store.store_files import files_to_keep
from outweigh.store.store_lock import is_engine_running
from outweigh.store.store_set import StoreSet

_SHOWN_SECRETS = 5
_CHUNK_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRequest:
    """The stores, the file to write, and what the tables are made with.

    `environment` has the values that must not be in a bundle.
    """

    stores: StoreSet
    target: Path
    prices: str | None = None
    baseline: str | None = None
    artifacts: bool = True
    environment: Mapping[str, str]


def bundle_study(request: BundleRequest) -> BundleManifest:
    """Write the bundle, whole or not at all."""
    if request.target.suffix != BUNDLE_SUFFIX:
        raise UsageError(f"-o {request.target}: the name must end in {BUNDLE_SUFFIX}, as in study.outweigh.zip.")
    with TemporaryDirectory(prefix="outweigh-bundle-", ignore_cleanup_errors=True) as scratch:
        root, packed = Path(scratch) / "root", Path(scratch) / "packed.zip"
        names = tuple(_copy_stores(request, root / STORES_FOLDER))
        if request.prices is not None:
            _copy_prices(request.prices, root / PRICES_NAME)
        _refuse_secrets(root, request)
        derived = tuple(_derive(Study(root=root, names=names, baseline=request.baseline)))
        manifest = BundleManifest(
            schema=f"{SCHEMA_NAME}/{SCHEMA_VERSION}",
            versions=dict(versions_now()),
            stores=names,
            artifacts=request.artifacts,
            baseline=request.baseline,
            derived=derived,
            files=describe_files(root),
        )
        pack_bundle(root, manifest, packed)
        with packed.open("rb") as stream:
            write_atomic(request.target, iter(lambda: stream.read(_CHUNK_BYTES), b""))
    return manifest


def versions_now() -> Iterator[tuple[str, str]]:
    """The versions of everything that the tables of a bundle depend on."""
    yield from program_versions()
    prices = GenaiPrices()
    yield "prices", prices.name if prices.unavailable is None else "not installed"
    for kind, version in VERSIONS.items():
        yield kind, str(version)


def _copy_stores(request: BundleRequest, place: Path) -> Iterator[str]:
    """Copy the stores, unless they are too large for a bundle."""
    stores = dict(_named_stores(request))
    targets = {place / name / relative: file for name, files in stores.items() for relative, file in files.items()}
    refuse_oversize({target.relative_to(place.parent).as_posix(): _size(file) for target, file in targets.items()})
    for target, file in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(file, target)
        except OSError as fault:
            raise EvidenceError(f"{file} cannot be read: {fault.strerror}.") from fault
    yield from stores


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as fault:
        raise EvidenceError(f"{file} cannot be read: {fault.strerror}.") from fault


def _named_stores(request: BundleRequest) -> Iterator[tuple[str, dict[str, Path]]]:
    """The files of every store, which is named after its suite: the name of its folder would differ from place to
    place.
    """
    taken = {TOGETHER}
    for store in dict.fromkeys(request.stores.stores):
        files = _files_of(store, artifacts=request.artifacts)
        suite = "runs" if store.experiment is None else safe_file_name(store.experiment.suite)
        numbered = (suite if number == 1 else f"{suite}-{number}" for number in range(1, len(taken) + 2))
        name = next(name for name in numbered if name not in taken)
        taken.add(name)
        yield name, files


def _files_of(store: Store, *, artifacts: bool) -> dict[str, Path]:
    """The files of a store by their names in the bundle; a single file of records is a store of one file."""
    store.require()
    if store.folder is not None:
        if is_engine_running(store.folder):
            raise UsageError(f"{store.name} is being written to; bundle it when its run has ended.")
        kept = files_to_keep(store.folder, artifacts=artifacts)
        return {file.relative_to(store.folder).as_posix(): file for file in kept}
    if store.path is None or store.path.suffix != RECORDS_SUFFIX:
        raise UsageError(
            f"{store.name} is no store: a bundle takes stores and {RECORDS_SUFFIX} files of records. Import it first "
            "with `outweigh import`."
        )
    return {f"runs{RECORDS_SUFFIX}": store.path}


def _copy_prices(source: str, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
    except OSError as fault:
        raise UsageError(f"--prices {source} cannot be read: {fault.strerror}.") from fault


def _derive(study: Study) -> Iterator[DerivedFile]:
    """Make every table. What a command refuses is no fault of the bundle, unless the records cannot be read."""
    for store in study.stores(study.names).stores:
        for _ in StoreSet([store]).read(skip_invalid=False):
            pass
    for table in study_tables(study):
        refused = None
        try:
            files = table.make()
        except OutweighError as fault:
            refused = without_root(str(fault), study.root)
        else:
            for path, content in files.items():
                (study.root / path).parent.mkdir(parents=True, exist_ok=True)
                (study.root / path).write_bytes(content)
        yield DerivedFile(path=table.path, stores=table.stores, command=table.command, refused=refused)


def without_root(text: str, root: Path) -> str:
    """A message without the folder that the bundle was unpacked into."""
    return text.replace(f"{root}{os.sep}", "")


def _refuse_secrets(root: Path, request: BundleRequest) -> None:
    """A bundle is for other people: nothing leaves that looks like a key, or is one of this user's.

    Tables and pages are made of the files that are searched, and have no text of their own.
    """
    values = secret_values(request.environment, is_path=_is_existing_path)
    files = sorted(file for file in root.rglob("*") if file.is_file())
    found = [place for file in files for place in _secrets_of(file, file.relative_to(root).as_posix(), values)]
    if not found:
        return
    more = f", and {len(found) - _SHOWN_SECRETS} more" if len(found) > _SHOWN_SECRETS else ""
    raise EvidenceError(
        f"nothing was written, because secrets would be in the bundle: {'; '.join(found[:_SHOWN_SECRETS])}{more}. "
        f"{_leave_out_hint(found, artifacts=request.artifacts)}"
    )


def _is_existing_path(value: str) -> bool:
    try:
        return Path(value).is_absolute() and Path(value).exists()
    except (OSError, ValueError):  # the system refuses the path, for example because it is too long
        return False


def _leave_out_hint(found: Sequence[str], *, artifacts: bool) -> str:
    if artifacts and all("/artifacts/" in place for place in found):
        return "Revoke them, and add --without-artifacts to leave out transcripts and diffs."
    return "Revoke them, and remove the runs that show them from a copy of the store."


def _secrets_of(file: Path, name: str, values: Mapping[str, str]) -> Iterator[str]:
    """Where a file has a secret, and of which kind; never the secret itself."""
    content = file.read_bytes()
    for kind, start in find_keys(content, values):
        line = content.count(b"\n", 0, start) + 1
        yield f"{name}:{line} ({kind})"
