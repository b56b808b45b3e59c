"""Events that the engine reports while it works: to a progress display or to a file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from outweigh.model.failure import Status
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import AgentKind, RunRecord, Trial
from outweigh.score.judge_scores import judgment_score
from outweigh.score.objective import passed


class EventKind(StrEnum):
    """What an event reports."""

    STARTED = "started"
    FINISHED = "finished"
    RETRYING = "retrying"
    PAUSED = "paused"
    JUDGED = "judged"
    STOPPED = "stopped"
    NOTE = "note"
    HOSTS = "hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """One event. `detail` is text for people, that of `hosts` how many there are; the other fields are for programs.

    `simulated` says that the agent of a finished attempt only pretends, so that its cost was never paid.
    """

    kind: EventKind
    run_id: str | None
    task_id: str | None
    arm: str | None
    repeat: int | None
    status: Status | None
    passed: bool | None
    cost_usd: float | None
    detail: str
    simulated: bool = False


EventListener = Callable[[EngineEvent], None]


def note_event(detail: str, kind: EventKind = EventKind.NOTE) -> EngineEvent:
    """An event that concerns no single run."""
    return EngineEvent(
        kind=kind,
        run_id=None,
        task_id=None,
        arm=None,
        repeat=None,
        status=None,
        passed=None,
        cost_usd=None,
        detail=detail,
    )


def trial_event(trial: Trial, kind: EventKind, detail: str) -> EngineEvent:
    """An event that concerns one trial."""
    return replace(note_event(detail, kind), task_id=trial.task_id, arm=trial.arm, repeat=trial.repeat)


def finished_event(record: RunRecord) -> EngineEvent:
    """An attempt has ended and its record is stored."""
    outcome = passed(record).value
    return replace(
        trial_event(record.trial, EventKind.FINISHED, record.status_detail or ""),
        run_id=record.run_id,
        status=record.status,
        passed=None if outcome is None else outcome == 1,
        cost_usd=record.cost.usd,
        simulated=record.agent.kind is AgentKind.SCRIPTED,
    )


def judged_event(trial: Trial, judgment: Judgment) -> EngineEvent:
    """A judge call has ended, with a score or with the reason why there is none."""
    score = judgment_score(judgment).value
    said = judgment.invalid_reason or ("nothing applies" if score is None else f"{score:.3f}")
    detail = f"{judgment.judge.name}, pass {judgment.pass_index}: {said}"
    return replace(trial_event(trial, EventKind.JUDGED, detail), run_id=judgment.run_id, cost_usd=judgment.cost.usd)
