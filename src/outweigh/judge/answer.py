"""A judge's answer from its text: one JSON object, complete and in range, or a complaint that the judge can act on."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

from outweigh.errors import name_some
from outweigh.judge.one_object import UnusableAnswerError, one_object
from outweigh.judge.plain_text import spelled_out
from outweigh.judge.rubric_text import scale_of
from outweigh.record.judgment import CriterionScore, ItemScore
from outweigh.task.rubric import SEPARATOR, ChecklistCriterion, Criterion, Question, Rubric

LONGEST_EVIDENCE = 1_000
_EVIDENCE_IN_ALL = 100_000
_KEYS = frozenset({"answers", "total", "confidence"})
_ANSWER_KEYS = frozenset({"id", "evidence", "score"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A usable answer; `stated_total` is the judge's own sum, which counts for nothing."""

    criteria: tuple[CriterionScore, ...]
    stated_total: float | None
    confidence: float | None


def read_answer(text: str, rubric: Rubric) -> Given:
    """The scores of every criterion, computed here from what was answered."""
    table = _table(text)
    answers = _answers(table.get("answers"), rubric)
    return Given(
        criteria=tuple(_criterion(criterion, answers) for criterion in rubric.criteria),
        stated_total=_stated_total(table.get("total")),
        confidence=_confidence(table.get("confidence")),
    )


class _Answer:
    """What was said about one question, checked against it."""

    def __init__(self, question: Question, score: float | None, evidence: str) -> None:
        self.question = question
        self.score = score
        self.evidence = evidence or None


def _table(text: str) -> Mapping[str, Any]:
    table = one_object(text)
    if unknown := table.keys() - _KEYS:
        raise UnusableAnswerError(f"it has unknown keys: {name_some(sorted(unknown))}.")
    return table


def _answers(entries: object, rubric: Rubric) -> dict[str, _Answer]:
    if not isinstance(entries, list):
        raise UnusableAnswerError("`answers` must be a list.")
    questions = {question.id: question for question in rubric.questions()}
    longest = min(LONGEST_EVIDENCE, _EVIDENCE_IN_ALL // len(questions))
    answers: dict[str, _Answer] = {}
    for entry in entries:
        answer = _answer(entry, questions, longest)
        if answer.question.id in answers:
            raise UnusableAnswerError(f"{answer.question.id!r} is answered twice.")
        answers[answer.question.id] = answer
    if missing := [place for place in questions if place not in answers]:
        raise UnusableAnswerError(f"there is no answer to {name_some(missing, 10)}.")
    return answers


def _answer(entry: object, questions: Mapping[str, Question], longest: int) -> _Answer:
    if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
        raise UnusableAnswerError("every entry of `answers` must be an object with an `id`.")
    place = entry["id"]
    question = questions.get(place)
    if question is None:
        raise UnusableAnswerError(f"{place[:200]!r} is no id of the rubric.")
    if unknown := entry.keys() - _ANSWER_KEYS:
        raise UnusableAnswerError(f"{place!r} has unknown keys: {name_some(sorted(unknown))}.")
    if "score" not in entry:
        raise UnusableAnswerError(f"{place!r} has no score.")
    score = _score(entry["score"], question)
    return _Answer(question, score, _evidence(entry.get("evidence"), question, longest))


def _score(value: object, question: Question) -> float | None:
    if value is None and question.na_when is not None:
        return None
    if value is None:
        raise UnusableAnswerError(f"{question.id!r} always applies: its score cannot be null.")
    score = _number(value, f"the score of {question.id!r}")
    in_range = question.low <= score <= question.high
    if not in_range or (question.only_ends and score not in (question.low, question.high)):
        raise UnusableAnswerError(f"the score of {question.id!r} is {score:g}; it must be {scale_of(question)}.")
    return score


def _evidence(value: object, question: Question, longest: int) -> str:
    if value is not None and not isinstance(value, str):
        raise UnusableAnswerError(f"the evidence of {question.id!r} must be a text.")
    words = spelled_out(value or "").strip()
    if question.evidence and not words:
        raise UnusableAnswerError(f"{question.id!r} has no evidence, and it is required.")
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableAnswerError(f"{what} must be a number.")
    try:
        number = float(value)
    except OverflowError:
        number = inf
    if not isfinite(number):
        raise UnusableAnswerError(f"{what} is too large.")
    return number


def _stated_total(value: object) -> float | None:
    return None if value is None else _number(value, "`total`")


def _confidence(value: object) -> float | None:
    confidence = None if value is None else _number(value, "`confidence`")
    if confidence is not None and not 0 <= confidence <= 1:
        raise UnusableAnswerError(f"`confidence` is {confidence:g}; it must be from 0 to 1.")
    return confidence


def _criterion(criterion: Criterion, answers: Mapping[str, _Answer]) -> CriterionScore:
    if isinstance(criterion, ChecklistCriterion):
        return _checklist(criterion, answers)
    answer = answers[criterion.name]
    low, high = answer.question.low, answer.question.high
    score = None if answer.score is None else (answer.score - low) / (high - low)
    return CriterionScore(criterion=criterion.name, weight=criterion.weight, score=score, evidence=answer.evidence)


def _checklist(criterion: ChecklistCriterion, answers: Mapping[str, _Answer]) -> CriterionScore:
    items = []
    for item in criterion.items:
        answer = answers[f"{criterion.name}{SEPARATOR}{item.name}"]
        items.append(ItemScore(item=item.name, points=answer.score, most_points=item.points, evidence=answer.evidence))
    applying = [(item.points, item.most_points) for item in items if item.points is not None]
    most = sum(points for _, points in applying)
    score = min(1.0, sum(points for points, _ in applying) / most) if applying else None
    return CriterionScore(
        criterion=criterion.name, weight=criterion.weight, score=score, evidence=None, items=tuple(items)
    )
