"""Pairwise judging: two runs of the same task side by side, in both orders.

Which calls are pending, one call from prompt to preference, and all of them through the pool.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from outweigh.engine.events import EngineEvent, EventKind, EventListener, trial_event
from outweigh.engine.judging.ask import Answered, JudgePrompt, JudgingContext
from outweigh.engine.judging.pointwise import FinishedRuns, counted_runs
from outweigh.engine.judging.pool import JudgeBudget, JudgePool, PoolResult
from outweigh.judging.injection import injection_warnings
from outweigh.judging.material import RunMaterial, TaskMaterial
from outweigh.judging.pairwise_question import (
    PairwiseAnswer,
    pair_answer_schema,
    pair_prompt_sha256,
    pair_prompt_text,
    pair_system_text,
    read_pair_answer,
)
from outweigh.model.codec import record_digest
from outweigh.model.failure import Status
from outweigh.model.judgment import CriterionChoice, CriterionScore, Preference, ShownRun
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import JudgeSpec

PairQuestionKey = tuple[str, str | None, str | None, str | None, str | None]
"""Judge, both runs in the order shown, rubric and prompt: the judge by name, the others by hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseCall:
    """One question to one judge about two runs, in the order in which they are shown."""

    first: RunRecord
    second: RunRecord
    first_sha256: str
    second_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    task: TaskMaterial

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """Both runs, in the order shown."""
        return self.first, self.second

    @property
    def key(self) -> PairQuestionKey:
        """What tells this question from others; an answer to it has the same key."""
        return self.judge.name, self.first_sha256, self.second_sha256, self.task.rubric_sha256, self.prompt_sha256

    def prompt(self, materials: Sequence[RunMaterial], code: str) -> JudgePrompt[PairwiseAnswer]:
        """Which run is better on every criterion."""
        first, second = materials
        rubric = self.task.rubric
        return JudgePrompt(
            system=pair_system_text(rubric),
            prompt=pair_prompt_text(self.judge, self.task, (first, second), code),
            answer_schema=pair_answer_schema(rubric),
            read=lambda text: read_pair_answer(text, rubric),
        )

    def record(
        self, answered: Answered[PairwiseAnswer], materials: Sequence[RunMaterial], judged_at: datetime
    ) -> Preference:
        """The preference, with a choice on every criterion or with the reason why there is none."""
        answer = answered.answer
        criteria = () if answer is None else answer.criteria
        return Preference(
            task_id=self.first.trial.task_id,
            repeat=self.first.trial.repeat,
            first=_shown_run(self.first, self.first_sha256),
            second=_shown_run(self.second, self.second_sha256),
            judge=answered.identity(self.judge, self.task.rubric_sha256, self.prompt_sha256),
            pass_index=1,
            invalid_reason=answered.reason,
            criteria=criteria,
            first_score=None,
            second_score=None,
            stated=None if answer is None else answer.stated,
            confidence=None if answer is None else answer.confidence,
            attempts=answered.attempts,
            warnings=_pair_warnings(self.judge, materials, criteria),
            usage=answered.usage,
            cost=answered.cost,
            judged_at=judged_at,
            duration_seconds=answered.seconds,
        )

    def event(self, record: Preference) -> EngineEvent:
        """That there is an answer, or why there is none."""
        outcome = record.invalid_reason or "answered"
        detail = f"{self.judge.name}, {self.first.run_id} before {self.second.run_id}: {outcome}"
        event = trial_event(self.first.trial, EventKind.JUDGED, detail)
        return replace(event, run_id=self.first.run_id, cost_usd=record.cost.usd)


def _shown_run(run: RunRecord, digest: str) -> ShownRun:
    return ShownRun(run_id=run.run_id, run_sha256=digest, arm=run.trial.arm)


def _pair_warnings(
    judge: JudgeSpec, materials: Sequence[RunMaterial], criteria: Sequence[CriterionChoice]
) -> tuple[str, ...]:
    """Injection warnings about either run and about the evidence, which quotes from both."""
    quoted = [
        CriterionScore(criterion=item.criterion, weight=item.weight, score=None, evidence=item.evidence)
        for item in criteria
    ]
    in_runs = [
        f"{which} run: {warning}"
        for which, material in zip(("first", "second"), materials, strict=True)
        for warning in injection_warnings(judge, material, ())
    ]
    nothing = RunMaterial(status=Status.COMPLETED, diff=None, checks=None, conversation=None)
    return (*in_runs, *injection_warnings(judge, nothing, quoted))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPairs:
    """Every pair of counted runs of two arms with equal task and repeat, in both orders, for every judge."""

    calls: Sequence[PairwiseCall]

    @classmethod
    def of(
        cls,
        finished: FinishedRuns,
        arms: tuple[str, str],
        judges: Sequence[JudgeSpec],
        tasks: Mapping[str, TaskMaterial],
    ) -> "PendingPairs":
        """Find them among the runs of a store."""
        calls = [
            call
            for judge in judges
            for pair in _pairs(finished, arms)
            if (task := tasks.get(pair[0].trial.task_id)) is not None
            for call in _both_orders(pair, judge, task)
        ]
        # Both orders of a pair follow each other: if the budget runs out, few pairs are left with only one.
        return cls(
            calls=sorted(calls, key=lambda call: (call.first.trial.repeat, call.first.trial.task_id, call.judge.name))
        )

    def open_calls(self, earlier: Iterable[Preference], *, retry_invalid: bool) -> list[PairwiseCall]:
        """All calls without an answer. An unusable answer counts as one, unless `retry_invalid`."""
        counted = [answer for answer in earlier if answer.invalid_reason is None or not retry_invalid]
        answered = {_answered_key(answer) for answer in counted}
        by_model = {(_answered_key(answer), answer.judge.model) for answer in counted}
        # Any version of a judge may have answered; the model counts only where the suite names one.
        return [
            call
            for call in self.calls
            if (call.key not in answered if call.judge.model is None else (call.key, call.judge.model) not in by_model)
        ]

    def answers(self, earlier: Iterable[Preference]) -> list[Preference]:
        """The answers to these questions; another rubric, prompt, model or record makes another question."""
        models: dict[PairQuestionKey, set[str | None]] = {}
        for call in self.calls:
            models.setdefault(call.key, set()).add(call.judge.model)
        return [
            answer
            for answer in earlier
            if (asked := models.get(_answered_key(answer))) is not None
            and (None in asked or answer.judge.model in asked)
        ]


def _pairs(finished: FinishedRuns, arms: tuple[str, str]) -> Iterator[tuple[RunRecord, RunRecord]]:
    counted = {run.trial.key: run for run in counted_runs(finished)}
    for (task, arm, repeat), run in sorted(counted.items(), key=lambda item: item[0]):
        if arm == arms[0] and (other := counted.get((task, arms[1], repeat))) is not None:
            yield run, other


def _both_orders(pair: tuple[RunRecord, RunRecord], judge: JudgeSpec, task: TaskMaterial) -> Iterator[PairwiseCall]:
    digests = [record_digest(run).hex() for run in pair]
    for one, other in ((0, 1), (1, 0)):
        yield PairwiseCall(
            first=pair[one],
            second=pair[other],
            first_sha256=digests[one],
            second_sha256=digests[other],
            judge=judge,
            prompt_sha256=pair_prompt_sha256(judge),
            task=task,
        )


def _answered_key(preference: Preference) -> PairQuestionKey:
    judge = preference.judge
    runs = preference.first.run_sha256, preference.second.run_sha256
    return judge.name, *runs, judge.rubric_sha256, judge.prompt_sha256


def judge_pairs(
    calls: Sequence[PairwiseCall],
    *,
    store: Callable[[Preference], None],
    context: JudgingContext,
    budget: JudgeBudget,
    jobs: int,
    listen: EventListener,
) -> PoolResult:
    """Make all calls; `store` keeps a preference as soon as it is there."""

    def store_preference(_: PairwiseCall, preference: Preference) -> Sequence[PairwiseCall]:
        store(preference)
        return ()

    return JudgePool(context=context, store=store_preference, budget=budget, jobs=jobs, listen=listen).run(calls)
