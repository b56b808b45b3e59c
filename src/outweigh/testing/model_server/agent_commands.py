"""How to point each known agent at the server: the environment and the arguments to start it with."""

import shlex
from dataclasses import dataclass, field

import msgspec

DUMMY_KEY = "dummy"
SCRIPTED_MODEL = "scripted-model"
PROMPT_PLACEHOLDER = "PROMPT"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCommand:
    """One way to start an agent; `note` says which file has to be written first."""

    agent: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    note: str | None = None

    @property
    def line(self) -> str:
        """The command as it is typed."""
        settings = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*settings, shlex.join(self.arguments)])


def agent_commands(url: str) -> tuple[AgentCommand, ...]:
    """The commands of all agents that are known to work against the server."""
    openai = {"OPENAI_API_KEY": DUMMY_KEY, "OPENAI_API_BASE": f"{url}/v1"}
    provider = f'{{name="scripted",base_url="{url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}}'
    return (
        AgentCommand(
            agent="Claude Code",
            environment={
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": DUMMY_KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            arguments=("claude", "-p", PROMPT_PLACEHOLDER, "--dangerously-skip-permissions"),
        ),
        AgentCommand(
            agent="Codex",
            environment={"OPENAI_API_KEY": DUMMY_KEY},
            arguments=(
                *("codex", "exec", "-c", "model_provider=scripted", "-c", f"model_providers.scripted={provider}"),
                *(
                    "-m",
                    SCRIPTED_MODEL,
                    "--dangerously-bypass-approvals-and-sandbox",
                    "--skip-git-repo-check",
                    PROMPT_PLACEHOLDER,
                ),
            ),
        ),
        AgentCommand(
            agent="Gemini CLI",
            environment={
                "GEMINI_API_KEY": DUMMY_KEY,
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            arguments=("gemini", "-m", "gemini-2.5-flash", "-p", PROMPT_PLACEHOLDER, "--yolo"),
            note='~/.gemini/settings.json: {"security": {"auth": {"selectedType": "gemini-api-key"}}}',
        ),
        AgentCommand(
            agent="Qwen Code",
            environment={"OPENAI_API_KEY": DUMMY_KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": SCRIPTED_MODEL},
            arguments=("qwen", "-p", PROMPT_PLACEHOLDER, "--yolo"),
        ),
        AgentCommand(
            agent="goose",
            environment={
                "GOOSE_PROVIDER": "openai",
                "GOOSE_MODEL": SCRIPTED_MODEL,
                "OPENAI_API_KEY": DUMMY_KEY,
                "OPENAI_HOST": url,
                "GOOSE_MODE": "auto",
            },
            arguments=("goose", "run", "-t", PROMPT_PLACEHOLDER, "--no-session", "--with-builtin", "developer"),
        ),
        AgentCommand(
            agent="OpenCode",
            arguments=("opencode", "run", "-m", f"scripted/{SCRIPTED_MODEL}", PROMPT_PLACEHOLDER),
            note=f"opencode.json: {_opencode_settings(url)}",
        ),
        AgentCommand(
            agent="mini-swe-agent",
            environment={"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", **openai},
            arguments=("mini", "-m", f"openai/{SCRIPTED_MODEL}", "-t", PROMPT_PLACEHOLDER, "-y", "--exit-immediately"),
        ),
        AgentCommand(
            agent="aider",
            environment=openai,
            arguments=(
                "aider",
                "--model",
                f"openai/{SCRIPTED_MODEL}",
                "--message",
                PROMPT_PLACEHOLDER,
                "--yes-always",
                "FILE",
            ),
        ),
    )


def provider_exports(url: str) -> tuple[str, ...]:
    """The lines that point programs of each provider at the server when they are pasted into a shell."""
    return (
        f"export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={DUMMY_KEY}",
        f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={DUMMY_KEY}",
        f"export GOOGLE_GEMINI_BASE_URL={url} GEMINI_API_KEY={DUMMY_KEY}",
    )


def suite_lines(url: str) -> tuple[str, ...]:
    """The lines of a `suite.toml` that send the requests of its agents to the server."""
    keys = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
    return ("[gateway]", *(f'{name} = {{ url = "{url}", key = "{key}" }}' for name, key in keys.items()))


def _opencode_settings(url: str) -> str:
    options = {"baseURL": f"{url}/v1", "apiKey": DUMMY_KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {SCRIPTED_MODEL: {}}}
    return msgspec.json.encode({"provider": {"scripted": provider}}).decode()
