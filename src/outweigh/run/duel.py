"""Two runs before one judge, in one order: from question to preference."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.errors import EvidenceError
from outweigh.judge.brief import Brief, Material
from outweigh.judge.pair_answer import Chosen, pair_answer_schema, read_pair_answer
from outweigh.judge.pair_question import pair_prompt_text, pair_system_text
from outweigh.judge.suspicion import suspicions
from outweigh.record.judgment import CriterionScore
from outweigh.record.preference import CriterionChoice, Preference, ShownRun
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.run.asking import Asked, Asking, Wording
from outweigh.run.courtroom import Courtroom
from outweigh.run.material import material_of
from outweigh.task.judge import JudgeSpec
from outweigh.transcript.failure import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One pair before one judge, once, in the order in which it is shown."""

    first: RunRecord
    second: RunRecord
    first_sha256: str
    second_sha256: str
    judge: JudgeSpec
    prompt_sha256: str
    brief: Brief


@dataclass(frozen=True, slots=True, kw_only=True)
class Fought:
    """What came of a duel: a preference, or why there is none. `hopeless` is what every other duel would meet.

    `cost_usd` is what asking came to, also where it was given up; None where nobody knows.
    """

    duel: Duel
    preference: Preference | None
    cost_usd: float | None
    hopeless: Failure | None = None
    trouble: str | None = None


def fight(duel: Duel, room: Courtroom) -> Fought:
    """Ask until there is an answer that can be used, or no attempt is left."""
    try:
        materials = material_of(duel.first, room.artifact), material_of(duel.second, room.artifact)
    except EvidenceError as error:
        pair = f"{duel.first.run_id} and {duel.second.run_id}"
        return Fought(duel=duel, preference=None, cost_usd=0.0, trouble=f"{pair} cannot be judged: {error}")
    asked = Asking(duel.judge, room, _wording(duel, materials, room.draw_code())).run()
    if asked.interrupted or asked.hopeless is not None:
        return Fought(duel=duel, preference=None, cost_usd=asked.fees.cost.usd, hopeless=asked.hopeless)
    return Fought(duel=duel, preference=_preference(duel, asked, materials, room), cost_usd=asked.fees.cost.usd)


def _wording(duel: Duel, materials: tuple[Material, Material], code: str) -> Wording[Chosen]:
    rubric = duel.brief.rubric
    return Wording(
        system=pair_system_text(rubric),
        prompt=pair_prompt_text(duel.judge, duel.brief, materials, code),
        answer_schema=pair_answer_schema(rubric),
        read=lambda text: read_pair_answer(text, rubric),
    )


def _preference(duel: Duel, asked: Asked[Chosen], materials: tuple[Material, Material], room: Courtroom) -> Preference:
    chosen = asked.given
    criteria = () if chosen is None else chosen.criteria
    return Preference(
        task_id=duel.first.trial.task_id,
        repeat=duel.first.trial.repeat,
        first=_shown(duel.first, duel.first_sha256),
        second=_shown(duel.second, duel.second_sha256),
        judge=asked.identity(duel.judge, duel.brief.rubric_sha256, duel.prompt_sha256),
        pass_index=1,
        invalid_reason=asked.reason,
        criteria=criteria,
        first_score=None,
        second_score=None,
        stated=None if chosen is None else chosen.stated,
        confidence=None if chosen is None else chosen.confidence,
        attempts=asked.attempts,
        warnings=_warnings(duel, materials, criteria),
        usage=asked.fees.usage,
        cost=asked.fees.cost,
        judged_at=room.now(),
        duration_seconds=asked.seconds,
    )


def _warnings(duel: Duel, materials: tuple[Material, Material], criteria: Sequence[CriterionChoice]) -> tuple[str, ...]:
    """What a reader should know: a run that speaks to its judge, and evidence that quotes such words."""
    quoted = [
        CriterionScore(criterion=item.criterion, weight=item.weight, score=None, evidence=item.evidence)
        for item in criteria
    ]
    spoken = [
        f"{which} run: {warning}"
        for which, material in zip(("first", "second"), materials, strict=True)
        for warning in suspicions(duel.judge, material, ())
    ]
    nothing = Material(status=Status.COMPLETED, diff=None, checks=None, conversation=None)
    return (*spoken, *suspicions(duel.judge, nothing, quoted))


def _shown(run: RunRecord, digest: str) -> ShownRun:
    return ShownRun(run_id=run.run_id, run_sha256=digest, arm=run.trial.arm)
