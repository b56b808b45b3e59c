"""The user's side of a task with several turns: what is said after each answer of the agent.

A check that decides whether something is said is evaluated over a copy of the workspace, in a sandbox of its own, so
that neither the tests nor what they write reach the agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.content_checks import check_answer_contains
from outweigh.engine.checks.evaluate import CheckSubject, evaluate_checks
from outweigh.model.task import AnswerContainsCheck, Task, UserTurn
from outweigh.ports.workspaces import Workspaces

CONVERSATION_ARTIFACT = "conversation.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPoint:
    """Evaluates checks of a task while its agent is at work. `folder` belongs to this run and does not exist yet."""

    task: Task
    workspaces: Workspaces
    checks: CheckSandboxRequest
    subject: CheckSubject
    folder: Path

    def passes(self, name: str, answer: str | None, label: str) -> bool | None:
        """Whether a check passes on the workspace as it is now; None where that cannot be told.

        `label` names the evaluation, and no two have the same.
        """
        wanted = tuple(check for check in self.task.checks if check.name == name)
        folder = self.folder / label
        with self.workspaces.lay_out(self.checks.sandbox.workspace, folder / "workspace") as copy:
            request = replace(
                self.checks, sandbox=replace(self.checks.sandbox, workspace=copy), folder=folder / "checks"
            )
            with open_check_sandbox(request) as sandbox:
                task = msgspec.structs.replace(self.task, checks=wanted)
                (result,) = evaluate_checks(task, sandbox, replace(self.subject, answer=answer)).results
        return result.passed


@dataclass(slots=True, kw_only=True)
class TaskConversation:
    """Says the turns of a task in their order, and leaves out those whose conditions do not hold."""

    turns: Sequence[UserTurn]
    check_point: CheckPoint
    _log: list[dict[str, object]] = field(default_factory=list)
    _considered: int = 0

    def next_message(self, answer: str | None) -> str | None:
        """What the user says to the agent's last answer; None where there is nothing more to say."""
        skipped: list[int] = []
        while self._considered < len(self.turns):
            turn = self.turns[self._considered]
            self._considered += 1
            if self._holds(turn, answer):
                self._log.append({"answer": answer, "left_out": skipped, "turn": self._considered, "said": turn.say})
                return turn.say
            skipped.append(self._considered)
        self._log.append({"answer": answer, "left_out": skipped, "turn": None, "said": None})
        return None

    def lines(self) -> bytes:
        """The conversation so far, one line for each answer of the agent."""
        return b"".join(msgspec.json.encode(line) + b"\n" for line in self._log)

    def _holds(self, turn: UserTurn, answer: str | None) -> bool:
        """Whether all conditions hold; one that cannot be told does not."""
        patterns = ((turn.if_answer, False), (turn.unless_answer, True))
        if not all(regex is None or _matches(regex, answer, absent=absent) for regex, absent in patterns):
            return False
        checks = (("if_passed", turn.if_passed, True), ("if_failed", turn.if_failed, False))
        return all(
            name is None or self.check_point.passes(name, answer, f"{self._considered}-{key}") is wanted
            for key, name, wanted in checks
        )


def _matches(regex: str, answer: str | None, *, absent: bool) -> bool:
    check = AnswerContainsCheck(name="turn", regex=regex, absent=absent)
    return check_answer_contains(check, answer).passed is True
