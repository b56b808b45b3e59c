"""Turns the designs of a suite into ordinary arms, each with its parts, so that nothing later needs to know of designs.

An arm that the suite has already, with the same settings and the same parts, is used and not made again, except by
screens.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from random import Random

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import ArmSpec
from outweigh.model.parse import ArmExtensionError, inherit
from outweigh.model.parts import DesignSpec, MadeDesign
from outweigh.model.suite import SuiteSpec
from outweigh.stats.designs import (
    Levels,
    add_one,
    fold_over,
    full_factorial,
    leave_one_out,
    plackett_burman,
    plackett_burman_size,
    supersaturated,
)
from outweigh.stats.fractional_designs import FractionalDesign, find_fraction, smallest_fraction

MOST_ARMS = 64
"""How many arms a design makes, unless it says `arms`."""
ALL_PARTS = "all-parts"
NO_PARTS = "no-parts"
_SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedSuite:
    """A suite with the arms of its designs.

    `made` are the arms that the suite does not write itself, `repeats` those of arms whose design has its own.
    """

    spec: SuiteSpec
    designs: tuple[MadeDesign, ...] = ()
    made: tuple[str, ...] = ()
    repeats: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def expand_designs(spec: SuiteSpec, source: str) -> ExpandedSuite:
    """The suite with an arm for every combination of parts that its designs ask for."""
    if not spec.designs:
        return ExpandedSuite(spec=spec)
    arms = _DesignArms(spec)
    made = [_make(design, spec, arms, f"{source}: designs", number) for number, design in enumerate(spec.designs)]
    designs = tuple(each for each, _ in made)
    notes = [note for _, notes in made for note in notes]
    baseline = _baseline(spec, designs)
    if baseline not in arms.specs:
        raise UsageError(
            f"{source}: baseline is {baseline!r}, which is not an arm; the arms are {quote_names(arms.specs, 20)}."
        )
    if baseline != spec.baseline:
        notes.append(
            f"the baseline is {baseline}, the arm with all parts, because a leave-one-out design compares with it; "
            f"{spec.baseline}, which the suite names, is a candidate."
        )
    return ExpandedSuite(
        spec=msgspec.structs.replace(spec, arms=arms.specs, baseline=baseline),
        designs=designs,
        made=tuple(name for name in arms.specs if name not in spec.arms),
        repeats=arms.repeats,
        notes=tuple(notes),
    )


def _baseline(spec: SuiteSpec, designs: Sequence[MadeDesign]) -> str:
    """The arm with all parts where the suite names the arm without them and no design compares with that.

    A screen was run with the baseline that is named, and what confirms it is added to the same store.
    """
    compared = [each for each in designs if each.kind == "leave-one-out" and each.bare == spec.baseline]
    if not compared or compared[0].full is None or any(each.kind in ("add-one", _SCREEN) for each in designs):
        return spec.baseline
    return compared[0].full


class _DesignArms:
    """The arms of a suite, to which designs add theirs."""

    def __init__(self, spec: SuiteSpec) -> None:
        self.specs = dict(spec.arms)
        self.repeats: dict[str, int] = {}
        self._screened: set[str] = set()
        self._order = list(spec.parts)
        self._known = {name: self._settings(arm) for name in spec.arms if (arm := _resolve(name, spec.arms))}

    def _settings(self, spec: ArmSpec) -> ArmSpec:
        """What an arm is, apart from its name and its rank, with its parts in the order of the suite."""
        parts = [part for part in self._order if part in spec.parts]
        return msgspec.structs.replace(spec, parts=parts, extends=None, tier=None, same_as=None)

    def find_or_add(self, name: str, spec: ArmSpec, design: DesignSpec) -> str:
        """The name of the arm with these settings, which is added where there is none.

        Where two designs share an arm that one of them made, the larger of their repeats counts. A screen shares no
        arm: the runs by which parts are chosen are not those by which they are judged.
        """
        known = None if design.kind == _SCREEN else self.find(spec)
        if known is None:
            return self._add(next(each for each in _names(name) if each not in self.specs), spec, design)
        if known in self.repeats:
            own = self.repeats.pop(known)
            self.repeats.update({} if design.repeats is None else {known: max(own, design.repeats)})
        return known

    def find(self, spec: ArmSpec, among: Collection[str] | None = None) -> str | None:
        """The name of the arm with these settings: of these arms, else of all but those of screens."""
        settings = self._settings(spec)
        searched = [name for name in self._known if name not in self._screened] if among is None else among
        return next((name for name in searched if self._known[name] == settings), None)

    def _add(self, name: str, spec: ArmSpec, design: DesignSpec) -> str:
        settings = self._settings(spec)
        twin = self.find(spec, among=tuple(self._known))
        self._known[name], self.specs[name] = settings, msgspec.structs.replace(settings, same_as=twin)
        if design.kind == _SCREEN:
            self._screened.add(name)
        if design.repeats is not None:
            self.repeats[name] = design.repeats
        return name


def _resolve(name: str, arms: Mapping[str, ArmSpec]) -> ArmSpec | None:
    """The arm with what it extends; None where that is an arm that a design makes, or none at all."""
    try:
        return inherit(name, arms)
    except ArmExtensionError:
        return None


def _names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _make(
    design: DesignSpec, spec: SuiteSpec, arms: _DesignArms, where: str, number: int
) -> tuple[MadeDesign, tuple[str, ...]]:
    parts = _parts_of(design, spec, where)
    base_name = _base_arm(design, spec, where)
    base = _resolve(base_name, spec.arms)
    if base is None:
        raise UsageError(f"{where}.arm: {base_name!r} extends an arm that the suite does not write; name another arm.")
    if base.inherit is not None:
        raise UsageError(
            f"{where}.arm: {base_name!r} is built on the best arm of a tier, which is not known before the run; name "
            "an arm without `inherit`."
        )
    levels, fraction = _levels(design, len(parts), spec.seed + number, where)
    others = [part for part in base.parts if part not in parts]
    model = design.model or base.model

    def composed(chosen: Sequence[str]) -> ArmSpec:
        return msgspec.structs.replace(base, parts=[*others, *chosen], model=model)

    columns = Random(spec.seed + number).sample(parts, len(parts)) if design.kind == _SCREEN else parts
    made: list[str] = []
    for row, present in enumerate(levels, start=1):
        chosen = [part for part in parts if present[columns.index(part)]]
        made.append(arms.find_or_add(_arm_name(design, parts, chosen, row), composed(chosen), design))
    own = tuple(made) if design.kind == _SCREEN else None
    record = MadeDesign(
        kind=design.kind,
        parts=tuple(parts),
        arm=base_name,
        arms=tuple(dict.fromkeys(made)),
        full=arms.find(composed(parts), own),
        bare=arms.find(composed(()), own),
        model=design.model,
        repeats=design.repeats,
        shortlist=design.shortlist,
        generators={} if fraction is None else _generators(fraction, parts),
    )
    described = () if fraction is None else (_describe_fraction(fraction, parts),)
    return record, (_describe_screen(levels),) if design.kind == _SCREEN else described


def _generators(fraction: FractionalDesign, parts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    return {
        parts[place]: tuple(parts[factor] for factor in fraction.generator(place))
        for place in range(fraction.base, fraction.factors)
    }


def _parts_of(design: DesignSpec, spec: SuiteSpec, where: str) -> list[str]:
    """The parts that it varies, in the order of the suite."""
    for part in design.parts:
        if part not in spec.parts:
            near = get_close_matches(part, spec.parts, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the parts are {quote_names(spec.parts, 20)}."
            raise UsageError(f"{where}.parts names {part!r}, which is not under [parts]; {hint}")
    if not spec.parts:
        raise UsageError(f"{where}: a design makes arms of parts, and the suite has none; add tables [parts.NAME].")
    return [part for part in spec.parts if part in design.parts or not design.parts]


def _base_arm(design: DesignSpec, spec: SuiteSpec, where: str) -> str:
    if design.arm is None and spec.baseline not in spec.arms and len(spec.arms) == 1:
        return next(iter(spec.arms))
    name = design.arm or spec.baseline
    if name not in spec.arms:
        raise UsageError(
            f"{where}.arm: name the arm that the parts are added to, one of {quote_names(spec.arms, 20)}"
            + ("." if design.arm is None else f"; {name!r} is none of them.")
        )
    return name


def _levels(design: DesignSpec, parts: int, seed: int, where: str) -> tuple[Levels, FractionalDesign | None]:
    match design.kind:
        case "leave-one-out" | "add-one":
            _refuse_too_many(design, parts, parts + 1, where)
            return (leave_one_out if design.kind == "leave-one-out" else add_one)(parts), None
        case "factorial":
            _refuse_too_many(design, parts, 2**parts, where)
            return full_factorial(parts), None
        case "fractional":
            fraction = _fraction(design, parts, where)
            return fraction.levels(), fraction
        case "screen":
            return _screen(design, parts, seed, where), None


def _refuse_too_many(design: DesignSpec, parts: int, needed: int, where: str) -> None:
    most = design.arms or MOST_ARMS
    if needed > most:
        small = f"a fractional design or a screen; the smallest screen has {plackett_burman_size(parts)} arms"
        instead = small if design.kind == "factorial" and parts < MOST_ARMS else "a screen, or name fewer parts"
        raise UsageError(
            f"{where}: the {design.kind} design of {parts} parts has {needed:,} arms, and at most {most} are made"
            + ("" if design.arms else " unless `arms` allows more")
            + f". Use {instead}."
        )


def _fraction(design: DesignSpec, parts: int, where: str) -> FractionalDesign:
    if parts < 3:
        raise UsageError(f"{where}: a fractional design needs at least 3 parts, not {parts}; use a factorial design.")
    most = design.arms or MOST_ARMS
    smallest = 4
    while smallest <= parts:
        smallest *= 2
    if most >= 2**parts and design.arms is not None:
        raise UsageError(f"{where}.arms: {parts} parts have {2**parts} arms in all; use a factorial design.")
    if smallest > most:
        raise UsageError(
            f"{where}: a fractional design of {parts} parts needs at least {smallest} arms, and at most {most} are "
            "made; use a screen, or name fewer parts."
        )
    if design.arms is None:
        usual = smallest_fraction(parts)
        return usual if usual.arms <= most else find_fraction(parts, smallest)
    return find_fraction(parts, 1 << (most.bit_length() - 1))


def _screen(design: DesignSpec, parts: int, seed: int, where: str) -> Levels:
    """A Plackett–Burman design, folded over where the arms allow it; supersaturated where they are too few for one."""
    if parts < 2:
        raise UsageError(f"{where}: a screen needs at least 2 parts; use leave-one-out.")
    most = design.arms or MOST_ARMS
    if parts < most and (size := plackett_burman_size(parts)) <= most:
        levels = plackett_burman(parts)
        return fold_over(levels) if design.arms is not None and most >= 2 * size else levels
    try:
        random = Random(seed)
        return supersaturated(parts, most - most % 2, lambda numbers: random.sample(numbers, len(numbers)))
    except ValueError as fault:
        raise UsageError(f"{where}.arms: {fault}; allow more `arms`, or name fewer parts.") from None


def _arm_name(design: DesignSpec, parts: Sequence[str], chosen: Sequence[str], row: int) -> str:
    if design.kind == _SCREEN:
        return f"screen-{row:02}"
    if len(chosen) == len(parts):
        return ALL_PARTS
    if not chosen:
        return NO_PARTS
    match design.kind:
        case "leave-one-out":
            return f"without-{next(part for part in parts if part not in chosen)}"
        case "add-one":
            return f"with-{chosen[0]}"
    return f"part-set-{row:02}"


_SHOWN_WORDS = 31
_SHOWN_ALIASES = 40


def _describe_fraction(fraction: FractionalDesign, parts: Sequence[str]) -> str:
    """The generators, the defining relation, the resolution and the aliases of a fractional design."""

    def words(effect: Sequence[int]) -> str:
        return "×".join(parts[place] for place in effect)

    generators = ", ".join(
        f"{parts[place]} = {words(fraction.generator(place))}" for place in range(fraction.base, fraction.factors)
    )
    relation = fraction.relation()
    listed = relation if relation is not None and len(relation) <= _SHOWN_WORDS else None
    defining = "" if listed is None else f" Defining relation: I = {' = '.join(map(words, listed))}."
    chains = dict.fromkeys(
        tuple(sorted((effect, *others), key=lambda each: (len(each), each)))
        for effect, others in fraction.aliases().items()
        if others
    )
    shown = "; ".join(" = ".join(map(words, chain)) for chain in list(chains)[:_SHOWN_ALIASES])
    more = f"; and {len(chains) - _SHOWN_ALIASES} more" if len(chains) > _SHOWN_ALIASES else ""
    aliases = (
        f"Effects that no arm tells apart: {shown}{more}."
        if chains
        else "No main effect and no two-way interaction is mixed with another."
    )
    return (
        f"the fractional design has {fraction.arms} of {2**fraction.factors:,} combinations of {fraction.factors} "
        f"parts, resolution {_ROMAN.get(fraction.resolution, fraction.resolution)}. Generators: {generators}."
        f"{defining} {aliases} Interactions of three or more parts are not listed."
    )


_ROMAN = {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII"}


def _describe_screen(levels: Levels) -> str:
    arms, parts = len(levels), len(levels[0])
    if arms <= parts:
        kind = f"a supersaturated design: {arms} arms are fewer than it takes to estimate {parts} parts"
    elif arms >= 2 * plackett_burman_size(parts):
        kind = "a Plackett–Burman design that is folded over: no main effect is mixed with a two-way interaction"
    elif arms >= plackett_burman_size(parts):
        kind = "a Plackett–Burman design: each main effect is mixed with interactions of other parts"
    else:
        kind = "a random balanced design: its main effects are slightly mixed with each other"
    return f"the screen of {parts} parts is {kind}. It ranks parts; only arms that confirm it give verdicts."
