"""What an agent said last, and checks that look at it."""

from collections.abc import Mapping

from outweigh.errors import EvidenceError
from outweigh.run.bounded_search import UnfinishedSearchError, search
from outweigh.run.material import TRAJECTORY
from outweigh.run.outcome import Outcome
from outweigh.task.check import AnswerContainsCheck
from outweigh.transcript.atif_file import read_trajectory
from outweigh.transcript.content_text import content_text

PRINTED = "stdout.txt"
"""All that a command line says, which keeps no trajectory."""
LOOKED_AT = 1024 * 1024
"""How much of the end of an answer is searched; what may stand before it, nobody knows."""


def answer_of(artifacts: Mapping[str, bytes]) -> str | None:
    """The last words of the agent in its trajectory, or what it printed; None where neither was kept."""
    if artifacts.get(TRAJECTORY):
        return _last_words(artifacts[TRAJECTORY])
    printed = artifacts.get(PRINTED)
    return None if printed is None else printed.decode(errors="replace")


def answer_contains(check: AnswerContainsCheck, answer: str | None) -> Outcome:
    """Passed when the text, or a match, is in the answer; with `absent`, when it is not."""
    if answer is None:
        return Outcome(passed=None, detail="nobody kept what the agent said")
    said = answer[-LOOKED_AT:]
    try:
        found = (check.text is None or check.text in said) and (
            check.regex is None or search(check.regex, said.encode("utf-8", "replace"))
        )
    except UnfinishedSearchError as fault:
        return Outcome(passed=None, detail=f"the answer: {fault}")
    if not found and len(said) < len(answer):
        return Outcome(passed=None, detail=f"nobody looked further than the last {LOOKED_AT:,} letters of the answer")
    if found is not check.absent:
        return Outcome(passed=True)
    wanted = repr(check.text) if check.regex is None else f"a match of {check.regex!r}"
    return Outcome(passed=False, detail=f"{wanted} is {'in' if found else 'not in'} what the agent said last")


def _last_words(trajectory: bytes) -> str | None:
    """None where it cannot be read; empty where the agent never said a word. A sub-agent's word is not the agent's."""
    try:
        steps = read_trajectory(trajectory).steps
    except EvidenceError:
        return None
    own = (step for step in reversed(steps) if step.source == "agent" and step.sub_agent is None)
    words = (content_text(step.message).strip() for step in own)
    return next(filter(None, words), "")
