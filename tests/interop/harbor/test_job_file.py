"""Everything that an arm states reaches Harbor's job file, or is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.harbor.arms import arm

from outweigh.errors import UsageError
from outweigh.interop.harbor.job_spec import agent_entry, format_job_file, make_job_file
from outweigh.model.arm import McpServer
from outweigh.model.suite import HarborSpec


def test_a_job_file_says_everything_that_an_arm_does() -> None:
    candidate = arm(
        name="candidate",
        model="anthropic/claude-opus-4-5",
        options={"max_turns": 20},
        environment={"GREETING": "hello"},
        secrets=("ANTHROPIC_API_KEY",),
        mcp_servers={
            "files": McpServer(command=["npx", "-y", "files"]),
            "docs": McpServer(url="https://docs.example.org/mcp"),
        },
        extra_prompt="Be brief.",
    )
    job = make_job_file(
        name="0001-candidate",
        jobs_folder=Path("/store/harbor/jobs"),
        arm=candidate,
        task_folders=[Path("/suite/one"), Path("/suite/two"), Path("/suite/one")],
        at_once=8,
        timeout_seconds=900.0,
        spec=HarborSpec(environment={"type": "daytona"}, job={"artifacts": ["/logs"]}),
    )

    assert msgspec.json.decode(format_job_file(job)) == {
        "job_name": "0001-candidate",
        "jobs_dir": "/store/harbor/jobs",
        "n_attempts": 1,
        "n_concurrent_trials": 8,
        "retry": {"max_retries": 0},
        "artifacts": ["/logs"],
        "environment": {"type": "daytona"},
        "agents": [
            {
                "name": "claude-code",
                "model_name": "anthropic/claude-opus-4-5",
                "kwargs": {"max_turns": 20},
                "env": {"GREETING": "hello", "ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"},
                "mcp_servers": [
                    {"name": "files", "transport": "stdio", "command": "npx", "args": ["-y", "files"]},
                    {"name": "docs", "transport": "streamable-http", "url": "https://docs.example.org/mcp"},
                ],
                "override_timeout_sec": 900.0,
            }
        ],
        "tasks": [{"path": "/suite/one"}, {"path": "/suite/two"}, {"path": "/suite/one"}],
        "extra_instructions": ["Be brief."],
    }


def test_a_job_file_says_nothing_that_an_arm_does_not() -> None:
    job = make_job_file(
        name="0001-plain",
        jobs_folder=Path("/jobs"),
        arm=arm(),
        task_folders=[Path("/one")],
        at_once=1,
        timeout_seconds=None,
        spec=HarborSpec(),
    )

    assert job["agents"] == [{"name": "claude-code"}]
    assert not {"environment", "extra_instructions"} & job.keys()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("noop", {"name": "nop"}),
        ("oracle", {"name": "oracle"}),
        ("qwen-code", {"name": "qwen-coder"}),
        ("codex", {"name": "codex"}),
        ("openhands", {"name": "openhands"}),
        ("acp:opencode@1.3.9", {"name": "acp:opencode@1.3.9"}),
        ("my.agents:Mine", {"import_path": "my.agents:Mine"}),
    ],
)
def test_agents_go_by_harbors_names(ours: str, theirs: dict[str, str]) -> None:
    assert agent_entry(arm(agent=ours)) == theirs


@pytest.mark.parametrize(
    ("agent", "ours", "theirs"),
    [
        ("gemini-cli", "gemini-3-pro", "google/gemini-3-pro"),
        ("gemini-cli", "vertex/gemini-3-pro", "vertex/gemini-3-pro"),
        ("claude-code", "claude-opus-4-5", "claude-opus-4-5"),
        ("aider", "openai/gpt-5", "openai/gpt-5"),
    ],
)
def test_a_model_gets_the_provider_that_its_agent_cannot_do_without(agent: str, ours: str, theirs: str) -> None:
    assert agent_entry(arm(agent=agent, model=ours))["model_name"] == theirs


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"agent": "shell", "options": {"command": "true"}}, "Harbor has no agent 'shell'"),
        ({"agent": "scripted"}, "Harbor has no agent 'scripted'"),
        ({"agent": "qwen-coder"}, "what Harbor calls qwen-coder is qwen-code here"),
        ({"flags": ("--verbose",)}, "takes no `flags`"),
        ({"agent": "oracle", "options": {"fast": True}}, "oracle has no `options`"),
        ({"agent": "aider", "mcp_servers": {"files": McpServer(command=["files"])}}, "starts no tool servers"),
        ({"mcp_servers": {"f": McpServer(command=["f"], environment={"A": "b"})}}, "`mcp_servers.f.environment`"),
        ({"agent": "goose", "model": "gpt-5"}, "write `model` as provider/model"),
        ({"agent": "opencode"}, "write `model` as provider/model"),
        ({"environment": {"KEY": "${OTHER}"}}, "name it under `secrets`"),
    ],
)
def test_what_a_job_file_cannot_say_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=r"arms\.plain cannot be run through Harbor") as refusal:
        agent_entry(arm(**changes))

    assert reason in str(refusal.value)
