"""Pointwise judging: one run, one judge, one pass.

Which calls are pending in a store, one call from prompt to judgment, and all of them through the pool.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from typing import NamedTuple

from outweigh.engine.events import EngineEvent, EventListener, judged_event
from outweigh.engine.judging.ask import Answered, JudgePrompt, JudgingContext
from outweigh.engine.judging.pool import JudgeBudget, JudgePool, PoolResult
from outweigh.judging.injection import injection_warnings
from outweigh.judging.material import RunMaterial, TaskMaterial
from outweigh.judging.rubric_question import RubricAnswer, prompt_sha256, prompt_text, read_answer, system_text
from outweigh.judging.sections import answer_schema
from outweigh.model.codec import record_digest
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.judgment import Grading, Judgment
from outweigh.model.run_record import RunRecord, TrialKey
from outweigh.model.suite import JudgeSpec
from outweigh.ports.stores import RunStore
from outweigh.score.judge_scores import latest_answers

FinishedRuns = Mapping[TrialKey, Sequence[RunRecord]]
"""Runs by (task, arm, repeat), in order of attempts."""

JudgmentsByRun = Mapping[str, Sequence[Judgment]]
"""Judgments by the run's id."""

WantsAnotherPass = Callable[[Sequence[Judgment]], bool]
"""Whether a judge's passes over a run disagree, or are unsure, so much that it is asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One question to one judge about one run: one pass."""

    run: RunRecord
    run_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    task: TaskMaterial
    pass_index: int

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The one run."""
        return (self.run,)

    def prompt(self, materials: Sequence[RunMaterial], code: str) -> JudgePrompt[RubricAnswer]:
        """The rubric's questions about the run."""
        (material,) = materials
        rubric = self.task.rubric
        return JudgePrompt(
            system=system_text(rubric),
            prompt=prompt_text(self.judge, self.task, material, code),
            answer_schema=answer_schema(rubric),
            read=lambda text: read_answer(text, rubric),
        )

    def record(
        self, answered: Answered[RubricAnswer], materials: Sequence[RunMaterial], judged_at: datetime
    ) -> Judgment:
        """The judgment, with a score on every criterion or with the reason why there is none."""
        (material,) = materials
        answer, rubric = answered.answer, self.task.rubric
        criteria = () if answer is None else answer.criteria
        return Judgment(
            run_id=self.run.run_id,
            run_sha256=self.run_sha256,
            judge=answered.identity(self.judge, self.task.rubric_sha256, self.prompt_sha256),
            pass_index=self.pass_index,
            invalid_reason=answered.reason,
            criteria=criteria,
            grading=Grading(pass_threshold=rubric.pass_threshold, grade_scale=rubric.grade_scale),
            stated_total=None if answer is None else answer.stated_total,
            confidence=None if answer is None else answer.confidence,
            attempts=answered.attempts,
            warnings=injection_warnings(self.judge, material, criteria),
            usage=answered.usage,
            cost=answered.cost,
            judged_at=judged_at,
            duration_seconds=answered.seconds,
        )

    def event(self, record: Judgment) -> EngineEvent:
        """The score, or why there is none."""
        return judged_event(self.run.trial, record)


class AnswerHistory(NamedTuple):
    """A judge's answers that count now, and the unusable ones that a later attempt replaced."""

    current: list[Judgment]
    replaced: list[Judgment]

    def add(self, answers: Sequence[Judgment]) -> None:
        """Sort in the answers to one question."""
        latest = latest_answers(answers).values()
        self.current.extend(latest)
        self.replaced.extend(answer for answer in answers if all(answer is not other for other in latest))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCalls:
    """Finds the calls without an answer. An unusable answer counts as one, unless `retry_invalid`.

    `tasks` are the tasks that have a rubric, by id; runs of other tasks are not judged.
    """

    judges: Sequence[JudgeSpec]
    tasks: Mapping[str, TaskMaterial]
    wants_another: WantsAnotherPass
    retry_invalid: bool = False

    def open_calls(self, finished: FinishedRuns, earlier: JudgmentsByRun) -> list[JudgeCall]:
        """All calls without an answer, in the order in which the trials ran, so that arms alternate."""
        runs = sorted(counted_runs(finished), key=lambda run: (run.position or 0, run.run_id))
        calls = [
            call
            for run in runs
            if (task := self.tasks.get(run.trial.task_id)) is not None
            for call in self._open(run, task, earlier.get(run.run_id, ()))
        ]
        # First passes first: if the budget runs out, every run has one answer before any has two.
        return sorted(calls, key=lambda call: call.pass_index)

    def answers(self, finished: FinishedRuns, earlier: JudgmentsByRun) -> dict[str, AnswerHistory]:
        """What every judge has answered so far to the questions as they are asked now."""
        found = {judge.name: AnswerHistory([], []) for judge in self.judges}
        for run in counted_runs(finished):
            if (task := self.tasks.get(run.trial.task_id)) is not None:
                for call in self._first_passes(run, task):
                    found[call.judge.name].add(_answers_to(call, earlier.get(run.run_id, ())))
        return found

    def next_call(self, call: JudgeCall, judgments: Sequence[Judgment]) -> JudgeCall | None:
        """One more pass, where those so far disagree; `judgments` are all of the run."""
        passes = latest_answers(_answers_to(call, judgments))
        if len(passes) < call.judge.passes or len(passes) >= (call.judge.most_passes or call.judge.passes):
            return None
        return replace(call, pass_index=_free_pass_index(passes)) if self.wants_another(list(passes.values())) else None

    def _open(self, run: RunRecord, task: TaskMaterial, judgments: Sequence[Judgment]) -> Iterator[JudgeCall]:
        for call in self._first_passes(run, task):
            passes = latest_answers(_answers_to(call, judgments))
            # A retried pass keeps its number: a gap in the numbers would look like a lost answer.
            failed = [number for number, answer in passes.items() if answer.invalid_reason is not None]
            missing = [number for number in range(1, call.judge.passes + 1) if number not in passes]
            wanted = sorted({*missing, *failed} if self.retry_invalid else missing)
            yield from (replace(call, pass_index=number) for number in wanted)
            if not wanted and (another := self.next_call(call, judgments)) is not None:
                yield another

    def _first_passes(self, run: RunRecord, task: TaskMaterial) -> Iterator[JudgeCall]:
        digest = record_digest(run).hex()
        for judge in self.judges:
            yield JudgeCall(
                run=run,
                run_sha256=digest,
                judge=judge,
                prompt_sha256=prompt_sha256(judge),
                task=task,
                pass_index=1,
            )


def counted_runs(finished: FinishedRuns) -> Iterator[RunRecord]:
    """The last attempt of every trial, unless its status says nothing about the arm."""
    for attempts in finished.values():
        if attempts and attempts[-1].status not in EXCLUDED_STATUSES:
            yield attempts[-1]


def _answers_to(call: JudgeCall, judgments: Sequence[Judgment]) -> list[Judgment]:
    """Judgments of the same run, judge, rubric, prompt and, where the suite names one, model; any version of it."""
    return [
        judgment
        for judgment in judgments
        if judgment.judge.name == call.judge.name
        and judgment.run_sha256 == call.run_sha256
        and judgment.judge.rubric_sha256 == call.task.rubric_sha256
        and judgment.judge.prompt_sha256 == call.prompt_sha256
        and (call.judge.model is None or judgment.judge.model == call.judge.model)
    ]


def _free_pass_index(passes: Container[int]) -> int:
    return next(number for number in count(1) if number not in passes)


def judge_runs(
    pending: PendingCalls,
    *,
    store: RunStore,
    context: JudgingContext,
    budget: JudgeBudget,
    jobs: int,
    listen: EventListener,
) -> PoolResult:
    """Make all pending calls of a store, and store every judgment at once.

    When all passes of a judge over a run are back and disagree, it is asked again: earlier, an answer still under way
    might have made the extra pass unnecessary.
    """
    answers = defaultdict(list, {run_id: list(judgments) for run_id, judgments in store.judgments().items()})
    calls = pending.open_calls(store.finished(), answers)
    under_way = Counter(map(_run_and_judge, calls))

    def store_judgment(call: JudgeCall, judgment: Judgment) -> Sequence[JudgeCall]:
        store.append_judgment(judgment)
        answers[call.run.run_id].append(judgment)
        under_way[_run_and_judge(call)] -= 1
        if under_way[_run_and_judge(call)]:
            return ()
        another = pending.next_call(call, answers[call.run.run_id])
        if another is None:
            return ()
        under_way[_run_and_judge(call)] += 1
        return (another,)

    pool = JudgePool(context=context, store=store_judgment, budget=budget, jobs=jobs, listen=listen)
    return pool.run(calls)


def _run_and_judge(call: JudgeCall) -> tuple[str, str]:
    return call.run.run_id, call.judge.name


def judging_costs(judgments: Iterable[Judgment]) -> dict[str, list[float | None]]:
    """The cost of every judgment in dollars, by judge; None where it is unknown."""
    costs: dict[str, list[float | None]] = defaultdict(list)
    for judgment in judgments:
        costs[judgment.judge.name].append(judgment.cost.usd)
    return costs
