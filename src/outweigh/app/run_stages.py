"""Run a suite whose arms inherit the best of lower tiers: stage by stage, with a choice before each stage.

The plan of all stages is known before the first run. What is not known is what an inheriting arm is made of, so it is
built when the arm that it inherits from is chosen, and the choice is on the disk before its first run begins.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from outweigh.app.inherited_choices import check_choices, make_choice
from outweigh.app.observer import RunObserver
from outweigh.app.run_request import RunPreview, RunRequest
from outweigh.app.suite_versions import SuiteVersions, find_versions
from outweigh.engine.batch import EndReason
from outweigh.engine.budget import Budget
from outweigh.engine.inherited_arms import describe_inheritance, join_names, load_inheriting_arm
from outweigh.engine.load_suite import LoadedSuite, repeats_by_arm
from outweigh.engine.tier_stages import StagedArms, TierStage, plan_stage_runs, plan_stages
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import UsageError, quote_names
from outweigh.model.choice import ChoiceRecord
from outweigh.model.run_record import RunRecord, most_paid
from outweigh.model.shard import Shard
from outweigh.model.suite import Executor
from outweigh.store.arm_versions import suite_arm
from outweigh.store.choice_file import append_choice, choices_by_arm, read_choices
from outweigh.store.experiment_file import read_experiment
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store import Store
from outweigh.store.write_experiment import UNIFORM_REPEATS, PlannedRepeats

GOES_ON = (EndReason.DONE, EndReason.INCOMPLETE, EndReason.UNJUDGED, EndReason.TIER_BUDGET)
"""Ends of a stage after which the next one can begin; what is missing of it is missing for the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSuite:
    """A suite with what is to be run of it now. `later` are runs of arms that are not known yet. `whole` is the plan
    of all shards, of which `plan` may be one.
    """

    versions: SuiteVersions
    plan: tuple[PlannedRun, ...]
    whole: tuple[PlannedRun, ...]
    repeats: PlannedRepeats = UNIFORM_REPEATS
    later: tuple[PlannedRun, ...] = ()
    notes: tuple[str, ...] = ()


RunOnce = Callable[[PlannedSuite, RunRequest, RunObserver], EndReason | RunPreview]


def planned_repeats(plan: Iterable[PlannedRun]) -> PlannedRepeats:
    """How often a plan runs each arm, where its arms differ in that."""
    most: Counter[str] = Counter()
    for run in plan:
        most[run.trial.arm] = max(most[run.trial.arm], run.trial.repeat)
    return UNIFORM_REPEATS if len(set(most.values())) < 2 else PlannedRepeats(of_arms=dict(most))


def tier_budgets(
    suite: LoadedSuite, store: FolderRunStore, run_cap_usd: float | None, shard: Shard | None = None
) -> dict[str, Budget]:
    """The budget of every arm whose tier has one, less what its runs have cost so far; arms of a tier share one.

    A shard has an equal share of it.
    """
    parts = 1 if shard is None else shard.count
    tiers = suite.spec.tiers.items()
    caps = {tier: settings.budget_usd / parts for tier, settings in tiers if settings.budget_usd is not None}
    records = [record for attempts in store.finished().values() for record in attempts] if caps else []
    budgets = {tier: Budget(cap, run_cap_usd, _costs(records, _arms_of(suite, tier))) for tier, cap in caps.items()}
    return {arm: budgets[str(tier)] for arm, tier in suite.tiers.items() if str(tier) in budgets}


def _arms_of(suite: LoadedSuite, tier: str) -> set[str]:
    return {arm for arm, number in suite.tiers.items() if str(number) == tier}


def _costs(records: Iterable[RunRecord], arms: set[str]) -> list[float | None]:
    return [most_paid(record) for record in records if record.trial.arm in arms]


def run_in_stages(
    suite: LoadedSuite, request: RunRequest, observer: RunObserver, run_once: RunOnce
) -> EndReason | RunPreview:
    """Run what can be run, choose, and go on with the arms that were chosen for, until nothing is left."""
    refused = {
        "--until-decided": request.until_decided,
        "--shard": request.shard is not None,
        "the executor harbor": suite.spec.executor is Executor.HARBOR,
    }
    if any(refused.values()):
        option = next(name for name, asked in refused.items() if asked)
        raise UsageError(
            f"{option} cannot be used where arms inherit from lower tiers: {quote_names(suite.inheriting)}."
        )
    folder = request.store_folder(suite)
    check_choices(Store.open(folder))
    not_run = _final_gaps(suite, folder)
    worst = EndReason.DONE
    while True:
        state = _StagedSuite.of(suite, folder, request, not_run)
        ended = run_once(state.planned(), request, observer)
        if isinstance(ended, RunPreview) or ended not in GOES_ON:
            return ended
        worst = worst if ended is EndReason.DONE else ended
        if not state.next_arms:
            break
        made = state.choose(folder)
        not_run |= {choice.arm: choice.reason for choice in made if choice.chosen is None}
        for words in _describe_choices(made):
            observer.notify(words)
    if worst is EndReason.TIER_BUDGET:
        return EndReason.BUDGET
    return EndReason.INCOMPLETE if not_run and worst is EndReason.DONE else worst


def _describe_choices(choices: Iterable[ChoiceRecord]) -> Iterable[str]:
    """A sentence for all arms that the same was chosen for."""
    arms: dict[tuple[str | None, str], list[str]] = {}
    for choice in choices:
        arms.setdefault((choice.chosen, choice.reason), []).append(choice.arm)
    for (chosen, reason), names in arms.items():
        who = f"{join_names(names)} {'is' if len(names) == 1 else 'are'}"
        if chosen is None:
            yield f"{who} not run: {reason}. The other arms go on."
        else:
            yield f"{who} built on {chosen}: {reason}."


def _final_gaps(suite: LoadedSuite, folder: Path) -> dict[str, str]:
    """Arms that nothing could be chosen for, and that a later choice has left out: with them it would be another."""
    choices = choices_by_arm(read_choices(folder)).values()
    left_out = {tier for choice in choices if choice.chosen is not None for tier in choice.inherit.best_of}
    return {
        choice.arm: choice.reason
        for choice in choices
        if choice.chosen is None and suite.inheriting.get(choice.arm) in left_out
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _StagedSuite:
    """The suite with the arms that are known by now, and its stages; `done` of them have all their arms."""

    versions: SuiteVersions
    arms: StagedArms
    stages: tuple[TierStage, ...]
    runs: tuple[tuple[PlannedRun, ...], ...]
    done: int
    not_run: Mapping[str, str]

    @classmethod
    def of(cls, suite: LoadedSuite, folder: Path, request: RunRequest, not_run: Mapping[str, str]) -> "_StagedSuite":
        """Build the arms that are chosen for, and plan all stages."""
        resolved = _with_choices(suite, folder)
        versions = find_versions(resolved, folder, fresh_baseline=request.fresh_baseline)
        now = versions.suite
        names = versions.names.names
        asked = {names.get(name, name): arm.inherit for name, arm in suite.spec.arms.items() if arm.inherit is not None}
        arms = StagedArms(
            tiers=_in_order(now, suite, names),
            inherits=asked,
            repeats=repeats_by_arm(now, request.repeats),
            baseline=suite.spec.baseline,
        )
        _refuse_other_candidates(folder, arms, versions)
        stages = plan_stages(arms)
        waiting = now.inheriting.keys() - not_run.keys()
        done = next((number for number, stage in enumerate(stages) if waiting & set(stage.inheriting)), len(stages))
        runs = plan_stage_runs([task.id for task in suite.tasks], stages, suite.spec.seed)
        return cls(versions=versions, arms=arms, stages=stages, runs=runs, done=done, not_run=not_run)

    @property
    def is_begun(self) -> bool:
        """Whether something was chosen already, so that whoever watches knows what is going on."""
        return len(self.versions.suite.inheriting) < len(self.arms.inherits) or bool(self.not_run)

    @property
    def next_arms(self) -> tuple[str, ...]:
        """The arms that must be chosen for before the next stage."""
        if self.done == len(self.stages):
            return ()
        waiting = self.versions.suite.inheriting
        return tuple(arm for arm in self.stages[self.done].inheriting if arm in waiting and arm not in self.not_run)

    def planned(self) -> PlannedSuite:
        """The runs of the stages whose arms are known."""
        ready = [run for stage in self.runs[: self.done] for run in stage if run.trial.arm not in self.not_run]
        later = [run for stage in self.runs[self.done :] for run in stage if run.trial.arm not in self.not_run]
        baseline_repeats = self.arms.repeats[self.arms.baseline]
        plan = self.versions.extend_plan(ready, baseline_repeats)
        most: Counter[str] = Counter()
        for run in (*plan, *later):
            most[run.trial.arm] = max(most[run.trial.arm], run.trial.repeat)
        repeats = PlannedRepeats(of_arms=dict(most), choosing=self.arms.choosing_repeats, later_runs=len(later))
        return PlannedSuite(
            versions=self.versions,
            plan=plan,
            whole=plan,
            repeats=repeats,
            later=tuple(later),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterable[str]:
        """What happens in which order, as sentences."""
        spec = self.versions.suite.spec
        if self.is_begun:
            return
        yield from describe_inheritance(self.versions.suite.inheriting, spec)
        choosing = self.arms.choosing_repeats
        if choosing:
            runs = sum(choosing.values()) * len(self.versions.suite.tasks)
            yield (
                f"{runs} runs of {quote_names(choosing, 5)} are for choosing only; as many again are held out, and "
                "only those are reported."
            )

    def choose(self, folder: Path) -> list[ChoiceRecord]:
        """Choose for the arms of the next stage, and keep each choice before anything is run by it."""
        experiment = read_experiment(folder)
        assert experiment is not None, "a stage was run, so the store says what it is for"
        made = []
        equal: dict[bytes, ChoiceRecord] = {}
        with FolderRunStore.open(folder):
            for arm in self.next_arms:
                asked = self.arms.inherits[arm]
                known = [name for name in self.arms.candidates(arm) if name in experiment.arms]
                key = msgspec.json.encode(asked)  # arms that ask for the same get the same, and records are read once
                if key not in equal:
                    repeats = {name: self.arms.repeats[name] for name in known}
                    equal[key] = make_choice(folder, experiment, arm, asked, repeats)
                choice = msgspec.structs.replace(equal[key], arm=arm)
                if choice.chosen is not None:
                    built = _build(self.versions.suite, arm, suite_arm(choice.chosen, experiment.versions))
                    choice = msgspec.structs.replace(choice, fingerprint=built.arms[arm].fingerprint)
                append_choice(folder, choice)
                made.append(choice)
        return made


def _in_order(now: LoadedSuite, suite: LoadedSuite, names: Mapping[str, str]) -> dict[str, int | None]:
    """The tiers of all arms by the store's names, in the order of the suite: it decides between equal arms."""
    tiers = now.tiers
    order = [names.get(name, name) for name in suite.spec.arms]
    return {name: tiers[name] for name in order}


def _with_choices(suite: LoadedSuite, folder: Path) -> LoadedSuite:
    """The suite with the inheriting arms that are chosen for, the lower tiers first."""
    experiment = read_experiment(folder)
    known, versions = ({}, {}) if experiment is None else (experiment.arms, experiment.versions)
    choices = choices_by_arm(read_choices(folder))
    for arm in sorted(suite.inheriting, key=lambda name: suite.inheriting[name] or 0):
        choice = choices.get(arm)
        if choice is None or choice.chosen is None:
            continue
        suite = _build(suite, arm, suite_arm(choice.chosen, versions))
        if arm not in known and choice.fingerprint not in (None, suite.arms[arm].fingerprint):
            raise UsageError(
                f"{folder}: {arm!r} is not the arm that was to be built on {choice.chosen!r}: it has changed since the "
                "choice, and before its first run. To go on, change it back, or name another folder with -o."
            )
    return suite


def _build(suite: LoadedSuite, arm: str, chosen: str) -> LoadedSuite:
    """The suite with one more arm, which is built on the chosen one."""
    assert suite.arm_files is not None, "a suite with inheriting arms is read from a file"
    spec, built = load_inheriting_arm(arm, chosen, suite.spec, suite.arm_files)
    arms = {**suite.arms, arm: built}
    order = [*(name for name in spec.arms if name in arms), *(name for name in arms if name not in spec.arms)]
    return replace(
        suite,
        spec=spec,
        arms={name: arms[name] for name in order},
        overlays=suite.arm_files.contents,
        origins=suite.arm_files.origins,
        inheriting={name: tier for name, tier in suite.inheriting.items() if name != arm},
    )


def _refuse_other_candidates(folder: Path, arms: StagedArms, versions: SuiteVersions) -> None:
    """Refuse a suite that has other arms to choose from than when the choice was made."""
    for choice in choices_by_arm(read_choices(folder)).values():
        if choice.arm not in versions.names.names or choice.chosen is None:
            continue
        then = {each.arm for each in choice.candidates}
        now = set(arms.candidates(versions.names.names[choice.arm]))
        if then != now & set(versions.suite.arms):
            raise UsageError(
                f"{folder}: {choice.arm!r} was built on the best of {quote_names(sorted(then), 5)}, and the suite now "
                f"has {quote_names(sorted(now), 5)} in these tiers. Name another folder with -o, or change it back."
            )


def describe_stages(suite: LoadedSuite, repeats: int | None = None) -> Sequence[str]:
    """What is to be known before the first run of a suite with inheriting arms; nothing for any other suite."""
    if not suite.inheriting:
        return ()
    arms = StagedArms(
        tiers={name: suite.tiers[name] for name in suite.spec.arms},
        inherits={name: arm.inherit for name, arm in suite.spec.arms.items() if arm.inherit is not None},
        repeats=repeats_by_arm(suite, repeats),
        baseline=suite.spec.baseline,
    )
    stages = plan_stages(arms)
    runs = sum(len(numbers) for stage in stages for numbers in stage.repeats.values()) * len(suite.tasks)
    choosing = sum(arms.choosing_repeats.values()) * len(suite.tasks)
    said = f"the suite is run in {len(stages)} stages, {runs} runs in all, of which {choosing} are for choosing only"
    return (f"{said}.", *describe_inheritance(suite.inheriting, suite.spec))
