"""Where agents find their models without a gateway: the hosts that they declare, and the login that they need."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.engine.engine_fixtures import write_suite

from outweigh.agents.credentials import describe_missing_login
from outweigh.app.suite_sandbox import model_hosts
from outweigh.app.suite_selection import read_suite
from outweigh.model.arm import Arm, OverlayFile, bare_arm
from outweigh.plugins import adapter_names, load_adapter
from outweigh.ports.agents import NamesHosts

ANTHROPIC, OPENAI, GEMINI = "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"


@pytest.mark.parametrize(
    ("agent", "model", "hosts"),
    [
        ("claude-code", None, (ANTHROPIC,)),
        ("codex", "gpt-5", (OPENAI,)),
        ("gemini-cli", None, (GEMINI,)),
        ("qwen-code", None, (OPENAI,)),
        ("opencode", "anthropic/claude-sonnet-4-5", (ANTHROPIC,)),
        ("goose", "google/gemini-2.5-pro", (GEMINI,)),
        ("aider", "claude-sonnet-4-5", (ANTHROPIC,)),
        ("aider", "openrouter/qwen/qwen3-coder", ("openrouter.ai",)),
        ("mini-swe-agent", "openai/gpt-5", (OPENAI,)),
        ("mini-swe-agent", "somewhere/gpt-5", ()),
        ("acp", None, ()),
    ],
)
def test_a_known_agent_declares_the_host_of_its_provider(agent: str, model: str | None, hosts: tuple[str, ...]) -> None:
    adapter = load_adapter("agent", agent)

    assert isinstance(adapter, NamesHosts)
    assert adapter.hosts(bare_arm("a", agent, model)) == hosts


def test_every_agent_with_a_key_declares_a_host() -> None:
    named = {"opencode", "goose", "aider", "mini-swe-agent", "pi", "cline", "kimi"}
    for name in adapter_names("agent"):
        adapter = load_adapter("agent", name)
        if getattr(adapter, "keys", ()):
            assert adapter.hosts(bare_arm("a", name, "openai/gpt-5" if name in named else None))


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://models.example.org/v1", "models.example.org"),
        ("http://models.example.org:8080", "models.example.org:8080"),
        ("https://user:pass@models.example.org/v1", "models.example.org"),
    ],
)
def test_an_address_in_the_arm_s_variables_takes_the_place_of_the_provider(address: str, host: str) -> None:
    arm = replace(
        bare_arm("a", "claude-code"), environment={"ANTHROPIC_BASE_URL": address, "HELP_PAGE": "https://x.org"}
    )

    assert load_adapter("agent", "claude-code").hosts(arm) == (host,)


@pytest.mark.parametrize(
    ("mode", "kind", "hosts"),
    [
        ("direct", "bubblewrap", (ANTHROPIC, OPENAI)),
        ("direct", "local", ()),
        ("metered", "bubblewrap", ()),
    ],
)
def test_hosts_of_models_are_opened_only_where_agents_ask_directly_from_a_confined_network(
    tmp_path: Path, mode: str, kind: str, hosts: tuple[str, ...]
) -> None:
    arms: dict[str, Any] = {"a": {"agent": "claude-code"}, "b": {"agent": "codex"}, "c": {"agent": "noop"}}
    write_suite(tmp_path, arms, gateway={"mode": mode}, sandbox={"kind": kind})

    assert model_hosts(read_suite(str(tmp_path))) == hosts


def claude(**changes: Any) -> Arm:
    return replace(bare_arm("a", "claude-code"), **changes)


@pytest.mark.parametrize(
    "arm",
    [
        claude(secrets=("ANTHROPIC_API_KEY",)),
        claude(secrets=("CLAUDE_CODE_OAUTH_TOKEN",)),
        claude(environment={"ANTHROPIC_API_KEY": "sk-1"}),
        claude(environment={"ANTHROPIC_BASE_URL": "http://models.example.org"}),
        claude(options={"in_image": True}),
        claude(overlay=(OverlayFile(path=".claude/settings.json", sha256="0" * 64, executable=False),)),
    ],
)
def test_an_arm_that_has_or_may_have_a_login_is_left_alone(arm: Arm) -> None:
    assert load_adapter("agent", "claude-code").missing_login(arm) is None


@pytest.mark.parametrize(
    "arm",
    [
        claude(),
        claude(secrets=("GITHUB_TOKEN",)),
        claude(overlay=(OverlayFile(path=".claude/skills/x/SKILL.md", sha256="0" * 64, executable=False),)),
    ],
)
def test_an_arm_without_a_login_is_told_how_to_give_it_one(arm: Arm) -> None:
    assert 'add secrets = ["CLAUDE_CODE_OAUTH_TOKEN"] to [arms.a]' in load_adapter(
        "agent", "claude-code"
    ).missing_login(arm)


def test_a_login_that_is_stored_is_named_and_one_that_is_not_is_not(tmp_path: Path) -> None:
    before = describe_missing_login("a", ("A_KEY",), (".a/login",), "", tmp_path)
    (tmp_path / ".a").mkdir()
    (tmp_path / ".a" / "login").write_text("secret")
    after = describe_missing_login("a", ("A_KEY",), (".a/login",), "", tmp_path)

    assert "stays outside" not in before
    assert "Your login in ~/.a/login stays outside of the sandbox." in after
    assert "secret" not in after.replace("secrets", "")
    assert "export A_KEY, and add" in after
