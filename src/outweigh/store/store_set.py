"""What all stores of a command say together: their rules, which must not contradict each other, and their records.

`StoreSet` is all paths of a command, `RecordStream` one reading of their records, which sees whether rules were edited.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.json import encode as encode_json
from msgspec.structs import replace

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.arm import ArmSetups
from outweigh.model.codec import InvalidLine, LocatedRecord, OnInvalid, refuse_invalid
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import REUSED_LABEL, RULES_LABEL, RunRecord, Trial
from outweigh.model.suite import DEFAULT_REUSE_MAX_AGE, PolicySpec, QuarantinedTask, age_in_days
from outweigh.score.composite import OBJECTIVE_FIRST, PROFILES, Profile, weigh
from outweigh.score.judge_scores import JudgeRule, JudgeRules, LabelAgreement
from outweigh.store.bundled_stores import expand_bundle
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, fits_rules
from outweigh.store.judging_file import (
    rules_by_judge,
)
from outweigh.store.shard_files import check_shards, missing_shards
from outweigh.store.store_address import is_address, split_address

if TYPE_CHECKING:
    from outweigh.model.corrections import CorrectionSummary
    from outweigh.model.scan_result import RunKey, RunScan


from outweigh.store.store import Store

_NAMED_SHARDS = 10


class StoreSet:
    """All stores of a command, in the order in which they were named."""

    dataset: Path | None = None
    """The folder of the dataset whose stores these are; None where records are read."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = tuple(stores)

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]]) -> Self:
        """The stores at these paths. A path that is named twice is one store, and reading it says so."""
        names = [name for path in paths for name in expand_bundle(path)]
        opened = {name: Store.open(name) for name in names}
        return cls([opened[name] for name in names])

    def reopened(self) -> "StoreSet":
        """The same places, with nothing read yet."""
        fresh = {store: store.reopened() for store in self._distinct}
        return StoreSet([fresh[store] for store in self.stores])

    @property
    def _distinct(self) -> list[Store]:
        return list(dict.fromkeys(self.stores))

    def experiments(self) -> list[ExperimentFile]:
        """The experiment of every store that has one; the shards of one experiment have one together."""
        self.missing_shards()  # refuses shards that do not belong together, in words about them
        divided = [store.experiment for store in self._distinct if store.shards and store.experiment is not None]
        whole = [store.experiment for store in self._distinct if not store.shards and store.experiment is not None]
        return [*_join_shards(divided), *whole]

    def missing_shards(self) -> str | None:
        """Which shards of a divided plan are missing, as a sentence; None where all are there.

        EvidenceError where a shard is there twice.
        """
        shards = {store.name: store.shards for store in self._distinct if store.shards}
        check_shards(shards)
        missing = missing_shards(each for found in shards.values() for each in found)
        if not missing:
            return None
        there = sum(map(len, shards.values()))
        names = ", ".join(map(str, missing[:_NAMED_SHARDS]))
        more = f" and {len(missing) - _NAMED_SHARDS} more" if len(missing) > _NAMED_SHARDS else ""
        what = (
            f"shard {names} of the experiment is"
            if len(missing) == 1
            else f"shards {names}{more} of the experiment are"
        )
        return (
            f"{what} missing, so the results of {there} of {missing[0].count} shards are shown. Name the stores of all "
            "shards."
        )

    @property
    def experiment(self) -> ExperimentFile | None:
        """The experiment of the only store that has one; None where there is none, or more than one."""
        found = self.experiments()
        return found[0] if len(found) == 1 else None

    def policy(self) -> PolicySpec | None:
        """What the suites decide by; None where there is none."""
        policies = [experiment.policy for experiment in self.experiments()]
        if any(policy != policies[0] for policy in policies):
            raise UsageError("the stores were made under different policies; choose one with --policy.")
        return policies[0] if policies else None

    def planned_looks(self) -> int | None:
        """How many tasks were planned where a run was to end at a decision; whoever stops at a look has looked."""
        looks = (experiment.looked_at for experiment in self.experiments())
        return max((look for look in looks if look is not None), default=None)

    def look_plan(self) -> LookPlan | None:
        """The looks that the only store's experiment planned; None where there were none, or other records as well."""
        experiment = self._distinct[0].experiment if len(self._distinct) == 1 else None
        return None if experiment is None else experiment.looks

    def reuse_max_age_days(self) -> float | None:
        """The age beyond which reused runs are stale, the lowest of all suites; None where all had no such limit."""
        experiments = self.experiments()
        limits = [experiment.reuse_max_age for experiment in experiments] if experiments else [DEFAULT_REUSE_MAX_AGE]
        return min((age_in_days(limit) for limit in limits if limit is not None), default=None)

    def quarantine(self) -> tuple[QuarantinedTask, ...]:
        """The tasks that any of the suites sets aside; the first suite says why."""
        found: dict[str, QuarantinedTask] = {}
        for experiment in self.experiments():
            for each in experiment.quarantine:
                found.setdefault(each.task, each)
        return tuple(found.values())

    def choosing_runs(self) -> Callable[[str, Trial], bool]:
        """Tells by its file whether a run is for choosing only. Each store says that of its own runs."""
        repeats: dict[str, Mapping[str, int]] = {}

        def is_for_choosing(source: str, trial: Trial) -> bool:
            if source not in repeats:
                store = self.find_source(source)
                experiment = None if store is None else store.experiment
                repeats[source] = {} if experiment is None else experiment.choosing_repeats
            return trial.repeat <= repeats[source].get(trial.arm, -1)

        return is_for_choosing

    def profile_name(self, named: str | None) -> str:
        """The caller's, else the suites', else the default."""
        if named is not None:
            return named
        profiles = {experiment.profile for experiment in self.experiments()}
        if len(profiles) > 1:
            raise UsageError(
                f"the stores have the profiles {' and '.join(sorted(profiles))}; choose one with --profile."
            )
        return profiles.pop() if profiles else OBJECTIVE_FIRST.name

    def profile(self, named: str | None) -> Profile:
        """The profile with its weights: a built-in one, or one that a suite of these stores defines."""
        name, own = self.profile_name(named), self.own_profiles()
        if name in PROFILES:
            return PROFILES[name]
        if name not in own:
            raise UsageError(f"--profile {name!r} is not known; it must be {' or '.join((*PROFILES, *own))}.")
        return own[name]

    def own_profiles(self) -> dict[str, Profile]:
        """The profiles that the suites define themselves; what two of them call the same must be the same."""
        found: dict[str, Profile] = {}
        for experiment in self.experiments():
            for name, spec in experiment.profiles.items():
                profile = weigh(name, spec.weights, spec.requires, spec.cost_weight)
                if found.setdefault(name, profile) != profile:
                    raise UsageError(f"the stores have different profiles named {name!r}; read them one by one.")
        return found

    def setup(self, baseline: str, candidates: Sequence[str]) -> ArmSetups | None:
        """The set-up of these arms; None where no single store is read, or it says nothing about files."""
        experiment = self.experiment
        if experiment is None or not (experiment.overlays or experiment.notes):
            return None
        return ArmSetups(
            baseline=baseline,
            candidates=tuple(candidates),
            overlays=experiment.overlays,
            origins=experiment.origins,
            notes=experiment.notes,
        )

    def judge_rules(self) -> JudgeRules:
        """What all stores say about judges together; stores that contradict each other about one are refused."""
        rules: dict[str, JudgeRule] = {}
        agreements: dict[str, list[LabelAgreement]] = defaultdict(list)
        for store in self._distinct:
            if store.folder is None:
                continue
            for name, rule in rules_by_judge(store.judging).items():
                if rules.setdefault(name, rule) != rule:
                    raise UsageError(
                        f"the stores have different rules for judge {name!r} (passes, consensus or minimum_alpha); "
                        "read them one by one."
                    )
            for calibration in store.calibrations:
                agreements[calibration.judge_sha256].append(LabelAgreement.of(calibration))
        return JudgeRules(rules=rules, agreements=agreements)

    def instructions(self) -> dict[tuple[str, str], str]:
        """What tasks asked for, by their names and checksums, as far as the stores say it to their judges."""
        return {
            (name, task.checksum): task.instruction
            for store in self._distinct
            if store.judging is not None
            for name, task in store.judging.tasks.items()
        }

    def corrections(self) -> "tuple[CorrectionSummary, ...]":
        """What was put right about the arms and tasks of the stores."""
        return tuple(store.corrections.summary for store in self._distinct if store.corrections is not None)

    def scans(self) -> "Mapping[RunKey, RunScan]":
        """What the scan for cheats found in the runs of all stores."""
        return {key: scan for store in self._distinct for key, scan in store.scans().items()}

    def warnings(self) -> Iterator[str]:
        """What a reader must know: shards that are missing, and stores whose rules are not applied, because their files
        are named one by one.
        """
        if (missing := self.missing_shards()) is not None:
            yield missing
        for store in self._distinct:
            if (moment := store.changing_at()) is not None:
                yield (
                    f"{store.name} was being written to while it was read: what was there at {moment} is shown, up to "
                    "the last whole record."
                )
        ignored = (store.ignored_rules() for store in self._distinct)
        for folder, rules in dict.fromkeys(each for each in ignored if each is not None):
            yield (
                f"{folder} says in {' and '.join(rules)} by which rules its runs are compared, and they are not "
                "applied, because its files are named one by one. Name the folder to apply them."
            )

    def read(self, *, skip_invalid: bool) -> "RecordStream":
        """All records, to be read once."""
        return RecordStream(self, skip_invalid=skip_invalid)

    def find_source(self, source: str) -> Store | None:
        """The store whose folder holds a file, as records name it, where it is one of these."""
        folder = _folder_of(source)
        return next((store for store in self._distinct if _plain(store.name) == folder), None)


def _folder_of(source: str) -> str:
    """The folder of a file; of one at an address, too, which is no `Path`."""
    return split_address(source)[0] if is_address(source) else str(Path(source).parent)


def _plain(name: str) -> str:
    """The name of a store as `_folder_of` writes it."""
    return name if is_address(name) else str(Path(name))


def _join_shards(experiments: Sequence[ExperimentFile]) -> list[ExperimentFile]:
    """The one experiment that all shards are of; they may differ in notes about reused runs alone."""
    if not experiments:
        return []
    notes = tuple(dict.fromkeys(note for each in experiments for note in each.notes))
    joined = {encode_json(replace(each, notes=notes)): each for each in experiments}
    if len(joined) > 1:
        raise EvidenceError(
            f"the stores hold shards of different experiments: their {EXPERIMENT_FILE} differ in more than notes. Read "
            "the shards of one experiment together."
        )
    first = experiments[0]
    return [first if first.notes == notes else replace(first, notes=notes)]


class RecordStream:
    """One reading of all records: iterate it once, then `check_rules`.

    `skipped` fills on the way: lines that were skipped now, and rows that imports went on without.
    """

    def __init__(self, stores: StoreSet, *, skip_invalid: bool) -> None:
        self.skipped: list[InvalidLine] = []
        self._stores = stores
        self._on_invalid: OnInvalid = self.skipped.append if skip_invalid else refuse_invalid
        self._named: dict[str, set[str]] = defaultdict(set)

    def __iter__(self) -> Iterator[LocatedRecord]:
        self._stores.missing_shards()
        for store in self._stores.stores:
            for located in store.records(self._on_invalid):
                record = located.record
                if isinstance(record, RunRecord) and record.extra:
                    self._note_rules(located.source, record)
                yield located
            self.skipped += store.unread_rows()

    def _note_rules(self, source: str, run: RunRecord) -> None:
        """Runs that were taken over from elsewhere were made under the rules there."""
        if RULES_LABEL in run.extra and REUSED_LABEL not in run.extra:
            self._named[source].add(str(run.extra[RULES_LABEL]))

    def check_rules(self) -> None:
        """A rule that is changed once results are in decides nothing: the file must be what it was."""
        for source, named in self._named.items():
            store = self._stores.find_source(source)
            experiment = None if store is None else store.experiment
            if experiment is not None and not all(fits_rules(experiment, one) for one in named):
                raise EvidenceError(
                    f"{_folder_of(source)}/{EXPERIMENT_FILE} was edited: its policy, profile or looks are not what "
                    "its runs were made under. Change it back; to read the records alone, by other rules, name the "
                    ".jsonl files."
                )
