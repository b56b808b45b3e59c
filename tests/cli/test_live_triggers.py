"""Trigger cases with real agents on the scripted model: one request, and a record of the skill that it asked for."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import INSTALLED, AgentDesk, require_agent
from tests.engine.engine_fixtures import toml_lines

from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When
from outweigh.testing.model_server.model_script import CallSpec

SKILL, OTHER = "changelog", "greeting"
FIRES, STOLEN, IGNORES = (
    "Write release notes for version 2.",
    "Tell users about version 3.",
    "Fix the typo in the README.",
)
TEXTS = {
    SKILL: "Writes the release notes of a version, from its commits to the finished text.",
    OTHER: "Writes messages that greet every user by name and tell the news.",
}


def asking(agent: str, skill: str) -> Turn:
    """How the model asks an agent for a skill."""
    match agent:
        case "claude-code":
            return Turn(tool_calls=[CallSpec(name="Skill", arguments={"skill": skill})])
        case "codex":
            return Turn(run=f"cat .agents/skills/{skill}/SKILL.md")
        case "gemini-cli":
            return Turn(tool_calls=[CallSpec(name="activate_skill", arguments={"name": skill})])
        case "goose":
            return Turn(tool_calls=[CallSpec(name="load_skill", arguments={"name": skill})])
        case _:
            return Turn(tool_calls=[CallSpec(name="skill", arguments={"name": skill})])


def script(agent: str) -> Script:
    """The skill is asked for once, another one once in its place, and none for a typo."""
    over = Turn(text="This request should have been refused.")
    return Script(
        conversation=[
            Conversation(name="fires", when=When(contains=FIRES, tools=True), turn=[asking(agent, SKILL), over]),
            Conversation(name="stolen", when=When(contains=STOLEN, tools=True), turn=[asking(agent, OTHER), over]),
        ],
        turn=[Turn(text="There is no typo.")],
    )


def write_suite(desk: AgentDesk, server: ModelServer, arms: dict[str, Any], **settings: Any) -> None:
    """A suite of three trigger cases, and nothing else."""
    for name, text in TEXTS.items():
        folder = desk.suite / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {text}\n---\nBe brief.\n")
    provider = {"url": server.url, "key": ""}
    suite = {
        "name": "triggers",
        "baseline": next(iter(arms)),
        "repeats": 1,
        "sandbox": {"kind": "bubblewrap"},
        "limits": {"timeout_seconds": 240},
        "gateway": dict.fromkeys(("anthropic", "openai", "gemini"), provider),
        "triggers": [{"skill": SKILL, "should_fire": [FIRES, STOLEN], "should_not_fire": [IGNORES]}],
        "arms": arms,
        **settings,
    }
    (desk.suite / "suite.toml").write_text(toml_lines(suite))


AGENTS = {
    "claude-code": ("claude", "claude-sonnet-4-5"),
    "codex": ("codex", "gpt-5"),
    "gemini-cli": ("gemini", "gemini-2.5-pro"),
    "goose": ("goose", "openai/gpt-5"),
    "opencode": ("opencode", "openai/gpt-5"),
}


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_is_stopped_at_the_answer_that_says_whether_the_skill_fires(agent: str, tmp_path: Path) -> None:
    program, model = AGENTS[agent]
    require_agent(program)
    desk = AgentDesk(tmp_path, model)
    with ModelServer(script(agent)) as server:
        settings = {"agent": agent, "model": model}
        arms = {"plain": settings, "skilled": {**settings, "skills": [f"skills/{name}" for name in TEXTS]}}
        write_suite(desk, server, arms)
        ended = desk.run()
    assert ended.code == 0, ended.err
    runs = {run.trial.task_id: run for run in desk.records() if run.trial.arm == "skilled"}

    assert {name: run.status for name, run in runs.items()} == dict.fromkeys(runs, Status.COMPLETED)
    assert {name: asked_for(run) for name, run in runs.items()} == {
        "changelog-fires-01": (SKILL,),
        "changelog-fires-02": (OTHER,),
        "changelog-ignores-01": (),
    }
    for run in runs.values():
        assert run.loaded is not None
        assert run.loaded.skills is not None
        assert {SKILL, OTHER} <= set(run.loaded.skills), "both skills were told to the model"
        assert run.extra["trigger"]["skill"] == SKILL
    assert {tool_requests(run) for run in runs.values()} == {1}


def asked_for(run: RunRecord) -> tuple[str, ...] | None:
    return None if run.loaded is None else run.loaded.skills_used


def tool_requests(run: RunRecord) -> int | None:
    """The answers to requests that offer tools, of which the run has one and no more."""
    return run.step_count


QUERIES = [{"query": f"Write the release notes of version {number}.", "should_trigger": True} for number in range(9)]
OLD, NEW = "Helps with texts of all kinds.", "Writes the release notes of a version, whenever a version is released."


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_better_description_is_an_improvement_from_init_to_the_verdict(outweigh_process: Any, tmp_path: Path) -> None:
    require_agent("claude")
    desk = AgentDesk(tmp_path, "claude-sonnet-4-5")
    skill = tmp_path / SKILL
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text(a_description(OLD))
    (skill / "evals" / "trigger-eval.json").write_text(json.dumps(QUERIES))
    written = outweigh_process(
        *("init", str(desk.suite), "--from-skill", str(skill), "-m", desk.model),
        environment={"PATH": f"{INSTALLED}:{os.environ['PATH']}"},
    )
    assert written.code == 0, written.err
    assert "9 trigger cases" in written.out
    port = 0
    for description, turn in ((OLD, Turn(text="Done.")), (NEW, asking("claude-code", SKILL))):
        (desk.suite / f"skills/{SKILL}/SKILL.md").write_text(a_description(description))
        with ModelServer(Script(turn=[turn]), port=port) as server:
            port = int(server.url.rpartition(":")[2])
            point_at(desk.suite / "suite.toml", server.url)
            ended = desk.run("-j", "2")
        assert ended.code == 0, ended.err

    arms = ("--baseline", "with_skill", "--candidate", "with_skill@2")
    verdict = outweigh_process("verdict", str(desk.store), *arms, "--format", "json").json()
    (recall,) = verdict["gates"]
    assert (recall["name"], recall["baseline"], recall["candidate"], recall["state"]) == (
        "trigger_recall",
        0,
        1,
        "holds",
    )
    assert (verdict["decision"], verdict["may_promote"]) == ("improved", False)
    shown = outweigh_process("suite", "triggers", str(desk.store), "--format", "json").json()
    assert {each["arm"]: (each["recall"]["value"], each["listed"]) for each in shown["skills"]} == {
        "with_skill": (0.0, 9),
        "with_skill@2": (1.0, 9),
        "without_skill": (None, 0),
    }


def a_description(text: str) -> str:
    return f"---\nname: {SKILL}\ndescription: {text}\n---\nBe brief.\n"


def point_at(file: Path, url: str) -> None:
    """Let a suite ask the scripted model, once for every case."""
    plain = file.read_text().partition("\n[gateway.anthropic]")[0].replace("repeats = 5", "repeats = 1")
    file.write_text(f'{plain}\n[gateway.anthropic]\nurl = "{url}"\nkey = ""\n')
