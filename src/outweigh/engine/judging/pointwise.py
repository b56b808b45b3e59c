"""Pointwise judging: one run, one judge, one pass.

Which calls are pending in a store, one call from prompt to judgment, and all of them through the pool; every
judgment is stored at once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import NamedTuple

from outweigh.engine.budget import JudgeBudget
from outweigh.engine.events import EventListener, judged_event
from outweigh.engine.judging.ask import Answered, JudgePrompt, JudgingContext, RetryLoop
from outweigh.engine.judging.pool import CallEnd, JudgePool, PoolResult
from outweigh.errors import EvidenceError
from outweigh.judging.injection import injection_warnings
from outweigh.judging.material import RunMaterial, TaskMaterial, load_run_material
from outweigh.judging.rubric_question import RubricAnswer, prompt_sha256, prompt_text, read_answer, system_text
from outweigh.judging.sections import answer_schema
from outweigh.model.codec import record_digest
from outweigh.model.failure import Failure
from outweigh.model.judgment import Grading, Judgment
from outweigh.model.run_record import EXCLUDED_STATUSES, RunRecord
from outweigh.model.suite import JudgeSpec
from outweigh.ports.stores import RunStore
from outweigh.score.judge_scores import latest_answers

FinishedRuns = Mapping[tuple[str, str, int], Sequence[RunRecord]]
"""Runs by (task, arm, repeat), in order of attempts."""

JudgmentsByRun = Mapping[str, Sequence[Judgment]]
"""By the run's id."""

WantsAnotherPass = Callable[[Sequence[Judgment]], bool]
"""Whether a judge's passes over a run disagree, or doubt, so much that it is asked once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """One run before one judge, once."""

    run: RunRecord
    run_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    brief: TaskMaterial
    pass_index: int


class AnswerHistory(NamedTuple):
    """What a judge says, and its tries that could not be used and were followed by others."""

    standing: list[Judgment]
    replaced: list[Judgment]

    def add(self, to_one_question: Sequence[Judgment]) -> None:
        """Sort the answers to one question in."""
        kept = latest_answers(to_one_question).values()
        self.standing.extend(kept)
        self.replaced.extend(answer for answer in to_one_question if all(answer is not other for other in kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCalls:
    """Tells what is open. An invalid answer is an answer, unless `retry_invalid` asks for another."""

    judges: Sequence[JudgeSpec]
    briefs: Mapping[str, TaskMaterial]
    wants_another: WantsAnotherPass
    retry_invalid: bool = False

    def open_cases(self, finished: FinishedRuns, given: JudgmentsByRun) -> list[JudgeCall]:
        """All cases without an answer, in the order of the runs: arms come in turns, as they were run."""
        runs = sorted(_counted_runs(finished), key=lambda run: (run.position or 0, run.run_id))
        cases = [
            case
            for run in runs
            if (brief := self.briefs.get(run.trial.task_id)) is not None
            for case in self._open(run, brief, given.get(run.run_id, ()))
        ]
        # First passes first: if the money runs out, every run has an answer before one has two.
        return sorted(cases, key=lambda case: case.pass_index)

    def answers(self, finished: FinishedRuns, given: JudgmentsByRun) -> dict[str, AnswerHistory]:
        """What every judge has said so far to these very questions."""
        found = {judge.name: AnswerHistory([], []) for judge in self.judges}
        for run in _counted_runs(finished):
            if (brief := self.briefs.get(run.trial.task_id)) is not None:
                for case in self._cases(run, brief):
                    found[case.judge.name].add(_answers_to(case, given.get(run.run_id, ())))
        return found

    def next_case(self, case: JudgeCall, given: Sequence[Judgment]) -> JudgeCall | None:
        """One more pass, where the ones so far do not settle the matter; `given` are all judgments of the run."""
        passes = latest_answers(_answers_to(case, given))
        if len(passes) < case.judge.passes or len(passes) >= (case.judge.most_passes or case.judge.passes):
            return None
        return replace(case, pass_index=_free_pass_index(passes)) if self.wants_another(list(passes.values())) else None

    def _open(self, run: RunRecord, brief: TaskMaterial, given: Sequence[Judgment]) -> Iterator[JudgeCall]:
        for case in self._cases(run, brief):
            passes = latest_answers(_answers_to(case, given))
            # A pass keeps its number when it is tried again: a gap would look like a lost answer for ever.
            failed = [number for number, answer in passes.items() if answer.invalid_reason is not None]
            wanted = [number for number in range(1, case.judge.passes + 1) if number not in passes]
            again = sorted({*wanted, *failed} if self.retry_invalid else wanted)
            yield from (replace(case, pass_index=number) for number in again)
            if not again and (another := self.next_case(case, given)) is not None:
                yield another

    def _cases(self, run: RunRecord, brief: TaskMaterial) -> Iterator[JudgeCall]:
        digest = record_digest(run).hex()
        for judge in self.judges:
            yield JudgeCall(
                run=run,
                run_sha256=digest,
                judge=judge,
                prompt_sha256=prompt_sha256(judge),
                brief=brief,
                pass_index=1,
            )


def _counted_runs(finished: FinishedRuns) -> Iterator[RunRecord]:
    """The attempt that counts of every trial; what says nothing about its arm is not worth a question."""
    for attempts in finished.values():
        if attempts and attempts[-1].status not in EXCLUDED_STATUSES:
            yield attempts[-1]


def _answers_to(case: JudgeCall, given: Sequence[Judgment]) -> list[Judgment]:
    """What this judge said to this very question about this very run. Which version answered is not for us to ask."""
    return [
        judgment
        for judgment in given
        if judgment.judge.name == case.judge.name
        and judgment.run_sha256 == case.run_sha256
        and judgment.judge.rubric_sha256 == case.brief.rubric_sha256
        and judgment.judge.prompt_sha256 == case.prompt_sha256
        and (case.judge.model is None or judgment.judge.model == case.judge.model)
    ]


def _free_pass_index(passes: Container[int]) -> int:
    return next(number for number in count(1) if number not in passes)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What came of a case: a judgment, or why there is none. `hopeless` is what every other case would meet.

    `cost_usd` is what asking came to, also where it was given up; None where nobody knows.
    """

    case: JudgeCall
    judgment: Judgment | None
    cost_usd: float | None
    hopeless: Failure | None = None
    trouble: str | None = None


def judge_run(case: JudgeCall, room: JudgingContext) -> CallResult:
    """Ask until there is an answer that can be used, or no attempt is left."""
    try:
        material = load_run_material(case.run, room.artifact)
    except EvidenceError as error:
        return CallResult(
            case=case, judgment=None, cost_usd=0.0, trouble=f"{case.run.run_id} cannot be judged: {error}"
        )
    asked = RetryLoop(case.judge, room, _prompt(case, material, room.draw_code())).run()
    if asked.interrupted or asked.hopeless is not None:
        return CallResult(case=case, judgment=None, cost_usd=asked.fees.cost.usd, hopeless=asked.hopeless)
    return CallResult(case=case, judgment=_judgment(case, asked, material, room), cost_usd=asked.fees.cost.usd)


def _prompt(case: JudgeCall, material: RunMaterial, code: str) -> JudgePrompt[RubricAnswer]:
    rubric = case.brief.rubric
    return JudgePrompt(
        system=system_text(rubric),
        prompt=prompt_text(case.judge, case.brief, material, code),
        answer_schema=answer_schema(rubric),
        read=lambda text: read_answer(text, rubric),
    )


def _judgment(case: JudgeCall, asked: Answered[RubricAnswer], material: RunMaterial, room: JudgingContext) -> Judgment:
    given, rubric = asked.given, case.brief.rubric
    criteria = () if given is None else given.criteria
    return Judgment(
        run_id=case.run.run_id,
        run_sha256=case.run_sha256,
        judge=asked.identity(case.judge, case.brief.rubric_sha256, case.prompt_sha256),
        pass_index=case.pass_index,
        invalid_reason=asked.reason,
        criteria=criteria,
        grading=Grading(pass_threshold=rubric.pass_threshold, grade_scale=rubric.grade_scale),
        stated_total=None if given is None else given.stated_total,
        confidence=None if given is None else given.confidence,
        attempts=asked.attempts,
        warnings=injection_warnings(case.judge, material, criteria),
        usage=asked.fees.usage,
        cost=asked.fees.cost,
        judged_at=room.now(),
        duration_seconds=asked.seconds,
    )


RunAndJudge = tuple[str, str]
"""A run's id and a judge's name."""


class PointwiseJudging:
    """Hears cases, as many at once as there are jobs."""

    def __init__(
        self,
        *,
        store: RunStore,
        room: JudgingContext,
        docket: PendingCalls,
        purse: JudgeBudget,
        jobs: int,
        listen: EventListener,
    ) -> None:
        self._store = store
        self._room = room
        self._docket = docket
        self._listen = listen
        self._questions: JudgePool[JudgeCall] = JudgePool(
            put=self._put, drain=room.drain, purse=purse, jobs=jobs, listen=listen
        )
        self._pending: Counter[RunAndJudge] = Counter()
        self._given: dict[str, list[Judgment]] = defaultdict(list)

    def run(self, cases: Sequence[JudgeCall], given: JudgmentsByRun) -> PoolResult:
        """Hear all cases; `given` are the judgments so far, which decide whether another pass is wanted."""
        self._pending.update(map(_run_and_judge, cases))
        for run_id, judgments in given.items():
            self._given[run_id].extend(judgments)
        return self._questions.ask(cases)

    def _put(self, case: JudgeCall) -> CallEnd[JudgeCall]:
        heard = judge_run(case, self._room)
        judgment = heard.judgment
        return CallEnd(
            keep=None if judgment is None else partial(self._keep, case, judgment),
            cost_usd=heard.cost_usd,
            hopeless=heard.hopeless,
            trouble=heard.trouble,
        )

    def _keep(self, case: JudgeCall, judgment: Judgment) -> Sequence[JudgeCall]:
        self._store.append_judgment(judgment)
        self._given[case.run.run_id].append(judgment)
        self._pending[_run_and_judge(case)] -= 1
        self._listen(judged_event(case.run.trial, judgment))
        return self._more(case)

    def _more(self, case: JudgeCall) -> Sequence[JudgeCall]:
        """Only when all passes that were asked for are back: what is under way may settle the matter."""
        if self._pending[_run_and_judge(case)]:
            return ()
        another = self._docket.next_case(case, self._given[case.run.run_id])
        if another is None:
            return ()
        self._pending[_run_and_judge(case)] += 1
        return (another,)


def _run_and_judge(case: JudgeCall) -> RunAndJudge:
    return case.run.run_id, case.judge.name


def judging_costs(given: Iterable[Judgment]) -> dict[str, list[float | None]]:
    """What every judgment came to, by judge."""
    paid: dict[str, list[float | None]] = defaultdict(list)
    for judgment in given:
        paid[judgment.judge.name].append(judgment.cost.usd)
    return paid
