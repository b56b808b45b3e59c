"""Which items of two sequences belong together, in an order that both have.

Items that occur once on either side are anchors (patience diff); what lies between two anchors is looked at closely
where it is small, and in lock-step where it is not. The time grows with the length, never with its square, whatever an
agent repeated.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MOST_CELLS = 250_000
"""Of a stretch without anchors, so many pairs are looked at at most."""


class Match(NamedTuple):
    """Positions of an item in both sequences."""

    left: int
    right: int


class Stretch(NamedTuple):
    """A part of both sequences; the ends are not in it."""

    left: int
    left_end: int
    right: int
    right_end: int


def matches(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[Match]:
    """Equal items in a common order."""
    found: list[Match] = []
    open_stretches = [Stretch(0, len(left), 0, len(right))]
    while open_stretches:
        inner = _without_common_ends(left, right, open_stretches.pop(), found)
        if inner.left == inner.left_end or inner.right == inner.right_end:
            continue
        if anchors := _anchors(left, right, inner):
            found += anchors
            open_stretches += gaps(anchors, inner)
        else:
            found += _closely(left, right, inner)
    return sorted(found)


def gaps(found: Sequence[Match], within: Stretch) -> Iterator[Stretch]:
    """What lies before, between and after matches; empty where they touch."""
    at_left, at_right = within.left, within.right
    for match in found:
        yield Stretch(at_left, match.left, at_right, match.right)
        at_left, at_right = match.left + 1, match.right + 1
    yield Stretch(at_left, within.left_end, at_right, within.right_end)


def _without_common_ends(
    left: Sequence[Hashable], right: Sequence[Hashable], stretch: Stretch, found: list[Match]
) -> Stretch:
    start, end, other, other_end = stretch
    while start < end and other < other_end and left[start] == right[other]:
        found.append(Match(start, other))
        start, other = start + 1, other + 1
    while start < end and other < other_end and left[end - 1] == right[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        found.append(Match(end, other_end))
    return Stretch(start, end, other, other_end)


def _anchors(left: Sequence[Hashable], right: Sequence[Hashable], stretch: Stretch) -> list[Match]:
    """The longest rising run of items that occur once on both sides."""
    ours = Counter(left[stretch.left : stretch.left_end])
    theirs = Counter(right[stretch.right : stretch.right_end])
    place = {right[at]: at for at in range(stretch.right, stretch.right_end) if theirs[right[at]] == 1}
    once = [
        Match(at, place[left[at]])
        for at in range(stretch.left, stretch.left_end)
        if left[at] in place and ours[left[at]] == 1
    ]
    return _rising(once)


def _rising(pairs: Sequence[Match]) -> list[Match]:
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
    chain: list[Match] = []
    at = piles[-1] if piles else None
    while at is not None:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _closely(left: Sequence[Hashable], right: Sequence[Hashable], stretch: Stretch) -> list[Match]:
    """The longest common subsequence where that is affordable, else equal items at equal distances."""
    height, width = stretch.left_end - stretch.left, stretch.right_end - stretch.right
    if height * width > MOST_CELLS:
        steps = range(min(height, width))
        pairs = (Match(stretch.left + step, stretch.right + step) for step in steps)
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
            found.append(Match(stretch.left + row, stretch.right + column))
            row, column = row + 1, column + 1
        elif best[row + 1][column] >= best[row][column + 1]:
            row += 1
        else:
            column += 1
    return found
