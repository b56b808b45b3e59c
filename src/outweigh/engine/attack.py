"""Tries the known cheats on a task: each on a workspace and in a sandbox of its own, with the task's own checks.

Nothing of it costs money, and no agent is started.
"""

from dataclasses import dataclass

from outweigh.engine.cheats import CHEATS, Cheat, apply_cheat
from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.evaluate import CaseNames, CheckSubject
from outweigh.engine.preflight import PreflightContext, evaluate_workspace, private_sandbox_request
from outweigh.model.preflight_result import CheckResults, all_required_pass
from outweigh.model.task import Task
from outweigh.ports.sandboxes import SandboxError, SandboxRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCheat:
    """What the checks of a task made of one cheat.

    `checks` is None where the cheat has nothing to change in this task, and where the sandbox broke (`fault`).
    """

    cheat: Cheat
    checks: CheckResults | None
    fault: str | None = None

    @property
    def passes(self) -> bool:
        """Whether an agent that cheats in this way would pass."""
        return self.checks is not None and all_required_pass(self.checks)


def attack(task: Task, context: PreflightContext, expected_cases: CaseNames) -> tuple[TriedCheat, ...]:
    """Try every cheat; `expected_cases` are the test cases that the solved task reported."""
    return tuple(_try_cheat(cheat, task, context, expected_cases) for cheat in CHEATS)


def _try_cheat(cheat: Cheat, task: Task, context: PreflightContext, expected: CaseNames) -> TriedCheat:
    try:
        pristine = context.workspaces.prepare(task)
        with private_sandbox_request(task, context, pristine, f"attack-{cheat.name}") as (request, untouched):
            if not apply_cheat(cheat, request.workspace, task):
                return TriedCheat(cheat=cheat, checks=None)
            said = _run_script(cheat, task, context, request)
            subject = CheckSubject(untouched=untouched, answer=said, expected_cases=expected)
            return TriedCheat(cheat=cheat, checks=evaluate_workspace(task, context, request, subject).results)
    except (SandboxError, untrusted_files.UnsafePathError, OSError) as fault:
        return TriedCheat(cheat=cheat, checks=None, fault=str(fault))


def _run_script(cheat: Cheat, task: Task, context: PreflightContext, request: SandboxRequest) -> str:
    """Run the cheat's script as an agent would, in a sandbox without tests and solution; returns what it printed."""
    if cheat.script is None:
        return ""
    with context.sandboxes.open(request) as sandbox:
        done = sandbox.exec(
            ["sh", "-c", cheat.script],
            environment=context.environment_in(sandbox, task),
            timeout_seconds=context.solution_timeout_seconds,
        )
    return done.stdout.decode(errors="replace")
