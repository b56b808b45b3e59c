"""The question about two runs: instructions and rubric first, then both runs between fences, in the order given."""

from collections.abc import Iterator
from functools import cache
from hashlib import sha256

import msgspec

from outweigh.judge.blinding import VOCABULARY
from outweigh.judge.brief import Brief, Material
from outweigh.judge.fence import fenced
from outweigh.judge.question import GUIDE
from outweigh.judge.sections import run_sections, task_sections
from outweigh.record.status import Status
from outweigh.task.judge import JudgeSpec
from outweigh.task.rubric import BinaryCriterion, ChecklistCriterion, Criterion, Rubric

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
    """What is the same for every pair of a task."""
    criteria = "\n\n".join(_criterion(criterion, rubric.evidence) for criterion in rubric.criteria)
    notes = f"{rubric.notes.strip()}\n\n" if rubric.notes else ""
    return f"{GUIDE}\n{PAIR_GUIDE}\n# Rubric\n\n{notes}{criteria}\n\n# Your answer\n\n{PAIR_ANSWER_GUIDE}"


def pair_prompt_text(judge: JudgeSpec, brief: Brief, runs: tuple[Material, Material], code: str) -> str:
    """Both runs, blinded and fenced. `code` must not be known to anybody before."""
    sections = "\n\n".join(fenced(title, text, code) for title, text in _sections(judge, brief, runs))
    return (
        f"The code of this question is {code}.\n\n{sections}\n\n"
        "Say which run is better on every criterion, in one JSON object."
    )


def pair_prompt_sha256(judge: JudgeSpec) -> str:
    """A hash of the words around rubric and runs, and of how much of a run is shown: other words, another judge."""
    return sha256(f"{_words_sha256()}\n{judge.setting_sha256}".encode()).hexdigest()


@cache
def _words_sha256() -> str:
    """Of a question about nothing: whatever is changed in its words or their order shows."""
    sample = Rubric(criteria=[BinaryCriterion(name="sample", description="sample")])
    brief = Brief(instruction="", rubric=sample, checks_before=None, solution="", tell_tales=())
    empty = Material(status=Status.COMPLETED, diff=None, checks=None, conversation=None)
    prompt = pair_prompt_text(JudgeSpec(name="-", backend="-"), brief, (empty, empty), "code")
    return sha256(msgspec.json.encode([pair_system_text(sample), prompt, VOCABULARY])).hexdigest()


def _sections(judge: JudgeSpec, brief: Brief, runs: tuple[Material, Material]) -> Iterator[tuple[str, str]]:
    yield from task_sections(brief)
    for which, material in zip(_ORDINALS, runs, strict=True):
        for title, text in run_sections(judge, brief, material):
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
