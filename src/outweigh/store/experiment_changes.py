"""What makes a suite another experiment than a store was begun for: other tasks, arms or settings, or other rules."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.model.arm import Arm
from outweigh.model.suite import Executor, PolicySpec, SuiteSpec, settings_fingerprint
from outweigh.model.task import Task
from outweigh.store.arm_versions import suite_arm
from outweigh.store.experiment_file import ExperimentFile
from outweigh.verdict.evidence_settings import CURRENT_VERSION

VERSIONED_POLICIES = {"evidence": CURRENT_VERSION}
"""Policies whose rule has changed, with the version that a new experiment takes; without one written down it is 1."""


class VersionNames(msgspec.Struct, frozen=True, kw_only=True):
    """What a store calls the arms of a suite, and when the new ones among them begin.

    `has_results` is whether the baseline has runs here that new arms would be compared with.
    """

    names: Mapping[str, str]
    begun_at: datetime
    fresh_baseline: bool = False
    has_results: bool = True


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
        executor=spec.executor.stored,
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
    elif new and known.settings != settings and not without_results(versions):
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


def _different(fields: Sequence[str], known: ExperimentFile, now: _SuiteIdentity) -> str:
    return " and ".join(field for field in fields if getattr(known, field) != getattr(now, field))


def without_results(versions: VersionNames | None) -> bool:
    """Whether no run of the baseline is there yet that new arms would be compared with."""
    return versions is not None and not versions.has_results


def changed_rules(known: ExperimentFile, spec: SuiteSpec) -> list[str]:
    """Keys of the suite that decide otherwise now than when the experiment was begun."""
    max_age = None if known.reuse_max_age is None else spec.reuse_max_age  # earlier releases had no limit
    now = {"policy": versioned_policy(spec.policy, known), "profile": spec.profile, "reuse_max_age": max_age}
    rules = [rule for rule, value in now.items() if getattr(known, rule) != value]
    if "profile" not in rules and known.profiles.get(known.profile) != spec.profiles.get(spec.profile):
        rules.append("profile")
    return rules


def refuse_other_rules(folder: Path, known: ExperimentFile, now: ExperimentFile, spec: SuiteSpec) -> None:
    """Refuse a suite that would decide otherwise than the one that the store was begun with."""
    rules = changed_rules(known, spec)
    tiers = [_tiers_of_suite(each) for each in (known, now)]
    shared = tiers[0].keys() & tiers[1].keys() if known.versions or now.versions else tiers[0].keys() | tiers[1].keys()
    if any(tiers[0].get(arm) != tiers[1].get(arm) for arm in shared):
        rules.append("tiers")
    met = known.arms.keys() | known.inherits.keys()
    if any(known.inherits.get(name) != arm.inherit for name, arm in spec.arms.items() if name in met):
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


def versioned_policy(policy: PolicySpec, known: ExperimentFile | None) -> PolicySpec:
    """The policy with the version of its rule; an experiment that was begun goes on under the version it has."""
    if policy.version is not None or policy.name not in VERSIONED_POLICIES:
        return policy
    version = VERSIONED_POLICIES[policy.name] if known is None else known.policy.version
    return msgspec.structs.replace(policy, version=version)
