"""Which arms are on which tier of a ladder, which arms are one configuration, and what everything is compared with."""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.score.run_score import Score


class TierPlan(Struct, frozen=True, kw_only=True):
    """What is known about the tiers of a ladder before its records are looked at.

    `order` are the arms from the first up, each a tier of its own. `tiers` has the tier of each arm; where it is given,
    there is no order. `names` are the names of tiers, by number. `baseline` is the arm that all others are compared
    with; the first arm where it is None or on no tier.
    """

    order: Sequence[str] | None = None
    tiers: Mapping[str, int] | None = None
    names: Mapping[int, str] = {}
    baseline: str | None = None


class LadderLayout(Struct, frozen=True, kw_only=True):
    """The tier of every arm, lowest tier first and in the order of the suite within a tier.

    `configurations` are the arms of each tier that are one configuration, by the name of the first of them.
    """

    tiers: Mapping[str, int]
    names: Mapping[int, str]
    baseline: str
    configurations: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The tiers, lowest first."""
        return tuple(dict.fromkeys(self.tiers.values()))

    def tier_name(self, number: int) -> str:
        """What a tier is called: by its own name, or by its only arm, or by its number."""
        if number in self.names:
            return self.names[number]
        arms = [arm for arm, tier in self.tiers.items() if tier == number]
        return arms[0] if len(arms) == 1 else f"tier {number}"


def lay_out(evidence: Evidence, requested: TierPlan) -> LadderLayout:
    """Put the arms of the evidence on their tiers. Without order and tiers, they are ranked by name.

    Numbers in names count as numbers.
    """
    notes: tuple[str, ...] = ()
    if requested.tiers:
        present = {arm: tier for arm, tier in requested.tiers.items() if arm in evidence.arms}
        if not present:
            raise EvidenceError("no arm that has a tier has a run; there is nothing to compare.")
        tiers = dict(sorted(present.items(), key=lambda item: item[1]))
        notes = _notes_on_missing(requested.tiers, present)
    elif requested.order:
        tiers = {arm: number for number, arm in enumerate(_checked(requested.order))}
    else:
        ranked = sorted(evidence.arms, key=lambda name: (name != requested.baseline, _natural(name)))
        tiers = {arm: number for number, arm in enumerate(ranked)}
        notes = (f"the tiers are ranked by arm name ({', '.join(ranked)}); --order T0,T1,… sets the order.",)
    scores = {arm: evidence.arm(arm) for arm in tiers}
    configurations = _configurations(scores, tiers)
    baseline = requested.baseline if requested.baseline in tiers else next(iter(tiers))
    if requested.baseline not in (None, baseline):
        lacks = "is on no tier" if requested.baseline in evidence.arms else "has no run"
        notes += (f"the suite's baseline {requested.baseline!r} {lacks}; all arms are compared with {baseline!r}.",)
    return LadderLayout(
        tiers=tiers,
        names=requested.names,
        baseline=baseline,
        configurations=configurations,
        notes=(*notes, *_notes_on_copies(scores, configurations, tiers)),
    )


def _notes_on_missing(tiers: Collection[str], present: Collection[str]) -> tuple[str, ...]:
    missing = [arm for arm in tiers if arm not in present]
    return (f"arms without any run are left out: {quote_names(missing, 10)}.",) if missing else ()


def _configurations(arms: Mapping[str, Sequence[Score]], tiers: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Arms of one tier with the same known fingerprint are replicates of one configuration."""
    groups: dict[tuple[int, str], list[str]] = {}
    for arm, scores in arms.items():
        # An arm without a known fingerprint, or with several, is a configuration of its own.
        groups.setdefault((tiers[arm], _fingerprint(scores) or f"arm {arm}"), []).append(arm)
    return {names[0]: tuple(names) for names in groups.values()}


def _fingerprint(scores: Sequence[Score]) -> str | None:
    found = {score.arm_fingerprint for score in scores if score.counted}
    return found.pop() if len(found) == 1 else None


def _notes_on_copies(
    arms: Mapping[str, Sequence[Score]], configurations: Mapping[str, tuple[str, ...]], tiers: Mapping[str, int]
) -> tuple[str, ...]:
    places: dict[str, list[str]] = {}
    for name in configurations:
        if (fingerprint := _fingerprint(arms[name])) is not None:
            places.setdefault(fingerprint, []).append(name)
    return tuple(
        f"{' and '.join(f'{name} (tier {tiers[name]})' for name in same)} have the same fingerprint on different "
        "tiers: any difference between them is noise."
        for same in places.values()
        if len(same) > 1
    )


def _checked(order: Sequence[str]) -> Sequence[str]:
    twice = [name for name in order if order.count(name) > 1]
    if twice:
        raise UsageError(f"--order names {twice[0]!r} twice; name each tier once.")
    return order


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
