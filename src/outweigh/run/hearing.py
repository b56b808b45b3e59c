"""One case from question to judgment."""

from dataclasses import dataclass

from outweigh.errors import EvidenceError
from outweigh.judge.answer import Given, read_answer
from outweigh.judge.brief import Material
from outweigh.judge.question import prompt_text, system_text
from outweigh.judge.rubric_text import answer_schema
from outweigh.judge.suspicion import suspicions
from outweigh.record.judgment import Grading, Judgment
from outweigh.run.asking import Asked, Asking, Wording
from outweigh.run.case import Case
from outweigh.run.courtroom import Courtroom
from outweigh.run.material import material_of
from outweigh.transcript.failure import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of a case: a judgment, or why there is none. `hopeless` is what every other case would meet.

    `cost_usd` is what asking came to, also where it was given up; None where nobody knows.
    """

    case: Case
    judgment: Judgment | None
    cost_usd: float | None
    hopeless: Failure | None = None
    trouble: str | None = None


def hear(case: Case, room: Courtroom) -> Heard:
    """Ask until there is an answer that can be used, or no attempt is left."""
    try:
        material = material_of(case.run, room.artifact)
    except EvidenceError as error:
        return Heard(case=case, judgment=None, cost_usd=0.0, trouble=f"{case.run.run_id} cannot be judged: {error}")
    asked = Asking(case.judge, room, _wording(case, material, room.draw_code())).run()
    if asked.interrupted or asked.hopeless is not None:
        return Heard(case=case, judgment=None, cost_usd=asked.fees.cost.usd, hopeless=asked.hopeless)
    return Heard(case=case, judgment=_judgment(case, asked, material, room), cost_usd=asked.fees.cost.usd)


def _wording(case: Case, material: Material, code: str) -> Wording[Given]:
    rubric = case.brief.rubric
    return Wording(
        system=system_text(rubric),
        prompt=prompt_text(case.judge, case.brief, material, code),
        answer_schema=answer_schema(rubric),
        read=lambda text: read_answer(text, rubric),
    )


def _judgment(case: Case, asked: Asked[Given], material: Material, room: Courtroom) -> Judgment:
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
        warnings=suspicions(case.judge, material, criteria),
        usage=asked.fees.usage,
        cost=asked.fees.cost,
        judged_at=room.now(),
        duration_seconds=asked.seconds,
    )
