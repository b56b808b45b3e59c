"""Writes the folder of a mined task: its instruction, the hidden tests, and the change as its solution."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from outweigh.engine.load_task import load_task
from outweigh.mining.candidate import Candidate
from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.fix_text import FixText, is_changelog
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.restored_files import HiddenFile, RestoredFiles, placing_lines, read_files
from outweigh.mining.workspace_tree import create_repository, is_leftover, keep_workspace, write_workspace
from outweigh.model.task import REPORTS_PREFIX, TASK_FILE, Task
from outweigh.model.toml_writer import write_toml
from outweigh.workspace.trash import remove_tree

TASKS_FOLDER = "tasks"
WORKSPACES = "workspaces.git"
CHECK_NAME = "tests"
MUST_PASS_FILE = "must_pass.json"
RUN_SCRIPT = 'sh "$OUTWEIGH_TESTS/run.sh"'
_SLUG_LENGTH = 48
_SOLVE_SCRIPT = """\
#!/bin/sh
set -eu
exec git -c safe.directory='*' apply --whitespace=nowarn "$OUTWEIGH_SOLUTION/fix.patch"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedDraft:
    """All of a task but its instruction. `command` runs the tests; `report` is where it writes its report, if it does.

    `others` are test files besides the hidden ones that the command runs, too. `restored` are those and the files that
    say how tests are run: what an agent makes of them does not count.
    `must_pass` are the names that must be reported as passed, without them the exit code decides. `check_seconds` is
    the time limit of the check, `test_seconds` what it took after the change.
    """

    candidate: Candidate
    fix_text: FixText
    hidden: Mapping[str, HiddenFile]
    deleted: tuple[str, ...]
    patch: bytes
    command: str
    report: str | None
    report_format: str | None
    dependencies: InstalledDependencies | None
    others: tuple[str, ...] = ()
    restored: RestoredFiles = field(default_factory=RestoredFiles)
    must_pass: tuple[str, ...] = ()
    fail_to_pass: int = 0
    check_seconds: float
    test_seconds: float | None = None

    @property
    def name(self) -> str:
        """The name of the task: the commit as people name it, and the first words of its message."""
        subject = next(iter(self.candidate.message.strip().splitlines()), "")
        words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\(?#\d+\)?", "", subject.lower())).strip("-")
        if len(words) > _SLUG_LENGTH:
            words = words[: _SLUG_LENGTH + 1].rpartition("-")[0] or words[:_SLUG_LENGTH]
        return f"{self.candidate.short}-{words}".strip("-")


def read_hidden_files(history: HistoryRepository, candidate: Candidate) -> dict[str, HiddenFile]:
    """The test files of a change. Links and submodules among them are left out."""
    return read_files(history, candidate.fix, candidate.test_files)


def read_solution(history: HistoryRepository, candidate: Candidate) -> bytes:
    """The change without its tests, changelog entries and files that no workspace has."""
    changed = history.read("diff", "--name-only", "-z", "--no-renames", candidate.base, candidate.fix)
    tests = {*candidate.test_files, *candidate.deleted_tests}
    paths = [
        path
        for path in os.fsdecode(changed).split("\0")
        if path and path not in tests and not is_leftover(path) and not is_changelog(path)
    ]
    return history.patch(candidate.base, candidate.fix, [f":(literal){path}" for path in paths]) if paths else b""


def write_task(
    history: HistoryRepository, draft: MinedDraft, suite: Path, instruction: str, family: str | None = None
) -> Task:
    """Write the task and its workspace into a suite, and load it as every other task; an earlier one is replaced."""
    repository = suite / WORKSPACES
    create_repository(repository, history)
    commit = write_workspace(history, draft.candidate, draft.fix_text, repository)
    keep_workspace(repository, commit, draft.candidate.short)
    folder = suite / TASKS_FOLDER / draft.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(mkdtemp(prefix=".writing-", dir=folder.parent))
    try:
        write_task_folder(building, draft, commit, repository, instruction, family)
        load_task(building)
        if folder.exists():
            remove_tree(folder)
        building.chmod(0o755)
        building.rename(folder)
    finally:
        if building.exists():
            remove_tree(building)
    return load_task(folder)


def write_task_folder(
    folder: Path,
    draft: MinedDraft,
    commit: str,
    repository: Path,
    instruction: str,
    family: str | None = None,
    *,
    has_setup: bool = True,
) -> None:
    """Write the files of a task into a folder that exists. Without a setup, only the script of its tests connects the
    workspace with its dependencies.
    """
    (folder / "instruction.md").write_text(f"{instruction.strip()}\n", encoding="utf-8")
    settings = _settings(folder, draft, commit, repository, family)
    if not has_setup:
        settings.pop("setup", None)
    document = {"metadata": {**_metadata(draft), "outweigh": settings}}
    (folder / TASK_FILE).write_text(write_toml(document), encoding="utf-8")
    for place, files in (("files", {**draft.restored.written, **draft.hidden}), ("packages", draft.restored.packages)):
        for path, file in files.items():
            _write_file(folder / "tests" / place / path, file.content, executable=file.executable)
    _write_file(folder / "tests" / "run.sh", _run_script(draft).encode(), executable=True)
    if draft.must_pass:
        names = json.dumps(sorted(draft.must_pass), ensure_ascii=False, indent=1)
        _write_file(folder / "tests" / MUST_PASS_FILE, names.encode() + b"\n")
    _write_file(folder / "solution" / "solve.sh", _SOLVE_SCRIPT.encode(), executable=True)
    _write_file(folder / "solution" / "fix.patch", draft.patch)


def _metadata(draft: MinedDraft) -> dict[str, Any]:
    """What people and other tools may want to know: where the task comes from, and what hints at its difficulty."""
    candidate = draft.candidate
    hints = {
        "source_files": len(candidate.source_files),
        "source_lines": candidate.source_lines,
        "failing_tests": draft.fail_to_pass,
        **({} if draft.test_seconds is None else {"test_seconds": round(draft.test_seconds, 2)}),
    }
    return {"commit": candidate.fix, "date": candidate.date.isoformat(), "hints": hints}


def _settings(folder: Path, draft: MinedDraft, commit: str, repository: Path, family: str | None) -> dict[str, Any]:
    dependencies = draft.dependencies
    settings: dict[str, Any] = {} if family is None else {"family": family}
    if dependencies is not None and dependencies.setup:
        settings["setup"] = list(dependencies.setup)
    settings["checks"] = [_check(draft)]
    settings["workspace"] = {"type": "git", "repository": _relative(repository, folder), "commit": commit}
    if dependencies is not None:
        if dependencies.variables:
            settings["environment"] = dict(dependencies.variables)
        hidden = {"hidden": list(dependencies.hidden)} if dependencies.hidden else {}
        settings["dependencies"] = {"folder": _relative(dependencies.folder, folder), **hidden}
    return settings


def _relative(path: Path, folder: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


def _check(draft: MinedDraft) -> dict[str, Any]:
    common = {"name": CHECK_NAME, "run": RUN_SCRIPT, "timeout_seconds": float(ceil(draft.check_seconds))}
    if draft.report is None or not draft.must_pass:
        return {"type": "command", **common}
    return {
        "type": "tests",
        **common,
        "report": f"{REPORTS_PREFIX}{draft.report}",
        "report_format": draft.report_format,
        "must_pass_file": MUST_PASS_FILE,
    }


def _run_script(draft: MinedDraft) -> str:
    """Files of the workspace at the paths of hidden ones are replaced, whatever the agent made of them."""
    lines = ["#!/bin/sh", "# Puts the hidden tests into the workspace, and runs them.", "set -eu"]
    lines += placing_lines(draft.hidden, draft.deleted, draft.restored)
    lines += connecting_lines(draft.dependencies)
    return "\n".join((*lines, f"exec sh -c {shlex.quote(draft.command)}", ""))


def connecting_lines(dependencies: InstalledDependencies | None) -> list[str]:
    """Lines of shell that connect a workspace with its dependencies."""
    return [f"sh -c {shlex.quote(command)}" for command in (() if dependencies is None else dependencies.setup)]


def _write_file(path: Path, content: bytes, *, executable: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755 if executable else 0o644)
