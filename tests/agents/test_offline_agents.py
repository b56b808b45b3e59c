from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from tests.prerequisites import require

from outweigh.agents.noop import NoopAgent
from outweigh.agents.oracle import OracleAgent
from outweigh.agents.replay import ReplayAgent
from outweigh.agents.scripted import ScriptedAgent
from outweigh.agents.shell import LONGEST_PAUSE_SECONDS, ShellAgent
from outweigh.model.arm import Arm
from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind, Trial
from outweigh.model.task import ExpectedStep, Task
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Usage
from outweigh.plugins import load_adapter
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox, SandboxProvider, SandboxRequest
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.agent_contract import an_agent_arm, an_attempt
from outweigh.testing.builders import a_run
from outweigh.testing.sandbox_fixtures import SHORT_TIMEOUT_SECONDS

SECRET = "sk-0123456789"


@pytest.fixture(
    params=[LocalSandboxProvider(), pytest.param(BubblewrapSandboxProvider(), marks=pytest.mark.needs_bubblewrap)],
    ids=lambda sandboxes: sandboxes.name,
)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    sandboxes: SandboxProvider = request.param
    if sandboxes.name == "bubblewrap":
        require("bubblewrap", sandboxes.missing())
    (tmp_path / "workspace").mkdir()
    (tmp_path / "home").mkdir()
    wanted = SandboxRequest(
        workspace=tmp_path / "workspace",
        home=tmp_path / "home",
        label="agents",
        read_only=(),
        ports=(),
        image=None,
        memory_mb=None,
        processes=None,
        cancel=Event(),
    )
    with sandboxes.open(wanted) as sandbox:
        yield sandbox


def an_arm(agent: str, options: Mapping[str, Any] | None = None, **fields: Any) -> Arm:
    arm = Arm(
        name="plain",
        agent=agent,
        model="model-1",
        tier=None,
        overlay=(),
        skills=(),
        mcp_servers={},
        extra_prompt=None,
        environment={},
        secrets=(),
        flags=(),
        options=dict(options or {}),
        option_files={},
    )
    return msgspec.structs.replace(arm, **fields)


def a_task(solution: Path | None = None, **fields: Any) -> Task:
    task = Task(
        id="task-1",
        instruction="Write 42 to answer.txt.\n",
        checks=(),
        family=None,
        expected_steps=(ExpectedStep(name="answered"),),
        workspace=None,
        timeout_seconds=None,
        tests_folder=None,
        solution_folder=None if solution is None else str(solution),
        checksum="0",
    )
    return msgspec.structs.replace(task, **fields)


def a_request(arm: Arm, task: Task | None = None, **fields: Any) -> AttemptRequest:
    known: dict[str, Any] = {
        "trial": Trial(task_id="task-1", arm=arm.name, repeat=1, seed=7),
        "timeout_seconds": 600.0,
        "budget_usd": None,
        "environment": arm.environment,
        "model_access": None,
    }
    return AttemptRequest(task=task or a_task(), arm=arm, **(known | fields))


def play(room: Sandbox, options: Mapping[str, Any], **fields: Any) -> AttemptOutcome:
    return ScriptedAgent().attempt(a_request(an_arm("scripted", options), **fields), room)


def run_shell(room: Sandbox, command: str | list[str], **fields: Any) -> AttemptOutcome:
    return ShellAgent().attempt(a_request(an_arm("shell", {"command": command}), **fields), room)


def a_solution(folder: Path, script: str) -> Path:
    folder.mkdir()
    (folder / "solve.sh").write_text(f"#!/bin/sh\nset -eu\n{script}\n")
    (folder / "answer").write_text("42\n")
    return folder


# --- scripted ---------------------------------------------------------------------------------------------------------

WRITE_42 = {"do": "write", "path": "out/answer.txt", "content": "42\n"}
GIVE_UP = {"do": "run", "command": "echo sorry > answer.txt"}
NOISY = {
    "solve_probability": 0.5,
    "on_success": [WRITE_42],
    "on_failure": [GIVE_UP],
    "duration_seconds": {"median": 60, "spread": 0.3},
    "input_tokens": {"median": 1000, "spread": 0.3},
    "output_tokens": 500,
    "cost_usd": {"median": 0.1, "spread": 0.3},
}


def test_a_scripted_success_leaves_its_files_in_the_workspace(room: Sandbox) -> None:
    done = play(room, {"default": {"solve_probability": 1, "on_success": [WRITE_42], "on_failure": [GIVE_UP]}})

    assert done.status is Status.COMPLETED
    assert room.read("out/answer.txt", 10) == b"42\n"
    assert room.read("answer.txt", 10) is None
    assert done.reached_steps == frozenset({"answered"})


def test_a_scripted_failure_is_a_completed_run_with_wrong_files(room: Sandbox) -> None:
    done = play(room, {"default": {"solve_probability": 0, "on_success": [WRITE_42], "on_failure": [GIVE_UP]}})

    assert done.status is Status.COMPLETED
    assert room.read("answer.txt", 10) == b"sorry\n"
    assert done.reached_steps == frozenset()


def test_what_a_script_does_not_state_is_unknown_and_never_zero(room: Sandbox) -> None:
    done = play(room, {"default": {"output_tokens": 5}})

    assert done.usage == Usage(input_tokens=None, output_tokens=5, cache_read_tokens=None, cache_write_tokens=None)
    assert (done.cost, done.duration_seconds, done.step_count) == (UNKNOWN_COST, None, None)


def test_the_same_trial_draws_the_same_and_another_repeat_draws_anew(room: Sandbox) -> None:
    again = Trial(task_id="task-1", arm="plain", repeat=2, seed=8)

    assert play(room, {"default": NOISY}) == play(room, {"default": NOISY})
    assert play(room, {"default": NOISY}).cost != play(room, {"default": NOISY}, trial=again).cost


def test_a_scripted_agent_solves_about_as_often_as_its_script_says(room: Sandbox) -> None:
    options = {"default": {"solve_probability": 0.5}, "factors": {"solve_odds": 4}}
    trials = [Trial(task_id="task-1", arm="plain", repeat=repeat, seed=repeat) for repeat in range(1, 501)]

    solved = sum(bool(play(room, options, trial=trial).reached_steps) for trial in trials)

    assert 0.74 < solved / 500 < 0.86  # odds of 4 to 1, three standard errors


def test_more_noise_in_one_quantity_leaves_the_other_draws_alone(room: Sandbox) -> None:
    calm = play(room, {"default": NOISY})
    noisy = play(room, {"default": {**NOISY, "input_tokens": {"median": 1000, "spread": 2}}})

    assert noisy.usage != calm.usage
    assert (noisy.cost, noisy.duration_seconds, noisy.reached_steps) == (
        calm.cost,
        calm.duration_seconds,
        calm.reached_steps,
    )


def test_a_retry_after_an_infrastructure_error_draws_what_the_first_attempt_would_have(room: Sandbox) -> None:
    fault = {"status": "infra_error", "first_attempts": 2}
    request = a_request(an_arm("scripted", {"default": {**NOISY, "fault": fault}}))
    agent = ScriptedAgent()

    attempts = [agent.attempt(request, room) for _ in range(3)]

    assert [done.status for done in attempts] == [Status.INFRA_ERROR, Status.INFRA_ERROR, Status.COMPLETED]
    assert attempts[0].cost == UNKNOWN_COST
    assert attempts[2] == play(room, {"default": NOISY})


def test_a_scripted_rate_limit_asks_for_its_pause(room: Sandbox) -> None:
    done = play(room, {"default": {"fault": {"status": "infra_error", "retry_after_seconds": 1.5}}})

    assert (done.status, done.retry_after_seconds) == (Status.INFRA_ERROR, 1.5)


def test_a_fault_strikes_as_often_as_its_probability_says(room: Sandbox) -> None:
    options = {"default": {"fault": {"status": "agent_error", "probability": 0.25}}}
    trials = [Trial(task_id="task-1", arm="plain", repeat=repeat, seed=repeat) for repeat in range(1, 401)]

    struck = sum(play(room, options, trial=trial).status is Status.AGENT_ERROR for trial in trials)

    assert 0.18 < struck / 400 < 0.32


def test_simulated_time_and_money_count_against_the_limits_of_the_run(room: Sandbox) -> None:
    slow = play(room, {"default": {"duration_seconds": 60, "on_success": [WRITE_42]}}, timeout_seconds=30.0)
    dear = play(room, {"default": {"cost_usd": 2}}, budget_usd=1.0)

    assert (slow.status, slow.duration_seconds) == (Status.TIMEOUT, 30.0)
    assert room.read("out/answer.txt", 10) is None
    assert (dear.status, dear.cost.usd) == (Status.BUDGET_EXCEEDED, 2.0)


def test_a_fault_of_time_or_money_reports_at_least_the_limit(room: Sandbox) -> None:
    slow = play(room, {"default": {"duration_seconds": 1, "fault": {"status": "timeout"}}}, timeout_seconds=30.0)
    dear = play(room, {"default": {"fault": {"status": "budget_exceeded"}}}, budget_usd=1.0)

    assert (slow.status, slow.duration_seconds) == (Status.TIMEOUT, 30.0)
    assert (dear.status, dear.cost.usd) == (Status.BUDGET_EXCEEDED, 1.0)


def test_a_sleep_beyond_the_limit_is_a_timeout_for_real(room: Sandbox) -> None:
    done = play(room, {"default": {"on_success": [{"do": "sleep", "seconds": 30}]}}, timeout_seconds=0.1)

    assert done.status is Status.TIMEOUT


def test_a_step_that_fails_ends_the_attempt_and_is_named(room: Sandbox) -> None:
    done = play(room, {"default": {"on_success": [{"do": "run", "command": ["false"]}, WRITE_42]}})

    assert (done.status, done.status_detail) == (Status.AGENT_ERROR, "step 1 of the script: exit code 1")
    assert room.read("out/answer.txt", 10) is None


def test_an_arm_overrides_its_script_and_a_task_overrides_the_default(room: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(
        "[default]\noutput_tokens = 1\ninput_tokens = 1\nstep_count = 1\n[tasks.task-1]\ninput_tokens = 2\n"
    )

    done = play(room, {"script": str(script), "default": {"step_count": 3}, "factors": {"tokens": 10}})

    assert (done.usage.output_tokens, done.usage.input_tokens, done.step_count) == (10, 20, 3)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"script": "/nowhere/script.toml"}, "cannot be read"),
        ({"default": {"solve_probabilty": 1}}, "solve_probabilty"),
        ({"default": {"solve_probability": 2}}, "must be a number from 0 to 1, not 2"),
        ({"default": {"on_success": [{"do": "dance"}]}}, "dance"),
    ],
)
def test_a_script_that_cannot_be_followed_is_missing_and_never_replaced(
    room: Sandbox, options: dict[str, Any], complaint: str
) -> None:
    done = play(room, options)

    assert complaint in (ScriptedAgent().missing(an_arm("scripted", options)) or "")
    assert (done.status, complaint in (done.status_detail or "")) == (Status.INFRA_ERROR, True)


# --- shell ------------------------------------------------------------------------------------------------------------


def test_a_command_gets_the_words_on_standard_input_and_in_a_file(room: Sandbox) -> None:
    arm = an_arm("shell", {"command": 'cat > heard; cat "$OUTWEIGH_INSTRUCTION" > read'}, extra_prompt="Be brief.")

    done = ShellAgent().attempt(a_request(arm), room)

    assert (done.status, done.agent.kind) == (Status.COMPLETED, AgentKind.REAL)
    assert room.read("heard", 100) == room.read("read", 100) == b"Write 42 to answer.txt.\n\nBe brief."


def test_flags_follow_the_command_in_both_ways_to_write_it(room: Sandbox) -> None:
    for command in (["echo", "a"], 'echo a "$@"'):
        done = ShellAgent().attempt(a_request(an_arm("shell", {"command": command}, flags=("-x", "y z"))), room)

        assert done.artifacts["stdout.txt"] == b"a -x y z\n"


def test_the_usage_file_is_taken_over_and_leaves_no_trace(room: Sandbox) -> None:
    report = '{"input_tokens": 9, "output_tokens": 4, "cost_usd": 0.02, "steps": 3, "version": "2.1"}'

    done = run_shell(room, f"""echo '{report}' > "$OUTWEIGH_USAGE"; echo 42 > answer.txt""")

    assert done.usage == Usage(input_tokens=9, output_tokens=4, cache_read_tokens=None, cache_write_tokens=None)
    assert (done.cost.usd, done.step_count, done.tool_call_count, done.agent.version) == (0.02, 3, None, "2.1")
    assert [path.name for path in room.host_workspace.iterdir()] == ["answer.txt"]


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("{torn", "usage is unknown"),
        ('{"cost": 1}', "unknown field `cost`"),
        ('{"input_tokens": -1}', "usage is unknown"),
        ('{"cost_usd": NaN}', "usage is unknown"),
        ("[1]", "usage is unknown"),
        ("[" * 200_000, "usage is unknown"),
        ("\\377", "usage is unknown"),
    ],
)
def test_a_malformed_usage_file_is_unknown_with_the_reason_and_never_zero(
    room: Sandbox, said: str, complaint: str
) -> None:
    (room.host_workspace / "said").write_bytes(b"\xff" if said == "\\377" else said.encode())

    done = run_shell(room, 'cp said "$OUTWEIGH_USAGE"')

    assert (done.status, done.usage, done.cost) == (Status.COMPLETED, NO_USAGE, UNKNOWN_COST)
    assert complaint in (done.status_detail or "")


def test_a_program_that_says_nothing_has_unknown_usage(room: Sandbox) -> None:
    done = run_shell(room, "true")

    assert (done.status, done.status_detail, done.usage, done.cost) == (
        Status.COMPLETED,
        None,
        NO_USAGE,
        UNKNOWN_COST,
    )


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("exit 3", Status.AGENT_ERROR),
        ("kill -9 $$", Status.AGENT_ERROR),
        ("no-such-program-here", Status.AGENT_ERROR),
        ("exit 126", Status.AGENT_ERROR),
        ("exit 127", Status.AGENT_ERROR),
        ("""echo '{"status": "agent_error"}' > "$OUTWEIGH_USAGE" """, Status.AGENT_ERROR),
        ("""echo '{"status": "completed"}' > "$OUTWEIGH_USAGE"; exit 1""", Status.AGENT_ERROR),
        ("""echo '{"status": "infra_error"}' > "$OUTWEIGH_USAGE"; exit 1""", Status.AGENT_ERROR),
        ("""echo '{"status": "infra_error"}' > "$OUTWEIGH_USAGE" """, Status.AGENT_ERROR),
        ("""echo '{"cost_usd": 1.5}' > "$OUTWEIGH_USAGE" """, Status.BUDGET_EXCEEDED),
        ("""echo '{"cost_usd": 1.0}' > "$OUTWEIGH_USAGE" """, Status.COMPLETED),
    ],
)
def test_how_a_program_ends_decides_its_status(room: Sandbox, command: str, status: Status) -> None:
    assert run_shell(room, command, budget_usd=1.0).status is status


def test_a_program_that_takes_too_long_is_a_timeout_that_keeps_what_it_reported(room: Sandbox) -> None:
    report = """echo '{"output_tokens": 7}' > "$OUTWEIGH_USAGE" """

    done = run_shell(room, f"{report}; exec sleep 600", timeout_seconds=SHORT_TIMEOUT_SECONDS)

    assert (done.status, done.usage.output_tokens) == (Status.TIMEOUT, 7)


def test_a_rate_limited_program_can_ask_for_a_pause(room: Sandbox) -> None:
    said = '{"status": "infra_error", "retry_after_seconds": 20, "detail": "429"}'

    done = run_shell(room, f"""echo '{said}' > "$OUTWEIGH_USAGE" """)

    assert (done.status, done.retry_after_seconds) == (Status.AGENT_ERROR, 20.0)
    assert done.status_detail == "the program itself reports an infrastructure error, which nothing else confirms: 429"


def test_a_program_cannot_ask_for_a_pause_without_end(room: Sandbox) -> None:
    done = run_shell(room, """echo '{"retry_after_seconds": 1000000}' > "$OUTWEIGH_USAGE" """)

    assert done.retry_after_seconds == LONGEST_PAUSE_SECONDS


@pytest.mark.parametrize("program", ["no-such-program-here", "/no/such/program", "./question.txt"])
def test_a_program_that_is_not_in_the_sandbox_never_started(room: Sandbox, program: str) -> None:
    room.write("question.txt", b"6 x 7")
    arm = an_agent_arm("shell", {"command": [program]})

    done = ShellAgent().attempt(an_attempt(arm), room)

    assert done.status is Status.INFRA_ERROR
    assert f"{program!r} was not found in the sandbox" in (done.status_detail or "")


def test_a_secret_reaches_the_program_and_not_what_is_kept(room: Sandbox) -> None:
    said = f'{{"detail": "key {SECRET} refused"}}'
    arm = an_arm(
        "shell",
        {"command": f"""echo "$KEY $PLACE"; echo "$KEY" >&2; echo '{said}' > "$OUTWEIGH_USAGE"; exit 1"""},
        environment={"PLACE": "here"},
        secrets=("KEY",),
    )

    done = ShellAgent().attempt(a_request(arm, environment={"PLACE": "here", "KEY": SECRET}), room)

    assert done.artifacts["stdout.txt"] == b"[secret] here\n"
    assert SECRET.encode() not in done.artifacts["stderr.txt"]
    assert done.status_detail == "key [secret] refused"


def test_only_named_variables_reach_the_program(room: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE", "secret")

    run_shell(room, "env > seen")

    assert b"ELSEWHERE" not in (room.read("seen", 10_000) or b"")


def test_a_private_folder_turned_into_a_link_is_removed_and_not_followed(room: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("keep me")

    done = run_shell(room, f"rm -r .outweigh; ln -s {tmp_path}/precious .outweigh && exit 1")

    assert (done.status, "usage is unknown" in str(done.status_detail)) == (Status.AGENT_ERROR, True)
    assert (tmp_path / "precious" / "file").read_text() == "keep me"
    assert list(room.host_workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "there"),
    [
        (["sh", "-c", "true"], True),
        (["no-such-program-here"], False),
        (["/no/such/program"], False),
        (["./made-by-the-task"], True),
        ("no-such-program-here", True),
    ],
)
def test_a_missing_program_is_said_before_the_first_run(command: str | list[str], there: bool) -> None:
    complaint = ShellAgent().missing(an_arm("shell", {"command": command}))

    assert (complaint is None) is there
    assert there or "Install it" in str(complaint)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, 'command", which must be text that is not empty or a list of texts, at least one.'),
        ({"command": []}, "command must be a list of texts, at least one, not an empty list."),
        ({"command": ""}, "command must be text that is not empty, not"),
        ({"comand": "x"}, 'did you mean "command"?'),
    ],
)
def test_an_arm_without_a_command_is_told_how_to_write_one(room: Sandbox, options: dict[str, Any], told: str) -> None:
    assert told in str(ShellAgent().missing(an_arm("shell", options)))
    assert ShellAgent().attempt(a_request(an_arm("shell", options)), room).status is Status.INFRA_ERROR


# --- oracle and noop --------------------------------------------------------------------------------------------------


def test_the_oracle_runs_the_solution_with_its_files_and_takes_them_away(room: Sandbox, tmp_path: Path) -> None:
    task = a_task(a_solution(tmp_path / "solution", 'cp "$OUTWEIGH_SOLUTION/answer" answer.txt'))

    done = OracleAgent().attempt(a_request(an_arm("oracle"), task), room)

    assert (done.status, done.agent.kind) == (Status.COMPLETED, AgentKind.SCRIPTED)
    assert [path.name for path in room.host_workspace.iterdir()] == ["answer.txt"]


def test_a_scripted_success_can_be_the_task_own_solution(room: Sandbox, tmp_path: Path) -> None:
    task = a_task(a_solution(tmp_path / "solution", "echo 42 > answer.txt"))
    arm = an_arm("scripted", {"default": {"on_success": [{"do": "solution"}]}})

    ScriptedAgent().attempt(a_request(arm, task), room)

    assert room.read("answer.txt", 10) == b"42\n"


def test_a_solution_that_fails_or_hangs_is_an_outcome(room: Sandbox, tmp_path: Path) -> None:
    failing = a_task(a_solution(tmp_path / "failing", "exit 4"))
    hanging = a_task(a_solution(tmp_path / "hanging", "exec sleep 30"))

    assert OracleAgent().attempt(a_request(an_arm("oracle"), failing), room).status is Status.AGENT_ERROR
    assert (
        OracleAgent().attempt(a_request(an_arm("oracle"), hanging, timeout_seconds=0.2), room).status is Status.TIMEOUT
    )
    assert list(room.host_workspace.iterdir()) == []


def test_a_task_without_a_solution_was_not_attempted_by_the_oracle(room: Sandbox) -> None:
    done = OracleAgent().attempt(a_request(an_arm("oracle")), room)

    assert (done.status, "no solution/solve.sh" in str(done.status_detail)) == (Status.NOT_RUN, True)


def test_noop_touches_nothing_and_can_never_promote(room: Sandbox) -> None:
    done = NoopAgent().attempt(a_request(an_arm("noop")), room)

    assert (done.status, done.agent.kind) == (Status.COMPLETED, AgentKind.SCRIPTED)
    assert list(room.host_workspace.iterdir()) == []


@pytest.mark.parametrize(
    "agent", [NoopAgent(), OracleAgent(), ReplayAgent(), ScriptedAgent(), ShellAgent()], ids=lambda agent: agent.name
)
def test_every_agent_carries_the_name_a_suite_uses(agent: Agent) -> None:
    assert type(load_adapter("agent", agent.name)) is type(agent)


# --- replay -----------------------------------------------------------------------------------------------------------

PATCH = b"""\
diff --git a/answer.txt b/answer.txt
new file mode 100644
--- /dev/null
+++ b/answer.txt
@@ -0,0 +1 @@
+42
"""


def recorded(folder: Path, *runs: Any) -> str:
    (folder / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    return str(folder / "runs.jsonl")


def replay(room: Sandbox, runs: str, **options: str) -> AttemptOutcome:
    return ReplayAgent().attempt(a_request(an_arm("replay", {"runs": runs, **options})), room)


def test_a_replay_repeats_numbers_status_and_changes(room: Sandbox, tmp_path: Path) -> None:
    digest = sha256(PATCH).hexdigest()
    (tmp_path / "artifacts" / digest[:2]).mkdir(parents=True)
    (tmp_path / "artifacts" / digest[:2] / digest).write_bytes(PATCH)
    run = a_run("task-1", "plain", 1, status=Status.TIMEOUT, artifacts={"diff.patch": digest})

    done = replay(room, recorded(tmp_path, run))

    assert (done.status, done.status_detail) == (Status.TIMEOUT, None)
    assert (done.usage, done.cost, done.duration_seconds) == (run.usage, run.cost, run.duration_seconds)
    assert (done.agent.kind, done.agent.name) == (AgentKind.REPLAYED, "agent")
    assert room.read("answer.txt", 10) == b"42\n"


def test_a_replay_without_the_changes_says_that_only_numbers_are_replayed(room: Sandbox, tmp_path: Path) -> None:
    lost = a_run("task-1", "plain", 1, artifacts={"diff.patch": "0" * 64})

    for run in (a_run("task-1", "plain", 1), lost):
        done = replay(room, recorded(tmp_path, run))

        assert (done.status, "only its numbers are replayed" in str(done.status_detail)) == (Status.COMPLETED, True)


def test_a_replay_takes_the_last_attempt_of_the_arm_it_is_told(room: Sandbox, tmp_path: Path) -> None:
    attempts = [a_run("task-1", "other", 1, attempt=number, duration_seconds=float(number)) for number in (1, 3, 2)]

    assert replay(room, recorded(tmp_path, *attempts), arm="other").duration_seconds == 3.0
    assert replay(room, recorded(tmp_path, *attempts)).status is Status.NOT_RUN


def test_a_replay_without_records_is_missing_them(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"{torn\n")

    for options in ({}, {"runs": str(tmp_path / "absent.jsonl")}, {"runs": str(broken)}):
        assert ReplayAgent().missing(an_arm("replay", options)) is not None
