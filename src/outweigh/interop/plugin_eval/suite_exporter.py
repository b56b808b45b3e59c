"""Exporter of a suite's tasks as the cases of a plugin's evals, where checks have a counterpart among its graders."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.errors import quote_names
from outweigh.interop.plugin_eval.case_files import CASE_FILE, MOST_RUNS, MOST_SECONDS, MOST_TURNS
from outweigh.model.rubric import BinaryCriterion
from outweigh.model.task import AnswerContainsCheck, Check, FileContainsCheck, FileExistsCheck, Task
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallPattern,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.ports.suites import DraftFile

SCAFFOLD_FILE = "scaffold.sh"
ALLOWED_TOOLS = ("Read", "Glob", "Grep", "Skill", "Write", "Edit", "Bash")
"""What cases allow; the last three must be granted by whoever evaluates them, too."""

_CASE_VERSION = "1.0"
_INLINE_FLAGS = re.compile(r"\A\(\?([aiLmsux]+)\)")
_ONLY_IN_PYTHON = re.compile(r"\\[AZ]|\(\?P[>=]|\(\?#|\(\?\(|\(\?[aiLmsux-]+:")
_FILES = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseExport:
    """A task as a case: its files by their paths in the case's folder, and what could not be carried over."""

    files: dict[str, DraftFile]
    notes: tuple[str, ...]


def export_case(
    task: Task, workspace: Mapping[str, DraftFile], repeats: int, turns: int | None = None
) -> CaseExport | str:
    """The case of a task; the reason where nothing would be left to grade it by."""
    notes: list[str] = []
    graders = list(_graders(task, notes))
    if task.has_several_turns:
        return "its user says more than the instruction"
    if not any(grader.get("arm") != "with-only" for grader in graders):
        checks = quote_names([check.name for check in task.checks]) if task.checks else "no check"
        return f"no grader can stand for what it is judged by ({checks})"
    if task.workspace is not None and not workspace:
        notes.append("its workspace comes from elsewhere; write a scaffold.sh that fetches it")
    execution: dict[str, Any] = {"prompt": task.instruction.strip(), "allowed_tools": list(ALLOWED_TOOLS)}
    if turns is not None:
        execution["max_turns"] = min(turns, MOST_TURNS)
    if task.timeout_seconds is not None:
        execution["timeout_seconds"] = min(max(1, round(task.timeout_seconds)), MOST_SECONDS)
    known = {name: value for name, value in task.work.environment.items() if name.startswith("EVAL_")}
    if known:
        execution["env"] = known
    if known != dict(task.work.environment):
        notes.append("variables must begin with EVAL_ there, so the others of its environment were left out")
    if task.work.services:
        notes.append("its services were left out")
    case: dict[str, Any] = {"schema_version": _CASE_VERSION, "name": task.id, "runs": min(repeats, MOST_RUNS)}
    files = dict(_scaffold(task, workspace))
    if files:
        case["context"] = {"scaffold_script": SCAFFOLD_FILE}
    document = msgspec.json.format(msgspec.json.encode({**case, "execution": execution, "graders": graders}), indent=2)
    return CaseExport(files={CASE_FILE: DraftFile(content=document + b"\n"), **files}, notes=tuple(notes))


def _graders(task: Task, notes: list[str]) -> Iterator[dict[str, Any]]:
    for check in task.checks:
        grader = _grader(check)
        if grader is None:
            notes.append(f"the check {check.name!r} has no counterpart among graders")
        else:
            yield grader
    for criterion in () if task.rubric is None else task.rubric.criteria:
        if isinstance(criterion, BinaryCriterion) and criterion.weight:
            words, weight = criterion.description, criterion.weight
            yield {"name": criterion.name, "type": "llm", "criteria": words, "weight": weight}
        else:
            notes.append(f"the criterion {criterion.name!r} is neither met nor missed, so no grader can ask it")


def _scaffold(task: Task, workspace: Mapping[str, DraftFile]) -> Iterator[tuple[str, DraftFile]]:
    """A script that copies the workspace and does what is done before the agent starts."""
    commands = [command.run for command in task.work.setup]
    if not workspace and not commands:
        return
    lines = ["set -e"]
    if workspace:
        lines.append(f'cp -R "$(dirname "$0")/{_FILES}/." .')
    lines += [command if isinstance(command, str) else " ".join(map(_quoted, command)) for command in commands]
    yield SCAFFOLD_FILE, DraftFile(content=("\n".join(lines) + "\n").encode(), executable=True)
    yield from ((f"{_FILES}/{path}", file) for path, file in workspace.items())


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _grader(check: Check) -> dict[str, Any] | None:
    found = _kind_of_grader(check)
    if found is None:
        return None
    apart = {} if check.weight else {"arm": "with-only"}
    if isinstance(check, ToolCallsCheck) and check.tool == "Skill" and check.weight:
        apart = {"arm": "both"}
    return {"name": check.name, **found, "weight": check.weight or 1.0, **apart}


def _kind_of_grader(check: Check) -> dict[str, Any] | None:
    """A grader of the same meaning, without what all graders have; None where there is none."""
    found: dict[str, Any] | None = None
    match check:
        case AnswerContainsCheck():
            found = _text_grader(check, "last_message")
        case TranscriptContainsCheck():
            found = _text_grader(check, "trace")
        case FileContainsCheck(path=path):
            found = _text_grader(check, {"source": "file", "path": path})
        case CreatedFilesCheck(glob=None):
            found = _text_grader(check, "files")
        case CreatedFilesCheck(glob=glob, count=None, regex=None):
            found = {"type": "file_exists", "path": glob, "exists": not check.absent}
        case FileExistsCheck(path=path):
            found = {"type": "file_exists", "path": path}
        case ToolCallsCheck() if (pattern := _call_pattern(check)) is not None:
            limits = {"min": check.at_least} | ({} if check.at_most is None else {"max": check.at_most})
            found = {"type": "tool_used", **pattern, **limits}
        case ToolOrderCheck(first=first, then=then):
            before, after = _call_pattern(first), _call_pattern(then)
            if before is not None and after is not None:
                found = {"type": "tool_order", "before": before, "after": after}
    return found


def _text_grader(
    check: AnswerContainsCheck | TranscriptContainsCheck | FileContainsCheck | CreatedFilesCheck, target: object
) -> dict[str, Any] | None:
    text = getattr(check, "text", None)
    if (text is None) == (check.regex is None):
        return None
    if check.regex is None:
        pattern, flags = re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text or ""), ""
    else:
        read = javascript_regex(check.regex)
        if read is None:
            return None
        pattern, flags = read
    match = f"count:{check.count}" if check.count is not None else "not_contains" if check.absent else "contains"
    return {"type": "regex", "target": target, "pattern": pattern, "flags": flags, "match": match}


def _call_pattern(check: ToolCallsCheck | ToolCallPattern) -> dict[str, Any] | None:
    if any(sign in check.tool for sign in "*?["):
        return None
    if check.input_regex is None:
        return {"tool": check.tool}
    read = javascript_regex(check.input_regex)
    return None if read is None or read[1] else {"tool": check.tool, "input_match": read[0]}


def javascript_regex(pattern: str) -> tuple[str, str] | None:
    """A regular expression of Python as JavaScript has it, with its flags; None where it has no such form."""
    found = _INLINE_FLAGS.match(pattern)
    letters = set("" if found is None else found[1])
    body = pattern if found is None else pattern[found.end() :]
    if letters - set("ims") or _ONLY_IN_PYTHON.search(body):
        return None
    return body.replace("(?P<", "(?<"), "".join(sorted(letters))
