"""Courts for tests: runs in a real store, judges that say what they are told to."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from threading import Event

from outweigh.engine.budget import JudgeBudget
from outweigh.engine.events import EngineEvent as News
from outweigh.engine.judging.ask import JudgingContext
from outweigh.engine.judging.pointwise import JudgeCall, PendingCalls, PointwiseJudging
from outweigh.engine.judging.pool import PoolResult
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


def a_brief(rubric: Rubric = RUBRIC) -> TaskMaterial:
    return TaskMaterial(instruction="Mend it.", rubric=rubric, checks_before=None, solution=None, tell_tales=())


def a_docket(
    *judges: JudgeSpec,
    tasks: Sequence[str] = ("task-1",),
    wants_another: Callable[[Sequence[Judgment]], bool] = lambda _: False,
    retry_invalid: bool = False,
    rubric: Rubric = RUBRIC,
) -> PendingCalls:
    return PendingCalls(
        judges=judges or (A_JUDGE,),
        briefs={task: a_brief(rubric) for task in tasks},
        wants_another=wants_another,
        retry_invalid=retry_invalid,
    )


def finished(*runs: RunRecord) -> dict[tuple[str, str, int], list[RunRecord]]:
    found: dict[tuple[str, str, int], list[RunRecord]] = {}
    for run in runs:
        found.setdefault((run.trial.task_id, run.trial.arm, run.trial.repeat), []).append(run)
    return found


def a_case(run: RunRecord, judge: JudgeSpec = A_JUDGE) -> JudgeCall:
    (case,) = a_docket(judge, tasks=[run.trial.task_id]).open_cases(finished(run), {})
    return case


def a_room(backends: Mapping[str, Judge], **fields: object) -> JudgingContext:
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


class Court:
    """Judging over a store; `news` is all that it said."""

    def __init__(
        self,
        store: FolderRunStore,
        backends: Mapping[str, Judge],
        docket: PendingCalls,
        *,
        jobs: int = 1,
        **room: object,
    ) -> None:
        self.store = store
        self.docket = docket
        self.room = a_room(backends, artifact=store.artifact, **room)
        self.jobs = jobs
        self.news: list[News] = []

    def sit(self, purse: JudgeBudget | None = None) -> PoolResult:
        given = self.store.judgments()
        judging = PointwiseJudging(
            store=self.store,
            room=self.room,
            docket=self.docket,
            purse=purse or JudgeBudget(None, {judge.name: None for judge in self.docket.judges}, {}),
            jobs=self.jobs,
            listen=self.news.append,
        )
        return judging.run(self.docket.open_cases(self.store.finished(), given), given)

    def judgments(self) -> list[Judgment]:
        return [judgment for given in self.store.judgments().values() for judgment in given]
