"""Which steps of two runs correspond: patience diff with anchors, so that time grows with the length and not its
square.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from outweigh.report.run_steps import ShownStep

MOST_CELLS = 250_000
"""Of a stretch without anchors, so many pairs are looked at at most."""


class ItemMatch(NamedTuple):
    """Positions of an item in both sequences."""

    left: int
    right: int


class SequenceRange(NamedTuple):
    """A part of both sequences; the ends are not in it."""

    left: int
    left_end: int
    right: int
    right_end: int


def match_items(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[ItemMatch]:
    """Equal items in a common order."""
    found: list[ItemMatch] = []
    open_stretches = [SequenceRange(0, len(left), 0, len(right))]
    while open_stretches:
        inner = _without_common_ends(left, right, open_stretches.pop(), found)
        if inner.left == inner.left_end or inner.right == inner.right_end:
            continue
        if anchors := _anchors(left, right, inner):
            found += anchors
            open_stretches += gaps_between(anchors, inner)
        else:
            found += _match_range(left, right, inner)
    return sorted(found)


def gaps_between(found: Sequence[ItemMatch], within: SequenceRange) -> Iterator[SequenceRange]:
    """What lies before, between and after matches; empty where they touch."""
    at_left, at_right = within.left, within.right
    for match in found:
        yield SequenceRange(at_left, match.left, at_right, match.right)
        at_left, at_right = match.left + 1, match.right + 1
    yield SequenceRange(at_left, within.left_end, at_right, within.right_end)


def _without_common_ends(
    left: Sequence[Hashable], right: Sequence[Hashable], stretch: SequenceRange, found: list[ItemMatch]
) -> SequenceRange:
    start, end, other, other_end = stretch
    while start < end and other < other_end and left[start] == right[other]:
        found.append(ItemMatch(start, other))
        start, other = start + 1, other + 1
    while start < end and other < other_end and left[end - 1] == right[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        found.append(ItemMatch(end, other_end))
    return SequenceRange(start, end, other, other_end)


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable], stretch: SequenceRange) -> list[ItemMatch]:
    """The longest rising run of items that occur once on both sides."""
    ours = Counter(left[stretch.left : stretch.left_end])
    theirs = Counter(right[stretch.right : stretch.right_end])
    place = {right[at]: at for at in range(stretch.right, stretch.right_end) if theirs[right[at]] == 1}
    once = [
        ItemMatch(at, place[left[at]])
        for at in range(stretch.left, stretch.left_end)
        if left[at] in place and ours[left[at]] == 1
    ]
    return _longest_rising(once)


def _longest_rising(pairs: Sequence[ItemMatch]) -> list[ItemMatch]:
    """The longest subsequence whose right positions rise (patience sorting)."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int | None] = []
    for number, pair in enumerate(pairs):
        pile = bisect_left(tops, pair.right)
        before.append(piles[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(pair.right)
            piles.append(number)
        else:
            tops[pile], piles[pile] = pair.right, number
    chain: list[ItemMatch] = []
    at = piles[-1] if piles else None
    while at is not None:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _match_range(left: Sequence[Hashable], right: Sequence[Hashable], stretch: SequenceRange) -> list[ItemMatch]:
    """The longest common subsequence where that is affordable, else equal items at equal distances."""
    height, width = stretch.left_end - stretch.left, stretch.right_end - stretch.right
    if height * width > MOST_CELLS:
        steps = range(min(height, width))
        pairs = (ItemMatch(stretch.left + step, stretch.right + step) for step in steps)
        return [pair for pair in pairs if left[pair.left] == right[pair.right]]
    best = [[0] * (width + 1) for _ in range(height + 1)]
    for row in range(height - 1, -1, -1):
        for column in range(width - 1, -1, -1):
            best[row][column] = (
                best[row + 1][column + 1] + 1
                if left[stretch.left + row] == right[stretch.right + column]
                else max(best[row + 1][column], best[row][column + 1])
            )
    found, row, column = [], 0, 0
    while row < height and column < width:
        if left[stretch.left + row] == right[stretch.right + column]:
            found.append(ItemMatch(stretch.left + row, stretch.right + column))
            row, column = row + 1, column + 1
        elif best[row + 1][column] >= best[row][column + 1]:
            row += 1
        else:
            column += 1
    return found


_SPACE = re.compile(r"\s+")


class StepLikeness(StrEnum):
    """How the two sides of a row relate."""

    SAME = "same"
    CHANGED = "changed"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


class AlignedStep(Struct, frozen=True, kw_only=True):
    """A row. A changed one has the same tools on both sides, called with other arguments."""

    likeness: StepLikeness
    a: ShownStep | None
    b: ShownStep | None


def align_steps(a: Sequence[ShownStep], b: Sequence[ShownStep]) -> tuple[AlignedStep, ...]:
    """Every step of both runs once, in order: first what is alike, then what uses the same tools in between."""
    whole = SequenceRange(0, len(a), 0, len(b))
    alike = match_items(list(map(_step_action, a)), list(map(_step_action, b)))
    rows: list[AlignedStep] = []
    for gap, match in zip(gaps_between(alike, whole), [*alike, None], strict=True):
        rows += _align_gap(a, b, gap)
        if match is not None:
            rows.append(AlignedStep(likeness=StepLikeness.SAME, a=a[match.left], b=b[match.right]))
    return tuple(rows)


def first_divergence(rows: Sequence[AlignedStep]) -> int | None:
    """The place of the first row that is not alike; None where all are."""
    return next((place for place, row in enumerate(rows) if row.likeness is not StepLikeness.SAME), None)


def _align_gap(a: Sequence[ShownStep], b: Sequence[ShownStep], gap: SequenceRange) -> Iterator[AlignedStep]:
    ours, theirs = a[gap.left : gap.left_end], b[gap.right : gap.right_end]
    related = match_items(list(map(_step_tools, ours)), list(map(_step_tools, theirs)))
    rest = gaps_between(related, SequenceRange(0, len(ours), 0, len(theirs)))
    for stretch, match in zip(rest, [*related, None], strict=True):
        for step in ours[stretch.left : stretch.left_end]:
            yield AlignedStep(likeness=StepLikeness.ONLY_A, a=step, b=None)
        for step in theirs[stretch.right : stretch.right_end]:
            yield AlignedStep(likeness=StepLikeness.ONLY_B, a=None, b=step)
        if match is not None:
            yield _changed(ours, theirs, match)


def _changed(ours: Sequence[ShownStep], theirs: Sequence[ShownStep], match: ItemMatch) -> AlignedStep:
    return AlignedStep(likeness=StepLikeness.CHANGED, a=ours[match.left], b=theirs[match.right])


def _step_action(step: ShownStep) -> Hashable:
    """What a step does, whatever it says while doing it; one that only speaks is what it says. Space never counts."""
    if step.calls:
        return step.source, tuple((call.tool, _SPACE.sub(" ", call.arguments or "")) for call in step.calls)
    return step.source, _SPACE.sub(" ", step.message).strip()


def _step_tools(step: ShownStep) -> Hashable:
    return step.source, tuple(call.tool for call in step.calls)
