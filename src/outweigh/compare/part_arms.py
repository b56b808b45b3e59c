"""Arms by the parts that they are composed of: which of them differ from the baseline in one part, and in several."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from outweigh.model.parts import MadeDesign

SCREEN = "screen"
_SCREEN_ARM = re.compile(r"screen-\d+(-\d+)?(@\d+)?")
"""An arm that was made for a screen. A screen may also have arms that the suite has anyway; these only judge."""


class PartArms(Struct, frozen=True, kw_only=True):
    """The arms of a store by their parts.

    `pairs` has, for each part, the arm that differs from the baseline in this part alone; `joint` are arms that lack
    several of the baseline's parts, with what they lack. `screen` are arms that only rank parts: nothing about them
    enters a verdict. `unlike` are arms that differ from the baseline in more than parts, such as the model: they say
    nothing about parts, and are in none of the others.
    """

    baseline: str
    parts: tuple[str, ...]
    sets: Mapping[str, frozenset[str]]
    pairs: Mapping[str, str]
    joint: Mapping[str, frozenset[str]]
    screen: tuple[str, ...]
    unlike: tuple[str, ...] = ()

    @property
    def paired(self) -> tuple[str, ...]:
        """All arms that are no part of a screen, the baseline first."""
        return (self.baseline, *(name for name in self.sets if name not in self.screen and name != self.baseline))

    def is_added(self, part: str) -> bool:
        """Whether the arm of a part's pair has it, and the baseline does not."""
        return part not in self.sets[self.baseline]

    def without(self, dropped: frozenset[str]) -> str | None:
        """The arm that has everything of the baseline but these parts; None where there is none."""
        wanted = self.sets[self.baseline] - dropped
        return next((name for name in self.paired[1:] if self.sets[name] == wanted), None)


def arrange_part_arms(
    all_sets: Mapping[str, frozenset[str]],
    baseline: str,
    designs: Sequence[MadeDesign],
    order: Sequence[str],
    besides: Mapping[str, str] = MappingProxyType({}),
) -> PartArms:
    """Arrange arms by how they differ from the baseline; `order` is that of the parts, as far as it is known.

    `besides` identifies what each arm is apart from its parts. A screen ranks on a model of its own.
    """
    screened = any(design.kind == SCREEN for design in designs)
    screen = tuple(name for name in all_sets if screened and _SCREEN_ARM.fullmatch(name))
    unlike = tuple(name for name in all_sets if name not in screen and besides.get(name) != besides.get(baseline))
    sets = {name: parts for name, parts in all_sets.items() if name not in unlike}
    base = sets[baseline]
    pairs: dict[str, str] = {}
    joint: dict[str, frozenset[str]] = {}
    for name, parts in sets.items():
        if name in screen or name == baseline:
            continue
        different = base ^ parts
        if len(different) == 1:
            (part,) = different
            # An arm that is named after the part goes before one that happens to have the same parts.
            if part not in pairs or name in (f"without-{part}", f"with-{part}"):
                pairs[part] = name
        elif parts < base:
            joint[name] = base - parts
    found = {part for parts in sets.values() for part in parts}
    known = [part for part in order if part in found]
    return PartArms(
        baseline=baseline,
        parts=(*known, *sorted(found - set(known))),
        sets=sets,
        pairs=pairs,
        joint=joint,
        screen=screen,
        unlike=unlike,
    )


def shortlist_size(designs: Sequence[MadeDesign], parts: int) -> int:
    """How many parts of a screen are confirmed: what its design says, else a quarter of them."""
    stated = next((design.shortlist for design in designs if design.kind == SCREEN and design.shortlist), None)
    return min(parts, stated or max(1, round(parts / 4)))
