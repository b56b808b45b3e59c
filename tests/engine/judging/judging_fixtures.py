"""Judging for tests: runs in a real store, and judges with scripted answers."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from threading import Event

from outweigh.engine.events import EngineEvent
from outweigh.engine.judging.ask import JudgingContext
from outweigh.engine.judging.pointwise import JudgeCall, PendingCalls, judge_runs
from outweigh.engine.judging.pool import JudgeBudget, PoolResult
from outweigh.judging.material import TaskMaterial
from outweigh.model.judgment import Judgment
from outweigh.model.pricing import PriceTables
from outweigh.model.rubric import BinaryCriterion, Rubric, ScaledCriterion
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec
from outweigh.ports.judges import Judge
from outweigh.store.run_store import FolderRunStore

RUBRIC = Rubric(
    criteria=[
        BinaryCriterion(name="works", description="It works.", weight=2.0),
        ScaledCriterion(name="clean", description="It is clean."),
    ]
)
A_JUDGE = JudgeSpec(name="judge", backend="fake", model="m")


def a_task_material(rubric: Rubric = RUBRIC) -> TaskMaterial:
    return TaskMaterial(instruction="Mend it.", rubric=rubric, checks_before=None, solution=None, identifying_names=())


def pending_calls(
    *judges: JudgeSpec,
    tasks: Sequence[str] = ("task-1",),
    wants_another: Callable[[Sequence[Judgment]], bool] = lambda _: False,
    retry_invalid: bool = False,
    rubric: Rubric = RUBRIC,
) -> PendingCalls:
    return PendingCalls(
        judges=judges or (A_JUDGE,),
        tasks={task: a_task_material(rubric) for task in tasks},
        wants_another=wants_another,
        retry_invalid=retry_invalid,
    )


def finished(*runs: RunRecord) -> dict[tuple[str, str, int], list[RunRecord]]:
    found: dict[tuple[str, str, int], list[RunRecord]] = {}
    for run in runs:
        found.setdefault((run.trial.task_id, run.trial.arm, run.trial.repeat), []).append(run)
    return found


def a_judge_call(run: RunRecord, judge: JudgeSpec = A_JUDGE) -> JudgeCall:
    (call,) = pending_calls(judge, tasks=[run.trial.task_id]).open_calls(finished(run), {})
    return call


def a_context(backends: Mapping[str, Judge], **fields: object) -> JudgingContext:
    codes = count(1)
    defaults: dict[str, object] = {
        "backends": backends,
        "artifact": lambda digest: b"",
        "prices": PriceTables(),
        "draw_code": lambda: f"{next(codes):032x}",
        "now": lambda: datetime(2026, 1, 2, tzinfo=UTC),
        "drain": Event(),
        "cancel": Event(),
        "first_wait_seconds": 0.001,
    }
    return JudgingContext(**(defaults | fields))  # type: ignore[arg-type]


class JudgingRound:
    """Judging over a store; `events` is all that it reported."""

    def __init__(
        self,
        store: FolderRunStore,
        backends: Mapping[str, Judge],
        pending: PendingCalls,
        *,
        jobs: int = 1,
        **context: object,
    ) -> None:
        self.store = store
        self.pending = pending
        self.context = a_context(backends, artifact=store.artifact, **context)
        self.jobs = jobs
        self.events: list[EngineEvent] = []

    def run(self, budget: JudgeBudget | None = None) -> PoolResult:
        return judge_runs(
            self.pending,
            store=self.store,
            context=self.context,
            budget=budget or JudgeBudget(None, {judge.name: None for judge in self.pending.judges}, {}),
            jobs=self.jobs,
            listen=self.events.append,
        )

    def judgments(self) -> list[Judgment]:
        return [judgment for judgments in self.store.judgments().values() for judgment in judgments]
