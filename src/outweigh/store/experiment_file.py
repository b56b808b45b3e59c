"""`experiment.json`: what a store was made for (tasks, arms, rules), and the hash that binds its records to those
rules.

The hash makes an edit of the file detectable. It does not protect against somebody who rewrites the whole store.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

import msgspec

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.arm import Arm, ArmOrigin, OverlayFile
from outweigh.model.look_plan import LookPlan
from outweigh.model.parse import inherit
from outweigh.model.parts import MadeDesign
from outweigh.model.profile import ProfileSpec
from outweigh.model.run_record import POLICY_VERSION_LABEL, RULES_LABEL
from outweigh.model.suite import Age, Executor, PolicySpec, QuarantinedTask, SuiteSpec, settings_fingerprint
from outweigh.model.task import Task
from outweigh.model.tiers import InheritSpec, TierSpec
from outweigh.store.arm_versions import ArmVersion, suite_arm, versions_of
from outweigh.store.durable_files import write_atomic
from outweigh.verdict.evidence_settings import CURRENT_VERSION

EXPERIMENT_FILE = "experiment.json"

Item = TypeVar("Item")

VERSIONED_POLICIES = {"evidence": CURRENT_VERSION}
"""Policies whose rule has changed, with the version that a new experiment takes; without one written down it is 1."""


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of an experiment: same fingerprints, checksums and seed, and the same rules to decide by.

    `looked_at` is how many tasks were planned when a run was to end as soon as the evidence decides, `looks` when it
    was to be looked at; from then on only a verdict that knows of the looks keeps its error rates. None if there
    were none. Stores of earlier releases have no `looks`, and are decided by a confidence sequence.
    `overlays` are the files that each arm adds, `origins` the revisions that they come from where they come from git,
    `settings` is a hash of what else makes a run what it is, None where runs were made under several. `notes` is what a
    reader of results must know, `executor` who made the runs. `planned_runs` is how many trials are to have a result:
    it says how far an experiment is, and nothing about what it is. `reuse_max_age` is the age beyond which reused runs
    are stale, None in stores of releases that had no such limit.
    `arms` are all that were ever run here. `current` says which of them the arms of the suite are now; empty where
    nothing has changed since the first run. `versions` are the arms that came later.
    `quarantine` are the tasks that the suite sets aside: `tasks` may still name them, and their runs do not count.
    `parts` are the parts that each arm is composed of, also of arms that the suite has no longer, and `designs` the
    designs that made arms of parts, the latest last. `tier_settings` is what the suite says about its tiers, and
    `inherits` which arms are built on the best arm of lower tiers. Such an arm is in `arms` from the moment when that
    one is chosen. `choosing_repeats` are the repeats that are for choosing only, from the first to this one, by arm;
    `planned_repeats` how often each arm is run where arms differ in that. `profiles` are the suite's own.
    """

    schema: Literal["outweigh.experiment/1"]
    suite: str
    baseline: str
    seed: int
    profile: str
    policy: PolicySpec
    arms: dict[str, str]
    tiers: dict[str, int]
    tasks: dict[str, str]
    looked_at: int | None
    settings: str | None = None
    overlays: dict[str, tuple[OverlayFile, ...]] = {}
    origins: dict[str, ArmOrigin] = {}
    notes: tuple[str, ...] = ()
    executor: Executor = Executor.ENGINE
    planned_runs: int | None = None
    reuse_max_age: Age | None = None
    looks: LookPlan | None = None
    current: dict[str, str] = {}
    versions: dict[str, ArmVersion] = {}
    quarantine: tuple[QuarantinedTask, ...] = ()
    parts: dict[str, tuple[str, ...]] = {}
    designs: tuple[MadeDesign, ...] = ()
    tier_settings: dict[str, TierSpec] = {}
    inherits: dict[str, InheritSpec] = {}
    choosing_repeats: dict[str, int] = {}
    planned_repeats: dict[str, int] = {}
    profiles: dict[str, ProfileSpec] = {}

    @property
    def tiers_of_built_arms(self) -> dict[str, int]:
        """The tiers without arms that wait for a choice, or for which nothing could be chosen."""
        return {arm: tier for arm, tier in self.tiers.items() if arm in self.arms or arm not in self.inherits}

    @property
    def optimistic_arms(self) -> tuple[str, ...]:
        """Arms whose runs are reported although another arm was chosen by them: they look better than they are."""
        tiers = {tier for each in self.inherits.values() for tier in each.best_of}
        return tuple(name for name, tier in self.tiers.items() if tier in tiers and name not in self.choosing_repeats)

    @property
    def counted_tasks(self) -> tuple[str, ...]:
        """The tasks whose runs count."""
        set_aside = {each.task for each in self.quarantine}
        return tuple(task for task in self.tasks if task not in set_aside)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The arms that the suite compares with its baseline now."""
        names = self.current.values() if self.current else self.arms
        return tuple(name for name in names if name != self.baseline)

    @property
    def earlier_candidates(self) -> tuple[str, ...]:
        """The arms that were run here and are no longer what the suite says."""
        return tuple(name for name in self.arms if name != self.baseline and name not in self.candidates)

    @property
    def first_candidates(self) -> tuple[str, ...]:
        """The arms of the first run, without the baseline."""
        return tuple(name for name in self.arms if name != self.baseline and name not in self.versions)


class PlannedRepeats(msgspec.Struct, frozen=True, kw_only=True):
    """How often each arm is run, where arms differ in that, and how many of those repeats are for choosing only.

    `later_runs` are planned for arms that are not known yet.
    """

    of_arms: Mapping[str, int] = MappingProxyType({})
    choosing: Mapping[str, int] = MappingProxyType({})
    later_runs: int = 0


UNIFORM_REPEATS = PlannedRepeats()


class VersionNames(msgspec.Struct, frozen=True, kw_only=True):
    """What a store calls the arms of a suite, and when the new ones among them begin.

    `has_results` is whether the baseline has runs here that new arms would be compared with.
    """

    names: Mapping[str, str]
    begun_at: datetime
    fresh_baseline: bool = False
    has_results: bool = True


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
        policy=_versioned(spec.policy, known),
        arms=_merged({} if known is None else known.arms, {name: arm.fingerprint for name, arm in arms.items()}),
        tiers=_tiers(spec, arms, known),
        tasks=_merged({} if known is None else known.tasks, {task.id: task.checksum for task in tasks}),
        looked_at=looked_at,
        settings=settings if known is None or known.settings == settings or _without_results(versions) else None,
        overlays=_merged({} if known is None else known.overlays, {name: arm.overlay for name, arm in arms.items()}),
        origins=_merged({} if known is None else known.origins, origins),
        notes=tuple(dict.fromkeys((*(known.notes if known else ()), *notes))),
        executor=spec.executor,
        planned_runs=_planned(planned_runs, known, spec),
        reuse_max_age=known.reuse_max_age if known and known.reuse_max_age is None else spec.reuse_max_age,
        looks=planned_looks,
        current=_current(known, arms, versions),
        versions={} if known is None else {**known.versions, **_new_versions(known, arms, versions)},
        quarantine=tuple(spec.quarantine),
        parts=_merged({} if known is None else known.parts, _parts_of_arms(spec, versions)),
        designs=_merged_designs(() if known is None else known.designs, designs, versions),
        tier_settings=spec.tiers,
        inherits={name: arm.inherit for name, arm in spec.arms.items() if arm.inherit is not None},
        choosing_repeats=_merged({} if known is None else known.choosing_repeats, repeats.choosing),
        planned_repeats=_merged({} if known is None else known.planned_repeats, repeats.of_arms),
    )
    if known is not None:
        check_experiment(folder, spec, tasks, arms, known, versions)
        _refuse_other_rules(folder, known, experiment, spec)
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


def _versioned(policy: PolicySpec, known: ExperimentFile | None) -> PolicySpec:
    """The policy with the version of its rule; an experiment that was begun goes on under the version it has."""
    if policy.version is not None or policy.name not in VERSIONED_POLICIES:
        return policy
    version = VERSIONED_POLICIES[policy.name] if known is None else known.policy.version
    return msgspec.structs.replace(policy, version=version)


def _planned(now: int | None, known: ExperimentFile | None, spec: SuiteSpec) -> int | None:
    """A later call with fewer repeats takes nothing back of what was planned before; one with fewer tasks does."""
    if known is None or (now is not None and known.quarantine != tuple(spec.quarantine)):
        return now
    return max((number for number in (now, known.planned_runs) if number is not None), default=None)


def remove_experiment(folder: Path) -> None:
    """Where nothing has been run, a store is for nothing yet: whoever was told to mend a task first may do so."""
    (folder / EXPERIMENT_FILE).unlink(missing_ok=True)


def read_experiment(folder: Path) -> ExperimentFile | None:
    """What the store was made for; None where nobody wrote it down."""
    try:
        return msgspec.json.decode((folder / EXPERIMENT_FILE).read_bytes(), type=ExperimentFile)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as fault:
        raise EvidenceError(
            f"{folder / EXPERIMENT_FILE} cannot be read: {fault}. It was damaged, or written by another release: read "
            "the records alone by naming the .jsonl files, or run into a new folder."
        ) from fault


def check_experiment(
    folder: Path,
    spec: SuiteSpec,
    tasks: Sequence[Task],
    arms: Mapping[str, Arm],
    known: ExperimentFile | None,
    versions: VersionNames | None,
) -> None:
    """Refuse a suite whose runs cannot be compared with those of the store."""
    suite = _SuiteIdentity(
        suite=spec.name,
        baseline=spec.baseline,
        seed=spec.seed,
        executor=spec.executor,
        tasks={task.id: task.checksum for task in tasks},
        arms={name: arm.fingerprint for name, arm in arms.items()},
        quarantine=frozenset(each.task for each in spec.quarantine),
    )
    if known is not None and (changes := tuple(_find_changes(known, suite, settings_fingerprint(spec), versions))):
        raise UsageError(
            f"{folder} holds another experiment: {' and '.join(changes)}. Name another folder with -o, where --reuse "
            f"{folder} takes over the baseline's runs that still fit, or change the suite back."
        )


class _SuiteIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a suite says now; the arms go by the store's names."""

    suite: str
    baseline: str
    seed: int
    executor: Executor
    tasks: Mapping[str, str]
    arms: Mapping[str, str]
    quarantine: frozenset[str]


def _find_changes(
    known: ExperimentFile, suite: _SuiteIdentity, settings: str, versions: VersionNames | None
) -> Iterator[str]:
    """What makes a suite another experiment, in words. A changed candidate or a further task does not."""
    if named := _different(("suite", "baseline", "seed", "executor"), known, suite):
        yield f"{named} differ from what was run there"
    new = [name for name in suite.arms if name not in known.arms]
    changed = [name for name in suite.arms if known.arms.get(name, suite.arms[name]) != suite.arms[name]]
    if suite.baseline in changed or (not named and suite.baseline in new):
        yield f"arms differ (the baseline {suite.baseline!r} has changed, and every comparison here rests on its runs)"
    elif changed or (versions is None and suite.arms.keys() != known.arms.keys()):
        yield "arms differ from what was run there"
    elif new and suite.executor is Executor.HARBOR:
        yield f"arms differ ({quote_names(new)}; Harbor keeps one version of each arm in a store)"
    elif new and known.settings != settings and not _without_results(versions):
        yield (
            "sandbox, limits or gateway differ from those that the baseline was run with, so its runs cannot be "
            f"compared with {quote_names(new)}"
        )
    gone = [name for name in known.tasks if name not in suite.tasks]
    if lost := [name for name in gone if name not in suite.quarantine]:
        yield f"tasks differ (run there, and no longer in the suite: {quote_names(lost)})"
    set_aside = [name for name in gone if name in suite.quarantine and name in known.counted_tasks]
    if set_aside and (known.looked_at is not None or suite.executor is Executor.HARBOR):
        yield f"tasks differ (planned there, and in quarantine now: {quote_names(set_aside)})"
    if edited := [name for name, checksum in suite.tasks.items() if known.tasks.get(name, checksum) != checksum]:
        yield f"tasks differ (changed since they were run there: {quote_names(edited)})"
    added = [name for name in suite.tasks if name not in known.tasks]
    if added and (known.looked_at is not None or suite.executor is Executor.HARBOR):
        yield f"tasks differ (not planned there: {quote_names(added)})"


def _without_results(versions: VersionNames | None) -> bool:
    return versions is not None and not versions.has_results


def changed_rules(known: ExperimentFile, spec: SuiteSpec) -> list[str]:
    """Keys of the suite that decide otherwise now than when the experiment was begun."""
    max_age = None if known.reuse_max_age is None else spec.reuse_max_age  # earlier releases had no limit
    now = {"policy": _versioned(spec.policy, known), "profile": spec.profile, "reuse_max_age": max_age}
    rules = [rule for rule, value in now.items() if getattr(known, rule) != value]
    if "profile" not in rules and known.profiles.get(known.profile) != spec.profiles.get(spec.profile):
        rules.append("profile")
    return rules


def _refuse_other_rules(folder: Path, known: ExperimentFile, now: ExperimentFile, spec: SuiteSpec) -> None:
    rules = changed_rules(known, spec)
    tiers = [_tiers_of_suite(each) for each in (known, now)]
    shared = tiers[0].keys() & tiers[1].keys() if known.versions or now.versions else tiers[0].keys() | tiers[1].keys()
    if any(tiers[0].get(arm) != tiers[1].get(arm) for arm in shared):
        rules.append("tiers")
    if any(known.inherits.get(arm, asked) != asked for arm, asked in now.inherits.items()):
        rules.append("inherit")
    if any(known.choosing_repeats.get(arm, last) != last for arm, last in now.choosing_repeats.items()):
        rules.append("repeats of arms that are chosen from")
    if rules:
        raise UsageError(
            f"{folder} was begun under other rules: {' and '.join(rules)} differ. Rules that change once results are "
            "in decide nothing; change the suite back, and try others with the options of `outweigh verdict` and "
            "`ladder`."
        )


def _tiers_of_suite(experiment: ExperimentFile) -> dict[str, int]:
    return {suite_arm(name, experiment.versions): tier for name, tier in experiment.tiers.items()}


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


def _different(fields: Sequence[str], known: ExperimentFile, now: _SuiteIdentity) -> str:
    return " and ".join(field for field in fields if getattr(known, field) != getattr(now, field))


def read_rule_labels(folder: Path) -> Mapping[str, str | int]:
    """What a record that is made for a store says about its rules; nothing where nobody wrote down what it is for."""
    experiment = read_experiment(folder)
    if experiment is None:
        return {}
    return {RULES_LABEL: rules_sha256(experiment), POLICY_VERSION_LABEL: experiment.policy.version or 1}


def rules_sha256(experiment: ExperimentFile) -> str:
    """A hash of what decides: the policy, the profile, the age of stale runs, and when somebody may look early."""
    return _rules_hash(experiment, looked=True)


def fits_rules(experiment: ExperimentFile, named: str) -> bool:
    """Whether a record could have been made under these rules; it may be older than the wish to end at a decision."""
    return named in (_rules_hash(experiment, looked=True), _rules_hash(experiment, looked=False))


def _rules_hash(experiment: ExperimentFile, *, looked: bool) -> str:
    """Of what differs from the defaults, so that a later release with one more setting finds the same."""
    policy = experiment.policy
    stated = {
        field.name: value
        for field in msgspec.structs.fields(policy)
        if (value := getattr(policy, field.name)) != _field_default(field)
    }
    # Stated even where it is the default: a store without it has no limit.
    if experiment.reuse_max_age is not None:
        stated["reuse_max_age"] = experiment.reuse_max_age
    looked_at, looks = (experiment.looked_at, experiment.looks) if looked else (None, None)
    planned = () if looks is None else (looks,)
    own = experiment.profiles.get(experiment.profile)
    profile = experiment.profile if own is None else (experiment.profile, own)
    return sha256(msgspec.json.encode((stated, profile, looked_at, *planned), order="sorted")).hexdigest()


def _field_default(field: msgspec.structs.FieldInfo) -> object:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default
