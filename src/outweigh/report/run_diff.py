"""Two runs compared: aligned steps, patches file by file, checks, and their numbers with the differences."""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from outweigh.model.run_record import RunRecord
from outweigh.model.scan_result import CheatFinding
from outweigh.report.formatting import NO_CHECKS, SAME, UNIT_FORMATS, UNKNOWN, format_estimate
from outweigh.report.run_alignment import AlignedStep, StepLikeness, align_steps, first_divergence
from outweigh.report.run_steps import ShownStep
from outweigh.score.metrics import METRICS_BY_NAME, Metric
from outweigh.score.objective import passed
from outweigh.score.resource_usage import estimated_ranges, non_cache_tokens, total_tokens

_FILE = re.compile(r"^diff --git (?P<names>.*)$")
_TARGET = re.compile(r'^\+\+\+ "?b/(?P<path>.*?)"?\t?$')
_SOURCE = re.compile(r'^--- "?a/(?P<path>.*?)"?\t?$')


class PatchedFile(Struct, frozen=True, kw_only=True):
    """What a patch does to one file; `lines` are its part of the patch, without the line that begins it."""

    path: str
    added: int
    removed: int
    lines: tuple[str, ...]


class PatchLikeness(StrEnum):
    """How two patches treat a file."""

    SAME = "same"
    DIFFERENT = "different"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


class PatchPair(Struct, frozen=True, kw_only=True):
    """A file that at least one of two patches changes."""

    path: str
    likeness: PatchLikeness
    a: PatchedFile | None
    b: PatchedFile | None


def patched_files(patch: str) -> tuple[PatchedFile, ...]:
    """The files of a patch as git writes it. Text before the first file belongs to none."""
    return tuple(_patched_file(names, lines) for names, lines in _split_patch(patch))


def compare_patches(a: str, b: str) -> tuple[PatchPair, ...]:
    """Every file that is changed, by path. Index lines name blobs and say nothing that the hunks do not."""
    ours = {file.path: file for file in patched_files(a)}
    theirs = {file.path: file for file in patched_files(b)}
    return tuple(
        PatchPair(
            path=path,
            likeness=_patch_likeness(ours.get(path), theirs.get(path)),
            a=ours.get(path),
            b=theirs.get(path),
        )
        for path in sorted(ours.keys() | theirs.keys())
    )


def _split_patch(patch: str) -> Iterator[tuple[str, list[str]]]:
    names: str | None = None
    lines: list[str] = []
    # Only a line feed ends a line of a patch; other separators may stand in a file's own text.
    for line in patch.removesuffix("\n").split("\n"):
        if begun := _FILE.match(line):
            if names is not None:
                yield names, lines
            names, lines = begun["names"], []
        else:
            lines.append(line)
    if names is not None:
        yield names, lines


def _patched_file(names: str, lines: list[str]) -> PatchedFile:
    start = next((number for number, line in enumerate(lines) if line.startswith("@@")), len(lines))
    changes = lines[start:]
    return PatchedFile(
        path=_patched_path(names, lines[:start]),
        added=sum(line.startswith("+") for line in changes),
        removed=sum(line.startswith("-") for line in changes),
        lines=tuple(lines),
    )


def _patched_path(names: str, header: list[str]) -> str:
    for pattern in (_TARGET, _SOURCE):
        for line in header:
            if found := pattern.match(line):
                return found["path"]
    # Neither side is named where a file is binary or empty; without renames both names are one.
    half = names[: len(names) // 2].strip().strip('"')
    return half.removeprefix("a/") or "unnamed"


def _patch_likeness(a: PatchedFile | None, b: PatchedFile | None) -> PatchLikeness:
    if a is None:
        return PatchLikeness.ONLY_B
    if b is None:
        return PatchLikeness.ONLY_A
    return PatchLikeness.SAME if _content_lines(a) == _content_lines(b) else PatchLikeness.DIFFERENT


def _content_lines(file: PatchedFile) -> list[str]:
    return [line for line in file.lines if not line.startswith("index ")]


class ComparedRun(Struct, frozen=True, kw_only=True):
    """One run with what was kept of it. `patch` is empty where nothing changed, None where it is unknown.

    `warnings` says what could not be read, so that nothing missing is taken for nothing done. `findings` are the signs
    of cheating in it; None where it was not scanned.
    """

    record: RunRecord
    steps: tuple[ShownStep, ...] | None
    patch: str | None
    warnings: tuple[str, ...] = ()
    findings: tuple[CheatFinding, ...] | None = None


class RunDiff(Struct, frozen=True, kw_only=True):
    """Two runs, their steps in rows, and their patches; rows and files are None where a side is unknown."""

    a: ComparedRun
    b: ComparedRun
    rows: tuple[AlignedStep, ...] | None
    files: tuple[PatchPair, ...] | None

    @property
    def divergence(self) -> int | None:
        """The place of the first row that differs."""
        return None if self.rows is None else first_divergence(self.rows)

    def count(self, likeness: StepLikeness) -> int:
        """How many rows are so."""
        return sum(row.likeness is likeness for row in self.rows or ())


def diff_runs(a: ComparedRun, b: ComparedRun) -> RunDiff:
    """Put two runs side by side."""
    return RunDiff(
        a=a,
        b=b,
        rows=None if a.steps is None or b.steps is None else align_steps(a.steps, b.steps),
        files=None if a.patch is None or b.patch is None else compare_patches(a.patch, b.patch),
    )


class ComparedNumber(Struct, frozen=True, kw_only=True):
    """One metric of both runs; the ends are of a value that is estimated."""

    metric: Metric
    a: float | None
    b: float | None
    a_ends: tuple[float, float] | None = None
    b_ends: tuple[float, float] | None = None

    @property
    def shown(self) -> tuple[str, str]:
        """Both values as people read them."""
        show = UNIT_FORMATS[self.metric.unit].value
        return format_estimate(self.a, self.a_ends, show), format_estimate(self.b, self.b_ends, show)

    @property
    def difference(self) -> str:
        """B against A, in words; unknown where one of them is."""
        if self.a is None or self.b is None:
            return UNKNOWN
        return SAME if self.a == self.b else UNIT_FORMATS[self.metric.unit].difference(self.b - self.a)


def compared_numbers(diff: RunDiff) -> tuple[ComparedNumber, ...]:
    """Cost, time, tokens and steps, as they were recorded."""
    a, b = diff.a.record, diff.b.record
    a_ranges, b_ranges = estimated_ranges(a, a.cost), estimated_ranges(b, b.cost)
    return tuple(
        ComparedNumber(
            metric=METRICS_BY_NAME[name],
            a=recorded(a),
            b=recorded(b),
            a_ends=a_ranges.get(name),
            b_ends=b_ranges.get(name),
        )
        for name, recorded in _RECORDED.items()
    )


_RECORDED: Mapping[str, Callable[[RunRecord], float | None]] = {
    "cost_usd": lambda run: run.cost.usd,
    "duration_seconds": lambda run: run.duration_seconds,
    "total_tokens": lambda run: total_tokens(run.usage).value,
    "non_cache_tokens": lambda run: non_cache_tokens(run.usage).value,
    "steps": lambda run: run.step_count,
    "tool_calls": lambda run: run.tool_call_count,
}


def describe_run_outcome(run: RunRecord) -> str:
    """Passed, failed, unknown, or that the task has no checks to tell."""
    value = passed(run).value
    if value is None and run.checks is not None and not run.checks:
        return NO_CHECKS
    return UNKNOWN if value is None else "passed" if value else "failed"


def check_outcomes(diff: RunDiff) -> tuple[tuple[str, str, str], ...]:
    """Every check of either run by name, with what it said of both."""
    ours, theirs = _checks_by_name(diff.a.record), _checks_by_name(diff.b.record)
    names = dict.fromkeys((*ours, *theirs))
    return tuple((name, ours.get(name, "not there"), theirs.get(name, "not there")) for name in names)


def _checks_by_name(run: RunRecord) -> dict[str, str]:
    words = {True: "passed", False: "failed", None: UNKNOWN}
    return {check.name: words[check.passed] for check in run.checks or ()}
