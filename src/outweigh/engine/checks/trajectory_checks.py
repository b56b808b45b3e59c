"""Checks of what an agent did: its tool calls, what it printed, and the files that it created.

Tool calls and transcript are what the agent program says about itself. Where they were not kept, or the agent does not
show its tool calls, the outcome is unknown.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from outweigh.engine.checks.check_outcome import CheckOutcome
from outweigh.engine.checks.text_search import (
    UnfinishedSearchError,
    count_matches,
    describe_demand,
    is_met,
    occurrences,
)
from outweigh.engine.checks.unchanged_check import BadPatternError, compile_whole_path, list_files
from outweigh.errors import EvidenceError
from outweigh.model.run_record import STDOUT_ARTIFACT, TRAJECTORY_ARTIFACT, TRANSCRIPT_ARTIFACT
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallPattern,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.transcript.tool_calls import NormalizedCall, normalized_calls
from outweigh.transcript.trajectory_file import read_trajectory

SEARCHED_TRANSCRIPT = 32 * 1024 * 1024
"""How many bytes of the end of a transcript are searched."""

_NO_CALLS = CheckOutcome(passed=None, detail="the agent's tool calls were not kept, or it does not show them")
_NO_TRANSCRIPT = CheckOutcome(passed=None, detail="the agent's transcript was not kept")


def shown_calls(artifacts: Mapping[str, bytes], call_count: int | None) -> tuple[NormalizedCall, ...] | None:
    """The tool calls of a trajectory; None where there is none to read, or its agent does not show tool calls."""
    trajectory = artifacts.get(TRAJECTORY_ARTIFACT)
    if not trajectory or call_count is None:
        return None
    try:
        return tuple(normalized_calls(read_trajectory(trajectory).steps))
    except EvidenceError:
        return None


def kept_transcript(artifacts: Mapping[str, bytes]) -> bytes | None:
    """What the agent printed, else its trajectory; None where neither was kept."""
    kept = (artifacts.get(name) for name in (TRANSCRIPT_ARTIFACT, STDOUT_ARTIFACT, TRAJECTORY_ARTIFACT))
    return next((content for content in kept if content), None)


def check_tool_calls(check: ToolCallsCheck, calls: Sequence[NormalizedCall] | None) -> CheckOutcome:
    """Passed when the number of fitting calls is within its limits."""
    if calls is None:
        return _NO_CALLS
    pattern = ToolCallPattern(tool=check.tool, input_regex=check.input_regex)
    try:
        found = len(_fitting(pattern, calls))
    except UnfinishedSearchError as fault:
        return CheckOutcome(passed=False, detail=f"the input of {check.tool}: {fault}")
    if found >= check.at_least and (check.at_most is None or found <= check.at_most):
        return CheckOutcome(passed=True)
    most = "" if check.at_most is None else f" and at most {check.at_most}"
    called = "once" if found == 1 else f"{found} times"
    return CheckOutcome(
        passed=False, detail=f"{_words(pattern)} was called {called}, expected at least {check.at_least}{most}"
    )


def check_tool_order(check: ToolOrderCheck, calls: Sequence[NormalizedCall] | None) -> CheckOutcome:
    """Passed when the first call that fits the one comes before the first that fits the other."""
    if calls is None:
        return _NO_CALLS
    places: list[int] = []
    for pattern in (check.first, check.then):
        try:
            fitting = _fitting(pattern, calls)
        except UnfinishedSearchError as fault:
            return CheckOutcome(passed=False, detail=f"the input of {pattern.tool}: {fault}")
        if not fitting:
            return CheckOutcome(passed=False, detail=f"{_words(pattern)} was never called")
        places.append(fitting[0])
    if places[0] < places[1]:
        return CheckOutcome(passed=True)
    return CheckOutcome(
        passed=False,
        detail=f"{_words(check.first)} was first called in call {places[0] + 1}, {_words(check.then)} in call "
        f"{places[1] + 1}",
    )


def _fitting(pattern: ToolCallPattern, calls: Sequence[NormalizedCall]) -> list[int]:
    """The places of the calls that fit, in order."""
    named = [place for place, call in enumerate(calls) if fnmatchcase(call.tool, pattern.tool)]
    if pattern.input_regex is None:
        return named
    inputs = [msgspec.json.encode(calls[place].arguments).decode() for place in named]
    found = count_matches(pattern.input_regex, inputs, every=False)
    return [place for place, count in zip(named, found, strict=True) if count]


def _words(pattern: ToolCallPattern) -> str:
    with_input = "" if pattern.input_regex is None else f" with input that matches {pattern.input_regex!r}"
    return f"{pattern.tool}{with_input}"


def check_transcript_contains(check: TranscriptContainsCheck, transcript: bytes | None) -> CheckOutcome:
    """Passed when the text, or a match, is in the transcript; with `absent`, when it is not."""
    if transcript is None:
        return _NO_TRANSCRIPT
    searched = transcript[-SEARCHED_TRANSCRIPT:]
    cut = len(searched) < len(transcript)
    try:
        found = occurrences(check, searched)
    except UnfinishedSearchError as fault:
        return CheckOutcome(passed=False, detail=f"the transcript: {fault}")
    if is_met(check, found, cut=cut):
        return CheckOutcome(passed=True)
    place = f"the last {SEARCHED_TRANSCRIPT:,} bytes of the transcript" if cut else "the transcript"
    return CheckOutcome(passed=False, detail=f"{describe_demand(check)} is {_said(found, check.count)} {place}")


def _said(found: int, count: int | None) -> str:
    if count is not None:
        return f"{found} times, not {count} times, in"
    return "in" if found else "not in"


def check_created_files(
    check: CreatedFilesCheck, root: Path, untouched: Path, overlay: Collection[str]
) -> CheckOutcome:
    """Passed when the path of a new file fits; with `absent`, when none does. `.git` is left out."""
    before = {*list_files(untouched, with_git=False), *overlay}
    created = sorted(path for path in list_files(root, with_git=False) if path not in before)
    try:
        found = _count_paths(check, created)
    except (BadPatternError, UnfinishedSearchError) as fault:
        return CheckOutcome(passed=False, detail=str(fault))
    wanted = f"{check.glob!r}" if check.regex is None else f"a match of {check.regex!r}"
    if found == check.count if check.count is not None else bool(found) is not check.absent:
        return CheckOutcome(passed=True)
    place = f"the paths of the {len(created)} created files"
    return CheckOutcome(passed=False, detail=f"{wanted} is {_said(found, check.count)} {place}")


def _count_paths(check: CreatedFilesCheck, created: Sequence[str]) -> int:
    if check.regex is not None:
        listed = "\n".join(created).encode("utf-8", "replace").decode()
        return count_matches(check.regex, [listed], every=check.count is not None)[0]
    expression: re.Pattern[str] = compile_whole_path(check.glob or "")
    return sum(expression.match(path) is not None for path in created)
