"""`outweigh doctor` knows which agents are here and who could pay, and tries a suite's arms before anybody does."""

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.agents.live_agent import TOOL_SERVER
from tests.agents.programs import PROGRAMS, a_program
from tests.prerequisites import needs, require

from outweigh.app.probe_agents import plain_arm
from outweigh.plugins import load_adapter
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

SKILL = "---\nname: greeting\ndescription: Says hello in the way of the house.\n---\nA very good day to you.\n"
SUITE = """
name = "s"
tasks = ["task"]
baseline = "plain"
[arms.plain]
agent = "claude-code"
[arms.skilled]
extends = "plain"
skills = ["greeting"]
"""
BROKEN_SERVER = """
[arms.served]
extends = "plain"
mcp_servers.zoo.command = ["no-such-server"]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    files = {
        "suite.toml": SUITE,
        "greeting/SKILL.md": SKILL,
        "task/task.toml": '[[metadata.outweigh.checks]]\nname = "done"\ntype = "file_exists"\npath = "answer.txt"\n',
        "task/instruction.md": "Answer.",
        "task/environment/question.txt": "6 x 7",
        "task/solution/solve.sh": "#!/bin/sh\necho 42 > answer.txt\n",
    }
    for name, content in files.items():
        (tmp_path / "suite" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "suite" / name).write_text(content)
    return tmp_path / "suite"


def parts(answer: Any) -> dict[str, dict[str, Any]]:
    return {f"{part['kind']} {part['name']}": part for part in answer.json()["parts"]}


def test_an_agent_is_told_with_its_version_and_whose_key_there_is_but_not_the_key(
    outweigh_process: Any, tmp_path: Path
) -> None:
    a_program(tmp_path / "bin" / "claude", "echo 2.1.0")
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-1-2"}

    answer = outweigh_process("doctor", "--format", "json", environment=environment)

    found = parts(answer)["agent claude-code"]
    assert (found["missing"], found["detail"]) == (None, "2.1.0, key in ANTHROPIC_API_KEY")
    assert "sk-1-2" not in answer.out + answer.err


def test_an_agent_that_is_not_here_is_told_with_the_way_out_and_blocks_nothing(
    outweigh_process: Any, tmp_path: Path
) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    answer = outweigh_process("doctor", "--format", "json", environment=environment)

    found = parts(answer)["agent codex"]
    assert answer.code == 0
    assert "Install codex (npm install -g @openai/codex)" in found["missing"]
    assert not found["required"]


def test_a_suite_whose_arms_lack_the_key_of_their_own_provider_is_not_ready(
    outweigh_process: Any, suite: Path, tmp_path: Path
) -> None:
    a_program(tmp_path / "bin" / "claude", "echo 2.1.0")
    path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path)}

    without = outweigh_process("doctor", "-c", str(suite), "--format", "json", environment=path)
    with_one, with_other = (
        outweigh_process("doctor", "-c", str(suite), "--format", "json", environment=path | {variable: "sk-1"})
        for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    )

    assert "'plain', 'skilled' cannot ask anthropic without it" in parts(without)["key ANTHROPIC_API_KEY"]["missing"]
    assert (without.code, parts(without)["key ANTHROPIC_API_KEY"]["required"]) == (1, True)
    assert parts(without)["arm plain"]["detail"] == "agent claude-code 2.1.0"
    assert with_one.code == 0
    assert parts(with_one)["key ANTHROPIC_API_KEY"]["detail"] == "set, not tried"
    assert "key OPENAI_API_KEY" not in parts(with_one)
    assert with_other.code == 1
    assert parts(with_other)["key ANTHROPIC_API_KEY"]["required"]


def test_an_arm_whose_provider_nobody_knows_needs_any_key_and_says_which_there_could_be(
    outweigh_process: Any, suite: Path, tmp_path: Path
) -> None:
    shell = 'agent = "shell"\noptions = { command = "true", model_access = true }'
    (suite / "suite.toml").write_text(
        SUITE.replace('agent = "claude-code"', shell).replace('skills = ["greeting"]', 'extra_prompt = "Again."')
    )
    path = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    without = outweigh_process("doctor", "-c", str(suite), "--format", "json", environment=path)
    with_one = outweigh_process(
        "doctor", "-c", str(suite), "--format", "json", environment=path | {"GEMINI_API_KEY": "sk-1"}
    )

    assert (without.code, with_one.code) == (1, 0), without.err
    assert "may need it" in parts(with_one)["key OPENAI_API_KEY"]["missing"]
    assert not parts(with_one)["key OPENAI_API_KEY"]["required"]


@pytest.mark.parametrize(
    ("agent", "model", "provider"),
    [
        ("claude-code", None, "anthropic"),
        ("codex", None, "openai"),
        ("gemini-cli", None, "gemini"),
        ("qwen-code", "qwen3", "openai"),
        ("goose", "google/gemini-2.5-pro", "gemini"),
        ("goose", "mistral/large", "openai"),
        ("opencode", "anthropic/claude-sonnet-4-5", "anthropic"),
        ("aider", "claude-sonnet-4-5", "anthropic"),
        ("mini-swe-agent", "openrouter/anthropic/claude-sonnet-4-5", "openai"),
        ("pi", "google/gemini-2.5-pro", "gemini"),
        ("acp", None, None),
    ],
)
def test_an_agent_says_whose_api_it_speaks_through_the_gateway(
    agent: str, model: str | None, provider: str | None
) -> None:
    assert load_adapter("agent", agent).provider(replace(plain_arm(agent), model=model)) == provider


@pytest.fixture
@needs("agent", "bubblewrap")
def real(tmp_path: Path) -> dict[str, str]:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    require("agent", None if (PROGRAMS / "claude").exists() else "claude is not installed; run `make agents`")
    return {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "sk-1"}


def test_arms_are_tried_with_all_they_lay_and_for_nothing(
    outweigh_process: Any, suite: Path, real: dict[str, str]
) -> None:
    answer = outweigh_process("doctor", "-c", str(suite), "--try-agents", "--format", "json", environment=real)

    found = parts(answer)
    assert answer.code == 0, answer.out + answer.err
    assert [found[f"tried {arm}"]["missing"] for arm in ("plain", "skilled")] == [None, None]
    assert found["tried plain"]["detail"] == "2 requests"
    assert found["tried plain"]["startup_seconds"] > 0


def test_an_arm_that_would_not_be_what_it_says_is_in_the_way(
    outweigh_process: Any, suite: Path, real: dict[str, str]
) -> None:
    (suite / "suite.toml").write_text(SUITE + BROKEN_SERVER)

    answer = outweigh_process("doctor", "-c", str(suite), "--try-agents", environment=real)

    assert answer.code == 1, answer.out + answer.err
    assert "tried served: the MCP server 'zoo' is declared and its state was 'failed'" in answer.out


SERVED = """
name = "s"
tasks = ["task"]
baseline = "plain"
[arms.plain]
agent = "codex"
model = "gpt-5"
[arms.broken]
extends = "plain"
mcp_servers.zoo.command = ["no-such-server"]
[arms.guarded]
extends = "plain"
secrets = ["ZOO_TOKEN"]
mcp_servers.zoo.command = ["sh", "-c", "[ -n \\"$ZOO_TOKEN\\" ] && exec python3 zoo.py"]
mcp_servers.far.url = "https://zoo.example.org/mcp"
files = "zoo"
"""


def test_servers_are_tried_with_placeholders_for_secrets_and_remote_ones_must_be_allowed(
    outweigh_process: Any, suite: Path, real: dict[str, str]
) -> None:
    (suite / "suite.toml").write_text(SERVED)
    (suite / "zoo").mkdir()
    (suite / "zoo" / "zoo.py").write_text(TOOL_SERVER)
    environment = real | {"OPENAI_API_KEY": "sk-1", "ZOO_TOKEN": "tok-1"}

    answer = outweigh_process("doctor", "-c", str(suite), "--try-agents", "--format", "json", environment=environment)

    found = parts(answer)
    assert answer.code == 1, answer.out + answer.err
    assert "could not be started (no-such-server: No such file or directory)" in found["tried broken"]["missing"]
    assert (found["tried plain"]["missing"], found["tried guarded"]["missing"]) == (None, None)
    assert 'Add "zoo.example.org" to allow_hosts' in found["server arms.guarded.mcp_servers.far"]["missing"]


@pytest.mark.parametrize("verb", ["doctor", "run"])
def test_an_agent_that_does_not_exist_is_refused_at_its_place_in_the_suite(
    outweigh: Any, suite: Path, verb: str
) -> None:
    (suite / "suite.toml").write_text(SUITE.replace("claude-code", "claude"))

    answer = outweigh(verb, "-c", str(suite))

    assert answer.code == 2
    assert (
        f'{suite / "suite.toml"}:6:9: arms.plain.agent is "claude", which is not one of "acp", "aider",' in answer.err
    )
    assert '; did you mean "claude-code"?' in answer.err
