"""Checks start code of the agent without giving it a way to decide them."""

from pathlib import Path

import pytest
from tests.engine.fake_sandboxes import plain_sandbox_request
from tests.prerequisites import require
from tests.sandbox.forgeries import FORGERIES, forgery_script

from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.evaluate import CheckSubject, evaluate_checks
from outweigh.model.run_record import CheckResult
from outweigh.model.task import CommandCheck, Task
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.confine_program import landlock_missing
from outweigh.sandbox.local import LocalSandboxProvider

# Kills every program but itself and its own shell, again and again, so that a `grep` of the check never ends by itself.
_KILL_ALL = """#!/bin/sh
(while :; do for id in /proc/[0-9]*; do [ ${id#/proc/} = $$ ] || kill -9 ${id#/proc/}; done; done) >/dev/null 2>&1 &
echo wrong
"""


def check(provider: SandboxProvider, folder: Path, command: str, **files: str) -> CheckResult:
    workspace = folder / "workspace"
    workspace.mkdir()
    for name, content in files.items():
        (workspace / name).write_text(content)
        (workspace / name).chmod(0o755)
    task = Task(
        id="task-1",
        instruction="Do it.",
        checks=(CommandCheck(name="check", run=command, timeout_seconds=60.0),),
        family=None,
        expected_steps=(),
        workspace=None,
        timeout_seconds=None,
        tests_folder=None,
        solution_folder=None,
        checksum="0",
    )
    request = CheckSandboxRequest(
        provider=provider,
        sandbox=plain_sandbox_request(workspace, folder / "home"),
        folder=folder / "checks",
        tests=None,
    )
    with open_check_sandbox(request) as sandbox:
        (result,) = evaluate_checks(task, sandbox, CheckSubject(untouched=workspace, answer=None)).results
    return result


def bubblewrap() -> BubblewrapSandboxProvider:
    provider = BubblewrapSandboxProvider()
    require("bubblewrap", provider.missing())
    return provider


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("name", FORGERIES)
def test_a_program_that_a_check_starts_cannot_forge_it(tmp_path: Path, name: str) -> None:
    files = {"forge.py": forgery_script(name)}
    result = check(bubblewrap(), tmp_path, "python3 forge.py; sleep 0.2; exit 1", **files)

    assert (result.passed, result.exit_code) == (False, 1)


@pytest.mark.needs_bubblewrap
@pytest.mark.skipif(landlock_missing() is not None, reason="this kernel cannot confine programs")
def test_a_confined_program_cannot_kill_what_the_check_looks_with(tmp_path: Path) -> None:
    command = 'output=$("$OUTWEIGH_CONFINE" ./program); sleep 0.3; if echo "$output" | grep -q wrong; then exit 1; fi'
    result = check(bubblewrap(), tmp_path, command, program=_KILL_ALL)

    assert (result.passed, result.exit_code, result.detail) == (False, 1, "exit code 1, expected 0")


def test_a_check_that_confines_says_where_that_did_not_work(tmp_path: Path) -> None:
    result = check(LocalSandboxProvider(), tmp_path, '[ "$("$OUTWEIGH_CONFINE" ./program)" = 42 ]', program="echo 42")

    assert result.passed
    assert result.detail is not None
    assert result.detail.startswith("not confined")


def test_a_failed_check_says_it_beside_its_reason(tmp_path: Path) -> None:
    result = check(LocalSandboxProvider(), tmp_path, "$OUTWEIGH_CONFINE false")

    assert result.detail is not None
    assert result.detail.startswith("exit code 1, expected 0; not confined")


def test_other_checks_say_nothing(tmp_path: Path) -> None:
    assert check(LocalSandboxProvider(), tmp_path, "true").detail is None
