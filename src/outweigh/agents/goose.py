"""goose, run by `goose run`: its adapter, and the reader of `--output-format stream-json` or `json`.

The totals come with the end and count cached tokens within input; versions that do not say how many were cached
leave the input unknown. goose exits with 0 although it failed, and reports errors as if the model had said them.
"""

from dataclasses import replace
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, build_prompt
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.model_provider import provider_of_model
from outweigh.agents.server_headers import header_variables
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    bool_at,
    count_at,
    dict_at,
    dicts_at,
    name_at,
    parse_arguments,
    str_at,
    timestamp_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

UNCOUNTED_TITLE_REQUEST = (
    "goose asks a model for a title of the session, and counts neither that request nor its tokens"
)
CACHE_NOT_REPORTED = (
    "goose counts cached tokens as input and does not say how many there were: {sent:,} tokens were sent"
)

_TURN_LIMIT = "I've reached the maximum number of actions I can do without user input."
# How messages that goose itself writes in the model's place begin and end.
_GOOSE_MESSAGES = (
    ("Ran into this error", "transient or recoverable error."),
    ("Ran into this error trying to compact", "create a new session"),
    ("Network error", "try again."),
    ("Credits exhausted", ""),
    ("Unable to continue: Context limit still exceeded", ""),
    ("The model returned an empty response", ""),
    (_TURN_LIMIT, ""),
)


class GooseReader(EventReader):
    """Reads the output of one `goose run`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._usage = NO_USAGE
        self._sent: int | None = None
        self._finished = False
        self._error: str | None = None
        self._model: str | None = None
        self._message_id: str | None = None
        self._answers: set[str] = set()
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        match str_at(event, "type"):
            case "message":
                self._message(dict_at(event, "message"))
            case "error":
                self._finished, self._error = True, str_at(event, "error") or "an error without a message"
            case "complete":
                self._finished = True
                self._count(event)
            case None if "messages" in event:
                for message in dicts_at(event, "messages"):
                    self._message(message)
                self._finished = "metadata" in event
                self._count(dict_at(event, "metadata"))

    def _message(self, message: JsonObject) -> None:
        """Read a message, or the next part of one: parts of an answer share its id."""
        message_id, role = str_at(message, "id"), str_at(message, "role")
        when = timestamp_at(message, "created")
        if message_id != self._message_id or role != "assistant":
            self._steps.close()
        self._message_id = message_id
        if value_at(message, "metadata", "inference") is not None:
            self._answers.add(message_id or f"unnamed {len(self._answers)}")
            self._model = name_at(message, "metadata", "inference", "requestedModel")
        for block in dicts_at(message, "content"):
            self._block(block, role == "assistant", when)
        if role == "assistant":
            self._steps.note(model=name_at(message, "metadata", "inference", "requestedModel"))

    def _block(self, block: JsonObject, is_agent: bool, when: str | None) -> None:
        match str_at(block, "type"):
            case "text" if is_agent:
                self._text(str_at(block, "text") or "", when)
            case "text":
                self._steps.add("user", str_at(block, "text") or "", when)
            case "thinking":
                self._steps.think(str_at(block, "thinking") or "", when)
            case "toolRequest":
                call = dict_at(block, "toolCall", "value")
                name, arguments = name_at(call, "name") or "unknown", parse_arguments(value_at(call, "arguments"))
                self._steps.call(str_at(block, "id") or "unknown", name, arguments, when)
            case "toolResponse":
                self._result(str_at(block, "id") or "unknown", dict_at(block, "toolResult"))
            case "error":
                self._error = str_at(block, "message") or "an error without a message"

    def _text(self, text: str, when: str | None) -> None:
        """Read a text of the model, or of goose in its place; a later text of the model clears an error."""
        if _is_goose_message(text):
            self._error = text
            self._steps.add("system", text, when)
        else:
            self._error = None
            self._steps.say(text, when)

    def _result(self, call_id: str, result: JsonObject) -> None:
        refused = str_at(result, "status") == "error"
        content = value_at(result, "error") if refused else value_at(result, "value", "content")
        self._steps.result(call_id, to_text(content), refused or bool_at(result, "value", "isError"))

    def _count(self, totals: JsonObject) -> None:
        read, written = count_at(totals, "cache_read_input_tokens"), count_at(totals, "cache_write_input_tokens")
        self._sent = count_at(totals, "input_tokens")
        self._usage = usage_unless_empty(
            Usage(
                input_tokens=subtract_counts(self._sent, read, written),
                output_tokens=count_at(totals, "output_tokens"),
                cache_read_tokens=read,
                cache_write_tokens=written,
            )
        )

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=self._model,
            session_id=None,
            usage=self._usage,
            usage_by_model={},
            cost_usd=None,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._answers) or None,
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure()),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *self._own_warnings(), *self._steps.warnings()),
        )

    def _failure(self) -> Failure | None:
        if self._error is None:
            return None
        if self._error.startswith(_TURN_LIMIT):
            return make_failure(FailureKind.TURN_LIMIT, self._error)
        return failure_from_text(self._error, otherwise=FailureKind.CRASH)

    def _own_warnings(self) -> tuple[str, ...]:
        if self._usage == NO_USAGE:
            return ()
        if self._usage.input_tokens is None and self._sent:
            return (UNCOUNTED_TITLE_REQUEST, CACHE_NOT_REPORTED.format(sent=self._sent))
        return (UNCOUNTED_TITLE_REQUEST,)


def _is_goose_message(text: str) -> bool:
    return any(text.startswith(first) and last in text for first, last in _GOOSE_MESSAGES)


_ACCESS_VARIABLES = {
    "anthropic": ("ANTHROPIC_HOST", "ANTHROPIC_API_KEY"),
    "google": ("GOOGLE_HOST", "GOOGLE_API_KEY"),
    "openai": ("OPENAI_HOST", "OPENAI_API_KEY"),
}
_SERVER_TIMEOUT_SECONDS = 300


_SESSION = "task"
"""The name of the session that a run goes on in; its output names none."""


class GooseAgent(CommandLineAgent):
    """Reads skills from `.agents/skills`, instructions from `AGENTS.md` and `.goosehints`."""

    name = "goose"
    program = "goose"
    install = "https://block.github.io/goose"
    options = TurnOptions
    tool_forms = ("{server}__{tool}",)
    needs_model = True
    names_provider = True
    bypass_variables = tuple(variable for pair in _ACCESS_VARIABLES.values() for variable in pair)
    background_models = ("gpt-4o-mini", "*haiku*", "*flash*")
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    direct_keys = ("GOOGLE_API_KEY",)
    login_files = (".config/goose/secrets.yaml",)

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return provider_of_model(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`goose run` with the prompt on standard input and events on standard output."""
        provider, _, model = (request.arm.model or "").partition("/")
        turns, reader = self.options_of(request.arm).max_turns, GooseReader()
        return Launch(
            arguments=(
                *("run", "-i", "-", "--quiet", "--output-format", "stream-json"),
                *(("--no-session",) if request.replies is None else ("--name", _SESSION)),
                *(() if turns is None else ("--max-turns", str(turns))),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: replace(reader.report(), session_id=_SESSION),
            files={".config/goose/config.yaml": msgspec.json.encode(_settings(request.arm))},
            defaults={
                "GOOSE_PROVIDER": provider,
                "GOOSE_MODEL": model,
                "GOOSE_MODE": "auto",
                "GOOSE_DISABLE_KEYRING": "1",
                "GOOSE_TELEMETRY_ENABLED": "false",
            },
            gateway_variables=_access(provider, request),
            report_scope=ReportScope.TOTALS,
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:  # noqa: ARG002
        """`goose run --resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--resume"), stdin=message.encode())


def _access(provider: str, request: AttemptRequest) -> dict[str, str]:
    """Variables for the gateway, through which all providers but Anthropic and Google use OpenAI's API."""
    if request.model_access is None:
        return {}
    api = provider if provider in _ACCESS_VARIABLES else "openai"
    host, key = _ACCESS_VARIABLES[api]
    return {"GOOSE_PROVIDER": api, host: request.model_access.base_url, key: request.model_access.key}


def _settings(arm: Arm) -> dict[str, Any]:
    """The settings as JSON, which is valid YAML."""
    extensions: dict[str, Any] = {
        "developer": {"enabled": True, "type": "platform", "name": "developer"},
        "skills": {"enabled": True, "type": "platform", "name": "skills"},
    }
    for name, server in arm.mcp_servers.items():
        extensions[name] = {
            "enabled": True,
            "name": name,
            "timeout": _SERVER_TIMEOUT_SECONDS,
            **_server_settings(server, header_variables(arm, name)),
        }
    return {"extensions": extensions}


def _server_settings(server: McpServer, headers: dict[str, str]) -> dict[str, Any]:
    if server.url is not None:
        taken = {header: f"${{{variable}}}" for header, variable in headers.items()}
        given = {"headers": taken, "env_keys": list(headers.values())} if taken else {}
        return {"type": "streamable_http", "uri": server.url, **given}
    program, *arguments = server.command
    return {"type": "stdio", "cmd": program, "args": arguments, "envs": server.environment}
