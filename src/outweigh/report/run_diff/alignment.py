"""The steps of two runs in rows: alike, changed, or of one run alone."""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from outweigh.report.run_diff.matching import Match, Stretch, gaps, matches
from outweigh.report.run_steps import ShownStep

_SPACE = re.compile(r"\s+")


class Likeness(StrEnum):
    """How the two sides of a row relate."""

    SAME = "same"
    CHANGED = "changed"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedStep:
    """A row. A changed one has the same tools on both sides, called with other arguments."""

    likeness: Likeness
    a: ShownStep | None
    b: ShownStep | None


def align(a: Sequence[ShownStep], b: Sequence[ShownStep]) -> tuple[AlignedStep, ...]:
    """Every step of both runs once, in order: first what is alike, then what uses the same tools in between."""
    whole = Stretch(0, len(a), 0, len(b))
    alike = matches(list(map(_deed, a)), list(map(_deed, b)))
    rows: list[AlignedStep] = []
    for gap, match in zip(gaps(alike, whole), [*alike, None], strict=True):
        rows += _between(a, b, gap)
        if match is not None:
            rows.append(AlignedStep(likeness=Likeness.SAME, a=a[match.left], b=b[match.right]))
    return tuple(rows)


def first_divergence(rows: Sequence[AlignedStep]) -> int | None:
    """The place of the first row that is not alike; None where all are."""
    return next((place for place, row in enumerate(rows) if row.likeness is not Likeness.SAME), None)


def _between(a: Sequence[ShownStep], b: Sequence[ShownStep], gap: Stretch) -> Iterator[AlignedStep]:
    ours, theirs = a[gap.left : gap.left_end], b[gap.right : gap.right_end]
    related = matches(list(map(_tools, ours)), list(map(_tools, theirs)))
    rest = gaps(related, Stretch(0, len(ours), 0, len(theirs)))
    for stretch, match in zip(rest, [*related, None], strict=True):
        for step in ours[stretch.left : stretch.left_end]:
            yield AlignedStep(likeness=Likeness.ONLY_A, a=step, b=None)
        for step in theirs[stretch.right : stretch.right_end]:
            yield AlignedStep(likeness=Likeness.ONLY_B, a=None, b=step)
        if match is not None:
            yield _changed(ours, theirs, match)


def _changed(ours: Sequence[ShownStep], theirs: Sequence[ShownStep], match: Match) -> AlignedStep:
    return AlignedStep(likeness=Likeness.CHANGED, a=ours[match.left], b=theirs[match.right])


def _deed(step: ShownStep) -> Hashable:
    """What a step does, whatever it says while doing it; one that only speaks is what it says. Space never counts."""
    if step.calls:
        return step.source, tuple((call.tool, _SPACE.sub(" ", call.arguments or "")) for call in step.calls)
    return step.source, _SPACE.sub(" ", step.message).strip()


def _tools(step: ShownStep) -> Hashable:
    return step.source, tuple(call.tool for call in step.calls)
