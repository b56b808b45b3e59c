"""One case from question to judgment. An answer that cannot be used is asked for again, with what was wrong with it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Event as Signal
from time import monotonic

from outweigh.errors import EvidenceError
from outweigh.judge.answer import Given, UnusableAnswerError, read_answer
from outweigh.judge.brief import Material
from outweigh.judge.question import again_text, prompt_text, system_text
from outweigh.judge.rubric_text import answer_schema
from outweigh.judge.suspicion import suspicions
from outweigh.ports import Judge, JudgeAnswer, JudgeQuestion
from outweigh.record.judgment import Grading, JudgeIdentity, Judgment
from outweigh.record.pricing import FirstKnown
from outweigh.run.case import Case
from outweigh.run.fees import Fees
from outweigh.run.material import Artifact, material_of
from outweigh.run.patience import ask
from outweigh.run.redaction import storable
from outweigh.transcript.failure import Failure, FailureKind

LONGEST_WAIT_SECONDS = 60.0

HOPELESS = frozenset({FailureKind.UNAUTHORIZED, FailureKind.UNKNOWN_MODEL, FailureKind.BUDGET_REACHED})
"""Every other question would end the same way: the judge is set aside, and nothing is recorded."""

FINAL = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTEXT_OVERFLOW})
"""Asking again would end the same way."""

_ABOUT_THE_ANSWER = frozenset({FailureKind.REFUSAL, FailureKind.NO_RESULT})
"""Failures of which the judge is told; a full line is none of its business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtroom:
    """What all hearings share. `draw_code` gives a code for fences that nobody can guess."""

    backends: Mapping[str, Judge]
    artifact: Artifact
    prices: FirstKnown
    draw_code: Callable[[], str]
    now: Callable[[], datetime]
    drain: Signal
    cancel: Signal
    first_wait_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of a case: a judgment, or why there is none. `hopeless` is what every other case would meet."""

    case: Case
    judgment: Judgment | None
    hopeless: Failure | None = None
    trouble: str | None = None


class _Hearing:
    """A case under way."""

    def __init__(self, case: Case, room: Courtroom) -> None:
        self.case = case
        self.room = room
        self.fees = Fees(room.prices, case.judge.model, room.now())
        self.attempts = 0
        self.model: str | None = None
        self.version: str | None = None
        self.reason = ""
        self.given: Given | None = None
        self.began = monotonic()

    @property
    def may_ask(self) -> bool:
        """Whether an attempt is left."""
        return self.attempts <= self.case.judge.retries

    def ask(self, prompt: str) -> JudgeAnswer:
        """Once more."""
        self.attempts += 1
        answer = ask(self.room.backends[self.case.judge.name], _question(self.case, prompt, self.room))
        self.fees.add(answer)
        self.model, self.version = answer.model or self.model, answer.version or self.version
        return answer

    def read(self, answer: JudgeAnswer) -> str | None:
        """Take the answer over, or say what is wrong with it."""
        try:
            self.given = read_answer(answer.text or "", self.case.brief.rubric)
        except UnusableAnswerError as complaint:
            self.reason = f"unusable answer: {complaint}"
            return str(complaint)
        return None

    def wait(self, failure: Failure) -> None:
        """As long as the service asks for, within reason; not at all if nobody asks again, or all is to end."""
        if self.may_ask and failure.kind not in _ABOUT_THE_ANSWER:
            backoff = self.room.first_wait_seconds * 2 ** (self.attempts - 1)
            self.room.drain.wait(min(failure.retry_after_seconds or backoff, LONGEST_WAIT_SECONDS))


def hear(case: Case, room: Courtroom) -> Heard:
    """Ask until there is an answer that can be used, or no attempt is left."""
    try:
        material = material_of(case.run, room.artifact)
    except EvidenceError as error:
        return Heard(case=case, judgment=None, trouble=f"{case.run.run_id} cannot be judged: {error}")
    hearing = _Hearing(case, room)
    first = prompt = prompt_text(case.judge, case.brief, material, room.draw_code())
    while hearing.may_ask and hearing.given is None:
        answer = hearing.ask(prompt)
        if room.cancel.is_set():
            return Heard(case=case, judgment=None)
        failure, complaint = answer.failure, None
        if failure is None:
            complaint = hearing.read(answer)
        elif failure.kind in HOPELESS:
            return Heard(case=case, judgment=None, hopeless=failure)
        else:
            hearing.reason = f"{failure.kind.value}: {failure.detail}"
            if failure.kind in FINAL:
                break
            complaint = failure.detail if failure.kind in _ABOUT_THE_ANSWER else None
            hearing.wait(failure)
        prompt = first if complaint is None else again_text(first, complaint)
    return Heard(case=case, judgment=_judgment(hearing, material))


def _question(case: Case, prompt: str, room: Courtroom) -> JudgeQuestion:
    return JudgeQuestion(
        judge=case.judge,
        system=system_text(case.brief.rubric),
        prompt=prompt,
        answer_schema=answer_schema(case.brief.rubric),
        timeout_seconds=case.judge.timeout_seconds,
        cancel=room.cancel,
    )


def _judgment(hearing: _Hearing, material: Material) -> Judgment:
    case, given = hearing.case, hearing.given
    criteria, rubric = () if given is None else given.criteria, case.brief.rubric
    return Judgment(
        run_id=case.run.run_id,
        run_sha256=case.run_sha256,
        judge=_identity(hearing),
        pass_index=case.pass_index,
        invalid_reason=None if given is not None else storable(hearing.reason, ()),
        criteria=criteria,
        grading=Grading(pass_threshold=rubric.pass_threshold, grade_scale=rubric.grade_scale),
        stated_total=None if given is None else given.stated_total,
        confidence=None if given is None else given.confidence,
        attempts=hearing.attempts,
        warnings=suspicions(case.judge, material, criteria),
        usage=hearing.fees.usage,
        cost=hearing.fees.cost,
        judged_at=hearing.room.now(),
        duration_seconds=monotonic() - hearing.began,
    )


def _identity(hearing: _Hearing) -> JudgeIdentity:
    case, answered_by = hearing.case, " ".join(filter(None, (hearing.model, hearing.version)))
    return JudgeIdentity(
        name=case.judge.name,
        model=case.judge.model or hearing.model,
        version=storable(answered_by, ()) or None,
        rubric_sha256=case.brief.rubric_sha256,
        prompt_sha256=case.prompt_sha256,
    )
