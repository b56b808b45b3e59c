"""What a store says: its records, judgments, rules, import notes and artifacts, and whether its rules were edited.

`Store` is one path, `StoreSet` all paths of a command, `RecordStream` one reading of their records. No other package
knows the names of a store's files.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from msgspec.json import encode as encode_json
from msgspec.structs import replace

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.arm import ArmSetups
from outweigh.model.codec import InvalidLine, LocatedRecord, OnInvalid, refuse_invalid
from outweigh.model.corrections import CORRECTIONS_FILE
from outweigh.model.look_plan import LookPlan
from outweigh.model.run_record import REUSED_LABEL, RULES_LABEL, RunRecord, Trial
from outweigh.model.suite import DEFAULT_REUSE_MAX_AGE, PolicySpec, QuarantinedTask, age_in_days
from outweigh.ports.stores import RecordSource
from outweigh.score.composite import OBJECTIVE_FIRST, PROFILES, Profile, weigh
from outweigh.score.judge_scores import JudgeRule, JudgeRules, LabelAgreement
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.bundled_stores import expand_bundle, find_bundled_store
from outweigh.store.corrections_file import read_corrections, work_out, write_corrections
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, fits_rules, read_experiment
from outweigh.store.judging_file import (
    JUDGING_FILE,
    JudgingFile,
    read_calibrations,
    read_judging,
    rules_by_judge,
)
from outweigh.store.records import STANDARD_INPUT, RecordReader, require_path, unread_rows
from outweigh.store.shard_files import ShardFile, check_shards, missing_shards, read_shards

if TYPE_CHECKING:
    from outweigh.model.choice import ChoiceRecord
    from outweigh.model.corrections import Corrections, CorrectionSteps, CorrectionSummary
    from outweigh.model.judgment import Calibration
    from outweigh.model.scan_result import RunKey, RunScan
    from outweigh.report.run_diff import ComparedRun
    from outweigh.transcript.atif import AtifTrajectory


_NAMED_SHARDS = 10


class Store:
    """One place that records are read from: a folder, a file, standard input, or records in memory.

    Making one reads nothing. What it says about its runs is read when it is first asked for, and once: the answers of
    one object belong together. `reopened` gives one that looks again.
    """

    def __init__(self, name: str, source: RecordSource, path: Path | None) -> None:
        self.name = name
        self.path = path
        self._source = source

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """The store at a path; `-` is standard input. A path that does not exist is refused when it is read."""
        name = os.fspath(path)
        if (folder := find_bundled_store(name)) is not None:
            return cls.unpacked(name, folder)
        return cls(name, RecordReader(name), None if name == STANDARD_INPUT else Path(name))

    @classmethod
    def unpacked(cls, name: str, folder: Path) -> Self:
        """A store that people know by another name than its folder."""
        return cls(name, RecordReader(str(folder), name), folder)

    def reopened(self) -> Self:
        """The same place, with nothing read yet."""
        return type(self)(self.name, self._source, self.path)

    def require(self) -> Self:
        """This store; UsageError where there is nothing at its path."""
        if self.path is not None:
            require_path(self.path)
        return self

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Every record as a row for data frame libraries, with the columns that `outweigh store export` writes."""
        from outweigh.store.parquet import arrow_stream  # noqa: PLC0415 - needs an extra

        return arrow_stream((located.record for located in self.records(refuse_invalid)), requested_schema)

    @property
    def folder(self) -> Path | None:
        """The folder of a store; None where it is a single file, standard input or memory."""
        try:
            return self.path if self.path is not None and self.path.is_dir() else None
        except OSError:  # the system refuses the path: whoever reads its records says why
            return None

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:
        """Every record in order, by the names that corrections give; what cannot be read goes to `on_invalid`."""
        records = self._source.records(on_invalid)
        return records if self.corrections is None else self.corrections.apply(records)

    def runs(self) -> Iterator[RunRecord]:
        """Every run; a line that cannot be read is refused."""
        return (located.record for located in self.records(refuse_invalid) if isinstance(located.record, RunRecord))

    def unread_rows(self) -> Sequence[InvalidLine]:
        """The rows that its imports went on without. The user agreed to that, and it still blocks a promotion."""
        return () if self.path is None else unread_rows(self.path)

    @cached_property
    def corrections(self) -> "Corrections | None":
        """What was put right about its arms and tasks; None where nothing was, EvidenceError where that is wrong."""
        content = None if self.folder is None else read_corrections(self.folder)
        if self.folder is None or content is None:
            return None
        return work_out(self.folder, self.name, content, self._source)

    def correct(self, steps: "CorrectionSteps") -> "Corrections":
        """Put its arms and tasks right from now on; `reopened` reads them so."""
        if self.folder is None:
            raise UsageError(f"{self.name} is no store, so nothing can be kept in it; import it into one first.")
        return write_corrections(self.folder, steps, self._source)

    @cached_property
    def experiment(self) -> ExperimentFile | None:
        """What the store was made for; None where nothing says so, EvidenceError where that is damaged."""
        return None if self.path is None else read_experiment(self.path)

    @cached_property
    def shards(self) -> tuple[ShardFile, ...]:
        """The shards of a divided plan that it holds; none where its plan was not divided."""
        return () if self.folder is None else read_shards(self.folder)

    @cached_property
    def judging(self) -> JudgingFile | None:
        """What its judges are told; None where nothing says so, EvidenceError where that is damaged."""
        return None if self.path is None else read_judging(self.path)

    @cached_property
    def calibrations(self) -> "tuple[Calibration, ...]":
        """How far its judges agree with people."""
        return () if self.folder is None else tuple(read_calibrations(self.folder))

    @cached_property
    def choices(self) -> "Mapping[str, ChoiceRecord]":
        """Which arms its inheriting arms are built on, by their names; EvidenceError where that is damaged."""
        from outweigh.store.choice_file import choices_by_arm, read_choices  # noqa: PLC0415 - only where arms inherit

        return {} if self.folder is None else choices_by_arm(read_choices(self.folder))

    def scans(self) -> "Mapping[RunKey, RunScan]":
        """What the scan for cheats found, by run; empty where nothing was scanned."""
        from outweigh.store.scan_file import read_scan  # noqa: PLC0415 - only where runs are compared

        found = None if self.folder is None else read_scan(self.folder)
        return {} if found is None else found.by_run()

    @property
    def artifacts(self) -> ArtifactFolder:
        """What was stored with its runs; beside the file where a single one is named."""
        if self.path is None:
            raise UsageError(f"{self.name} keeps nothing beside its records; name a store, or a file of records.")
        return ArtifactFolder.of_store(self.folder or self.path.parent)

    def find_runs(self, names: Sequence[str]) -> list[RunRecord]:
        """The runs of these names in one reading, by run_id or TASK/ARM/REPEAT; of several attempts, the last."""
        found: dict[str, RunRecord] = {}
        near: dict[str, None] = {}
        for run in self.runs():
            for name in names:
                if name in (run.run_id, _trial_name(run)):
                    known = found.get(name)
                    if known is None or run.attempt >= known.attempt:
                        found[name] = run
                elif name in run.run_id:
                    near[run.run_id] = None
        for name in names:
            if name not in found:
                raise UsageError(f"{self.name} holds no run {name!r}.{_suggest_runs(list(near))}")
        return [found[name] for name in names]

    def run_side(self, run: RunRecord) -> "ComparedRun":
        """A run with its steps and patch; what is missing or damaged becomes a warning."""
        from outweigh.store.run_artifacts import read_run_side  # noqa: PLC0415 - only where runs are shown one by one

        return read_run_side(run, self.artifacts)

    def trajectory(self, run: RunRecord) -> "AtifTrajectory | None":
        """A run's trajectory; None where the run has none."""
        from outweigh.store.run_artifacts import read_run_trajectory  # noqa: PLC0415 - see run_side

        return read_run_trajectory(run, self.artifacts)

    def ignored_rules(self) -> tuple[Path, tuple[str, ...]] | None:
        """The folder around a single file and its files of rules, which are not applied; None where there are none."""
        if self.path is None or not self.path.is_file():
            return None
        folder = self.path.parent
        names = (EXPERIMENT_FILE, JUDGING_FILE, CORRECTIONS_FILE)
        rules = tuple(name for name in names if (folder / name).is_file())
        return (folder, rules) if rules else None


def _trial_name(run: RunRecord) -> str:
    return f"{run.trial.task_id}/{run.trial.arm}/{run.trial.repeat}"


def _suggest_runs(near: list[str]) -> str:
    if near:
        return f" It holds {quote_names(near)}."
    return " A run is named by its run_id, or by TASK/ARM/REPEAT; `outweigh store export` lists them."


class StoreSet:
    """All stores of a command, in the order in which they were named."""

    def __init__(self, stores: Sequence[Store]) -> None:
        self.stores = tuple(stores)

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]]) -> Self:
        """The stores at these paths. A path that is named twice is one store, and reading it says so."""
        names = [name for path in paths for name in expand_bundle(path)]
        opened = {name: Store.open(name) for name in names}
        return cls([opened[name] for name in names])

    def reopened(self) -> Self:
        """The same places, with nothing read yet."""
        fresh = {store: store.reopened() for store in self._distinct}
        return type(self)([fresh[store] for store in self.stores])

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
                store = self.find(Path(source).parent)
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
        ignored = (store.ignored_rules() for store in self._distinct)
        for folder, rules in dict.fromkeys(each for each in ignored if each is not None):
            yield (
                f"{folder} says in {' and '.join(rules)} by which rules its runs are compared, and they are not "
                "applied, because its files are named one by one. Name the folder to apply them."
            )

    def read(self, *, skip_invalid: bool) -> "RecordStream":
        """All records, to be read once."""
        return RecordStream(self, skip_invalid=skip_invalid)

    def find(self, folder: Path) -> Store | None:
        """The store of this folder, as records name it, where it is one of these."""
        return next((store for store in self._distinct if Path(store.name) == folder), None)


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
                self._note_rules(located)
                yield located
            self.skipped += store.unread_rows()

    def _note_rules(self, located: LocatedRecord) -> None:
        """Runs that were taken over from elsewhere were made under the rules there."""
        run = located.record
        if isinstance(run, RunRecord) and RULES_LABEL in run.extra and REUSED_LABEL not in run.extra:
            self._named[located.source].add(str(run.extra[RULES_LABEL]))

    def check_rules(self) -> None:
        """A rule that is changed once results are in decides nothing: the file must be what it was."""
        for source, named in self._named.items():
            store = self._stores.find(Path(source).parent)
            experiment = None if store is None else store.experiment
            if experiment is not None and not all(fits_rules(experiment, one) for one in named):
                raise EvidenceError(
                    f"{Path(source).parent / EXPERIMENT_FILE} was edited: its policy, profile or looks are not what "
                    "its runs were made under. Change it back; to read the records alone, by other rules, name the "
                    ".jsonl files."
                )
