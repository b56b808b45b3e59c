"""Whose fault it is that an attempt broke: decided by who could have caused it.

What breaks before the agent's program starts is infrastructure. What breaks later counts against the agent, because it
had the workspace and may have broken it on purpose, unless the engine fails at the same itself: in a new sandbox, over
an untouched workspace, after everything that the agent left was removed.
"""

import errno
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from outweigh.engine.checks.check_outcome import CHECK_DETAIL_LIMIT
from outweigh.engine.sandbox_wrapper import SandboxWrapper
from outweigh.errors import UsageError
from outweigh.model.run_record import CheckResult
from outweigh.model.task import Task
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
    bare_sandbox,
)
from outweigh.ports.workspaces import Workspaces

_TEST_SECONDS = 60.0
_PAUSES_SECONDS = (0.0, 0.2, 1.0, 3.0)
"""Before each try: what the agent left may still be being removed."""

_DISK_SHARE = 0.25
"""A run that took this share of the free disk has filled it, and not its neighbours."""


class WatchedSandbox(SandboxWrapper):
    """A sandbox that tells when the first command is started in it; until then, nothing is the agent's fault."""

    def __init__(self, sandbox: Sandbox, on_start: Callable[[], None]) -> None:
        super().__init__(sandbox)
        self._on_start = on_start

    @property
    def bare(self) -> Sandbox:
        """The same sandbox, watched too, whose commands start no services."""
        return WatchedSandbox(bare_sandbox(self._sandbox), self._on_start)

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command in the workspace."""
        self._on_start()
        return super().exec(
            command, environment=environment, timeout_seconds=timeout_seconds, stdin=stdin, on_output=on_output
        )


def sandbox_works(
    sandboxes: SandboxProvider, workspaces: Workspaces, request: SandboxRequest, pristine: Path, folder: Path
) -> bool:
    """Whether a command runs in a new sandbox over an untouched workspace; several tries are made.

    `folder` must exist and be empty, and `request` is one that the agent or its checks had.
    """
    for number, pause in enumerate(_PAUSES_SECONDS):
        if request.cancel.wait(pause) if pause else request.cancel.is_set():
            return False
        try:
            home = folder / f"home-{number}"
            home.mkdir()
            with workspaces.lay_out(pristine, folder / f"workspace-{number}") as workspace:
                own = replace(request, workspace=workspace, home=home, ports=(), mounts=())
                if _runs_a_command(sandboxes, own):
                    return True
        except (SandboxError, OSError, UsageError):
            continue
    return False


def _runs_a_command(sandboxes: SandboxProvider, request: SandboxRequest) -> bool:
    with sandboxes.open(request) as sandbox:
        done = sandbox.exec(["sh", "-c", ":"], environment={}, timeout_seconds=_TEST_SECONDS)
    return done.ending is CommandEnding.EXITED and done.exit_code == 0


def is_disk_full(fault: BaseException) -> bool:
    """Whether a failure, or one that led to it, is that the disk is full."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        cause = cause.__cause__
    return False


def took_the_disk(taken_bytes: int, free_bytes_before: int) -> bool:
    """Whether one run's files explain why a disk is full."""
    return taken_bytes > _DISK_SHARE * free_bytes_before


def failed_checks(task: Task, reason: str) -> tuple[CheckResult, ...]:
    """All checks of a task as failed, for a workspace in which none of them can be run."""
    return tuple(
        CheckResult(
            name=check.name,
            required=check.required,
            passed=False,
            cases_passed=None,
            cases_total=None,
            exit_code=None,
            detail=reason[:CHECK_DETAIL_LIMIT],
            weight=check.weight,
        )
        for check in task.checks
    )
