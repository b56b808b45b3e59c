"""aider's chat history (`.aider.chat.history.md`): who said what.

What the user said stands behind `#### `, what aider said behind `> `, and the rest is the model's. A model that quotes
or writes headings of that depth is taken for another, which the format does not let anyone tell.
"""

from dataclasses import replace

from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.step_list import StepList, Who

_START = "# aider chat started at "
_MARKS: tuple[tuple[str, Who], ...] = (("#### ", "user"), ("> ", "system"))


def with_chat(report: AgentReport, chat: bytes) -> AgentReport:
    """The report with the steps of the chat, and the model's last words."""
    steps = StepList()
    speaker: Who = "agent"
    said: list[str] = []
    for line in chat.decode(errors="replace").splitlines():
        if line.startswith(_START):
            continue
        who, words = _attributed(line, speaker)
        if who != speaker:
            _add(steps, speaker, said)
            speaker, said = who, []
        said.append(words)
    _add(steps, speaker, said)
    return replace(
        report,
        final_text=steps.last_words,
        steps=steps.steps(),
        warnings=(*report.warnings, *steps.warnings()),
    )


def _attributed(line: str, speaker: Who) -> tuple[Who, str]:
    for mark, who in _MARKS:
        if line.startswith(mark):
            return who, line.removeprefix(mark).rstrip()
    return ("agent" if line.strip() else speaker), line.rstrip()


def _add(steps: StepList, speaker: Who, said: list[str]) -> None:
    words = "\n".join(said).strip()
    if words:
        steps.add(speaker, words)
