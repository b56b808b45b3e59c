"""What long use cases tell whoever watches them, so that they neither print nor handle signals themselves."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Protocol

from outweigh.engine.batch import EndReason
from outweigh.engine.events import EventListener
from outweigh.engine.experiment import ExperimentProgress
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.run_record import AgentKind, RunRecord, amount_paid
from outweigh.model.shard import Shard
from outweigh.report.judge_page import JudgingTotals

Notify = Callable[[str], None]
"""Takes a sentence that the user should see while the work goes on. It may hold names from other people's files."""


@dataclass(frozen=True, slots=True)
class StopSignals:
    """How the watcher ends the work early: `drain` starts nothing new, `cancel` also ends what is running."""

    drain: Event = field(default_factory=Event)
    cancel: Event = field(default_factory=Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWatch:
    """Takes the engine's events, and before them what earlier engines have finished already."""

    listen: EventListener
    resume: Callable[[ExperimentProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """Where an experiment stands when its runs have ended, earlier engines included.

    `cost_is_unknown` says that the budget ended it because nobody knows what a run costs. `later_runs` follow when the
    arms that they need are chosen. `shard` is the part of the plan that was run.
    """

    stop: EndReason
    plan: Sequence[PlannedRun]
    progress: ExperimentProgress
    cost_is_unknown: bool
    store: Path
    spending: "StoreSpending"
    later_runs: int = 0
    shard: Shard | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpending:
    """What every attempt of this command cost, and every attempt in the store; None where a cost is unknown.

    `simulated` says that all agents in the store only pretended, `simulated_now` the same of this command's.
    `estimated` says that some of the costs are estimated.
    """

    now: tuple[float | None, ...]
    total: tuple[float | None, ...]
    simulated_now: bool
    simulated: bool
    estimated: bool = False


def store_spending(before: Collection[str], records: Sequence[RunRecord]) -> StoreSpending:
    """What the records of a store cost; `before` are the run ids that were there when the command began."""
    made = [record for record in records if record.run_id not in before]
    return StoreSpending(
        now=tuple(map(amount_paid, made)),
        total=tuple(map(amount_paid, records)),
        simulated_now=_all_simulated(made),
        simulated=_all_simulated(records),
        estimated=any(record.cost.is_estimated for record in records),
    )


def _all_simulated(records: Sequence[RunRecord]) -> bool:
    return bool(records) and all(record.agent.kind is AgentKind.SCRIPTED for record in records)


class RunObserver(Protocol):
    """Watches runs and judging."""

    def notify(self, text: str) -> None:
        """Show a sentence."""

    def watch_runs(self, plan: Sequence[PlannedRun], signals: StopSignals) -> AbstractContextManager[RunWatch]:
        """Watch trials as long as the context lasts; an interrupt sets the signals."""

    def runs_ended(self, summary: RunSummary) -> None:
        """All trials have ended; judging may follow."""

    def watch_judging(self, signals: StopSignals) -> AbstractContextManager[EventListener]:
        """Watch judge calls as long as the context lasts; an interrupt sets the signals."""

    def judging_ended(self, totals: JudgingTotals) -> None:
        """The judging that followed the trials has ended."""
