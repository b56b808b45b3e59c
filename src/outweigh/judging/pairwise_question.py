"""The question about two runs side by side, and its answer.

A choice on every criterion, or a complaint that the judge can act on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.errors import quote_names
from outweigh.judging.material import RunMaterial, TaskMaterial
from outweigh.judging.rubric_question import JUDGE_GUIDE, LONGEST_EVIDENCE, UnusableAnswerError, parse_single_object
from outweigh.judging.sections import run_sections, task_sections
from outweigh.judging.untrusted_text import WITHHELD_WORDS, escape_invisible, fence_text
from outweigh.model.failure import Status
from outweigh.model.judgment import Choice, CriterionChoice
from outweigh.model.rubric import BinaryCriterion, ChecklistCriterion, Criterion, Rubric
from outweigh.model.suite import JudgeSpec

PAIR_GUIDE = """\
Two runs of the same task are put before you, one after the other. Say on every criterion which of them is better. Which
one is shown first means nothing: the same two are shown the other way round as well. A tie is an honest answer where
neither is better; so is a choice where the difference is small and real. Length, polish and confident words are no
merit by themselves.
"""

PAIR_ANSWER_GUIDE = """\
Answer with one JSON object and nothing before or after it:
{"answers": [{"id": "…", "evidence": "…", "choice": "first" | "second" | "tie"}, …], "overall": …, "confidence": …}
One entry for every id of the rubric, no other, none twice. `choice` is null only where the rubric allows it, for both
runs. `overall` is your own choice between the two. `confidence` says from 0 to 1 how sure you are of your choices.
"""

_ORDINALS = ("first run", "second run")


def pair_system_text(rubric: Rubric) -> str:
    """The part of the question that is the same for every pair of a task."""
    criteria = "\n\n".join(_criterion(criterion, rubric.evidence) for criterion in rubric.criteria)
    notes = f"{rubric.notes.strip()}\n\n" if rubric.notes else ""
    return f"{JUDGE_GUIDE}\n{PAIR_GUIDE}\n# Rubric\n\n{notes}{criteria}\n\n# Your answer\n\n{PAIR_ANSWER_GUIDE}"


def pair_prompt_text(judge: JudgeSpec, task: TaskMaterial, runs: tuple[RunMaterial, RunMaterial], code: str) -> str:
    """Both runs, blinded and fenced. `code` must be new and unguessable."""
    sections = "\n\n".join(fence_text(title, text, code) for title, text in _sections(judge, task, runs))
    return (
        f"The code of this question is {code}.\n\n{sections}\n\n"
        "Say which run is better on every criterion, in one JSON object."
    )


def pair_prompt_sha256(judge: JudgeSpec) -> str:
    """A hash of the prompt's fixed text and of the judge's settings; if it changes, it counts as another judge."""
    return sha256(f"{_words_sha256()}\n{judge.setting_sha256}".encode()).hexdigest()


@cache
def _words_sha256() -> str:
    """The hash of a question about empty runs, which changes with every word of the fixed text."""
    sample = Rubric(criteria=[BinaryCriterion(name="sample", description="sample")])
    task = TaskMaterial(instruction="", rubric=sample, checks_before=None, solution="", identifying_names=())
    empty = RunMaterial(status=Status.COMPLETED, diff=None, checks=None, conversation=None)
    prompt = pair_prompt_text(JudgeSpec(name="-", backend="-"), task, (empty, empty), "code")
    return sha256(msgspec.json.encode([pair_system_text(sample), prompt, WITHHELD_WORDS])).hexdigest()


def _sections(judge: JudgeSpec, task: TaskMaterial, runs: tuple[RunMaterial, RunMaterial]) -> Iterator[tuple[str, str]]:
    yield from task_sections(task)
    for which, material in zip(_ORDINALS, runs, strict=True):
        for title, text in run_sections(judge, task, material):
            yield f"{which}: {title}", text


def _criterion(criterion: Criterion, by_default: bool) -> str:
    lines = [f"id: {criterion.name}", criterion.description.strip()]
    if isinstance(criterion, ChecklistCriterion):
        lines += [f"- {item.description.strip()} ({item.points:g} points)" for item in criterion.items]
    if criterion.na_when is not None:
        lines.append(f"choice null (does not apply) if, and only if: {criterion.na_when.strip()}")
    if by_default if criterion.evidence is None else criterion.evidence:
        lines.append("evidence: required")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseAnswer:
    """A usable answer; `stated` is the judge's own overall choice, which is stored and not used."""

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


def read_pair_answer(text: str, rubric: Rubric) -> PairwiseAnswer:
    """The choice on every criterion of the rubric; UnusableAnswerError where one is missing, unknown or repeated."""
    answer = _parsed(text)
    entries: dict[str, _Entry] = {}
    criteria = {criterion.name: criterion for criterion in rubric.criteria}
    for entry in answer.answers:
        if entry.id not in criteria:
            raise UnusableAnswerError(f"{entry.id[:200]!r} is not an id of the rubric.")
        if entry.id in entries:
            raise UnusableAnswerError(f"{entry.id!r} is answered twice.")
        entries[entry.id] = entry
    if missing := [name for name in criteria if name not in entries]:
        raise UnusableAnswerError(f"there is no answer to {quote_names(missing, 10)}.")
    return PairwiseAnswer(
        criteria=tuple(_choice(criterion, entries[name], rubric) for name, criterion in criteria.items()),
        stated=answer.overall,
        confidence=answer.confidence,
    )


def _parsed(text: str) -> _Answer:
    try:
        return msgspec.convert(parse_single_object(text), _Answer)
    except msgspec.ValidationError as fault:
        raise UnusableAnswerError(f"{fault}.") from None
    except UnicodeEncodeError:
        raise UnusableAnswerError("a key or a choice in it holds half a character.") from None


def _choice(criterion: Criterion, entry: _Entry, rubric: Rubric) -> CriterionChoice:
    if entry.choice is None and criterion.na_when is None:
        raise UnusableAnswerError(f"{criterion.name!r} always applies: its choice cannot be null.")
    demanded = rubric.evidence if criterion.evidence is None else criterion.evidence
    words = escape_invisible(entry.evidence).strip()
    if demanded and not words:
        raise UnusableAnswerError(f"{criterion.name!r} has no evidence, and it is required.")
    shown = words if len(words) <= LONGEST_EVIDENCE else f"{words[: LONGEST_EVIDENCE - 1]}…"
    return CriterionChoice(
        criterion=criterion.name, weight=criterion.weight, choice=entry.choice, evidence=shown or None
    )
