"""Arms that inherit the best arm of lower tiers: what is refused before the first run, and how they are built.

An inheriting arm is built on the chosen arm as if it extended it. What it extends itself lies between the two.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from outweigh.engine.compose_parts import SuiteParts
from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import Arm, ArmSpec
from outweigh.model.parse import inherit
from outweigh.model.suite import Executor, SuiteSpec

SHOWN_ARMS = 5

MOST_TRIED = 500
"""So many possible arms are built before the first run, to find mistakes; beyond that, one for each inheriting arm."""


def built_on(name: str, chosen: str, arms: Mapping[str, ArmSpec]) -> dict[str, ArmSpec]:
    """The arms of a suite with one that is built on the chosen one."""
    own = inherit(name, arms)
    return {**arms, name: msgspec.structs.replace(own, extends=chosen, inherit=arms[name].inherit)}


def load_inheriting_arm(name: str, chosen: str, spec: SuiteSpec, files: ArmFiles) -> tuple[SuiteSpec, Arm]:
    """The arm that results from a choice, and the suite that says what it extends now."""
    resolved = msgspec.structs.replace(spec, arms=built_on(name, chosen, spec.arms))
    return resolved, _load(name, resolved.arms, spec, files, f"suite {spec.name}")


def _load(name: str, arms: Mapping[str, ArmSpec], spec: SuiteSpec, files: ArmFiles, source: str) -> Arm:
    parts = SuiteParts(spec.parts, files, source) if spec.parts else None
    return load_arm(name, arms, files, source, spec.providers, parts)


def candidates_of(name: str, arms: Mapping[str, ArmSpec]) -> list[str]:
    """The arms that an inheriting arm may be built on."""
    asked = arms[name].inherit
    return [] if asked is None else [other for other, arm in arms.items() if arm.tier in asked.best_of]


def refuse_bad_inheritance(spec: SuiteSpec, files: ArmFiles, source: str) -> None:
    """Refuse what could not be built or chosen, as far as that is known before the choice."""
    inheriting = [name for name, arm in spec.arms.items() if arm.inherit is not None]
    if not inheriting:
        return
    if spec.executor is Executor.HARBOR:
        raise UsageError(
            f"{source}: arms.{inheriting[0]}.inherit: Harbor runs all arms at once, and an inheriting arm is known "
            "only after a choice. Use the executor engine, or leave it out."
        )
    for name in inheriting:
        for fault in _faults(name, spec):
            raise UsageError(f"{source}: {fault}")
    for name, arm in spec.arms.items():
        if arm.extends in inheriting:
            raise UsageError(
                f"{source}: arms.{name}.extends is {arm.extends!r}, which inherits the best arm of lower tiers and is "
                "known only after the choice. Write the same inherit in this arm, and extend what both have in common."
            )
    _try_to_build(inheriting, spec, files, source)


def _faults(name: str, spec: SuiteSpec) -> Iterator[str]:
    arm, where = spec.arms[name], f"arms.{name}"
    assert arm.inherit is not None
    if name == spec.baseline:
        yield f"baseline is {name!r}, which inherits; the arm that others are compared with must be known before."
    if arm.same_as is not None or any(other.same_as == name for other in spec.arms.values()):
        yield f"{where}.inherit: an arm with same_as must be known before the first run; leave one of them out."
    if arm.tier is None:
        yield f"{where}.inherit needs a tier: write tier = {max(arm.inherit.best_of) + 1}, above those in best_of."
        return
    tiers = {other.tier for other in spec.arms.values()}
    for tier in arm.inherit.best_of:
        if tier >= arm.tier:
            yield (
                f"{where}.inherit.best_of names tier {tier}, and the arm itself is of tier {arm.tier}; it can inherit "
                "from lower tiers only."
            )
        if tier not in tiers:
            known = ", ".join(str(each) for each in sorted(each for each in tiers if each is not None))
            yield f"{where}.inherit.best_of names tier {tier}, which no arm has; the tiers are {known}."
    if arm.inherit.by == "median-judge" and not spec.judges:
        yield f'{where}.inherit.by is "median-judge", and the suite has no [[judges]]; add one, or use by = "evidence".'
    own = inherit(name, spec.arms).agent
    for other in candidates_of(name, spec.arms):
        base = inherit(other, spec.arms).agent
        if own is not None and base is not None and own != base:
            yield (
                f"{where}.inherit: the arm has the agent {own}, and {other!r}, which it may be built on, has {base}. "
                "Leave the agent out of this arm and of what it extends, or inherit from other tiers."
            )


def _try_to_build(inheriting: list[str], spec: SuiteSpec, files: ArmFiles, source: str) -> None:
    """Build every inheriting arm on every arm that may be chosen, as far as these are not too many."""
    arms = dict(spec.arms)
    spare = files.emptied()
    many = sum(len(candidates_of(name, arms)) for name in inheriting) > MOST_TRIED
    known: dict[tuple[str, bytes], str] = {}
    for name in sorted(inheriting, key=lambda each: spec.arms[each].tier or 0):
        possible = candidates_of(name, arms)
        for base in possible[:1] if many else possible:
            made = _load(name, built_on(name, base, arms), spec, spare, source)
            twin = known.setdefault((made.fingerprint, msgspec.json.encode(spec.arms[name].inherit)), name)
            if twin != name:
                raise UsageError(
                    f"{source}: arms {twin!r} and {name!r} are the same in everything but their names, so comparing "
                    f"them says nothing. Give arms.{name} settings of its own."
                )
        # What inherits from this arm in turn is tried on one of its possible forms.
        arms = built_on(name, possible[0], arms)


def describe_inheritance(names: Iterable[str], spec: SuiteSpec) -> Iterator[str]:
    """What inheriting arms wait for: a sentence for all that ask for the same."""
    arms: dict[bytes, list[str]] = {}
    for name in names:
        arms.setdefault(msgspec.json.encode(spec.arms[name].inherit), []).append(name)
    for group in arms.values():
        asked = spec.arms[group[0]].inherit
        assert asked is not None
        tiers = " and ".join(str(tier) for tier in asked.best_of)
        among = quote_names(candidates_of(group[0], spec.arms), SHOWN_ARMS)
        verb, whose, costs = ("is", "it", "costs") if len(group) == 1 else ("are", "they", "cost")
        yield (
            f"{join_names(group)} {verb} built on the best arm of tier {tiers} by {asked.by} ({among}). Which one that "
            f"is, and so what {whose} {costs}, is known after their runs."
        )


def join_names(names: Sequence[str]) -> str:
    """Names in a row, the first ones where they are many."""
    shown = list(names[:SHOWN_ARMS])
    more = [f"{len(names) - SHOWN_ARMS} more"] if len(names) > SHOWN_ARMS else []
    *first, last = (*shown, *more)
    return f"{', '.join(first)} and {last}" if first else last
