"""Gemini CLI, run by `gemini`: its adapter, and the reader of `--output-format stream-json` or `json`.

Both formats count thoughts apart from the answer and cached tokens within the prompt. The stream has no figure for
thoughts, only a total that includes them; the document has one, and counts requests, but shows no steps. Neither
names the version. Qwen Code is a fork and shares the exit codes and the form of the MCP settings.
"""

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, build_prompt
from outweigh.agents.server_headers import header_variables
from outweigh.model.arm import Arm
from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure, parse_exit_code
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import as_name, count_at, dict_at, name_at, seconds_at, str_at, to_text, value_at
from outweigh.model.usage import Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import add_counts, is_empty_usage, subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


class GeminiCliReader(EventReader):
    """Reads the output of one `gemini -p`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._model: str | None = None
        self._stats: JsonObject = {}
        self._usage_of: dict[str, Usage] = {}
        self._requests: int | None = None
        self._finished = False
        self._failure: Failure | None = None
        self._last_error: str | None = None
        self._steps = TrajectoryBuilder()
        self._shows_steps = False
        self._notices: list[str] = []

    def _take(self, event: JsonObject) -> None:
        self._session = name_at(event, "session_id") or self._session
        self._shows_steps |= "type" in event
        match str_at(event, "type"):
            case "init":
                self._model = name_at(event, "model")
            case "message":
                self._message(event)
            case "tool_use":
                call_id, tool = str_at(event, "tool_id") or "unknown", name_at(event, "tool_name") or "unknown"
                self._steps.call(call_id, tool, dict_at(event, "parameters"), str_at(event, "timestamp"))
            case "tool_result":
                self._result(event)
            case "error":
                self._error(event)
            case "result":
                self._end(event, ok=str_at(event, "status") == "success")
                self._usage_of = {m: _streamed_usage(c) for m, c in dict_at(self._stats, "models").items()}
            case None if "stats" in event or "error" in event:
                self._document(event)

    def _message(self, event: JsonObject) -> None:
        content, when = to_text(value_at(event, "content")), str_at(event, "timestamp")
        if str_at(event, "role") == "assistant":
            self._steps.say(content, when)
        else:
            self._steps.add("user", content, when)

    def _result(self, event: JsonObject) -> None:
        """Add a result. Gemini CLI reports a failed shell command as a success; its output has the exit code."""
        output = to_text(value_at(event, "output")) or str_at(event, "error", "message") or ""
        failed = str_at(event, "status") != "success" or bool(parse_exit_code(output))
        self._steps.result(str_at(event, "tool_id") or "unknown", output, failed)
        self._steps.close()

    def _error(self, event: JsonObject) -> None:
        message = str_at(event, "message") or "an error without a message"
        if str_at(event, "severity") == "warning":
            self._notices.append(message)
        else:
            self._last_error = message

    def _document(self, event: JsonObject) -> None:
        self._end(event, ok="error" not in event)
        models = dict_at(self._stats, "models")
        self._model = as_name(next(iter(models), None))
        self._usage_of = {model: _counted_usage(dict_at(of, "tokens")) for model, of in models.items()}
        answered = (
            subtract_counts(count_at(of, "api", "totalRequests"), count_at(of, "api", "totalErrors"))
            for of in models.values()
        )
        self._requests = add_counts(*answered) if models else None
        if (response := name_at(event, "response")) is not None:
            self._steps.say(response)

    def _end(self, event: JsonObject, ok: bool) -> None:
        self._finished = True
        self._stats = dict_at(event, "stats")
        if not ok:
            kind, words = str_at(event, "error", "type"), str_at(event, "error", "message")
            self._failure = _failure(kind, words or self._last_error or "it ended with an error without a message")

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        return AgentReport(
            version=None,
            model=self._model,
            session_id=self._session,
            usage=usage_unless_empty(sum_usage(list(self._usage_of.values()))),
            usage_by_model={model: usage for model, usage in self._usage_of.items() if not is_empty_usage(usage)},
            cost_usd=None,
            duration_seconds=seconds_at(self._stats, "duration_ms") or None,
            step_count=self._steps.agent_step_count if self._shows_steps else None,
            tool_call_count=self._tool_call_count(),
            request_count=self._requests,
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps) if self._shows_steps else None,
            warnings=(*warnings, *(f"gemini: {notice}" for notice in self._notices), *self._steps.warnings()),
        )

    def _tool_call_count(self) -> int | None:
        return self._steps.tool_call_count if self._shows_steps else count_at(self._stats, "tools", "totalCalls")


def _streamed_usage(counts: JsonObject) -> Usage:
    """A model's usage in the stream. The total minus the prompt is the answer and its thoughts."""
    prompt, read = count_at(counts, "input_tokens"), count_at(counts, "cached")
    return _usage(subtract_counts(prompt, read), subtract_counts(count_at(counts, "total_tokens"), prompt), read)


def _counted_usage(counts: JsonObject) -> Usage:
    """A model's usage in the document. Results of built-in tools are part of the prompt and counted separately."""
    read = count_at(counts, "cached")
    prompt = add_counts(count_at(counts, "prompt"), count_at(counts, "tool"))
    output = add_counts(count_at(counts, "candidates"), count_at(counts, "thoughts"))
    return _usage(subtract_counts(prompt, read), output, read)


def _usage(input_tokens: int | None, output_tokens: int | None, read: int | None) -> Usage:
    """The API caches by itself and reports no cache writes: the whole prompt is either read from the cache or new."""
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=read, cache_write_tokens=0)


def _failure(kind: str | None, words: str) -> Failure:
    if kind == "FatalTurnLimitedError" or "max session turns" in words.lower():
        return make_failure(FailureKind.TURN_LIMIT, words)
    return failure_from_text(words, otherwise=FailureKind.CRASH)


def mcp_server_settings(arm: Arm, secrets: tuple[str, ...]) -> dict[str, Any]:
    """The value of `mcpServers`. Secrets are named, because variables that look like secrets are not handed on."""
    found: dict[str, Any] = {}
    named = {secret: f"${{{secret}}}" for secret in secrets}
    for name, server in arm.mcp_servers.items():
        if server.url is not None:
            headers = {header: f"${{{variable}}}" for header, variable in header_variables(arm, name).items()}
            found[name] = {"httpUrl": server.url, **({"headers": headers} if headers else {})}
        else:
            program, *arguments = server.command
            found[name] = {"command": program, "args": arguments, "env": {**named, **server.environment}}
    return found


FATAL_EXIT_CODES = {41: FailureKind.UNAUTHORIZED, 53: FailureKind.TURN_LIMIT}
"""Exit codes of fatal errors with a known cause; forks of the program share them."""


class GeminiCliAgent(CommandLineAgent):
    """Reads `.gemini/skills`, instructions in `GEMINI.md`, hooks and settings in `.gemini/settings.json`."""

    name = "gemini-cli"
    program = "gemini"
    install = "npm install -g @google/gemini-cli"
    options = TurnOptions
    tool_forms = ("mcp_{server}_{tool}", "{server}__{tool}")
    bypass_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI")
    model_aliases = MappingProxyType(
        {
            "auto": ("gemini-*",),
            "auto-gemini-2-5": ("gemini-*",),
            "auto-gemini-3": ("gemini-*",),
            "pro": ("gemini-*pro*",),
            "flash": ("gemini-*flash", "gemini-*flash-preview*"),
            "flash-lite": ("gemini-*flash-lite*",),
        }
    )
    background_models = ("gemini-*flash*",)
    keys = ("GEMINI_API_KEY",)
    direct_keys = ("GOOGLE_API_KEY",)
    login_files = (".gemini/oauth_creds.json",)
    login_api = "gemini"

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the base class's signature
        """The provider, which is always the same."""
        return "gemini"

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`gemini` with the prompt on standard input and events on standard output."""
        model, access, reader = request.arm.model, request.model_access, GeminiCliReader()
        return Launch(
            arguments=(
                *("--output-format", "stream-json", "--yolo"),
                *(() if model is None else ("--model", model)),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            exit_codes=FATAL_EXIT_CODES,
            files={".gemini/settings.json": msgspec.json.encode(self._settings(request))},
            defaults={
                "GEMINI_CLI_HOME": home,
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GEMINI_CLI_NO_RELAUNCH": "true",  # a second process would only cost time
            },
            gateway_variables=(
                {} if access is None else {"GOOGLE_GEMINI_BASE_URL": access.base_url, "GEMINI_API_KEY": access.key}
            ),
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`gemini --resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--resume", session), stdin=message.encode())

    def _settings(self, request: AttemptRequest) -> dict[str, Any]:
        turns = self.options_of(request.arm).max_turns
        return {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "mcpServers": mcp_server_settings(request.arm, self.secrets_of_servers(request)),
            **({} if turns is None else {"model": {"maxSessionTurns": turns}}),
        }
