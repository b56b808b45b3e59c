"""A rubric in words, and the shape of its answers."""

from collections.abc import Iterator
from typing import Any

from outweigh.task.rubric import ChecklistCriterion, Criterion, Question, Rubric


def rubric_text(rubric: Rubric) -> str:
    """Every question with its id, its scale, and when it may be left open."""
    questions = "\n\n".join(_criterion(criterion, rubric) for criterion in rubric.criteria)
    weights = "\n".join(_weights(rubric))
    notes = f"{rubric.notes.strip()}\n\n" if rubric.notes else ""
    return f"{notes}{questions}\n\nWeights of the overall score:\n{weights}"


def answer_schema(rubric: Rubric) -> dict[str, Any]:
    """The JSON Schema of an answer. Evidence comes before the score, so that the score can follow from it."""
    answer = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": [question.id for question in rubric.questions()]},
            "evidence": {"type": "string"},
            "score": {"type": ["number", "null"]},
        },
        "required": ["id", "evidence", "score"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "answers": {"type": "array", "items": answer},
            "total": {"type": ["number", "null"]},
            "confidence": {"type": ["number", "null"]},
        },
        "required": ["answers", "total", "confidence"],
        "additionalProperties": False,
    }


def scale_of(question: Question) -> str:
    """Which scores there are, in words."""
    if question.only_ends:
        return f"{question.low:g} or {question.high:g}"
    return f"a number from {question.low:g} to {question.high:g}"


def _criterion(criterion: Criterion, rubric: Rubric) -> str:
    heading = f"{criterion.name}: {criterion.description.strip()}\n\n" if _is_checklist(criterion) else ""
    return heading + "\n\n".join(map(_question, rubric.questions_of(criterion)))


def _is_checklist(criterion: Criterion) -> bool:
    return isinstance(criterion, ChecklistCriterion)


def _question(question: Question) -> str:
    lines = [f"id: {question.id}", question.description.strip(), f"score: {scale_of(question)}"]
    lines += [f"  {score} means: {words.strip()}" for score, words in question.anchors]
    if question.na_when is not None:
        lines.append(f"score null (does not apply) if, and only if: {question.na_when.strip()}")
    if question.evidence:
        lines.append("evidence: required")
    return "\n".join(lines)


def _weights(rubric: Rubric) -> Iterator[str]:
    for criterion in rubric.criteria:
        share = "the share of its points" if _is_checklist(criterion) else "its score, as a share of its scale"
        yield f"- {criterion.name}: {criterion.weight:g} × {share}"
