"""What a judge is shown of the task and of a run, in titled sections ready to be fenced."""

from collections.abc import Iterator

from outweigh.judge.blinding import Blinding
from outweigh.judge.brief import Brief, Material
from outweigh.judge.excerpt import excerpt
from outweigh.judge.rubric_text import rubric_text
from outweigh.record.check_result import CheckResult
from outweigh.task.judge import JudgeSpec

SOLUTION_TOKENS = 16_000
INSTRUCTION_TOKENS = 16_000
CHECKS_TOKENS = 4_000

_MISSING = {"diff": "(no diff was kept)", "conversation": "(nothing was kept of what the agent said)"}


def task_sections(brief: Brief) -> Iterator[tuple[str, str]]:
    """What is the same for all runs of a task."""
    yield "what the agent was asked", excerpt(brief.instruction, INSTRUCTION_TOKENS)
    if brief.solution is not None:
        yield "a solution by the author of the task; others may be as good", excerpt(brief.solution, SOLUTION_TOKENS)


def run_sections(judge: JudgeSpec, brief: Brief, material: Material) -> Iterator[tuple[str, str]]:
    """One run, blinded."""
    words = "\n".join((brief.instruction, rubric_text(brief.rubric), brief.solution or ""))
    blind = Blinding(brief.tell_tales, words)
    yield "how the run ended", material.status.value.replace("_", " ")
    yield "checks before and after the run", blind(excerpt(_checks(brief, material), CHECKS_TOKENS))
    yield "final diff of the workspace", blind(excerpt(_shown(material.diff, "diff"), judge.diff_tokens))
    said = excerpt(_shown(material.conversation, "conversation"), judge.transcript_tokens)
    yield "what the agent said and did", blind(said)


def _shown(text: str | None, what: str) -> str:
    if text is None:
        return _MISSING[what]
    return text if text.strip() else "(empty)"


def _checks(brief: Brief, material: Material) -> str:
    before = {check.name: check for check in brief.checks_before or ()}
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
