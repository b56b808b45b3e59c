"""Claims about what a task has around its work and its checks: setup, teardown, variables and services."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.engine.engine_fixtures import DONE, artifact, loaded, open_engine, plan_of, shell, write_suite
from tests.prerequisites import require

from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import load_suite
from outweigh.engine.preflight import PreflightContext, preflight
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.model.preflight_result import FindingKind, PreflightResult
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.verdict.policy import check_policy
from outweigh.workspace.cache import WorkspaceCache

WORK = "echo 42 > answer.txt"
# A service of two words of shell: it writes what it is asked into a file that the command beside it can see.
FILE_SERVICE = {
    "name": "counter",
    "run": "sleep 0.3; echo up > $HOME/up; sleep 600",
    "ready": "[ -e $HOME/up ]",
}


class Attempted:
    """A task with settings, attempted by a line of shell."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self._folder, self._held = folder, held

    def run(self, line: str = WORK, kind: str = "local", **task: Any) -> RunRecord:
        suite = loaded(self._folder, {"a": shell(line)}, task=task, sandbox={"kind": kind})
        deps, self.store = self._held.enter_context(open_engine(suite, self._folder / "store", self._folder / "s"))
        (planned,) = (run for run in plan_of(suite) if run.trial.arm == "a")
        return run_attempt(deps, planned, 1).record

    def printed(self, record: RunRecord) -> str:
        return artifact(self.store, record, "stdout.txt").decode()

    def diff(self, record: RunRecord) -> str:
        return artifact(self.store, record, "diff.patch").decode()


@pytest.fixture
def attempted(tmp_path: Path) -> Iterator[Attempted]:
    with ExitStack() as held:
        yield Attempted(tmp_path, held)


def tried(folder: Path, solution: str = WORK, kind: str = "local", **task: Any) -> PreflightResult:
    """What preflight says about a task with these settings."""
    write_suite(folder, {"a": shell(WORK)}, task=task)
    (folder / "task-1" / "solution").mkdir()
    (folder / "task-1" / "solution" / "solve.sh").write_text(f"#!/bin/sh\n{solution}\n")
    (only,) = load_suite(folder, check_policy=check_policy).tasks
    (folder / "scratch").mkdir()
    context = PreflightContext(
        sandboxes=load_adapter("sandbox", kind),
        workspaces=WorkspaceCache(folder / "pristine"),
        scratch=folder / "scratch",
        sandbox=SandboxSpec(),
        label="test",
        solution_timeout_seconds=60.0,
        cancel=Event(),
    )
    return preflight(only, context)


class TestSetup:
    def test_setup_runs_in_the_workspace_before_the_agent(self, attempted: Attempted) -> None:
        record = attempted.run(f"cat made.txt; {WORK}", setup=["echo one > made.txt", {"run": "echo two >> made.txt"}])

        assert record.status is Status.COMPLETED
        assert attempted.printed(record) == "one\ntwo\n"

    def test_what_setup_made_is_no_work_of_the_agent(self, attempted: Attempted) -> None:
        record = attempted.run(f"{WORK}; echo more >> made.txt", setup=["echo one > made.txt; rm question.txt"])

        assert "+more" in attempted.diff(record)
        assert "+one" not in attempted.diff(record)
        assert "question.txt" not in attempted.diff(record)

    def test_an_unchanged_check_compares_with_what_setup_made(self, attempted: Attempted) -> None:
        kept = {"type": "unchanged", "name": "kept", "paths": ["made.txt"]}

        record = attempted.run(setup=["echo one > made.txt"], checks=[DONE, kept])

        assert record.checks is not None
        assert [check.passed for check in record.checks] == [True, True]

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("echo no space >&2; exit 3", "ended with exit code 3 and said: no space"),
            ({"run": "sleep 60", "timeout_seconds": 0.3}, "was not done after 0.3 s"),
        ],
    )
    def test_a_failing_setup_is_a_failure_of_infrastructure(
        self, attempted: Attempted, command: object, said: str
    ) -> None:
        record = attempted.run(setup=["true", command])

        assert record.status is Status.INFRA_ERROR
        assert "the task's setup failed: `" in (record.status_detail or "")
        assert said in (record.status_detail or "")

    def test_preflight_names_a_failing_setup(self, tmp_path: Path) -> None:
        result = tried(tmp_path, setup=["exit 3"], checks=[DONE])

        assert [finding.kind for finding in result.findings] == [FindingKind.SANDBOX_FAILED]
        assert "the task's setup failed: `exit 3` ended with exit code 3" in result.findings[0].message

    def test_preflight_tries_the_workspace_that_setup_leaves(self, tmp_path: Path) -> None:
        given = {"type": "file_exists", "name": "given", "path": "made.txt"}

        result = tried(tmp_path, "cat made.txt > answer.txt", setup=["echo 42 > made.txt"], checks=[DONE, given])

        assert result.fit
        assert result.untouched is not None
        assert [check.passed for check in result.untouched] == [False, True]


class TestTeardown:
    @pytest.mark.parametrize("line", [WORK, "exit 1"])
    def test_teardown_runs_when_everything_else_is_over(self, attempted: Attempted, tmp_path: Path, line: str) -> None:
        seen = {"type": "command", "name": "seen", "run": f"[ ! -e {tmp_path}/torn ]"}

        record = attempted.run(line, teardown=[f"touch {tmp_path}/torn"], checks=[DONE, seen])

        assert (tmp_path / "torn").exists()
        assert record.checks is not None
        assert record.checks[1].passed

    def test_teardown_runs_after_a_setup_that_failed(self, attempted: Attempted, tmp_path: Path) -> None:
        attempted.run(setup=["false"], teardown=[f"touch {tmp_path}/torn"])

        assert (tmp_path / "torn").exists()

    def test_a_failing_teardown_changes_no_result(self, attempted: Attempted) -> None:
        assert attempted.run(teardown=["exit 9"]).status is Status.COMPLETED


class TestEnvironment:
    def test_the_agent_and_the_checks_get_the_tasks_variables(self, attempted: Attempted) -> None:
        check = {"type": "command", "name": "c", "run": '[ "$LEVEL" = three ]'}

        record = attempted.run(f'echo "$LEVEL"; {WORK}', environment={"LEVEL": "three"}, checks=[check])

        assert attempted.printed(record) == "three\n"
        assert record.checks is not None
        assert record.checks[0].passed

    def test_only_the_checks_get_what_is_the_checkers(self, attempted: Attempted) -> None:
        check = {"type": "command", "name": "c", "run": '[ "$ANSWER" = 42 ] && [ -e built ]'}

        record = attempted.run(
            f'echo "[$ANSWER]"; ls; {WORK}',
            checker={"environment": {"ANSWER": "42"}, "setup": ["touch built"]},
            checks=[check],
        )

        assert "[]\n" in attempted.printed(record)
        assert "built" not in attempted.printed(record)
        assert "built" not in attempted.diff(record)
        assert record.checks is not None
        assert record.checks[0].passed

    def test_code_that_is_called_by_itself_does_not_see_what_is_the_checkers(self, attempted: Attempted) -> None:
        called = {
            "type": "call",
            "name": "called",
            "run": 'echo "$GIVEN$ANSWER"',
            "cases": [{"expected": "given"}],
        }

        record = attempted.run(
            environment={"GIVEN": "given"}, checker={"environment": {"ANSWER": "42"}}, checks=[called]
        )

        assert record.checks is not None
        assert record.checks[0].passed, record.checks[0].detail

    def test_a_checkers_setup_that_fails_over_the_agents_work_fails_its_checks(self, attempted: Attempted) -> None:
        record = attempted.run(checker={"setup": ["exit 4"]})

        assert record.status is Status.COMPLETED
        assert record.checks is not None
        assert not record.checks[0].passed
        assert record.checks[0].detail == "the checker's setup failed: `exit 4` ended with exit code 4"


class TestServices:
    def test_a_service_is_ready_before_the_agent_and_before_every_check(self, attempted: Attempted) -> None:
        check = {"type": "command", "name": "c", "run": "cat $HOME/up"}

        record = attempted.run(f"cat $HOME/up; {WORK}", services=[FILE_SERVICE], checks=[check])

        assert record.status is Status.COMPLETED
        assert attempted.printed(record) == "up\n"
        assert record.checks is not None
        assert record.checks[0].passed, record.checks[0].detail

    def test_what_the_agent_prints_is_kept_as_it_is(self, attempted: Attempted) -> None:
        record = attempted.run("echo said; echo moaned >&2; exit 5", services=[FILE_SERVICE])

        assert record.status is Status.AGENT_ERROR
        assert artifact(attempted.store, record, "stderr.txt") == b"moaned\n"

    @pytest.mark.parametrize(
        ("service", "said"),
        [
            ({"run": "echo port is taken >&2; exit 3", "ready": "false"}, "ended with exit code 3: port is taken"),
            ({"run": "sleep 60", "ready": "false", "timeout_seconds": 1}, "was not ready after 1 s"),
        ],
    )
    def test_a_service_that_does_not_start_before_the_agent_is_a_failure_of_infrastructure(
        self, attempted: Attempted, service: dict[str, Any], said: str
    ) -> None:
        record = attempted.run(services=[{"name": "db", **service}])

        assert record.status is Status.INFRA_ERROR
        assert f"service 'db' {said}" in (record.status_detail or "")

    def test_a_service_of_the_checker_that_the_agents_work_breaks_fails_the_checks(self, attempted: Attempted) -> None:
        server = {"name": "app", "run": "sh ./serve.sh", "ready": "false", "timeout_seconds": 5}
        check = {"type": "command", "name": "c", "run": "true"}

        record = attempted.run("echo exit 7 > serve.sh", checker={"services": [server]}, checks=[check])

        assert record.status is Status.COMPLETED
        assert record.checks is not None
        assert not record.checks[0].passed
        assert "service 'app' ended with exit code 7" in (record.checks[0].detail or "")

    def test_an_agent_cannot_pass_for_a_service_that_was_not_ready(self, attempted: Attempted) -> None:
        record = attempted.run("echo \"service 'db' was not ready\" >&2; exit 97", services=[FILE_SERVICE])

        assert record.status is Status.AGENT_ERROR

    @pytest.mark.needs_bubblewrap
    def test_a_service_shares_the_loopback_of_a_sandbox_without_network(self, attempted: Attempted) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        server = {
            "name": "web",
            "run": "exec python3 -m http.server --bind 127.0.0.1 8123",
            "ready": _fetch("/"),
        }
        check = {"type": "command", "name": "c", "run": _fetch("/answer.txt")}

        record = attempted.run(f"{_fetch('/question.txt')} && {WORK}", "bubblewrap", services=[server], checks=[check])

        assert record.status is Status.COMPLETED, record.status_detail
        assert attempted.printed(record) == "6 x 7\n\n"
        assert record.checks is not None
        assert record.checks[0].passed, record.checks[0].detail


def _fetch(path: str) -> str:
    address = f"http://127.0.0.1:8123{path}"
    return f"python3 -c 'import urllib.request as u; print(u.urlopen(\"{address}\").read().decode())'"


class TestIdentity:
    def test_a_task_with_nothing_around_it_keeps_its_checksum(self, tmp_path: Path) -> None:
        suite = loaded(tmp_path, {"a": shell(WORK)})

        assert suite.tasks[0].checksum == "5f0b970014ba37d8c9a1691a4abc2b2bf9b96cb3e6a1ad8e42997cbac0b3f548"

    @pytest.mark.parametrize(
        "changed",
        [
            {"setup": ["true"]},
            {"teardown": ["true"]},
            {"environment": {"A": "b"}},
            {"services": [FILE_SERVICE]},
            {"checker": {"environment": {"A": "b"}}},
        ],
    )
    def test_what_is_around_a_task_is_part_of_its_checksum(self, tmp_path: Path, changed: dict[str, Any]) -> None:
        (tmp_path / "plain").mkdir()
        (tmp_path / "changed").mkdir()
        plain = loaded(tmp_path / "plain", {"a": shell(WORK)})

        other = loaded(tmp_path / "changed", {"a": shell(WORK)}, task=changed)

        assert other.tasks[0].checksum != plain.tasks[0].checksum

    @pytest.mark.parametrize(
        ("task", "said"),
        [
            ({"setup": [{"command": "true"}]}, "metadata.outweigh.setup"),
            ({"services": [{"name": "a", "run": "true"}] * 2}, "two of the services have the same name"),
            (
                {"services": [{"name": "a", "run": "true"}], "checker": {"services": [{"name": "a", "run": "true"}]}},
                "both called 'a'",
            ),
            ({"environment": {"A B": "c"}}, "the name of an environment variable"),
        ],
    )
    def test_settings_that_cannot_work_are_refused_where_they_are_written(
        self, tmp_path: Path, task: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(UsageError, match=r"task\.toml") as refused:
            loaded(tmp_path, {"a": shell(WORK)}, task=task)

        assert said in str(refused.value)
