"""What is asked of a run: the suite, where its records go, how far to go, and the plan that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from outweigh.app.suite_selection import SuiteRequest
from outweigh.app.suite_versions import ReusedResults
from outweigh.app.this_folder import RUNS_FOLDER
from outweigh.engine.load_suite import LoadedSuite, repeats_by_arm
from outweigh.engine.trial_plan import PlannedRun, plan_runs
from outweigh.errors import UsageError
from outweigh.model.shard import Shard
from outweigh.verdict.evidence_settings import JUDGE_SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What to run, where to store it, and how far to go.

    Without `output` the store is a folder named after the suite. `reuse` are folders with earlier runs of the baseline;
    `reuse_max_age` goes over the suite's. `assume_yes` goes on although the checks before the first run found faults,
    and lets Harbor's tasks have the variables that they ask for. `go_on_without` makes runs anew whose records in the
    store are damaged. `keep_going` attempts all trials although one after another fails for the same reason.
    `fresh_baseline` runs the baseline again beside a changed arm, instead of reusing its runs in the store. `shard` is
    the part of the plan to run, into a store of its own and for its share of the budget; None for all of it.
    """

    suite: SuiteRequest
    output: Path | None = None
    repeats: int | None = None
    jobs: int = 2
    budget_usd: float | None = None
    reuse: tuple[str, ...] = ()
    reuse_max_age: str | None = None
    until_decided: bool = False
    assume_yes: bool = False
    go_on_without: bool = False
    keep_going: bool = False
    fresh_baseline: bool = False
    shard: Shard | None = None
    dry_run: bool = False

    def store_folder(self, suite: LoadedSuite) -> Path:
        """Where the records go."""
        part = "" if self.shard is None else f"-{self.shard.file_name}"
        return self.output or RUNS_FOLDER / f"{suite.spec.name}{part}"

    def total_budget_usd(self, suite: LoadedSuite) -> float | None:
        """What all runs and judges may cost; a shard has an equal share of it."""
        budget = self.budget_usd or suite.spec.budget_usd
        return budget if budget is None or self.shard is None else budget / self.shard.count


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreview:
    """What a dry run shows: the plan, what the store has of it already, and the job file of every arm where Harbor
    would run it. `changes` says what is new since the last run into the store, `faults` what would stop a run. `shard`
    is the part of the plan that is shown.
    """

    suite: LoadedSuite
    plan: tuple[PlannedRun, ...]
    folder: Path
    reused: ReusedResults
    changes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    sandbox: str | None = None
    harbor_jobs: Mapping[str, str] = field(default_factory=dict)
    shard: Shard | None = None

    @property
    def most_usd(self) -> float | None:
        """What the runs cost at most, without judges and failed attempts; None where no run has a limit."""
        limit = self.suite.spec.limits.budget_usd
        return None if limit is None else limit * len(self.missing)

    @property
    def missing(self) -> list[PlannedRun]:
        """The runs of the plan that have no result yet, in their order."""
        return [run for run in self.plan if run.trial.key not in self.reused.done]


@dataclass(frozen=True, slots=True)
class NothingToCompare:
    """Base and head configure the agent alike, so nothing was run."""

    reason: str


def with_reuse_limit(suite: LoadedSuite, request: RunRequest) -> LoadedSuite:
    """The suite with the requested limit on the age of reused runs."""
    if request.reuse_max_age is None:
        return suite
    return replace(suite, spec=msgspec.structs.replace(suite.spec, reuse_max_age=request.reuse_max_age))


def plan_suite(suite: LoadedSuite, request: RunRequest) -> tuple[PlannedRun, ...]:
    """Every run that is asked for, in its order; refuses to stop early where that cannot be decided."""
    if request.until_decided and suite.spec.policy.name != "evidence":
        raise UsageError(
            f"--until-decided needs the policy evidence, and the suite has {suite.spec.policy.name!r}; leave out one."
        )
    if request.until_decided and JUDGE_SCORE in (suite.spec.policy.gates or ()):
        raise UsageError(
            "--until-decided: judges are asked when all trials have ended, so their gate cannot decide before. "
            "Leave it out, or take judge_score out of the gates."
        )
    if request.until_decided and len({task.trigger is None for task in suite.tasks}) > 1:
        raise UsageError(
            "--until-decided looks at all tasks together, and this suite has trigger cases beside others. Leave it "
            "out, or move [[triggers]] to a suite of their own."
        )
    if request.until_decided and request.shard is not None:
        raise UsageError(
            "--until-decided looks at the results of all tasks, and --shard runs a part of them into a store of its "
            "own. Leave out one of them."
        )
    repeats = repeats_by_arm(suite, request.repeats)
    if request.until_decided and len(set(repeats.values())) > 1:
        raise UsageError(
            "--until-decided counts whole tasks, so every arm needs the same repeats, and designs or tiers of the "
            "suite have their own. Leave it out, or give one number for all with --repeats."
        )
    tasks = [task.id for task in suite.tasks]
    return plan_runs(tasks, list(suite.arms), repeats, suite.spec.seed, task_by_task=request.until_decided)


def baseline_repeats(suite: LoadedSuite, request: RunRequest) -> int:
    """How often the baseline is run on each task."""
    return repeats_by_arm(suite, request.repeats)[suite.spec.baseline]
