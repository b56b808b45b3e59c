"""`experiment.json`: what a store was made for (tasks, arms, rules), and the hash that binds its records to those
rules.

The hash makes an edit of the file detectable. It does not protect against somebody who rewrites the whole store.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.arm import ArmOrigin, OverlayFile
from outweigh.model.look_plan import LookPlan
from outweigh.model.parts import MadeDesign
from outweigh.model.profile import ProfileSpec
from outweigh.model.run_record import POLICY_VERSION_LABEL, RULES_LABEL
from outweigh.model.suite import Age, Executor, PolicySpec, QuarantinedTask
from outweigh.model.tiers import InheritSpec, TierSpec
from outweigh.store.arm_versions import ArmVersion

EXPERIMENT_FILE = "experiment.json"


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
    `inherits` which arms are built on the best arm of lower tiers, also of arms that the suite has no longer. Such an
    arm is in `arms` from the moment when that one is chosen. `choosing_repeats` are the repeats that are for choosing
    only, from the first to this one, by arm; `planned_repeats` how often each arm is run where arms differ in that.
    `profiles` are the suite's own.
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
    besides_parts: dict[str, str] = {}
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
    def planned_inherits(self) -> dict[str, InheritSpec]:
        """The inheriting arms without those that the suite gave up before they were built."""
        return {arm: asked for arm, asked in self.inherits.items() if arm in self.arms or arm in self.tiers}

    @property
    def optimistic_arms(self) -> tuple[str, ...]:
        """Arms whose runs are reported although another arm was chosen by them: they look better than they are."""
        tiers = {tier for each in self.planned_inherits.values() for tier in each.best_of}
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
