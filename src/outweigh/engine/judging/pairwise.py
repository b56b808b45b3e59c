"""Pairwise judging: two runs of the same task side by side, in both orders.

Which calls are pending, one call from prompt to preference, and all of them through the pool.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from outweigh.engine.budget import JudgeBudget
from outweigh.engine.events import EngineEvent, EventKind, EventListener, trial_event
from outweigh.engine.judging.ask import Answered, JudgePrompt, JudgingContext, RetryLoop
from outweigh.engine.judging.pointwise import FinishedRuns
from outweigh.engine.judging.pool import CallEnd, JudgePool, PoolResult
from outweigh.errors import EvidenceError
from outweigh.judging.injection import injection_warnings
from outweigh.judging.material import RunMaterial, TaskMaterial, load_run_material
from outweigh.judging.pairwise_question import (
    PairwiseAnswer,
    pair_answer_schema,
    pair_prompt_sha256,
    pair_prompt_text,
    pair_system_text,
    read_pair_answer,
)
from outweigh.model.codec import record_digest
from outweigh.model.failure import Failure
from outweigh.model.judgment import CriterionChoice, CriterionScore, Preference, ShownRun
from outweigh.model.run_record import EXCLUDED_STATUSES, RunRecord, Status
from outweigh.model.suite import JudgeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseCall:
    """One pair before one judge, once, in the order in which it is shown."""

    first: RunRecord
    second: RunRecord
    first_sha256: str
    second_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    brief: TaskMaterial


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseResult:
    """What came of a duel: a preference, or why there is none. `hopeless` is what every other duel would meet.

    `cost_usd` is what asking came to, also where it was given up; None where nobody knows.
    """

    duel: PairwiseCall
    preference: Preference | None
    cost_usd: float | None
    hopeless: Failure | None = None
    trouble: str | None = None


def judge_pair(duel: PairwiseCall, room: JudgingContext) -> PairwiseResult:
    """Ask until there is an answer that can be used, or no attempt is left."""
    try:
        materials = load_run_material(duel.first, room.artifact), load_run_material(duel.second, room.artifact)
    except EvidenceError as error:
        pair = f"{duel.first.run_id} and {duel.second.run_id}"
        return PairwiseResult(duel=duel, preference=None, cost_usd=0.0, trouble=f"{pair} cannot be judged: {error}")
    asked = RetryLoop(duel.judge, room, _pairwise_prompt(duel, materials, room.draw_code())).run()
    if asked.interrupted or asked.hopeless is not None:
        return PairwiseResult(duel=duel, preference=None, cost_usd=asked.fees.cost.usd, hopeless=asked.hopeless)
    return PairwiseResult(duel=duel, preference=_preference(duel, asked, materials, room), cost_usd=asked.fees.cost.usd)


def _pairwise_prompt(
    duel: PairwiseCall, materials: tuple[RunMaterial, RunMaterial], code: str
) -> JudgePrompt[PairwiseAnswer]:
    rubric = duel.brief.rubric
    return JudgePrompt(
        system=pair_system_text(rubric),
        prompt=pair_prompt_text(duel.judge, duel.brief, materials, code),
        answer_schema=pair_answer_schema(rubric),
        read=lambda text: read_pair_answer(text, rubric),
    )


def _preference(
    duel: PairwiseCall,
    asked: Answered[PairwiseAnswer],
    materials: tuple[RunMaterial, RunMaterial],
    room: JudgingContext,
) -> Preference:
    chosen = asked.given
    criteria = () if chosen is None else chosen.criteria
    return Preference(
        task_id=duel.first.trial.task_id,
        repeat=duel.first.trial.repeat,
        first=_shown_run(duel.first, duel.first_sha256),
        second=_shown_run(duel.second, duel.second_sha256),
        judge=asked.identity(duel.judge, duel.brief.rubric_sha256, duel.prompt_sha256),
        pass_index=1,
        invalid_reason=asked.reason,
        criteria=criteria,
        first_score=None,
        second_score=None,
        stated=None if chosen is None else chosen.stated,
        confidence=None if chosen is None else chosen.confidence,
        attempts=asked.attempts,
        warnings=_pair_warnings(duel, materials, criteria),
        usage=asked.fees.usage,
        cost=asked.fees.cost,
        judged_at=room.now(),
        duration_seconds=asked.seconds,
    )


def _pair_warnings(
    duel: PairwiseCall, materials: tuple[RunMaterial, RunMaterial], criteria: Sequence[CriterionChoice]
) -> tuple[str, ...]:
    """What a reader should know: a run that speaks to its judge, and evidence that quotes such words."""
    quoted = [
        CriterionScore(criterion=item.criterion, weight=item.weight, score=None, evidence=item.evidence)
        for item in criteria
    ]
    spoken = [
        f"{which} run: {warning}"
        for which, material in zip(("first", "second"), materials, strict=True)
        for warning in injection_warnings(duel.judge, material, ())
    ]
    nothing = RunMaterial(status=Status.COMPLETED, diff=None, checks=None, conversation=None)
    return (*spoken, *injection_warnings(duel.judge, nothing, quoted))


def _shown_run(run: RunRecord, digest: str) -> ShownRun:
    return ShownRun(run_id=run.run_id, run_sha256=digest, arm=run.trial.arm)


class PairwiseJudging:
    """Has duels fought, as many at once as there are jobs."""

    def __init__(
        self,
        *,
        keep: Callable[[Preference], None],
        room: JudgingContext,
        purse: JudgeBudget,
        jobs: int,
        listen: EventListener,
    ) -> None:
        self._append = keep
        self._room = room
        self._listen = listen
        self._questions: JudgePool[PairwiseCall] = JudgePool(
            put=self._put, drain=room.drain, purse=purse, jobs=jobs, listen=listen
        )

    def run(self, duels: Sequence[PairwiseCall]) -> PoolResult:
        """Ask about all of them, as far as money and patience last."""
        return self._questions.ask(duels)

    def _put(self, duel: PairwiseCall) -> CallEnd[PairwiseCall]:
        fought = judge_pair(duel, self._room)
        preference = fought.preference
        return CallEnd(
            keep=None if preference is None else partial(self._keep, duel, preference),
            cost_usd=fought.cost_usd,
            hopeless=fought.hopeless,
            trouble=fought.trouble,
        )

    def _keep(self, duel: PairwiseCall, preference: Preference) -> Sequence[PairwiseCall]:
        self._append(preference)
        self._listen(_answer_event(duel, preference))
        return ()


def _answer_event(duel: PairwiseCall, preference: Preference) -> EngineEvent:
    detail = f"{duel.judge.name}, {duel.first.run_id} before {duel.second.run_id}: "
    said = preference.invalid_reason or "answered"
    event = trial_event(duel.first.trial, EventKind.JUDGED, detail + said)
    return replace(event, run_id=duel.first.run_id, cost_usd=preference.cost.usd)


PairQuestionKey = tuple[str, str | None, str | None, str | None, str | None]
"""Judge, both runs in the order of showing, rubric and prompt, by name and hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingPairs:
    """Every pair of counted runs of two arms with equal task and repeat, in both orders, before every judge."""

    duels: Sequence[PairwiseCall]

    @classmethod
    def of(
        cls,
        finished: FinishedRuns,
        arms: tuple[str, str],
        judges: Sequence[JudgeSpec],
        briefs: Mapping[str, TaskMaterial],
    ) -> "PendingPairs":
        """Find them among the runs of a store."""
        duels = [
            duel
            for judge in judges
            for pair in _pairs(finished, arms)
            if (brief := briefs.get(pair[0].trial.task_id)) is not None
            for duel in _both_orders(pair, judge, brief)
        ]
        # Both orders of a pair one after the other: if the money runs out, few pairs are left with one.
        return cls(
            duels=sorted(duels, key=lambda duel: (duel.first.trial.repeat, duel.first.trial.task_id, duel.judge.name))
        )

    def open(self, given: Iterable[Preference], *, retry_invalid: bool) -> list[PairwiseCall]:
        """What has no answer yet. An invalid answer is an answer, unless `retry_invalid` asks for another."""
        counted = [answer for answer in given if answer.invalid_reason is None or not retry_invalid]
        answered = {_answered_key(answer) for answer in counted}
        by_model = {(_answered_key(answer), answer.judge.model) for answer in counted}
        return [duel for duel in self.duels if not _is_answered(duel, answered, by_model)]

    def answers(self, given: Iterable[Preference]) -> list[Preference]:
        """What was said to these very questions; other rubrics, prompts, models and records make other questions."""
        models: dict[PairQuestionKey, set[str | None]] = {}
        for duel in self.duels:
            models.setdefault(_question_key(duel), set()).add(duel.judge.model)
        return [
            answer
            for answer in given
            if (asked := models.get(_answered_key(answer))) is not None
            and (None in asked or answer.judge.model in asked)
        ]


def _pairs(finished: FinishedRuns, arms: tuple[str, str]) -> Iterator[tuple[RunRecord, RunRecord]]:
    counted = {
        place: attempts[-1]
        for place, attempts in finished.items()
        if attempts and attempts[-1].status not in EXCLUDED_STATUSES
    }
    for (task, arm, repeat), run in sorted(counted.items()):
        if arm == arms[0] and (other := counted.get((task, arms[1], repeat))) is not None:
            yield run, other


def _both_orders(pair: tuple[RunRecord, RunRecord], judge: JudgeSpec, brief: TaskMaterial) -> Iterator[PairwiseCall]:
    digests = [record_digest(run).hex() for run in pair]
    for one, other in ((0, 1), (1, 0)):
        yield PairwiseCall(
            first=pair[one],
            second=pair[other],
            first_sha256=digests[one],
            second_sha256=digests[other],
            judge=judge,
            prompt_sha256=pair_prompt_sha256(judge),
            brief=brief,
        )


def _question_key(duel: PairwiseCall) -> PairQuestionKey:
    return duel.judge.name, duel.first_sha256, duel.second_sha256, duel.brief.rubric_sha256, duel.prompt_sha256


def _answered_key(preference: Preference) -> PairQuestionKey:
    judge = preference.judge
    runs = preference.first.run_sha256, preference.second.run_sha256
    return judge.name, *runs, judge.rubric_sha256, judge.prompt_sha256


def _is_answered(
    duel: PairwiseCall, answered: Collection[PairQuestionKey], by_model: Collection[tuple[PairQuestionKey, str | None]]
) -> bool:
    """Which version answered is not for us to ask; which model is, where the suite names one."""
    question = _question_key(duel)
    return question in answered if duel.judge.model is None else (question, duel.judge.model) in by_model
