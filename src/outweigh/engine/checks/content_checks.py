"""Checks of content: a file the agent left, a JSON value in it, or the agent's final answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import CheckOutcome
from outweigh.engine.checks.text_search import UnfinishedSearchError, describe_demand, is_met, occurrences
from outweigh.errors import EvidenceError
from outweigh.model.run_record import STDOUT_ARTIFACT, TRAJECTORY_ARTIFACT
from outweigh.model.task import AnswerContainsCheck, FileContainsCheck, FileExistsCheck, JsonValueCheck
from outweigh.transcript.atif import content_text
from outweigh.transcript.trajectory_file import read_trajectory

SEARCHED_BYTES = 1024 * 1024
JSON_LIMIT = 16 * 1024 * 1024


def check_file_exists(check: FileExistsCheck, root: Path) -> CheckOutcome:
    """Passed when there is a regular file."""
    return (
        CheckOutcome(passed=True) if untrusted_files.read_file(root, check.path, 0) is not None else _absent(check.path)
    )


def check_file_contains(check: FileContainsCheck, root: Path) -> CheckOutcome:
    """Passed when the text, or a match, is in the file's first mebibyte; the rest is not searched."""
    content = untrusted_files.read_file(root, check.path, SEARCHED_BYTES + 1)
    if content is None:
        return _absent(check.path)
    searched = content[:SEARCHED_BYTES]
    cut = len(searched) < len(content)
    try:
        found = occurrences(check, searched)
    except UnfinishedSearchError as fault:
        return CheckOutcome(passed=False, detail=f"{check.path!r}: {fault}")
    met = is_met(check, found, cut=cut)
    return CheckOutcome(passed=met, detail=None if met else _not_met(check, found, cut=cut))


def check_json_value(check: JsonValueCheck, root: Path) -> CheckOutcome:
    """Passed when the value at the dotted path is the expected one; 1 and 1.0 are equal, 1 and true are not."""
    content = untrusted_files.read_file(root, check.path, JSON_LIMIT + 1)
    if content is None:
        return _absent(check.path)
    if len(content) > JSON_LIMIT:
        return CheckOutcome(passed=False, detail=f"{check.path!r} is larger than {JSON_LIMIT} bytes")
    try:
        value = _value_at(msgspec.json.decode(content), check.at)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return CheckOutcome(passed=False, detail=f"{check.path!r} is not JSON: {fault}")
    except LookupError as fault:
        return CheckOutcome(passed=False, detail=f"{check.path!r}: {fault.args[0]}")
    expected = msgspec.to_builtins(check.equals)
    if equal_json(value, expected):
        return CheckOutcome(passed=True)
    return CheckOutcome(
        passed=False, detail=f"{check.path!r}: {check.at} is {shorten_json(value)}, expected {shorten_json(expected)}"
    )


def _absent(path: str) -> CheckOutcome:
    return CheckOutcome(passed=False, detail=f"there is no file {path!r}")


def _not_met(check: FileContainsCheck, found: int, *, cut: bool) -> str:
    place = f"the first {SEARCHED_BYTES} bytes of {check.path!r}" if cut else repr(check.path)
    wanted = f"the text {check.text!r}" if check.regex is None else f"a match of {check.regex!r}"
    if check.count is not None:
        return f"{place} contains {wanted} {found} times, not {check.count} times"
    return f"{place} contains {wanted}" if found else f"{place} does not contain {wanted}"


def _value_at(value: Any, path: str) -> Any:
    for part in path.split(".") if path else ():
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise LookupError(f"there is no {part!r} on the way to {path}")
    return value


def equal_json(found: Any, expected: Any) -> bool:
    """Whether two values of JSON are the same; 1 and 1.0 are, 1 and true are not."""
    if isinstance(found, bool) or isinstance(expected, bool):
        return found is expected
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(equal_json(found[key], expected[key]) for key in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(equal_json, found, expected))
    return bool(found == expected)


def shorten_json(value: Any) -> str:
    """A value as JSON, cut to a length that fits into a sentence."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 100 else f"{text[:100]}…"


SEARCHED_CHARACTERS = 1024 * 1024
"""How much of the end of an answer is searched."""


def final_answer(artifacts: Mapping[str, bytes]) -> str | None:
    """The agent's last message in its trajectory, or what it printed; None where neither was stored."""
    if artifacts.get(TRAJECTORY_ARTIFACT):
        return _last_message(artifacts[TRAJECTORY_ARTIFACT])
    printed = artifacts.get(STDOUT_ARTIFACT)
    return None if printed is None else printed.decode(errors="replace")


def check_answer_contains(check: AnswerContainsCheck, answer: str | None) -> CheckOutcome:
    """Passed when the text, or a match, is in the answer; with `absent`, when it is not; with `count`, so often."""
    if answer is None:
        return CheckOutcome(passed=None, detail="the agent's answer was not kept")
    searched = answer[-SEARCHED_CHARACTERS:]
    cut = len(searched) < len(answer)
    try:
        found = occurrences(check, searched.encode("utf-8", "replace"))
    except UnfinishedSearchError as fault:
        return CheckOutcome(passed=False, detail=f"the answer: {fault}")
    if is_met(check, found, cut=cut):
        return CheckOutcome(passed=True)
    if cut and (check.count is not None or not found):
        return CheckOutcome(
            passed=False, detail=f"only the last {SEARCHED_CHARACTERS:,} letters of the answer were searched"
        )
    how_often = "in" if found else "not in"
    if check.count is not None:
        how_often = f"{found} times, not {check.count} times, in"
    return CheckOutcome(passed=False, detail=f"{describe_demand(check)} is {how_often} the agent's last message")


def _last_message(trajectory: bytes) -> str | None:
    """The last message of the main agent: empty where it wrote none, None where the trajectory is unreadable."""
    try:
        steps = read_trajectory(trajectory).steps
    except EvidenceError:
        return None
    own = (step for step in reversed(steps) if step.source == "agent" and step.sub_agent is None)
    words = (content_text(step.message).strip() for step in own)
    return next(filter(None, words), "")
