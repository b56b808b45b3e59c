"""pi, run by `pi -p`: its adapter, and the reader of `--mode json`, one event per line.

Every answer is written in full when it ends, with its own tokens and dollars: these are summed. Input is without
the cache, output with reasoning. Dollars come from the prices in pi's model list, so 0 means that it has none.
"""

from dataclasses import replace
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, build_prompt
from outweigh.agents.model_provider import provider_of_model
from outweigh.model.arm import Arm
from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import (
    amount_at,
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
from outweigh.model.usage import Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.atif import step_metrics
from outweigh.transcript.token_counts import is_empty_usage, sum_costs, usage_unless_empty
from outweigh.transcript.tool_calls import setup_from_calls
from outweigh.transcript.trajectory_builder import TrajectoryBuilder


class PiReader(EventReader):
    """Reads the stream of one `pi -p`."""

    def __init__(self) -> None:
        super().__init__()
        self._session: str | None = None
        self._model: str | None = None
        self._usages: list[tuple[str | None, Usage]] = []
        self._costs_usd: list[float | None] = []
        self._finished = False
        self._failure: Failure | None = None
        self._steps = TrajectoryBuilder()

    def _take(self, event: JsonObject) -> None:
        match str_at(event, "type"):
            case "session":
                self._session = name_at(event, "id")
            case "agent_start":
                self._finished = False
            case "message_end":
                self._message(dict_at(event, "message"))
            case "agent_end":
                self._finished = True

    def _message(self, message: JsonObject) -> None:
        when = timestamp_at(message, "timestamp", units_per_second=1000)
        match str_at(message, "role"):
            case "assistant":
                self._answer(message, when)
            case "toolResult":
                call_id, output = str_at(message, "toolCallId") or "unknown", to_text(value_at(message, "content"))
                self._steps.result(call_id, output, bool_at(message, "isError"))
            case "system":
                pass  # its own prompt, in parts
            case _:
                self._steps.add("user", to_text(value_at(message, "content")), when)

    def _answer(self, message: JsonObject, when: str | None) -> None:
        self._steps.close()
        for block in dicts_at(message, "content"):
            match str_at(block, "type"):
                case "text":
                    self._steps.say(str_at(block, "text") or "", when)
                case "thinking":
                    self._steps.think(str_at(block, "thinking") or "", when)
                case "toolCall":
                    call_id, tool = str_at(block, "id") or "unknown", name_at(block, "name") or "unknown"
                    self._steps.call(call_id, tool, parse_arguments(value_at(block, "arguments")), when)
        self._failure = _failure(message)
        self._count(message)

    def _count(self, message: JsonObject) -> None:
        """Count an answer; a failed request is reported as an answer without tokens and not counted."""
        usage, model = _usage(dict_at(message, "usage")), name_at(message, "model")
        self._model = model or self._model
        cost_usd = amount_at(message, "usage", "cost", "total")
        if self._failure is None or not is_empty_usage(usage):
            self._usages.append((model, usage_unless_empty(usage)))
            self._costs_usd.append(cost_usd)
        self._steps.note(model=model, metrics=step_metrics(usage, cost_usd))

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps = self._steps.steps()
        models = dict.fromkeys(model for model, _ in self._usages if model is not None)
        return AgentReport(
            version=None,
            model=self._model,
            session_id=self._session,
            usage=sum_usage([usage for _, usage in self._usages]),
            usage_by_model={m: sum_usage([usage for model, usage in self._usages if model == m]) for m in models},
            cost_usd=sum_costs(self._costs_usd),
            duration_seconds=None,
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=len(self._usages),
            finished=self._finished,
            failure=failure_or_unfinished(self._finished, self._failure if self._finished else None),
            final_text=self._steps.final_text,
            steps=steps,
            loaded=setup_from_calls(steps),
            warnings=(*warnings, *self._steps.warnings()),
        )


def _usage(counts: JsonObject) -> Usage:
    return Usage(
        input_tokens=count_at(counts, "input"),
        output_tokens=count_at(counts, "output"),
        cache_read_tokens=count_at(counts, "cacheRead"),
        cache_write_tokens=count_at(counts, "cacheWrite"),
    )


def _failure(message: JsonObject) -> Failure | None:
    match str_at(message, "stopReason"):
        case "error":
            words = str_at(message, "errorMessage") or "an error without a message"
            return failure_from_text(words, otherwise=FailureKind.CRASH)
        case "aborted":
            return make_failure(FailureKind.NO_RESULT, "the answer was aborted")
        case "length":
            return make_failure(FailureKind.CONTEXT_OVERFLOW, "the last answer reached the limit of its length")
        case _:
            return None


_API_PATHS = {"anthropic": "", "google": "/v1beta", "openai": "/v1"}
"""Providers whose APIs the gateway has, with what pi expects at the end of their address."""
_DEFAULT_API, _DEFAULT_PATH = "openai-completions", "/v1"


class PiAgent(CommandLineAgent):
    """Reads skills from `.agents/skills`, instructions from `AGENTS.md`, and more from `.pi`; it has no MCP servers."""

    name = "pi"
    program = "pi"
    install = "npm install -g @earendil-works/pi-coding-agent"
    starts_servers = False
    needs_model = True
    names_provider = True
    bypass_variables = ("ANTHROPIC_API_KEY", "ANTHROPIC_OAUTH_TOKEN", "GEMINI_API_KEY", "OPENAI_API_KEY")
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
    login_files = (".pi/agent/auth.json",)

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return provider_of_model(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`pi -p` with the prompt on standard input and events on standard output."""
        reader = PiReader()
        return Launch(
            # Without --approve it leaves out what the workspace has for it, because nobody has trusted the folder.
            arguments=(
                *("-p", "--mode", "json", "--approve", "--model", request.arm.model or ""),
                *(("--no-session",) if request.replies is None else ()),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files=_files(request),
            defaults={"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"},
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`pi -p --session` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--session", session), stdin=message.encode())


def _files(request: AttemptRequest) -> dict[str, bytes]:
    if request.model_access is None:
        return {}
    provider, _, model = (request.arm.model or "").partition("/")
    providers = {provider: _provider(provider, model, request.model_access)}
    return {".pi/agent/models.json": msgspec.json.encode({"providers": providers})}


def _provider(name: str, model: str, access: ModelAccess) -> dict[str, Any]:
    """The gateway in place of a provider: pi keeps what it knows of the models of some, and must be told of others."""
    if name in _API_PATHS:
        return {"baseUrl": f"{access.base_url}{_API_PATHS[name]}", "apiKey": access.key}
    return {
        "baseUrl": f"{access.base_url}{_DEFAULT_PATH}",
        "apiKey": access.key,
        "api": _DEFAULT_API,
        "models": [{"id": model}],
    }
