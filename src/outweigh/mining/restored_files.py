"""What is put back before hidden tests run: whatever an agent made of other tests, their helpers and the settings of
runners does not count, neither for it nor against it.
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from outweigh.mining.candidate import Candidate
from outweigh.mining.changed_files import (
    MANIFESTS_WITH_SETTINGS,
    RUNNER_SETTINGS,
    FileKind,
    classify,
    is_test_data,
    may_set_runner,
)
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.runners.runner import Runner
from outweigh.workspace.revisions import TreeEntry

PYTEST_SETTINGS = "conftest.py"
_PACKAGE = "package.json"
_MOST_HELPERS = 300
_SHADOWS = ("pytest.py", "pytest", "_pytest", "pluggy", "iniconfig", "sitecustomize.py", "usercustomize.py")
"""Modules that Python would take for the runner or execute before it, in a folder from which it imports."""
_IMPORT_FOLDERS = ("", "src/", "lib/")
_PACKAGE_SETTINGS = ("scripts", "jest", "mocha", "ava", "tap", "vitest", "nyc", "c8", "karma")
"""The parts of a package.json that say how tests are run. Its other parts, such as `exports`, may be what is wanted."""
_MERGE = (
    'const fs = require("fs"); const [wanted, found] = process.argv.slice(1);'
    ' const read = (path) => JSON.parse(fs.readFileSync(path, "utf8").replace(/^\\uFEFF/, ""));'
    " const [ours, theirs] = [read(wanted), read(found)];"
    f" for (const key of {json.dumps(_PACKAGE_SETTINGS)})"
    " if (key in ours) theirs[key] = ours[key]; else delete theirs[key];"
    " fs.writeFileSync(found, JSON.stringify(theirs, null, 2));"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenFile:
    """A file that tests need, as it is after the change."""

    content: bytes
    executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFiles:
    """`written` are put back whole, of `packages` only the parts about tests, and `removed` must not be there.

    `beside` are folders with a pattern of names: files there that are not put back are removed.
    """

    written: Mapping[str, HiddenFile] = field(default_factory=dict)
    packages: Mapping[str, HiddenFile] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()


def read_restored_files(
    history: HistoryRepository, candidate: Candidate, runner: Runner, others: Sequence[str]
) -> RestoredFiles:
    """What is put back beside the hidden files of a candidate and the other tests that are run with them.

    A manifest that the change edits is put back as the change has it, because it may say how the hidden tests are run.
    """
    base, fix = history.files(candidate.base), history.files(candidate.fix)
    tests = {*candidate.test_files, *candidate.deleted_tests}
    beside = _beside(candidate, runner)
    kept = {
        path
        for path, entry in base.items()
        if path not in tests
        and (
            (fix.get(path) == entry and (may_set_runner(path) or path in others or _is_among(path, beside)))
            or path.rpartition("/")[2] == PYTEST_SETTINGS
        )
    }
    kept.update(_helpers(base, fix, candidate))
    edited = [path for path, entry in fix.items() if _is_manifest(path) and base.get(path) != entry]
    packages = [path for path in edited if _name(path) == _PACKAGE]
    manifests = [path for path in edited if path not in packages]
    given_up = [path for path in base if _is_manifest(path) and path not in fix and _name(path) != _PACKAGE]
    return RestoredFiles(
        written=read_files(history, candidate.base, sorted(kept)) | read_files(history, candidate.fix, manifests),
        packages=read_files(history, candidate.fix, packages),
        removed=tuple(sorted({*given_up, *_foreign(candidate, base.keys() | fix.keys())})),
        beside=beside,
    )


def read_files(history: HistoryRepository, commit: str, paths: Sequence[str]) -> dict[str, HiddenFile]:
    """Files of a commit. Links and submodules among them are left out."""
    entries = history.files(commit)
    wanted = {path: entries[path] for path in paths if path in entries and entries[path].is_file}
    contents = history.blobs(entry.object_name for entry in wanted.values())
    return {
        path: HiddenFile(content=contents[entry.object_name], executable=entry.mode == "100755")
        for path, entry in sorted(wanted.items())
    }


def placing_lines(hidden: Mapping[str, HiddenFile], deleted: Sequence[str], restored: RestoredFiles) -> Iterator[str]:
    """Lines of shell that put files from `$OUTWEIGH_TESTS` into the workspace and remove what must not be there."""
    # Runners execute or obey every one of them, so that one which nobody else wrote could report what it likes.
    names = " -o ".join(f"-name {shlex.quote(name)}" for name in RUNNER_SETTINGS)
    yield f"find . \\( {names} \\) -not -path './.git/*' -not -path '*/node_modules/*' -exec rm -f {{}} +"
    for folder, pattern in restored.beside:
        place = shlex.quote(f"./{folder}")
        yield f"[ ! -d {place} ] || find {place} -maxdepth 1 -name {shlex.quote(pattern)} -exec rm -f {{}} +"
    if brought := (*hidden, *restored.written):
        yield f"for path in {_words(brought)}; do"
        yield '    rm -rf -- "$path"'
        yield '    mkdir -p -- "$(dirname -- "$path")"'
        yield '    cp -- "$OUTWEIGH_TESTS/files/$path" "$path"'
        yield "done"
    if gone := (*deleted, *restored.removed):
        yield f"rm -rf -- {_words(gone)}"
    if restored.packages:
        yield f"for path in {_words(tuple(restored.packages))}; do"
        yield '    [ -e "$path" ] || { mkdir -p -- "$(dirname -- "$path")"; echo "{}" > "$path"; }'
        merge = f'node -e {shlex.quote(_MERGE)} "$OUTWEIGH_TESTS/packages/$path" "$path"'
        yield f"    ! command -v node > /dev/null || {merge}"
        yield "done"


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_manifest(path: str) -> bool:
    return _name(path) in MANIFESTS_WITH_SETTINGS


def _beside(candidate: Candidate, runner: Runner) -> tuple[tuple[str, str], ...]:
    """The folders of hidden tests that are compiled together with all tests there, which may not define names twice."""
    pattern = runner.compiled_beside
    if pattern is None:
        return ()
    folders = {str(PurePosixPath(path).parent) for path in candidate.test_files if PurePosixPath(path).match(pattern)}
    return tuple((folder, pattern) for folder in sorted(folders))


def _is_among(path: str, beside: Sequence[tuple[str, str]]) -> bool:
    place = PurePosixPath(path)
    return any(str(place.parent) == folder and place.match(pattern) for folder, pattern in beside)


def _helpers(base: Mapping[str, TreeEntry], fix: Mapping[str, TreeEntry], candidate: Candidate) -> list[str]:
    """Code that tests share and the change leaves alone; of very much the nearest to the hidden tests."""
    tests = {*candidate.test_files, *candidate.deleted_tests}
    found = [
        path
        for path, entry in base.items()
        if path not in tests
        and fix.get(path) == entry
        and classify(path) is FileKind.TEST_SUPPORT
        and not is_test_data(path)
    ]
    folders = {folder for path in candidate.test_files for folder in PurePosixPath(path).parents}
    found.sort(key=lambda path: (-sum(folder in folders for folder in PurePosixPath(path).parents), path))
    return found[:_MOST_HELPERS]


def _foreign(candidate: Candidate, known: set[str]) -> Iterator[str]:
    """Places where runners look for settings or for themselves, and no side of the change has anything."""
    folders = {folder for path in candidate.test_files for folder in PurePosixPath(path).parents}
    yield from {str(folder / name) for folder in folders for name in MANIFESTS_WITH_SETTINGS} - known
    for path in (f"{folder}{name}" for folder in _IMPORT_FOLDERS for name in _SHADOWS):
        if not any(other == path or other.startswith(f"{path}/") for other in known):
            yield path


def _words(paths: Sequence[str]) -> str:
    # A path that starts with a dash would be read as an option.
    return " ".join(shlex.quote(f"./{path}") for path in paths)
