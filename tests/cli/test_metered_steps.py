"""Agents that report no steps: what their requests show is recorded, and agrees with the agent's own report."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import END, INSTALLED, AgentDesk, require_agent
from tests.gateway.gateway_fixtures import a_gateway
from tests.prerequisites import needs

from outweigh.app.one_attempt import AttemptSetting, attempt_once
from outweigh.engine.setup_check import expected_setup
from outweigh.model.arm import bare_arm
from outweigh.model.run_record import RunRecord, StepSource
from outweigh.model.suite import SandboxSpec
from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.gateways import MeteredSteps
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.model_server import CallSpec, Conversation, ModelServer, Script, Turn, When
from outweigh.transcript.trajectory_file import read_trajectory

MODEL = "claude-sonnet-4-5"
CLAUDE = """
export ANTHROPIC_BASE_URL="$OUTWEIGH_MODEL_URL" ANTHROPIC_API_KEY="$OUTWEIGH_MODEL_KEY" IS_SANDBOX=1
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
exec claude -p "$(cat "$OUTWEIGH_INSTRUCTION")" --model claude-sonnet-4-5 --dangerously-skip-permissions
"""
ERRAND = "SUBPROMPT look around in this folder and say what is there"
DELEGATE = CallSpec(
    name="Agent", arguments={"description": "look", "prompt": ERRAND, "subagent_type": "general-purpose"}
)


@pytest.fixture
@needs("agent", "bubblewrap")
def desk(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    return AgentDesk(tmp_path, MODEL)


def run_both(desk: AgentDesk, script: Script) -> tuple[RunRecord, RunRecord]:
    """The same agent by its adapter, which reads its report, and as a plain program, of which nothing is read."""
    program = str(INSTALLED.parent.resolve())
    plain: dict[str, Any] = {"agent": "shell", "model": MODEL, "options": {"command": CLAUDE, "model_access": True}}
    plain["environment"] = {"PATH": f"{INSTALLED.resolve()}:/usr/local/bin:/usr/bin:/bin"}
    arms = {"adapter": {"agent": "claude-code", "model": MODEL}, "program": plain}
    with ModelServer(script) as server:
        desk.write(server, arms, sandbox={"kind": "bubblewrap", "read_only": [program]})
        ended = desk.run("-j", "1")
    assert ended.code == 0, ended.err
    found = {run.trial.arm: run for run in desk.records()}
    return found["adapter"], found["program"]


def test_a_program_that_reports_nothing_has_the_steps_that_its_adapter_would_report(desk: AgentDesk) -> None:
    look = Turn(text="I look first.", run="ls")
    adapter, program = run_both(desk, Script(turn=[look, Turn(run="echo 42 >answer.txt"), END]))

    assert (adapter.step_count, adapter.tool_call_count) == (3, 2)
    assert (program.step_count, program.tool_call_count) == (3, 2)
    spoken = [
        [step.message for step in run.steps or () if step.source is StepSource.AGENT] for run in (adapter, program)
    ]
    assert spoken[0] == spoken[1]
    with FolderRunStore.open(desk.store) as store:
        trajectory = read_trajectory(store.artifact(program.artifacts["trajectory.json"]))
    assert trajectory.notes is not None
    assert trajectory.notes.startswith("The agent reports no steps")
    commands = [call.arguments.get("command") for step in trajectory.steps for call in step.tool_calls or ()]
    assert commands == ["ls", "echo 42 >answer.txt"]


def run_once(agent: str, model: str, script: Script) -> tuple[MeteredSteps, AttemptOutcome]:
    """One run of an agent by its adapter: what its requests show, and what the adapter says."""
    arm = bare_arm("arm", agent, model)
    with ModelServer(script) as server, a_gateway(server.url) as gateway:
        setting = AttemptSetting(
            overlays={},
            sandbox=SandboxSpec(),
            sandboxes=BubblewrapSandboxProvider(),
            gateway=gateway,
            expected=expected_setup({"arm": arm}, {}),
            timeout_seconds=240,
        )
        tried = attempt_once(setting, arm, "Write 42 to answer.txt.")
    assert tried.account is not None
    assert tried.account.conversation is not None
    return tried.account.conversation, tried.outcome


OTHER_AGENTS = {"codex": ("codex", "gpt-5.1-codex"), "goose": ("goose", "openai/gpt-4.1"), "qwen-code": ("qwen", MODEL)}


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("agent", OTHER_AGENTS)
def test_other_agents_report_as_many_steps_and_tool_calls_as_their_requests_show(
    agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goose sends a further request for a title, and Qwen Code prints text and tool calls of a response apart."""
    program, model = OTHER_AGENTS[agent]
    require_agent(program)
    monkeypatch.setenv("PATH", f"{INSTALLED}:{os.environ['PATH']}")
    script = Script(turn=[Turn(text="I look first.", run="ls"), Turn(run="echo 42 >answer.txt"), END])

    seen, outcome = run_once(agent, model, script)

    assert (seen.count, seen.tool_calls) == (3, 2)
    assert (outcome.step_count, outcome.tool_call_count) == (3, 2)


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_sub_agent_of_the_real_agent_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one run: how often the agent is told about a slow sub-agent differs from run to run."""
    require_agent("claude")
    monkeypatch.setenv("PATH", f"{INSTALLED}:{os.environ['PATH']}")
    sub = Conversation(name="sub", when=When(contains=ERRAND), turn=[Turn(run="ls"), Turn(text="Nothing.")])
    main = Conversation(name="main", turn=[Turn(tool_calls=[DELEGATE]), Turn(run="echo 42 >answer.txt"), END])

    seen, outcome = run_once("claude-code", MODEL, Script(conversation=[sub, main]))

    assert outcome.step_count is not None
    assert outcome.step_count >= 5
    assert (seen.count, seen.tool_calls) == (outcome.step_count, outcome.tool_call_count)
