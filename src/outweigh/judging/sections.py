"""A rubric as text and as the JSON Schema of its answers, and the sections in which a task and a run are shown."""

from collections.abc import Iterator
from typing import Any

from outweigh.judging.material import RunMaterial, TaskMaterial
from outweigh.judging.untrusted_text import Blinding, excerpt
from outweigh.model.rubric import ChecklistCriterion, Criterion, Rubric, RubricQuestion
from outweigh.model.run_record import CheckResult
from outweigh.model.suite import JudgeSpec


def rubric_text(rubric: Rubric) -> str:
    """Every question with its id, its scale, and when null is allowed."""
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


def scale_of(question: RubricQuestion) -> str:
    """The allowed scores, in words."""
    if question.only_ends:
        return f"{question.low:g} or {question.high:g}"
    return f"a number from {question.low:g} to {question.high:g}"


def _criterion(criterion: Criterion, rubric: Rubric) -> str:
    heading = f"{criterion.name}: {criterion.description.strip()}\n\n" if _is_checklist(criterion) else ""
    return heading + "\n\n".join(map(_question, rubric.questions_of(criterion)))


def _is_checklist(criterion: Criterion) -> bool:
    return isinstance(criterion, ChecklistCriterion)


def _question(question: RubricQuestion) -> str:
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


SOLUTION_TOKENS = 16_000
INSTRUCTION_TOKENS = 16_000
CHECKS_TOKENS = 4_000

_MISSING = {"diff": "(no diff was kept)", "conversation": "(nothing was kept of what the agent said)"}


def task_sections(task: TaskMaterial) -> Iterator[tuple[str, str]]:
    """The sections that are the same for all runs of a task."""
    yield "what the agent was asked", excerpt(task.instruction, INSTRUCTION_TOKENS)
    if task.solution is not None:
        yield "a solution by the author of the task; others may be as good", excerpt(task.solution, SOLUTION_TOKENS)


def run_sections(judge: JudgeSpec, task: TaskMaterial, material: RunMaterial) -> Iterator[tuple[str, str]]:
    """The sections about one run, blinded."""
    words = "\n".join((task.instruction, rubric_text(task.rubric), task.solution or ""))
    blind = Blinding(task.identifying_names, words)
    yield "how the run ended", material.status.value.replace("_", " ")
    yield "checks before and after the run", blind(excerpt(_checks(task, material), CHECKS_TOKENS))
    yield "final diff of the workspace", blind(excerpt(_shown(material.diff, "diff"), judge.diff_tokens))
    conversation = excerpt(_shown(material.conversation, "conversation"), judge.transcript_tokens)
    yield "what the agent said and did", blind(conversation)


def _shown(text: str | None, what: str) -> str:
    if text is None:
        return _MISSING[what]
    return text if text.strip() else "(empty)"


def _checks(task: TaskMaterial, material: RunMaterial) -> str:
    before = {check.name: check for check in task.checks_before or ()}
    if not material.checks:
        return "(no checks)" if material.checks is not None else "(its checks were not evaluated)"
    return "\n".join(_check(check, before.get(check.name)) for check in material.checks)


def _check(check: CheckResult, before: CheckResult | None) -> str:
    words = [f"{check.name}{'' if check.required else ' (not required)'}:"]
    if before is not None:
        words.append(f"{_outcome(before)} before,")
    words.append(f"{_outcome(check)} after")
    if check.detail:
        words.append(f"– {check.detail}")
    return " ".join(words)


def _outcome(check: CheckResult) -> str:
    word = {True: "passed", False: "failed", None: "could not be evaluated"}[check.passed]
    return word if check.cases_total is None else f"{word} ({check.cases_passed} of {check.cases_total} cases)"
