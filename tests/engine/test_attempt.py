"""Claims about one attempt: real sandbox, real commands, real store."""

import errno
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.cli.engines import until
from tests.engine.engine_fixtures import (
    MISSING_PROGRAM,
    artifact,
    kept_bytes,
    loaded,
    open_engine,
    plan_of,
    shell,
)
from tests.engine.fake_sandboxes import BrokenSandboxes, FailingSandboxes
from tests.prerequisites import needs, require

from outweigh.agents.noop import NoopAgent
from outweigh.engine.attempt import close_abandoned_attempt, run_attempt
from outweigh.engine.run_agent import EngineDeps
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox
from outweigh.testing.sandbox_fixtures import SHORT_TIMEOUT_SECONDS

SECRET = "sk-0123456789"
WORK = "echo 42 >answer.txt"


class Attempted:
    """A suite with one task, ready to be attempted arm by arm."""

    def __init__(self, folder: Path, held: ExitStack, arms: dict[str, Any], **settings: Any) -> None:
        scratch = self.scratch = settings.pop("scratch", folder / "scratch")
        self.suite = loaded(folder, arms, **settings)
        self.folder = folder / "store"
        self.deps, self.store = held.enter_context(open_engine(self.suite, self.folder, scratch))
        self.plan = {run.trial.arm: run for run in plan_of(self.suite)}

    def run(self, arm: str = "a", number: int = 1, **changes: Any) -> RunRecord:
        deps: EngineDeps = replace(self.deps, **changes)
        record = run_attempt(deps, self.plan[arm], number).record
        assert [*self.stored(arm)][-1] == record
        return record

    @contextmanager
    def cancelled_after(self, begun: Path, signal: Event | None = None) -> Iterator[None]:
        """Cancel what is attempted meanwhile, or set another signal, once there is a file at the path."""

        def cancel() -> None:
            until(begun.exists)
            (signal or self.deps.cancel).set()

        thread = Thread(target=cancel)
        thread.start()
        yield
        thread.join()

    def stored(self, arm: str = "a") -> list[RunRecord]:
        trial = self.plan[arm].trial
        return list(self.store.finished().get((trial.task_id, arm, trial.repeat), ()))


Attempting = Callable[..., Attempted]


@pytest.fixture
def attempting(tmp_path: Path) -> Iterator[Attempting]:
    with ExitStack() as held:

        def prepare(line: str = WORK, **settings: Any) -> Attempted:
            arms = settings.pop("arms", {"a": shell(line)})
            return Attempted(tmp_path, held, arms, **settings)

        yield prepare


class TestRecords:
    def test_a_record_says_everything_about_its_run(self, attempting: Attempting) -> None:
        scene = attempting(
            arms={
                "a": {"agent": "noop"},
                "b": shell(f'{WORK}; echo \'{{"cost_usd": 0.5, "steps": 3}}\' >"$OUTWEIGH_USAGE"', model="m"),
            }
        )
        before = datetime.now(UTC)

        record = scene.run("b", number=3)

        planned = scene.plan["b"]
        assert (record.run_id, record.attempt, record.trial) == ("task-1/b/1#3", 3, planned.trial)
        assert (record.status, record.status_detail) == (Status.COMPLETED, None)
        assert (record.agent.name, record.agent.model) == ("shell", "m")
        assert record.arm_fingerprint == scene.suite.arms["b"].fingerprint
        assert record.task_checksum == scene.suite.tasks[0].checksum
        assert (record.family, record.position) == ("answers", planned.position)
        assert record.started_at is not None
        assert before <= record.started_at <= datetime.now(UTC)
        assert (record.cost.usd, record.step_count) == (0.5, 3)
        assert record.checks is not None
        assert [(check.name, check.passed) for check in record.checks] == [("done", True)]
        for seconds in (record.setup_seconds, record.duration_seconds, record.checks_seconds):
            assert seconds is not None
            assert 0 < seconds < 30

    def test_the_final_diff_and_the_output_are_kept_beside_it(self, attempting: Attempting) -> None:
        scene = attempting(f"{WORK}; echo said; echo moaned >&2")

        record = scene.run()

        assert b"+42" in artifact(scene.store, record, "diff.patch")
        assert artifact(scene.store, record, "stdout.txt") == b"said\n"
        assert artifact(scene.store, record, "stderr.txt") == b"moaned\n"

    def test_an_attempt_is_in_the_journal_before_its_agent_starts(self, attempting: Attempting, tmp_path: Path) -> None:
        scene = attempting(f"cat {tmp_path}/store/attempts-engine.log")

        record = scene.run()

        assert b'"run_id":"task-1/a/1#1"' in artifact(scene.store, record, "stdout.txt")

    def test_what_the_agent_did_is_checked_and_nothing_of_it_is_left(self, attempting: Attempting) -> None:
        scene = attempting("touch ~/from-home; echo 41 >answer.txt")

        record = scene.run()

        assert record.checks is not None
        assert record.checks[0].passed is False
        assert list((scene.scratch / "trials").iterdir()) == []

    def test_a_scripted_run_is_known_as_one_and_reports_what_it_drew(self, attempting: Attempting) -> None:
        steps = [{"do": "write", "path": "answer.txt", "content": "42"}]
        behaviour = {"on_success": steps, "cost_usd": 0.25, "duration_seconds": 60}
        scene = attempting(arms={"a": {"agent": "scripted", "options": {"default": behaviour}}})

        record = scene.run()

        assert (record.agent.kind.value, record.cost.usd, record.duration_seconds) == ("scripted", 0.25, 60.0)
        assert record.checks is not None
        assert record.checks[0].passed

    def test_expected_steps_are_milestones(self, attempting: Attempting) -> None:
        task = {"expected_steps": [{"name": "look"}, {"name": "leap"}]}
        scene = attempting('echo \'{"reached_steps": ["look"]}\' >"$OUTWEIGH_USAGE"', task=task)

        record = scene.run()

        assert record.milestones is not None
        assert [(step.name, step.achieved) for step in record.milestones] == [("look", True), ("leap", False)]

    def test_names_of_the_longest_allowed_length_work(self, attempting: Attempting) -> None:
        scene = attempting(arms={"x" * 200: shell(WORK)})

        assert scene.run("x" * 200).status is Status.COMPLETED

    def test_files_of_the_arm_are_there_for_the_agent(self, attempting: Attempting) -> None:
        scene = attempting(arms={"a": shell("cat CLAUDE.md", instructions="Think first.")})

        record = scene.run()

        assert b"Think first." in artifact(scene.store, record, "stdout.txt")

    def test_an_abandoned_attempt_is_recorded_with_nothing_but_its_end(self, attempting: Attempting) -> None:
        scene = attempting()

        record = close_abandoned_attempt(scene.deps, scene.plan["a"], 2)

        assert scene.stored() == [record]
        assert (record.status, record.attempt, record.started_at) == (Status.INFRA_ERROR, 2, None)
        assert "engine ended" in (record.status_detail or "")
        assert (record.cost.usd, record.checks, record.duration_seconds) == (None, None, None)


def is_dead(pid_file: Path) -> bool:
    try:
        state = Path(f"/proc/{int(pid_file.read_text())}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state in (b"Z", b"X")


class TestDifficultAgents:
    def test_an_exit_code_is_the_agents_own_failure_and_is_checked_all_the_same(self, attempting: Attempting) -> None:
        record = attempting(f"{WORK}; exit 3").run()

        assert (record.status, record.status_detail) == (Status.AGENT_ERROR, "exit code 3")
        assert record.checks is not None

    @pytest.mark.parametrize("line", ["sleep 60", "trap '' TERM INT HUP; while :; do sleep 0.05; done"])
    def test_one_that_hangs_or_ignores_being_asked_is_stopped_at_its_time(
        self, attempting: Attempting, line: str
    ) -> None:
        scene = attempting(f"{WORK}; {line}", limits={"timeout_seconds": SHORT_TIMEOUT_SECONDS})

        record = scene.run()

        assert record.status is Status.TIMEOUT
        assert record.checks is not None
        assert record.checks[0].passed

    def test_a_daemon_does_not_outlive_the_run(self, attempting: Attempting, tmp_path: Path) -> None:
        daemon = f"setsid sh -c 'echo $$ >{tmp_path}/pid; exec sleep 60' </dev/null >/dev/null 2>&1 &"
        scene = attempting(f"{daemon} while ! [ -s {tmp_path}/pid ]; do sleep 0.01; done")

        record = scene.run()

        assert record.status is Status.COMPLETED
        assert is_dead(tmp_path / "pid")

    def test_one_that_prints_without_end_costs_neither_memory_nor_the_run(self, attempting: Attempting) -> None:
        scene = attempting(f"{WORK}; head -c 200000000 /dev/zero")

        record = scene.run()

        assert record.status is Status.COMPLETED
        assert len(artifact(scene.store, record, "stdout.txt")) == 8 * 2**20
        assert record.checks is not None
        assert record.checks[0].passed

    def test_binary_garbage_everywhere_is_kept_as_it_is(self, attempting: Attempting) -> None:
        garbage = "head -c 5000 /dev/urandom"
        # One in fourteen times, 5,000 random bytes hold the answer.
        no_answer = f"{garbage} | LC_ALL=C tr -d 4 >answer.txt"
        scene = attempting(f'{garbage}; {garbage} >&2; {garbage} >"$OUTWEIGH_USAGE"; {no_answer}')

        record = scene.run()

        assert record.status is Status.COMPLETED
        assert "usage is unknown" in (record.status_detail or "")
        assert len(artifact(scene.store, record, "stdout.txt")) == 5000
        assert record.checks is not None
        assert record.checks[0].passed is False

    def test_file_names_that_are_no_text_are_no_obstacle(self, attempting: Attempting) -> None:
        guard = {"type": "unchanged", "name": "guard", "paths": ["*"]}
        scene = attempting("touch \"$(printf 'a\\377b')\"", task={"checks": [guard]})

        record = scene.run()

        assert record.status is Status.COMPLETED
        assert record.checks is not None
        assert record.checks[0].passed is False
        assert b"377" in artifact(scene.store, record, "diff.patch")

    def test_output_that_cannot_be_stored_fails_the_run_and_not_the_experiment(self, attempting: Attempting) -> None:
        long = "head -c 999900 /dev/zero | tr '\\0' x"
        scene = attempting(f'(printf \'{{"version": "\'; {long}; echo \'"}}\') >"$OUTWEIGH_USAGE"')

        record = scene.run()

        assert record.status is Status.AGENT_ERROR
        assert "cannot be stored" in (record.status_detail or "")
        assert len(record.status_detail or "") < 3000

    def test_one_that_closes_its_folders_leaves_nothing_behind(self, attempting: Attempting) -> None:
        scene = attempting("mkdir -p deep/er ~/closed/in; chmod 0 deep/er ~/closed/in deep ~/closed")

        scene.run()

        assert list((scene.scratch / "trials").iterdir()) == []

    def test_one_that_fills_the_disk_loses_its_own_run_only(self, attempting: Attempting, small_disk: Path) -> None:
        scene = attempting(arms={"a": shell("cat /dev/zero >big"), "b": shell(WORK)}, scratch=small_disk)

        full, next_one = scene.run("a"), scene.run("b")

        assert full.status is Status.AGENT_ERROR
        assert next_one.status is Status.COMPLETED
        assert next_one.checks is not None
        assert next_one.checks[0].passed

    def test_one_that_was_cancelled_has_not_run(self, attempting: Attempting, tmp_path: Path) -> None:
        begun = tmp_path / "begun"
        scene = attempting(f"touch {begun}; sleep 600")

        with scene.cancelled_after(begun):
            record = scene.run()

        assert (record.status, record.checks) == (Status.NOT_RUN, None)

    def test_one_whose_host_has_lost_its_lead_ends_as_infrastructure_does(
        self, attempting: Attempting, tmp_path: Path
    ) -> None:
        begun, agents = tmp_path / "begun", Event()
        scene = attempting(f"touch {begun}; sleep 600")

        with scene.cancelled_after(begun, agents):
            record = scene.run(agent_cancel=agents)

        assert (record.status, record.checks) == (Status.INFRA_ERROR, None)
        assert "lost its lead" in (record.status_detail or "")

    def test_one_that_exits_when_it_is_cancelled_has_not_run(self, attempting: Attempting, tmp_path: Path) -> None:
        begun = tmp_path / "begun"
        scene = attempting(f"{WORK}; touch {begun}; trap 'exit 0' TERM; sleep 600 & wait")

        with scene.cancelled_after(begun):
            record = scene.run()

        assert (record.status, record.checks) == (Status.NOT_RUN, None)


@pytest.fixture
@needs("privileges")
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes: as good as a quota."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "small", str(place)]
    done = subprocess.run(command, capture_output=True, check=False)
    require("privileges", None if done.returncode == 0 else "no small disk can be mounted here; only root may")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class TestChecks:
    def test_a_check_that_hangs_is_ended_and_has_failed(self, attempting: Attempting) -> None:
        check = {"type": "command", "name": "stuck", "run": "sleep 60", "timeout_seconds": 0.3}
        scene = attempting(task={"checks": [check]})

        record = scene.run()

        assert record.status is Status.COMPLETED
        assert record.checks is not None
        assert (record.checks[0].passed, record.checks[0].detail) == (False, "not done after 0.3 s")

    def test_checks_run_in_a_sandbox_that_the_agent_never_used(self, attempting: Attempting) -> None:
        check = {"type": "command", "name": "clean", "run": "test ! -e ~/trap"}
        scene = attempting("touch ~/trap", task={"checks": [check]})

        record = scene.run()

        assert record.checks is not None
        assert record.checks[0].passed

    def test_a_run_that_is_cancelled_while_it_is_checked_does_not_count(
        self, attempting: Attempting, tmp_path: Path
    ) -> None:
        begun = tmp_path / "begun"
        check = {"type": "command", "name": "slow", "run": f"touch {begun}; sleep 600"}
        scene = attempting(task={"checks": [check]})

        with scene.cancelled_after(begun):
            record = scene.run()

        assert (record.status, record.checks) == (Status.INFRA_ERROR, None)
        assert "cancelled" in (record.status_detail or "")

    def test_what_ends_agents_alone_does_not_end_the_checks_of_one_that_has_ended(
        self, attempting: Attempting, tmp_path: Path
    ) -> None:
        begun, agents = tmp_path / "begun", Event()
        check = {"type": "command", "name": "slow", "run": f"touch {begun}; sleep 0.5; test -e answer.txt"}
        scene = attempting(task={"checks": [check]})

        with scene.cancelled_after(begun, agents):
            record = scene.run(agent_cancel=agents)

        assert record.status is Status.COMPLETED
        assert record.checks is not None
        assert record.checks[0].passed

    def test_what_failed_for_lack_of_infrastructure_is_not_checked(self, attempting: Attempting) -> None:
        record = attempting(arms={"a": MISSING_PROGRAM}).run()

        assert (record.status, record.checks) == (Status.INFRA_ERROR, None)
        assert "'./no-such-program' was not found in the sandbox" in (record.status_detail or "")


class BrokenAdapter(NoopAgent):
    """An adapter with a bug."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        raise KeyError("oops")


class NonsenseAdapter(NoopAgent):
    """An adapter that reports what no record can hold."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        return replace(super().attempt(request, sandbox), duration_seconds=float("nan"))


class ConfusedAdapter(NoopAgent):
    """An adapter that cannot cope with what its agent printed."""

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        sandbox.exec(["sh", "-c", ":"], environment={}, timeout_seconds=60)
        raise KeyError("what it printed")


def full_disk(*_: object) -> bytes:
    raise OSError(errno.ENOSPC, "No space left on device")


def out_of_memory(_: Path) -> str | None:
    raise MemoryError


class TestInfrastructureFailures:
    def test_a_sandbox_that_cannot_start_is_an_infrastructure_error(self, attempting: Attempting) -> None:
        scene = attempting()

        record = scene.run(sandboxes=BrokenSandboxes())

        assert record.status is Status.INFRA_ERROR
        assert record.status_detail == "SandboxError: no sandbox today"
        assert (record.setup_seconds, record.checks, record.cost.usd) == (None, None, None)

    def test_a_folder_that_cannot_be_made_is_one_too_and_the_next_attempt_is_unharmed(
        self, attempting: Attempting, tmp_path: Path
    ) -> None:
        scene = attempting()
        (tmp_path / "file").touch()

        broken = scene.run(scratch=tmp_path / "file")
        fine = scene.run(number=2)

        assert (broken.status, fine.status) == (Status.INFRA_ERROR, Status.COMPLETED)
        assert "NotADirectoryError" in (broken.status_detail or "")
        assert scene.stored() == [broken, fine]

    def test_what_the_agent_spent_is_kept_when_its_checks_cannot_be_run(self, attempting: Attempting) -> None:
        scene = attempting('mkdir -p ../checks/home; echo said; echo \'{"cost_usd": 2.5}\' >"$OUTWEIGH_USAGE"')

        record = scene.run()

        assert (record.status, record.cost.usd) == (Status.AGENT_ERROR, 2.5)
        assert artifact(scene.store, record, "stdout.txt") == b"said\n"

    def test_checks_that_cannot_be_run_over_what_the_agent_left_have_failed(self, attempting: Attempting) -> None:
        record = attempting(f"{WORK}; mkdir -p ../checks/home").run()

        assert "broke its run: FileExistsError" in (record.status_detail or "")
        assert record.checks is not None
        assert [(check.name, check.passed) for check in record.checks] == [("done", False)]

    def test_a_sandbox_that_breaks_during_the_run_for_the_engine_too_is_an_infrastructure_error(
        self, attempting: Attempting
    ) -> None:
        sandboxes = FailingSandboxes(works_for=1)

        record = attempting().run(sandboxes=sandboxes)

        assert (record.status, record.checks) == (Status.INFRA_ERROR, None)
        assert record.status_detail == "SandboxError: no more sandboxes today"

    def test_a_sandbox_that_breaks_only_with_what_the_agent_left_is_the_agents_fault(
        self, attempting: Attempting
    ) -> None:
        sandboxes = FailingSandboxes(works_for=1, fails_for=1)

        record = attempting().run(sandboxes=sandboxes)

        assert record.status is Status.AGENT_ERROR
        assert "no more sandboxes today" in (record.status_detail or "")

    def test_a_bug_in_an_adapter_after_the_agent_ran_is_the_agents_fault(self, attempting: Attempting) -> None:
        record = attempting().run(agents={"shell": ConfusedAdapter()})

        assert record.status is Status.AGENT_ERROR
        assert "KeyError: 'what it printed'" in (record.status_detail or "")

    def test_a_disk_that_the_run_did_not_fill_is_an_infrastructure_error(self, attempting: Attempting) -> None:
        record = attempting().run(diff=full_disk)

        assert record.status is Status.INFRA_ERROR
        assert "No space left" in (record.status_detail or "")

    def test_an_error_of_any_kind_over_what_the_agent_left_does_not_end_the_experiment(
        self, attempting: Attempting
    ) -> None:
        record = attempting().run(survey=out_of_memory)

        assert record.status is Status.AGENT_ERROR
        assert "MemoryError" in (record.status_detail or "")

    def test_a_bug_in_an_adapter_fails_the_run_and_not_the_experiment(self, attempting: Attempting) -> None:
        scene = attempting()

        record = scene.run(agents={"shell": BrokenAdapter()})

        assert record.status is Status.INFRA_ERROR
        assert "the agent 'shell' is broken: KeyError: 'oops'" in (record.status_detail or "")

    def test_an_adapter_that_reports_nonsense_fails_its_run(self, attempting: Attempting) -> None:
        record = attempting().run(agents={"shell": NonsenseAdapter()})

        assert record.status is Status.AGENT_ERROR
        assert "cannot be stored" in (record.status_detail or "")


class TestSecrets:
    LINE = 'env; env >answer.txt; env | base64 >encoded; printf %s "$TOKEN" >&2'

    @pytest.fixture
    def scene(self, attempting: Attempting, monkeypatch: pytest.MonkeyPatch) -> Attempted:
        monkeypatch.setenv("TOKEN", SECRET)
        monkeypatch.setenv("OTHER", "not-for-anybody")
        check = {"type": "command", "name": "show", "run": "cat answer.txt; exit 1"}
        arms = {"a": shell(self.LINE), "b": shell(self.LINE, secrets=["TOKEN"])}
        return attempting(arms=arms, task={"checks": [check]})

    def test_a_secret_reaches_only_the_arms_that_name_it(self, scene: Attempted) -> None:
        without, with_it = scene.run("a"), scene.run("b")

        assert b"TOKEN=" not in artifact(scene.store, without, "stdout.txt")
        assert b"TOKEN=[secret]" in artifact(scene.store, with_it, "stdout.txt")

    def test_nothing_that_is_kept_holds_it(self, scene: Attempted) -> None:
        record = scene.run("b")

        assert b"TOKEN=[secret]" in artifact(scene.store, record, "diff.patch")
        assert b"TOKEN=[secret]" in artifact(scene.store, record, "checks/show.stdout")
        assert SECRET.encode() not in kept_bytes(scene.folder)

    def test_variables_that_no_arm_names_reach_no_agent(self, scene: Attempted) -> None:
        for arm in ("a", "b"):
            scene.run(arm)

        assert b"not-for-anybody" not in kept_bytes(scene.folder)
