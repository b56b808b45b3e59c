"""Claims about the installed dependencies of a task: where they are seen, what the agent does not see, when they are
refused.
"""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import DONE, artifact, loaded, open_engine, plan_of, shell, write_suite
from tests.prerequisites import require

from outweigh.app.build_engine import load_suite_adapters
from outweigh.app.preflight_suite import preflight_tasks
from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.verdict.policy import check_policy

DEPENDENCIES = {"folder": "../../dependencies/k1", "hidden": ["later"]}
LOOK = "cd /opt/dependencies; cat tool later/code 2>&1; echo x > tool; cd -; echo 42 > answer.txt"
SEEN_BY_CHECK = {"type": "command", "name": "seen", "run": "grep -q future /opt/dependencies/later/code"}


def suite_of(folder: Path, line: str = LOOK, kind: str = "bubblewrap", **task: Any) -> LoadedSuite:
    place = folder / "dependencies" / "k1"
    (place / "later").mkdir(parents=True)
    (place / "tool").write_text("tool\n")
    (place / "later" / "code").write_text("future\n")
    return loaded(folder, {"a": shell(line)}, task={"dependencies": DEPENDENCIES, **task}, sandbox={"kind": kind})


class TestSandboxes:
    @pytest.mark.needs_bubblewrap
    def test_the_agent_reads_them_and_sees_nothing_hidden_and_its_check_sees_all(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        suite = suite_of(tmp_path, checks=[DONE, SEEN_BY_CHECK])
        with ExitStack() as held:
            deps, store = held.enter_context(open_engine(suite, tmp_path / "store"))
            (planned,) = (run for run in plan_of(suite) if run.trial.arm == "a")
            record = run_attempt(deps, planned, 1).record
            printed = artifact(store, record, "stdout.txt").decode()

        assert record.status is Status.COMPLETED
        assert printed.splitlines()[0] == "tool"
        assert "future" not in printed
        assert (tmp_path / "dependencies/k1/tool").read_text() == "tool\n"
        assert record.checks is not None
        assert [check.passed for check in record.checks] == [True, True]

    @pytest.mark.needs_bubblewrap
    def test_a_copy_that_the_system_has_is_hidden_from_the_agent_and_not_from_the_check(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        seen = {"type": "command", "name": "seen", "run": "ls /usr/share/doc/* && test -s /usr/bin/env"}
        suite = suite_of(
            tmp_path,
            "ls -A /usr/share/doc; test -s /usr/bin/env || echo empty; ls /opt/dependencies; echo 42 > answer.txt",
            dependencies={**DEPENDENCIES, "hidden": ["/usr/share/doc", "/usr/bin/env", "/usr/no-such", "later"]},
            checks=[DONE, seen],
        )
        with ExitStack() as held:
            deps, store = held.enter_context(open_engine(suite, tmp_path / "store"))
            (planned,) = (run for run in plan_of(suite) if run.trial.arm == "a")
            record = run_attempt(deps, planned, 1).record

            assert artifact(store, record, "stdout.txt").decode().split() == ["empty", "later", "tool"]
        assert [check.passed for check in record.checks or ()] == [True, True]

    @pytest.mark.needs_bubblewrap
    def test_a_login_shell_of_the_agent_has_the_path_of_the_task(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        path = "/opt/dependencies/bin:/usr/bin:/bin"
        suite = suite_of(tmp_path, "sh -lc 'echo $PATH'", environment={"PATH": path})
        with ExitStack() as held:
            deps, store = held.enter_context(open_engine(suite, tmp_path / "store"))
            (planned,) = (run for run in plan_of(suite) if run.trial.arm == "a")
            record = run_attempt(deps, planned, 1).record

            assert artifact(store, record, "stdout.txt").decode().strip() == path

    @pytest.mark.needs_bubblewrap
    def test_setup_and_preflight_have_them(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        suite = suite_of(
            tmp_path,
            setup=["cp /opt/dependencies/tool copied"],
            environment={"PATH": "/opt/dependencies/bin:/usr/bin:/bin"},
            checks=[DONE, {"type": "command", "name": "path", "run": "grep -q tool copied && answer-tool"}],
        )
        program = tmp_path / "dependencies/k1/bin/answer-tool"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)

        (result,) = preflight_tasks(suite)

        assert result.untouched is not None
        assert [check.passed for check in result.untouched] == [False, True]


class TestRefusals:
    def test_a_folder_that_is_not_on_this_machine_is_named_before_anything_runs(self, tmp_path: Path) -> None:
        suite = suite_of(tmp_path)
        shutil.rmtree(tmp_path / "dependencies")

        for use in (load_suite_adapters, preflight_tasks):
            with pytest.raises(UsageError, match=r"not on this machine: there is no .*/dependencies/k1\. Install"):
                use(suite)

    def test_the_local_sandbox_has_no_place_for_them(self, tmp_path: Path) -> None:
        suite = suite_of(tmp_path, kind="local")

        for use in (load_suite_adapters, preflight_tasks):
            with pytest.raises(UsageError, match=r'the local sandbox has no such folder\. Set kind = "bubblewrap"'):
                use(suite)


class TestChecksum:
    def checksum(self, folder: Path, **task: Any) -> str:
        suite = load_suite(write_suite(folder, {"a": shell("true")}, task=task), check_policy=check_policy)
        return suite.tasks[0].checksum

    def test_it_has_the_name_of_the_folder_and_what_is_hidden_but_not_the_place(self, tmp_path: Path) -> None:
        plain = self.checksum(tmp_path / "plain")
        first = self.checksum(tmp_path / "a", dependencies=DEPENDENCIES)
        moved = self.checksum(tmp_path / "b", dependencies={**DEPENDENCIES, "folder": "../elsewhere/k1"})
        other = self.checksum(tmp_path / "c", dependencies={**DEPENDENCIES, "folder": "../../dependencies/k2"})
        shown = self.checksum(tmp_path / "d", dependencies={**DEPENDENCIES, "hidden": []})

        assert first == moved
        assert len({plain, first, other, shown}) == 4
