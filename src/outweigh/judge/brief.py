"""What a judge is told: about the task, the same for all its runs, and about the one run."""

from dataclasses import dataclass
from hashlib import sha256

from outweigh.record.check_result import CheckResult
from outweigh.record.status import Status
from outweigh.task.rubric import Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """The task: what was asked, what to judge by, how its checks came out untouched, and a solution if it is shown.

    `tell_tales` are names that would say whose run it is.
    """

    instruction: str
    rubric: Rubric
    checks_before: tuple[CheckResult, ...] | None
    solution: str | None
    tell_tales: tuple[str, ...]

    @property
    def rubric_sha256(self) -> str:
        """The rubric's hash, with the solution where judges see one: it makes another question."""
        if self.solution is None:
            return self.rubric.sha256
        return sha256(f"{self.rubric.sha256}\n{self.solution}".encode(errors="backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """The run: how it ended, what it changed, what its checks said, and what the agent said and did. None: not kept."""

    status: Status
    diff: str | None
    checks: tuple[CheckResult, ...] | None
    conversation: str | None
