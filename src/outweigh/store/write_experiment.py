"""Writes down what a store is for, together with what it was for before; refuses what does not belong together."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import msgspec

from outweigh.model.arm import Arm, ArmOrigin
from outweigh.model.look_plan import LookPlan
from outweigh.model.parse import inherit
from outweigh.model.parts import MadeDesign
from outweigh.model.suite import SuiteSpec, settings_fingerprint
from outweigh.model.task import Task
from outweigh.store.arm_versions import ArmVersion, suite_arm, versions_of
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_changes import (
    VersionNames,
    check_experiment,
    refuse_other_rules,
    versioned_policy,
    without_results,
)
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, read_experiment

Item = TypeVar("Item")


class PlannedRepeats(msgspec.Struct, frozen=True, kw_only=True):
    """How often each arm is run, where arms differ in that, and how many of those repeats are for choosing only.

    `later_runs` are planned for arms that are not known yet.
    """

    of_arms: Mapping[str, int] = MappingProxyType({})
    choosing: Mapping[str, int] = MappingProxyType({})
    later_runs: int = 0


UNIFORM_REPEATS = PlannedRepeats()


def write_experiment(  # noqa: PLR0913 - one keyword for everything that a store remembers
    folder: Path,
    spec: SuiteSpec,
    tasks: Sequence[Task],
    arms: Mapping[str, Arm],
    *,
    looks: LookPlan | None = None,
    origins: Mapping[str, ArmOrigin] = MappingProxyType({}),
    notes: Sequence[str] = (),
    planned_runs: int | None = None,
    versions: VersionNames | None = None,
    designs: Sequence[MadeDesign] = (),
    repeats: PlannedRepeats = UNIFORM_REPEATS,
) -> None:
    """Write down what the store is for, or refuse when it is for something else.

    Looks are planned once: a plan that the store has already stays as it is. `arms` go by the store's names, which
    `versions` explains; without it no arm may be another than before.
    """
    known = read_experiment(folder)
    looked_at, planned_looks = (known.looked_at, known.looks) if known else (None, None)
    if looks is not None and looked_at is None:
        looked_at, planned_looks = max(2, len(tasks)), looks
    settings = settings_fingerprint(spec)
    experiment = ExperimentFile(
        schema="outweigh.experiment/1",
        suite=spec.name,
        baseline=spec.baseline,
        seed=spec.seed,
        profile=spec.profile,
        profiles=spec.profiles,
        policy=versioned_policy(spec.policy, known),
        arms=_merged({} if known is None else known.arms, {name: arm.fingerprint for name, arm in arms.items()}),
        tiers=_tiers(spec, arms, known),
        tasks=_merged({} if known is None else known.tasks, {task.id: task.checksum for task in tasks}),
        looked_at=looked_at,
        settings=settings if known is None or known.settings == settings or without_results(versions) else None,
        overlays=_merged({} if known is None else known.overlays, {name: arm.overlay for name, arm in arms.items()}),
        origins=_merged({} if known is None else known.origins, origins),
        notes=tuple(dict.fromkeys((*(known.notes if known else ()), *notes))),
        executor=spec.executor.stored,
        planned_runs=_planned(planned_runs, known, spec),
        reuse_max_age=known.reuse_max_age if known and known.reuse_max_age is None else spec.reuse_max_age,
        looks=planned_looks,
        current=_current(known, arms, versions),
        versions={} if known is None else {**known.versions, **_new_versions(known, arms, versions)},
        quarantine=tuple(spec.quarantine),
        parts=_merged({} if known is None else known.parts, _parts_of_arms(spec, versions)),
        besides_parts=_merged({} if known is None else known.besides_parts, _besides_parts(spec, versions)),
        designs=_merged_designs(() if known is None else known.designs, designs, versions),
        tier_settings=spec.tiers,
        inherits=_merged(
            {} if known is None else known.inherits,
            {name: arm.inherit for name, arm in spec.arms.items() if arm.inherit is not None},
        ),
        choosing_repeats=_merged({} if known is None else known.choosing_repeats, repeats.choosing),
        planned_repeats=_merged({} if known is None else known.planned_repeats, repeats.of_arms),
    )
    if known is not None:
        check_experiment(folder, spec, tasks, arms, known, versions)
        refuse_other_rules(folder, known, experiment, spec)
    if known != experiment:
        write_atomic(folder / EXPERIMENT_FILE, [msgspec.json.format(msgspec.json.encode(experiment), indent=2), b"\n"])


def _tiers(spec: SuiteSpec, arms: Mapping[str, Arm], known: ExperimentFile | None) -> dict[str, int]:
    """The tier of every arm, also of those that are built on an arm that is not chosen yet."""
    tiers = {name: arm.tier for name, arm in arms.items() if arm.tier is not None}
    chosen = {suite_arm(name, {} if known is None else known.versions) for name in arms}
    waiting = {
        name: arm.tier
        for name, arm in spec.arms.items()
        if arm.inherit is not None and arm.tier is not None and name not in chosen
    }
    return tiers | waiting


def _planned(now: int | None, known: ExperimentFile | None, spec: SuiteSpec) -> int | None:
    """A later call with fewer repeats takes nothing back of what was planned before; one with fewer tasks does."""
    if known is None or (now is not None and known.quarantine != tuple(spec.quarantine)):
        return now
    return max((number for number in (now, known.planned_runs) if number is not None), default=None)


def _merged(known: Mapping[str, Item], now: Mapping[str, Item]) -> dict[str, Item]:
    """What is new comes after what is known, and what is not mentioned any more stays."""
    return {**known, **now}


def _stored_names(names: Sequence[str], versions: VersionNames | None) -> tuple[str, ...]:
    """The names that the store has for arms of the suite."""
    return tuple(names) if versions is None else tuple(versions.names.get(name, name) for name in names)


def _parts_of_arms(spec: SuiteSpec, versions: VersionNames | None) -> dict[str, tuple[str, ...]]:
    """The parts of every arm that has some, in the order of the suite."""
    composed = {name: inherit(name, spec.arms).parts for name in spec.arms}
    stored = dict(zip(spec.arms, _stored_names(tuple(spec.arms), versions), strict=True))
    return {
        stored[name]: tuple(part for part in spec.parts if part in parts) for name, parts in composed.items() if parts
    }


def _besides_parts(spec: SuiteSpec, versions: VersionNames | None) -> dict[str, str]:
    """A hash of what every arm is apart from its parts, so that arms are compared that differ in parts alone.

    Nothing where no arm has parts: earlier releases did not write it.
    """
    if not spec.parts:
        return {}
    stored = dict(zip(spec.arms, _stored_names(tuple(spec.arms), versions), strict=True))
    apart: dict[str, object] = {
        "parts": [],
        "without": [],
        "extends": None,
        "tier": None,
        "same_as": None,
        "inherit": None,
    }
    settings = {name: msgspec.structs.replace(inherit(name, spec.arms), **apart) for name in spec.arms}
    return {
        stored[name]: sha256(msgspec.json.encode(each, order="sorted")).hexdigest() for name, each in settings.items()
    }


def _merged_designs(
    known: Sequence[MadeDesign], now: Sequence[MadeDesign], versions: VersionNames | None
) -> tuple[MadeDesign, ...]:
    """The designs of the suite after those that it had before and has no longer."""
    named = tuple(
        msgspec.structs.replace(
            design,
            arm=_stored_names((design.arm,), versions)[0],
            arms=_stored_names(design.arms, versions),
            full=None if design.full is None else _stored_names((design.full,), versions)[0],
            bare=None if design.bare is None else _stored_names((design.bare,), versions)[0],
        )
        for design in now
    )
    return (*(design for design in known if design not in named), *named)


def _current(known: ExperimentFile | None, arms: Mapping[str, Arm], versions: VersionNames | None) -> dict[str, str]:
    """Nothing, as long as the store has what the suite of its first run says."""
    if known is None or versions is None:
        return {} if known is None else known.current
    names = dict(versions.names)
    expected = known.arms.keys() | (names.keys() & known.inherits.keys())
    is_first = not known.versions and names.keys() == expected == arms.keys()
    return {} if is_first else names


def _new_versions(
    known: ExperimentFile, arms: Mapping[str, Arm], versions: VersionNames | None
) -> dict[str, ArmVersion]:
    if versions is None:
        return {}
    return {
        name: ArmVersion(
            arm=arm,
            number=len(versions_of(arm, known.arms, known.versions)) + 1,
            begun_at=versions.begun_at,
            fresh_baseline=versions.fresh_baseline,
        )
        for arm, name in versions.names.items()
        if name in arms and name not in known.arms and not was_expected(name, known)
    }


def was_expected(name: str, known: ExperimentFile) -> bool:
    """Whether an arm that a store does not have yet was planned with its first runs: one that waited for a choice."""
    return name in known.inherits
