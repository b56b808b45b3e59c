"""How each known agent is led to the server: the environment and the arguments to start it with."""

import shlex
from dataclasses import dataclass, field

import msgspec

KEY = "dummy"
MODEL = "scripted-model"
PROMPT = "PROMPT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCommand:
    """One way to start an agent; `note` says what has to be written down beforehand."""

    agent: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    note: str | None = None

    @property
    def line(self) -> str:
        """The command as one types it."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*settings, shlex.join(self.arguments)])


def agent_commands(url: str) -> tuple[AgentCommand, ...]:
    """Every agent that was seen to work against the server."""
    openai = {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{url}/v1"}
    provider = f'{{name="scripted",base_url="{url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    return (
        AgentCommand(
            agent="Claude Code",
            environment={
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            arguments=("claude", "-p", PROMPT, "--dangerously-skip-permissions"),
        ),
        AgentCommand(
            agent="Codex",
            environment={"OPENAI_API_KEY": KEY},
            arguments=(
                *("codex", "exec", "-c", "model_provider=scripted", "-c", f"model_providers.scripted={provider}"),
                *("-m", MODEL, "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", PROMPT),
            ),
        ),
        AgentCommand(
            agent="Gemini CLI",
            environment={
                "GEMINI_API_KEY": KEY,
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            arguments=("gemini", "-m", "gemini-2.5-flash", "-p", PROMPT, "--yolo"),
            note='~/.gemini/settings.json: {"security": {"auth": {"selectedType": "gemini-api-key"}}}',
        ),
        AgentCommand(
            agent="Qwen Code",
            environment={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODEL},
            arguments=("qwen", "-p", PROMPT, "--yolo"),
        ),
        AgentCommand(
            agent="goose",
            environment={
                "GOOSE_PROVIDER": "openai",
                "GOOSE_MODEL": MODEL,
                "OPENAI_API_KEY": KEY,
                "OPENAI_HOST": url,
                "GOOSE_MODE": "auto",
            },
            arguments=("goose", "run", "-t", PROMPT, "--no-session", "--with-builtin", "developer"),
        ),
        AgentCommand(
            agent="OpenCode",
            arguments=("opencode", "run", "-m", f"scripted/{MODEL}", PROMPT),
            note=f"opencode.json: {_opencode_settings(url)}",
        ),
        AgentCommand(
            agent="mini-swe-agent",
            environment={"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", **openai},
            arguments=("mini", "-m", f"openai/{MODEL}", "-t", PROMPT, "-y", "--exit-immediately"),
        ),
        AgentCommand(
            agent="aider",
            environment=openai,
            arguments=("aider", "--model", f"openai/{MODEL}", "--message", PROMPT, "--yes-always", "FILE"),
        ),
    )


def _opencode_settings(url: str) -> str:
    options = {"baseURL": f"{url}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {MODEL: {}}}
    return msgspec.json.encode({"provider": {"scripted": provider}}).decode()
