"""A judge's answer about two runs from its text: a choice on every criterion, or a complaint that it can act on."""

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.errors import name_some
from outweigh.judge.answer import LONGEST_EVIDENCE
from outweigh.judge.one_object import UnusableAnswerError, one_object
from outweigh.judge.plain_text import spelled_out
from outweigh.record.preference import Choice, CriterionChoice
from outweigh.task.rubric import Criterion, Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A usable answer; `stated` is the judge's own overall choice, which counts for nothing."""

    criteria: tuple[CriterionChoice, ...]
    stated: Choice | None
    confidence: float | None


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    choice: Choice | None
    evidence: str = ""


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answers: list[_Entry]
    overall: Choice | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None


def pair_answer_schema(rubric: Rubric) -> dict[str, Any]:
    """The JSON Schema of an answer. Evidence comes before the choice, so that the choice can follow from it."""
    choice = {"type": ["string", "null"], "enum": [*map(str, Choice), None]}
    answer = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": [criterion.name for criterion in rubric.criteria]},
            "evidence": {"type": "string"},
            "choice": choice,
        },
        "required": ["id", "evidence", "choice"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "answers": {"type": "array", "items": answer},
            "overall": choice,
            "confidence": {"type": ["number", "null"]},
        },
        "required": ["answers", "overall", "confidence"],
        "additionalProperties": False,
    }


def read_pair_answer(text: str, rubric: Rubric) -> Chosen:
    """The choice on every criterion of the rubric, none missing, none twice, none of its own."""
    answer = _parsed(text)
    entries: dict[str, _Entry] = {}
    criteria = {criterion.name: criterion for criterion in rubric.criteria}
    for entry in answer.answers:
        if entry.id not in criteria:
            raise UnusableAnswerError(f"{entry.id[:200]!r} is no id of the rubric.")
        if entry.id in entries:
            raise UnusableAnswerError(f"{entry.id!r} is answered twice.")
        entries[entry.id] = entry
    if missing := [name for name in criteria if name not in entries]:
        raise UnusableAnswerError(f"there is no answer to {name_some(missing, 10)}.")
    return Chosen(
        criteria=tuple(_choice(criterion, entries[name], rubric) for name, criterion in criteria.items()),
        stated=answer.overall,
        confidence=answer.confidence,
    )


def _parsed(text: str) -> _Answer:
    try:
        return msgspec.convert(one_object(text), _Answer)
    except msgspec.ValidationError as fault:
        raise UnusableAnswerError(f"{fault}.") from None
    except UnicodeEncodeError:
        raise UnusableAnswerError("a key or a choice in it holds half a character.") from None


def _choice(criterion: Criterion, entry: _Entry, rubric: Rubric) -> CriterionChoice:
    if entry.choice is None and criterion.na_when is None:
        raise UnusableAnswerError(f"{criterion.name!r} always applies: its choice cannot be null.")
    demanded = rubric.evidence if criterion.evidence is None else criterion.evidence
    words = spelled_out(entry.evidence).strip()
    if demanded and not words:
        raise UnusableAnswerError(f"{criterion.name!r} has no evidence, and it is required.")
    shown = words if len(words) <= LONGEST_EVIDENCE else f"{words[: LONGEST_EVIDENCE - 1]}…"
    return CriterionChoice(
        criterion=criterion.name, weight=criterion.weight, choice=entry.choice, evidence=shown or None
    )
