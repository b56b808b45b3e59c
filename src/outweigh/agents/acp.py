"""Any agent that speaks the Agent Client Protocol (ACP): its adapter, and the reader of its JSON-RPC messages.

Answers are recognised by their shape: `agentInfo`, the session and its model, and `stopReason` at the end. The
usage that comes with the end covers the last request alone in the agents seen so far, whatever the protocol says,
so it counts only where a single request was made. The cost of `usage_update` covers the whole session.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.agents import acp_bridge
from outweigh.agents.command_line import CommandLineAgent, Launch, LocationOptions, build_prompt
from outweigh.agents.installed_program import current_python
from outweigh.agents.server_headers import header_variables
from outweigh.model.arm import Arm
from outweigh.model.base import VariableName
from outweigh.model.failure import (
    Failure,
    FailureKind,
    failure_from_http,
    failure_from_text,
    make_failure,
    parse_exit_code,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    amount_at,
    count_at,
    dict_at,
    dicts_at,
    int_at,
    name_at,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.token_counts import subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


def acp_usage(counts: JsonObject) -> Usage:
    """The counts in our units. Cached tokens may be part of the input or separate, and thoughts part of the output or
    separate; the total shows which. Where no combination fits, or the cache is not mentioned, counts are unknown.
    """
    total, given, output = (count_at(counts, key) for key in ("totalTokens", "inputTokens", "outputTokens"))
    if total is None or given is None or output is None:
        return NO_USAGE
    read, written = count_at(counts, "cachedReadTokens"), count_at(counts, "cachedWriteTokens")
    thought, cached = count_at(counts, "thoughtTokens") or 0, (read or 0) + (written or 0)
    for cache_separate, thought_separate in product((True, False), repeat=2):
        if total == given + output + cached * cache_separate + thought * thought_separate:
            new = given if cache_separate else subtract_counts(given, cached)
            return usage_unless_empty(
                Usage(
                    input_tokens=None if read is None else new,
                    output_tokens=output + thought * thought_separate,
                    cache_read_tokens=read,
                    cache_write_tokens=written,
                )
            )
    return NO_USAGE


_META_DEPTH = 3


def _tool_name(call: JsonObject) -> str:
    """The tool's own name where the agent adds it, else the kind of the call; titles are for people."""
    return _named(call.get("_meta"), _META_DEPTH) or name_at(call, "kind") or _first_word(call) or "unknown"


def _call_arguments(call: JsonObject) -> dict[str, Any]:
    """The arguments of a call; agents that do not send them send at least a title and paths."""
    raw = dict_at(call, "rawInput")
    if raw:
        return raw
    places = [path for place in dicts_at(call, "locations") if (path := str_at(place, "path")) is not None]
    return {"title": str_at(call, "title") or "", **({"locations": places} if places else {})}


def _call_output(call: JsonObject) -> str:
    """The output of a call: texts, and the files that were changed."""
    parts = [_content(item) for item in dicts_at(call, "content")]
    return "\n".join(parts) if parts else to_text(value_at(call, "rawOutput"))


def _call_failed(call: JsonObject) -> bool:
    """Whether a call failed, by its state or by the exit code of its command."""
    raw = dict_at(call, "rawOutput")
    exit_code = int_at(raw, "exit_code") or int_at(raw, "metadata", "exit") or parse_exit_code(_call_output(call))
    return str_at(call, "status") == "failed" or bool(exit_code)


def _content(item: JsonObject) -> str:
    match str_at(item, "type"):
        case "diff":
            return f"[changed {str_at(item, 'path') or 'a file'}]"
        case "terminal":
            return "[terminal]"
        case _:
            return str_at(item, "content", "text") or to_text(value_at(item, "content"))


def _named(meta: Any, depth: int) -> str | None:
    """The tool's name in the metadata: agents nest it under keys of their own, but the last key is the same."""
    if not isinstance(meta, dict) or depth == 0:
        return None
    inner = (_named(value, depth - 1) for value in meta.values())
    return name_at(meta, "toolName") or next((name for name in inner if name is not None), None)


def _first_word(call: JsonObject) -> str | None:
    words = (str_at(call, "title") or "").split()
    return words[0].rstrip(":")[:200] or None if words else None


_AUTHENTICATION_REQUIRED = -32000
PARTIAL_USAGE_WARNING = "the tokens that the agent reports may be those of its last request only, and are left out"
_ENDED_STATES = frozenset({"completed", "failed"})

_BY_STOP_REASON = {
    "max_tokens": make_failure(FailureKind.CONTEXT_OVERFLOW, "the last answer reached the limit of its length"),
    "max_turn_requests": make_failure(FailureKind.TURN_LIMIT, "the limit of requests in a turn was reached"),
    "refusal": make_failure(FailureKind.REFUSAL, "the agent refused to continue"),
    "cancelled": make_failure(FailureKind.NO_RESULT, "the prompt was cancelled"),
}


class AcpReader(EventReader):
    """Reads an agent's messages to its client, from `initialize` to the end of one prompt."""

    def __init__(self) -> None:
        super().__init__()
        self._agent: JsonObject = {}
        self._session: str | None = None
        self._model: str | None = None
        self._usage = NO_USAGE
        self._cost_usd: float | None = None
        self._finished = False
        self._failure: Failure | None = None
        self._message_id: str | None = None
        self._calls: dict[str, JsonObject] = {}
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        if str_at(event, "method") == "session/update":
            self._update(dict_at(event, "params", "update"))
        elif "method" not in event and isinstance(event.get("result"), dict):
            self._answer(event["result"])
        elif "method" not in event and isinstance(event.get("error"), dict):
            self._finished, self._failure = True, _failure(event["error"])

    def _answer(self, result: JsonObject) -> None:
        self._agent = dict_at(result, "agentInfo") or self._agent
        self._session = name_at(result, "sessionId") or self._session
        self._model = _model(result) or self._model
        if (reason := str_at(result, "stopReason")) is not None:
            self._finished, self._failure = True, _BY_STOP_REASON.get(reason)
            self._usage = acp_usage(dict_at(result, "usage"))

    def _update(self, update: JsonObject) -> None:
        match str_at(update, "sessionUpdate"):
            case "agent_message_chunk":
                self._begin(update)
                self._steps.say(_text(update))
            case "agent_thought_chunk":
                self._begin(update)
                self._steps.think(_text(update))
            case "user_message_chunk":
                self._steps.add("user", _text(update))
            case "tool_call" | "tool_call_update":
                self._tool(update)
            case "usage_update" if str_at(update, "cost", "currency") == "USD":
                self._cost_usd = amount_at(update, "cost", "amount") or None

    def _begin(self, update: JsonObject) -> None:
        """Start a new step with a new message id; chunks of one message share it."""
        message_id = str_at(update, "messageId")
        if message_id != self._message_id:
            self._steps.close()
        self._message_id = message_id

    def _tool(self, update: JsonObject) -> None:
        """A call, or an update of one, which has only what has changed."""
        call_id = str_at(update, "toolCallId") or "unknown"
        known = {key: value for key, value in update.items() if value is not None}
        call = self._calls[call_id] = self._calls.get(call_id, {}) | known
        self._steps.call(call_id, _tool_name(call), _call_arguments(call))
        if str_at(call, "status") in _ENDED_STATES:
            self._steps.result(call_id, _call_output(call), _call_failed(call))
            self._steps.close()

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        usage = NO_USAGE if self._calls else self._usage
        partial = (PARTIAL_USAGE_WARNING,) if usage != self._usage else ()
        return AgentReport(
            version=name_at(self._agent, "version"),
            model=self._model,
            session_id=self._session,
            usage=usage,
            usage_by_model={} if self._model is None or usage == NO_USAGE else {self._model: usage},
            cost_usd=self._cost_usd,
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=None if usage == NO_USAGE else 1,
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *partial, *self._steps.warnings()),
        )


def _text(update: JsonObject) -> str:
    content = value_at(update, "content")
    return str_at(content, "text") or ("" if str_at(content, "type") == "text" else to_text(content))


def _model(result: JsonObject) -> str | None:
    """The model of a session, in either of the places where agents report it."""
    options = (option for option in dicts_at(result, "configOptions") if str_at(option, "id") == "model")
    chosen = next((name_at(option, "currentValue") for option in options), None)
    return chosen or name_at(result, "models", "currentModelId")


def _failure(error: JsonObject) -> Failure:
    code, message = int_at(error, "code"), str_at(error, "message") or "an error without a message"
    if code is not None and 400 <= code < 600:
        return failure_from_http(code, message)
    if code == _AUTHENTICATION_REQUIRED:
        return make_failure(FailureKind.UNAUTHORIZED, message)
    return failure_from_text(message, otherwise=FailureKind.CRASH)


_BRIDGE, _SETTINGS = "acp_bridge.py", "acp_settings.json"
_MODEL = "{model}"


class AcpOptions(LocationOptions, frozen=True, kw_only=True):
    """How to start the agent and point it to its model.

    `command` starts it in ACP mode. `access` are variables that point it to the gateway; `{url}`, `{key}` and `{model}`
    in them are replaced, and `{model}` in the command, too. Where neither names the model, it is set through the
    protocol. `authenticate` is the sign-in method, where the agent needs one.
    """

    command: Annotated[list[str], Meta(min_length=1)]
    access: dict[VariableName, str] = {}  # noqa: RUF012 - msgspec copies defaults
    authenticate: str | None = None


class AcpAgent(CommandLineAgent):
    """Starts the agent with a small client that opens a session, sends the prompt and grants all permissions."""

    name = "acp"
    install = "see its own documents"
    options = AcpOptions
    keys = ()

    def program_of(self, arm: Arm) -> str:
        """The program in the command."""
        return str(self.options_of(arm).command[0])

    def version(self, arm: Arm) -> str | None:  # noqa: ARG002 - the base class's signature
        """Unknown before the run: only the protocol reports it."""
        return None

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """The paths of the agent's installation and of the Python for the client."""
        return tuple(
            dict.fromkeys((*super().read_only(arm), *(() if self.options_of(arm).in_image else current_python().paths)))
        )

    def command(self, arm: Arm) -> tuple[str, ...]:
        """The client, which starts the agent."""
        return ("python3",) if self.options_of(arm).in_image else current_python().command

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """The client with its settings in a file; the agent's messages come on standard output."""
        reader = AcpReader()
        return Launch(
            arguments=("-I", "-S", f"{home}/{_BRIDGE}", f"{home}/{_SETTINGS}"),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files={
                _BRIDGE: Path(acp_bridge.__file__).read_bytes(),
                _SETTINGS: msgspec.json.encode(self._settings(request)),
            },
            gateway_variables=self._access(request),
        )

    def _settings(self, request: AttemptRequest) -> dict[str, Any]:
        arm, options = request.arm, self.options_of(request.arm)
        named = any(_MODEL in words for words in (*options.command, *options.access.values()))
        _, *words = options.command
        return {
            "command": [*super().command(arm), *(word.replace(_MODEL, arm.model or "") for word in words)],
            "authenticate": options.authenticate,
            "servers": [_server_settings(arm, name) for name in arm.mcp_servers],
            "secrets": self.secrets_of_servers(request),
            "model": None if named else arm.model,
            "prompt": build_prompt(request),
        }

    def _access(self, request: AttemptRequest) -> dict[str, str]:
        if request.model_access is None:
            return {}
        words = {
            "{url}": request.model_access.base_url,
            "{key}": request.model_access.key,
            _MODEL: request.arm.model or "",
        }
        found = dict(self.options_of(request.arm).access)
        for mark, word in words.items():
            found = {name: value.replace(mark, word) for name, value in found.items()}
        return found


def _server_settings(arm: Arm, name: str) -> dict[str, Any]:
    server = arm.mcp_servers[name]
    if server.url is not None:
        headers = [{"name": header, "variable": variable} for header, variable in header_variables(arm, name).items()]
        return {"type": "http", "name": name, "url": server.url, "headers": headers}
    program, *arguments = server.command
    environment = [{"name": variable, "value": value} for variable, value in server.environment.items()]
    return {"name": name, "command": program, "args": arguments, "env": environment}
