"""`experiment.json`: what a store was made for (tasks, arms, rules), and the hash that binds its records to those
rules.

The hash makes an edit of the file detectable. It does not protect against somebody who rewrites the whole store.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.arm import Arm, ArmOrigin, OverlayFile
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import POLICY_VERSION_LABEL, RULES_LABEL
from outweigh.model.suite import Age, Executor, PolicySpec, SuiteSpec, settings_fingerprint
from outweigh.model.task import Task
from outweigh.store.durable_files import write_atomic
from outweigh.verdict.evidence_settings import CURRENT_VERSION

EXPERIMENT_FILE = "experiment.json"

VERSIONED_POLICIES = {"evidence": CURRENT_VERSION}
"""Policies whose rule has changed, with the version that a new experiment takes; without one written down it is 1."""


class ExperimentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of an experiment: same fingerprints, checksums and seed, and the same rules to decide by.

    `looked_at` is how many tasks were planned when a run was to end as soon as the evidence decides, `looks` when it
    was to be looked at; from then on only a verdict that knows of the looks keeps its error rates. None where nobody
    looked. Stores of earlier releases have no `looks`, and are decided by a confidence sequence.
    `overlays` are the files that each arm lays, `origins` the revisions that they come from where they come from git,
    `settings` is a hash of what else makes a run what it is, None where runs were made under several. `notes` is what a
    reader of results must know, `executor` who made the runs. `planned_runs` is how many trials are to have a result:
    it says how far an experiment is, and nothing about what it is. `reuse_max_age` is the age beyond which reused runs
    are stale, None in stores of releases that had no such limit.
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


def write_experiment(
    folder: Path,
    spec: SuiteSpec,
    tasks: Sequence[Task],
    arms: Mapping[str, Arm],
    *,
    looks: LookPlan | None = None,
    origins: Mapping[str, ArmOrigin] = MappingProxyType({}),
    notes: Sequence[str] = (),
    planned_runs: int | None = None,
) -> None:
    """Write down what the store is for, or refuse when it is for something else.

    Looks are planned once: a plan that the store has already stays as it is.
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
        policy=_versioned(spec.policy, known),
        arms={name: arm.fingerprint for name, arm in arms.items()},
        tiers={name: arm.tier for name, arm in arms.items() if arm.tier is not None},
        tasks={task.id: task.checksum for task in tasks},
        looked_at=looked_at,
        settings=settings if known is None or known.settings == settings else None,
        overlays={name: arm.overlay for name, arm in arms.items()},
        origins=dict(origins),
        notes=tuple(dict.fromkeys((*(known.notes if known else ()), *notes))),
        executor=spec.executor,
        planned_runs=_larger(planned_runs, known.planned_runs if known else None),
        reuse_max_age=known.reuse_max_age if known and known.reuse_max_age is None else spec.reuse_max_age,
        looks=planned_looks,
    )
    if known is not None:
        _refuse_changes(folder, known, experiment)
    if known != experiment:
        write_atomic(folder / EXPERIMENT_FILE, [msgspec.json.format(msgspec.json.encode(experiment), indent=2), b"\n"])


def _versioned(policy: PolicySpec, known: ExperimentFile | None) -> PolicySpec:
    """The policy with the version of its rule; an experiment that was begun goes on under the version it has."""
    if policy.version is not None or policy.name not in VERSIONED_POLICIES:
        return policy
    version = VERSIONED_POLICIES[policy.name] if known is None else known.policy.version
    return msgspec.structs.replace(policy, version=version)


def _larger(now: int | None, before: int | None) -> int | None:
    """A later call with fewer repeats takes nothing back of what was planned before."""
    return max((number for number in (now, before) if number is not None), default=None)


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


def _refuse_changes(folder: Path, known: ExperimentFile, now: ExperimentFile) -> None:
    runs = _different(("suite", "baseline", "seed", "arms", "tasks", "executor"), known, now)
    if runs:
        raise UsageError(
            f"{folder} holds another experiment: {runs} differ from what was run there. Name another folder by -o, "
            "or change the suite back."
        )
    if rules := _different(("policy", "profile", "tiers", "reuse_max_age"), known, now):
        raise UsageError(
            f"{folder} was begun under other rules: {rules} differ. Rules that change once results are in decide "
            "nothing; change the suite back, and try others with the options of `outweigh verdict` and `ladder`."
        )


def _different(fields: Sequence[str], known: ExperimentFile, now: ExperimentFile) -> str:
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
    return sha256(msgspec.json.encode((stated, experiment.profile, looked_at, *planned), order="sorted")).hexdigest()


def _field_default(field: msgspec.structs.FieldInfo) -> object:
    return field.default_factory() if field.default is msgspec.NODEFAULT else field.default
