"""The adapter of Claude Code, run by `claude -p`."""

from collections.abc import Mapping
from dataclasses import replace
from time import time
from types import MappingProxyType

import msgspec

from outweigh.agents.claude_code.stream import ClaudeCodeReader
from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, build_prompt
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.server_headers import header_variables
from outweigh.agents.server_start import start_limit_seconds
from outweigh.model.agent_files import ConfigurationKind, configuration_kind
from outweigh.model.arm import Arm, McpServer
from outweigh.model.model_name import bare_model_name
from outweigh.model.plugin_files import plugin_folders
from outweigh.model.provider import ProviderKind
from outweigh.ports.agents import AttemptRequest

_SERVERS = ".claude/servers.json"
_PROJECT_SERVERS = ".mcp.json"
_PLAN_FAMILIES = ("opus", "sonnet")
"""What `opusplan` changes between: the first to plan, the second to work."""


class ClaudeCodeAgent(CommandLineAgent):
    """Reads `.claude/skills`, instructions in `CLAUDE.md`, hooks and settings in `.claude/settings.json`."""

    name = "claude-code"
    program = "claude"
    install = "npm install -g @anthropic-ai/claude-code"
    options = TurnOptions
    tool_forms = ("mcp__{server}__{tool}",)
    bypass_variables = (
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_FOUNDRY",
        "CLAUDE_CODE_USE_VERTEX",
    )
    keys = ("ANTHROPIC_API_KEY",)
    model_aliases = MappingProxyType(
        {
            "sonnet": ("claude-*sonnet*",),
            "opus": ("claude-*opus*",),
            "haiku": ("claude-*haiku*",),
            "fable": ("claude-*fable*",),
            "opusplan": ("claude-*opus*", "claude-*sonnet*"),
            "default": ("claude-*",),
            "best": ("claude-*",),
        }
    )
    background_models = ("claude-*haiku*",)
    direct_keys = ("CLAUDE_CODE_OAUTH_TOKEN",)
    login_files = (".claude/.credentials.json",)
    login_api = "anthropic"
    login_variables = ("CLAUDE_CODE_OAUTH_TOKEN",)
    login_command = "claude setup-token"

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the base class's signature
        """The provider, which is always the same."""
        return "anthropic"

    def resolved_models(self, arm: Arm) -> tuple[str, ...]:
        """What an alias stands for, by the arm's own variables (`ANTHROPIC_DEFAULT_SONNET_MODEL`) where it has any."""
        alias = bare_model_name(arm.model or "")
        patterns = super().resolved_models(arm)
        families = _PLAN_FAMILIES if alias == "opusplan" else (alias,)
        stated = [arm.environment.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") for family in families]
        return tuple(own or pattern for own, pattern in zip(stated, patterns, strict=False))

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`claude -p` with the prompt on standard input and events on standard output."""
        arm, access = request.arm, request.model_access
        reader = ClaudeCodeReader(shows_hooks=_may_have_hooks(arm))
        return Launch(
            arguments=(
                *("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
                *("--setting-sources", "project"),
                *(("--include-hook-events",) if _may_have_hooks(arm) else ()),
                *_server_arguments(arm, home),
                *(() if arm.model is None else ("--model", arm.model)),
                *self._limits(request),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(time()),
            report_scope=ReportScope.TOTALS,
            files={_SERVERS: _servers_file(arm)} if arm.mcp_servers else {},
            defaults={
                "CLAUDE_CONFIG_DIR": f"{home}/.claude",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                **_server_limit(arm),
                "CLAUDE_CODE_MAX_RETRIES": "3",  # the default retries for minutes, and the engine retries, too
                "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1",  # it refuses to run as root outside a sandbox
                **_cloud_defaults(arm),
            },
            gateway_variables={}
            if access is None
            else {"ANTHROPIC_BASE_URL": access.base_url, "ANTHROPIC_API_KEY": access.key},
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`claude -p --resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--resume", session), stdin=message.encode())

    def _limits(self, request: AttemptRequest) -> tuple[str, ...]:
        """Limits passed to the program. Its own budget only without a gateway, because it guesses unknown prices."""
        turns, arguments = self.options_of(request.arm).max_turns, list[str]()
        if turns is not None:
            arguments += ["--max-turns", str(turns)]
        if request.budget_usd is not None and request.model_access is None:
            arguments += ["--max-budget-usd", f"{request.budget_usd:g}"]
        return tuple(arguments)


def _cloud_defaults(arm: Arm) -> dict[str, str]:
    """Clouds refuse requests with Anthropic's newest beta features, which it would use with any other address."""
    is_cloud = arm.provider is not None and arm.provider.kind in (ProviderKind.BEDROCK, ProviderKind.VERTEX)
    return {"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"} if is_cloud else {}


def _may_have_hooks(arm: Arm) -> bool:
    """Whether the arm's own files can declare hooks, which then are to be shown. Older versions cannot show them."""
    has_settings = any(configuration_kind(file.path, arm.agent) is ConfigurationKind.SETTINGS for file in arm.overlay)
    return has_settings or _has_plugins(arm)


def _has_plugins(arm: Arm) -> bool:
    return any(plugin_folders(arm.flags))


def _server_arguments(arm: Arm, home: str) -> tuple[str, ...]:
    """Options for the arm's tool servers and no others, unless its files include the project's or a plugin.

    Among no others, it counts those of plugins.
    """
    named = ("--mcp-config", f"{home}/{_SERVERS}") if arm.mcp_servers else ()
    has_project_servers = any(file.path == _PROJECT_SERVERS for file in arm.overlay)
    return named if has_project_servers or _has_plugins(arm) else (*named, "--strict-mcp-config")


def _server_limit(arm: Arm) -> dict[str, str]:
    """How long it waits for servers to start, in milliseconds, which is the same for all of them."""
    limits = [start_limit_seconds(server) for server in arm.mcp_servers.values()]
    return {"MCP_TIMEOUT": f"{max(limits) * 1000:.0f}"} if limits else {}


def _servers_file(arm: Arm) -> bytes:
    return msgspec.json.encode(
        {
            "mcpServers": {
                name: _server_settings(server, header_variables(arm, name)) for name, server in arm.mcp_servers.items()
            }
        }
    )


def _server_settings(server: McpServer, headers: Mapping[str, str]) -> dict[str, object]:
    if server.url is not None:
        taken = {header: f"${{{variable}}}" for header, variable in headers.items()}
        return {"type": "http", "url": server.url, **({"headers": taken} if taken else {})}
    program, *arguments = server.command
    return {"type": "stdio", "command": program, "args": arguments, "env": server.environment}
