"""Graders of `claude plugin eval` as checks, and as criteria for judges where a model was asked."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from outweigh.errors import UsageError
from outweigh.interop.plugin_eval.case_files import EvalCase, file_of_case
from outweigh.interop.suite_drafting import make_unique, slug
from outweigh.interop.suite_files import decode_text, read_bytes, workspace_path
from outweigh.model.json_text import try_decode_json
from outweigh.model.rubric import BinaryCriterion, Criterion, Rubric
from outweigh.model.task import AnswerContainsCheck, Check, FileContainsCheck
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallPattern,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_str

StructT = TypeVar("StructT", bound=msgspec.Struct)
_JUDGED = ("llm", "baseline")
_PYTHON_FLAGS = {"i": "i", "m": "m", "s": "s"}
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")
_LONGEST_TEXT = 15_000
_LONGEST_REFERENCE = 8_000
_FOCUS = {
    "last_message": "the agent's last message",
    "trace": "the whole transcript",
    "files": "the list of files that the run created",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseGrading:
    """The graders of a case: checks, a rubric, and notes on what could not be converted."""

    checks: list[Check]
    rubric: Rubric | None
    notes: tuple[str, ...]


def read_graders(case: EvalCase) -> CaseGrading:
    """Convert every grader. One that is for the plugin alone is recorded and not scored, unless all of them are."""
    notes: list[str] = []
    checks: list[Check] = []
    criteria: list[Criterion] = []
    all_apart = all(map(is_with_only, case.graders))
    names = make_unique(slug(as_str(grader.get("name")) or "grader", "grader") for grader in case.graders)
    for name, grader in zip(names, case.graders, strict=True):
        weight = as_amount(grader.get("weight", 1)) or 1.0
        common = {"name": name, "weight": weight}
        if is_with_only(grader) and not all_apart:
            common = {"name": name, "weight": 0.0, "required": False}
        try:
            if grader.get("type") not in _JUDGED:
                checks.append(validated(_check(grader, common)))
            elif common["weight"]:
                criteria.append(validated(_criterion(case, grader, name, weight)))
            else:
                notes.append(f"the grader {name!r} is for the plugin alone and needs a judge, so it was left out.")
        except UsageError as fault:
            notes.append(f"the grader {name!r} was left out: {str(fault).rstrip('.')}.")
    outcome = as_str(case.table.get("expected_outcome"))
    rubric = Rubric(criteria=criteria, notes=outcome[:_LONGEST_TEXT] if outcome else None) if criteria else None
    return CaseGrading(checks=checks, rubric=rubric, notes=tuple(notes))


def validated(value: StructT) -> StructT:
    """The value; UsageError if it breaks a limit of its type."""
    try:
        return msgspec.convert(msgspec.to_builtins(value), type(value))
    except (msgspec.ValidationError, msgspec.EncodeError, TypeError) as fault:
        raise UsageError(str(fault)) from None


def is_with_only(grader: dict[str, Any]) -> bool:
    """Whether a grader is left out of the score where runs without the plugin are compared."""
    if grader.get("arm") is not None:
        return grader.get("arm") == "with-only"
    return grader.get("type") == "tool_used" and grader.get("tool") == "Skill"


def _check(grader: dict[str, Any], common: dict[str, Any]) -> Check:
    match grader.get("type"):
        case "regex":
            return _text_check(grader, common)
        case "tool_used":
            most = grader.get("max")
            return ToolCallsCheck(
                **common,
                **_call_pattern(grader),
                at_least=_count(grader.get("min", 1), "min"),
                at_most=None if most is None else _count(most, "max"),
            )
        case "tool_order":
            first, then = (_order_pattern(grader.get(key), key) for key in ("before", "after"))
            return ToolOrderCheck(**common, first=first, then=then)
        case "file_exists":
            path = _text(grader.get("path"), "path")
            return CreatedFilesCheck(**common, glob=path, absent=grader.get("exists") is False)
    raise UsageError(f"its type is {grader.get('type')!r}, which is none of the six kinds")


def _text_check(grader: dict[str, Any], common: dict[str, Any]) -> Check:
    regex = python_regex(_text(grader.get("pattern"), "pattern"), as_str(grader.get("flags")) or "")
    match = as_str(grader.get("match")) or "contains"
    found: dict[str, Any] = {"regex": regex}
    if match.startswith("count:") and match[6:].isdecimal():
        found["count"] = int(match[6:])
    elif match == "not_contains":
        found["absent"] = True
    elif match != "contains":
        raise UsageError(f"`match` is {match!r}; it must be contains, not_contains or count:N")
    target = grader.get("target") or "last_message"
    if isinstance(target, dict) and target.get("source") == "file":
        return FileContainsCheck(
            **common, **found, path=workspace_path(_text(target.get("path"), "target.path"), "target")
        )
    if target == "last_message":
        return AnswerContainsCheck(**common, **found)
    if target == "trace":
        return TranscriptContainsCheck(**common, **found)
    if target == "files":
        return CreatedFilesCheck(**common, **found)
    raise UsageError(f"its target {target!r} has no counterpart in a suite")


def python_regex(pattern: str, flags: str) -> str:
    """A regular expression of JavaScript in Python's form; UsageError if it has no such form."""
    named = _NAMED_GROUP.sub("(?P<", pattern).replace("\\k<", "(?P=")
    if "(?P=" in named:
        named = re.sub(r"\(\?P=([A-Za-z_]\w*)>", r"(?P=\1)", named)
    letters = "".join(_PYTHON_FLAGS[letter] for letter in "ims" if letter in flags)
    whole = f"(?{letters}){named}" if letters else named
    try:
        re.compile(whole)
    except (re.error, OverflowError, RecursionError) as fault:
        raise UsageError(f"its pattern {pattern!r} is no regular expression of Python: {fault}") from None
    return whole


def _call_pattern(raw: dict[str, Any]) -> dict[str, Any]:
    wanted = as_str(raw.get("input_match"))
    return {
        "tool": _text(raw.get("tool"), "tool"),
        "input_regex": None if not wanted else python_regex(wanted, ""),
    }


def _order_pattern(raw: object, key: str) -> ToolCallPattern:
    if isinstance(raw, str) and raw:
        return ToolCallPattern(tool=raw)
    if not isinstance(raw, dict):
        raise UsageError(f"`{key}` names no tool")
    return ToolCallPattern(**_call_pattern(raw))


def _text(value: object, key: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value or len(value) > _LONGEST_TEXT:
        raise UsageError(f"`{key}` is missing, or no text")
    return value


def _count(value: object, key: str) -> int:
    found = as_count(value)
    if found is None or found > 1_000_000:
        raise UsageError(f"`{key}` is {value!r}, which is no count")
    return found


def _criterion(case: EvalCase, grader: dict[str, Any], name: str, weight: float) -> Criterion:
    words = _text(grader.get("criteria"), "criteria")
    if grader.get("type") == "baseline":
        reference = _reference(case, _text(grader.get("baseline_file"), "baseline_file"))
        words = f"{words}\n\nAt least as well as in this reference run:\n{reference}"
    else:
        focus = grader.get("focus") or "last_message"
        place = f"the file {focus.get('path')!r}" if isinstance(focus, dict) else _FOCUS.get(str(focus))
        if place is None:
            raise UsageError(f"its focus {focus!r} has no counterpart in a suite")
        words = f"{words}\n\nLook at {place}."
    return BinaryCriterion(name=name, description=words, weight=weight)


def _reference(case: EvalCase, stated: str) -> str:
    """What the agent of a reference transcript said and called, in order."""
    text = decode_text(read_bytes(file_of_case(case, stated, "baseline_file")))
    events = (as_dict(try_decode_json(line.encode())) for line in text.splitlines() if line.strip())
    said = "\n".join(line for event in events if event.get("type") == "assistant" for line in _said(event))
    if not said:
        raise UsageError(f"{stated} has no message of an agent")
    return said if len(said) <= _LONGEST_REFERENCE else f"[…]\n{said[-_LONGEST_REFERENCE:]}"


def _said(event: dict[str, Any]) -> Iterator[str]:
    for block in map(as_dict, as_list(as_dict(event.get("message")).get("content"))):
        if block.get("type") == "text" and as_str(block.get("text")):
            yield f"says: {block['text']}"
        elif block.get("type") == "tool_use":
            arguments = msgspec.json.encode(block.get("input")).decode()[:500]
            yield f"calls {as_str(block.get('name')) or 'a tool'}: {arguments}"
