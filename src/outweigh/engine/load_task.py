"""Loads tasks from folders in Harbor's layout (task.toml, instruction.md, environment/, tests/, solution/).

Which folders a suite's patterns mean, and what is read of each.
"""

import os
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from glob import glob, has_magic
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from outweigh.engine.checks.invalid_checks import refuse_impossible_checks, refuse_impossible_turns
from outweigh.engine.load_environment import BUILD_FILES, load_image, load_stages, stages_identity
from outweigh.engine.task_dependencies import dependencies_identity, load_dependencies
from outweigh.engine.tree_digest import file_sha256, tree_digest
from outweigh.errors import UsageError, quote_value
from outweigh.model.base import SafeName, Seconds
from outweigh.model.parse import parse_rubric
from outweigh.model.rubric import Rubric
from outweigh.model.source_document import SourceDocument
from outweigh.model.task import (
    CHECK_TIMEOUT,
    TASK_FILE,
    CallCase,
    CallCheck,
    Check,
    FolderSource,
    GitSource,
    RewardCheck,
    TarballSource,
    Task,
    TaskSettings,
    TestSuiteCheck,
    WorkspaceSource,
)

_T = TypeVar("_T")


def task_folders(patterns: Sequence[str], folder: Path, source: str) -> list[Path]:
    """Every task folder once, pattern by pattern, by name within a pattern."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        matches = sorted({match for path in _matches(pattern, folder) if (match := _task_folder(path)) is not None})
        if not matches:
            raise UsageError(_nothing_found(pattern, folder, source))
        found.update(dict.fromkeys(matches))
    return list(found)


def _matches(pattern: str, folder: Path) -> list[Path]:
    # Path.glob refuses absolute patterns, and looks into hidden folders.
    found = glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207
    return [Path(os.path.normpath(folder / match)) for match in found]


def _task_folder(path: Path) -> Path | None:
    """The task folder a match stands for; a folder that is half a task is refused, anything else ignored."""
    if path.name == TASK_FILE and path.is_file():
        return path.parent
    if (path / TASK_FILE).is_file():
        return path
    if (path / "instruction.md").is_file():
        raise UsageError(
            f"{path} has an instruction.md but no {TASK_FILE}; add one (it may be empty), or move it away."
        )
    return None


def _nothing_found(pattern: str, folder: Path, source: str) -> str:
    place, missing = _deepest_folder(pattern, folder)
    said = f"{source}: tasks: {pattern!r} matches no task (a folder with a {TASK_FILE})."
    names = [path.name for path in place.iterdir() if path.is_dir()]
    near = get_close_matches(missing, names, n=1) if missing else []
    if near:
        return f"{said} There is no {missing!r} in {place}; did you mean {near[0]!r}?"
    return f"{said} The nearest folder that exists is {place}."


def _deepest_folder(pattern: str, folder: Path) -> tuple[Path, str | None]:
    """The deepest existing folder of the pattern's part without wildcards, and the first missing name."""
    place = folder
    for part in Path(pattern).parts:
        if has_magic(part):
            return place, None
        if not (place / part).is_dir():
            return place, part
        place = Path(os.path.normpath(place / part))
    return place, None


_FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
IMPLICIT_CHECK = "reward"
# The script's first line names its interpreter.
_RUN_SCRIPT = 'exec "$OUTWEIGH_TESTS/test.sh"'


def load_task(folder: Path) -> Task:
    """Read a task. Unknown keys of `task.toml` are Harbor's and ignored; `[metadata.outweigh]` is ours and strict."""
    source = folder / TASK_FILE
    file = SourceDocument(_read(source), str(source))
    with file.locating_errors():
        return _load_task(folder, source, file)


def _load_task(folder: Path, source: Path, file: SourceDocument) -> Task:
    document = file.value
    settings = file.convert(TaskSettings, at=("metadata", "outweigh"))
    instruction = _instruction(folder)
    workspace = _workspace(folder, settings, source)
    checks = tuple(_with_files(check, folder, source) for check in settings.checks)
    checks = checks or _implicit_checks(folder, file)
    refuse_impossible_checks(checks, str(source))
    refuse_impossible_turns(settings.turns, checks, str(source))
    timeout = settings.timeout_seconds or file.convert(_HarborTimeout, at=("agent",)).timeout_sec
    work, checking = load_stages(settings)
    return Task(
        id=_task_name(folder, file),
        instruction=instruction,
        checks=checks,
        family=settings.family,
        expected_steps=tuple(settings.expected_steps),
        goal_actions=tuple(settings.goal_actions),
        workspace=workspace,
        timeout_seconds=timeout,
        tests_folder=_folder(folder / "tests"),
        solution_folder=_folder(folder / "solution"),
        checksum=_checksum(folder, document, instruction, checks, settings, workspace, timeout),
        rubric=_rubric(folder, settings, source),
        reveal_solution=settings.reveal_solution,
        image=load_image(folder, file, has_workspace=settings.workspace is not None),
        work=work,
        checking=checking,
        turns=tuple(settings.turns),
        user=settings.user,
        dependencies=load_dependencies(folder, settings),
    )


def _with_files(check: Check, folder: Path, source: Path) -> Check:
    """A check with what its files in the folder `tests` list; only the engine reads them."""
    where = f"{source}: check {check.name!r}"
    match check:
        case CallCheck(cases_file=str(file)):
            known = 'a list of cases ([{"arguments": [2], "expected": 4}])'
            cases = _read_list(folder / "tests" / file, CallCase, where, known)
            return msgspec.structs.replace(check, cases=[*check.cases, *cases])
        case TestSuiteCheck(must_pass_file=str(file)):
            names = _read_list(folder / "tests" / file, str, where, 'a list of the names of tests (["test_one"])')
            if not names:
                raise UsageError(f"{where}: {folder / 'tests' / file} lists no test; name those that must pass.")
            return msgspec.structs.replace(check, must_pass=[*check.must_pass, *names])
        case _:
            return check


def _read_list(path: Path, kind: type[_T], where: str, known: str) -> list[_T]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[kind])  # type: ignore[valid-type]
    except OSError as fault:
        raise UsageError(f"{where}: {path} cannot be read: {fault.strerror}.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise UsageError(f"{where}: {path} is not {known}: {fault}.") from None


def scored_by_script(task: Task) -> bool:
    """Whether tests/test.sh is the task's one and only check, as it is in Harbor."""
    return len(task.checks) == 1 and isinstance(task.checks[0], RewardCheck) and task.checks[0].run == _RUN_SCRIPT


def _rubric(folder: Path, settings: TaskSettings, source: Path) -> Rubric | None:
    if settings.rubric_file is None:
        return settings.rubric
    path = folder / settings.rubric_file
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UsageError(f"{source}: metadata.outweigh.rubric_file: {path} cannot be read: {fault.strerror}.") from None
    return parse_rubric(content, str(path))


def _checksum(
    folder: Path,
    document: Mapping[str, Any],
    instruction: str,
    checks: tuple[Check, ...],
    settings: TaskSettings,
    workspace: WorkspaceSource | None,
    timeout: float | None,
) -> str:
    """A hash of all that affects a run. Weight and family only affect what a run counts for."""
    identity = {
        "instruction": instruction,
        "checks": [_check_identity(check) for check in checks],
        "expected_steps": settings.expected_steps,
        "goal_actions": settings.goal_actions,
        "workspace": _workspace_identity(workspace),
        "timeout_seconds": timeout,
        "harbor": {table: document.get(table) for table in ("environment", "verifier", "agent")},
        "folders": {name: _digest(folder / name) for name in ("environment", "tests", "solution")},
        **stages_identity(settings),
        **({"turns": settings.turns} if settings.turns else {}),
        **({} if settings.user is None else {"user": settings.user}),
        **dependencies_identity(settings),
    }
    return sha256(msgspec.json.encode(identity, order="sorted")).hexdigest()


def _check_identity(check: Check) -> Any:
    """What a check is, without keys that earlier releases did not know where they are not set."""
    stated = msgspec.to_builtins(check)
    new = {**_NEW_KEYS, **_NEW_KEYS_OF_TYPE.get(stated["type"], {})}
    return {key: value for key, value in stated.items() if key not in new or value != new[key]}


_NEW_KEYS: Mapping[str, object] = {
    "report_format": None,
    "must_pass": [],
    "must_pass_file": None,
    "weight": 1.0,
    "count": None,
}
"""Keys that were added to checks, with their defaults."""

_NEW_KEYS_OF_TYPE: Mapping[str, Mapping[str, object]] = {"file_contains": {"absent": False}}
"""Keys that were added to one kind of check, and that another has had from the start."""


def _workspace_identity(workspace: WorkspaceSource | None) -> list[str]:
    """The workspace's content without its location: a task that was moved is the same task."""
    match workspace:
        case None:
            return ["empty"]
        case FolderSource(path=path):
            return ["folder", tree_digest(Path(path))]
        case TarballSource(path=path):
            return ["tarball", file_sha256(Path(path))]
        case GitSource(repository=repository, commit=commit):
            # A full hash identifies the content; a branch or a tag only does together with its repository.
            return ["git", commit] if _FULL_HASH.fullmatch(commit) else ["git", repository, commit]


def _workspace(folder: Path, settings: TaskSettings, source: Path) -> WorkspaceSource | None:
    match settings.workspace:
        case None:
            return _environment(folder / "environment")
        case FolderSource(path=path):
            return FolderSource(path=_existing(folder / path, (folder / path).is_dir(), "folder", source))
        case TarballSource(path=path):
            return TarballSource(path=_existing(folder / path, (folder / path).is_file(), "archive", source))
        case GitSource(repository=repository, commit=commit):
            local = folder / repository
            return GitSource(repository=str(local.resolve()) if local.exists() else repository, commit=commit)


def _existing(path: Path, there: bool, kind: str, source: Path) -> str:
    if not there:
        raise UsageError(f"{source}: metadata.outweigh.workspace: there is no {kind} {path}.")
    return str(path.resolve())


def _environment(folder: Path) -> WorkspaceSource | None:
    if not folder.is_dir() or not any(entry.name not in BUILD_FILES for entry in folder.iterdir()):
        return None
    return FolderSource(path=str(folder.resolve()), without=sorted(BUILD_FILES))


class _HarborTimeout(msgspec.Struct):
    """The tables [agent] and [verifier] of Harbor, as far as they matter here."""

    timeout_sec: Seconds | None = None


class _HarborName(msgspec.Struct):
    """The table [task] of Harbor, as far as it matters here."""

    name: str | None = None


def _implicit_checks(folder: Path, file: SourceDocument) -> tuple[Check, ...]:
    if not (folder / "tests" / "test.sh").is_file():
        return ()
    timeout = file.convert(_HarborTimeout, at=("verifier",)).timeout_sec or CHECK_TIMEOUT
    return (RewardCheck(name=IMPLICIT_CHECK, run=_RUN_SCRIPT, timeout_seconds=timeout),)


def _task_name(folder: Path, file: SourceDocument) -> str:
    """The name under [task] without its organisation (`org/name`), or the folder's."""
    stated = file.convert(_HarborName, at=("task",)).name
    short = folder.resolve().name if stated is None else stated.rpartition("/")[2]
    try:
        return msgspec.convert(short, SafeName)
    except msgspec.ValidationError:
        raise file.error(
            ("task", "name"),
            f"{quote_value(short)} cannot name a task; a name has 1 to 200 characters, and no backslash or control.",
        ) from None


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except OSError as fault:
        raise UsageError(f"{source} cannot be read: {fault.strerror}.") from None


def _instruction(folder: Path) -> str:
    path = folder / "instruction.md"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{folder} has no instruction.md; write down there what the agent is asked to do.") from None
    except UnicodeDecodeError as fault:
        raise UsageError(f"{path} is not UTF-8 text: {fault}.") from None
    if not text.strip():
        raise UsageError(f"{path} is empty; write down there what the agent is asked to do.")
    return text


def _folder(path: Path) -> str | None:
    return str(path.resolve()) if path.is_dir() else None


def _digest(path: Path) -> str | None:
    return tree_digest(path.resolve()) if path.is_dir() else None
