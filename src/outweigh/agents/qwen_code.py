"""Qwen Code, run by `qwen`: its adapter, and the reader of `--output-format stream-json` or `json`.

The events have the shape of Claude Code's but not their meaning: input includes what the cache held, and a request
that failed ends in `subtype: success`, `is_error: false` and exit code 0; only the text of the result says so.
"""

from dataclasses import replace
from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, build_prompt
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.gemini_cli import FATAL_EXIT_CODES, mcp_server_settings
from outweigh.model.arm import Arm
from outweigh.model.failure import Failure, FailureKind, failure_from_text, make_failure, parse_exit_code
from outweigh.model.json_text import JsonObject
from outweigh.model.run_record import ObservedServer, ObservedSetup
from outweigh.model.untrusted_json import (
    bool_at,
    count_at,
    dict_at,
    dicts_at,
    name_at,
    names_at,
    seconds_at,
    str_at,
    to_text,
    value_at,
)
from outweigh.model.usage import Usage, sum_usage
from outweigh.ports.agents import AttemptRequest
from outweigh.transcript.agent_report import AgentReport, EventReader, failure_or_unfinished
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.token_counts import add_counts, is_empty_usage, subtract_counts, usage_unless_empty
from outweigh.transcript.tool_calls import used_skills
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

_API_ERROR = "[API Error: "
_BY_SUBTYPE = {"error_max_turns": FailureKind.TURN_LIMIT}


class QwenCodeReader(EventReader):
    """Reads the output of one `qwen -p`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._init: JsonObject = {}
        self._result: JsonObject | None = None
        self._usage_of: dict[str, Usage] = {}
        self._steps = TrajectoryBuilder()
        self._unfinished: tuple[str | None] | None = None
        """The sub-agent of a response of which another part follows, None for the agent itself."""

    def _take(self, event: JsonObject) -> None:
        match str_at(event, "type"), str_at(event, "subtype"):
            case "system", "init":
                self._init = self._init or event  # before the agent did anything; it could print another later
            case "assistant", _:
                self._assistant(dict_at(event, "message"), name_at(event, "parent_tool_use_id"))
            case "user", _:
                self._user(dict_at(event, "message"))
            case "result", _:
                self._result = event

    def _assistant(self, message: JsonObject, sub_agent: str | None) -> None:
        """Add a part of a response: text and tool calls are printed apart, and only the last part has the usage."""
        if self._unfinished != (sub_agent,):
            self._steps.close()
        for block in dicts_at(message, "content"):
            match str_at(block, "type"):
                case "text":
                    self._steps.say(str_at(block, "text") or "")
                case "thinking":
                    self._steps.think(str_at(block, "thinking") or "")
                case "tool_use":
                    call_id, tool = str_at(block, "id") or "unknown", name_at(block, "name") or "unknown"
                    self._steps.call(call_id, tool, dict_at(block, "input"))
        counts = dict_at(message, "usage")
        self._usage_of[str_at(message, "id") or f"unnamed {len(self._usage_of)}"] = _usage(counts)
        self._unfinished = (sub_agent,) if is_empty_usage(_usage(counts)) else None
        self._steps.note(model=name_at(message, "model"), metrics=_metrics(counts), sub_agent=sub_agent)

    def _user(self, message: JsonObject) -> None:
        """Add tool results. qwen-code does not report a failed command as an error; its output has the exit code."""
        self._unfinished = None
        content = value_at(message, "content")
        if isinstance(content, str):
            self._steps.add("user", content)
        for block in dicts_at(message, "content"):
            if str_at(block, "type") == "tool_result":
                output = to_text(value_at(block, "content"))
                failed = bool_at(block, "is_error") or bool(parse_exit_code(output))
                self._steps.result(str_at(block, "tool_use_id") or "unknown", output, failed)
            else:
                self._steps.add("user", str_at(block, "text") or "")

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps, result = self._steps.steps(), self._result or {}
        by_model = _usage_by_model(result)
        answers = [usage for usage in self._usage_of.values() if not is_empty_usage(usage)]
        totals = [_usage(dict_at(result, "usage"))] if self._result else answers
        return AgentReport(
            version=name_at(self._init, "qwen_code_version"),
            model=name_at(self._init, "model"),
            session_id=name_at(self._init, "session_id") or name_at(result, "session_id"),
            usage=usage_unless_empty(sum_usage(list(by_model.values()) or totals)),
            usage_by_model={model: usage for model, usage in by_model.items() if not is_empty_usage(usage)},
            cost_usd=None,
            duration_seconds=seconds_at(result, "duration_ms"),
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=_request_count(result) if by_model else len(answers),
            finished=self._result is not None,
            failure=failure_or_unfinished(self._result is not None, _failure(result)),
            final_text=str_at(result, "result"),
            steps=steps,
            loaded=self._loaded(used_skills(steps)) if self._init else None,
            warnings=(*warnings, *_denials(result), *self._steps.warnings()),
        )

    def _loaded(self, skills_used: tuple[str, ...]) -> ObservedSetup:
        named = ((name_at(each, "name"), str_at(each, "status")) for each in dicts_at(self._init, "mcp_servers"))
        servers = tuple(
            ObservedServer(name=name, state=state or "unknown") for name, state in named if name is not None
        )
        return ObservedSetup(
            skills=names_at(self._init, "skills"),
            skills_used=skills_used,
            mcp_servers=servers if "mcp_servers" in self._init else None,
            tools=names_at(self._init, "tools"),
            memory_files=None,
            seen_by=("init event", "tool calls"),
            agents=names_at(self._init, "agents"),
            commands=names_at(self._init, "slash_commands"),
        )


def _usage(counts: JsonObject) -> Usage:
    """Usage under Claude Code's keys, with cache reads included in the input. Cache writes are not reported."""
    read = count_at(counts, "cache_read_input_tokens")
    return Usage(
        input_tokens=subtract_counts(count_at(counts, "input_tokens"), read),
        output_tokens=count_at(counts, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=None,
    )


def _usage_by_model(result: JsonObject) -> dict[str, Usage]:
    """Usage by model, which covers sub-agents and side requests. Thoughts are included in `candidates`."""
    return {
        model: Usage(
            input_tokens=subtract_counts(count_at(of, "tokens", "prompt"), count_at(of, "tokens", "cached")),
            output_tokens=count_at(of, "tokens", "candidates"),
            cache_read_tokens=count_at(of, "tokens", "cached"),
            cache_write_tokens=None,
        )
        for model, of in dict_at(result, "stats", "models").items()
    }


def _request_count(result: JsonObject) -> int | None:
    counts = [dict_at(of, "api") for of in dict_at(result, "stats", "models").values()]
    return add_counts(*(subtract_counts(count_at(of, "totalRequests"), count_at(of, "totalErrors")) for of in counts))


def _metrics(counts: JsonObject) -> AtifMetrics:
    return AtifMetrics(
        prompt_tokens=count_at(counts, "input_tokens"),
        completion_tokens=count_at(counts, "output_tokens"),
        cached_tokens=count_at(counts, "cache_read_input_tokens"),
    )


def _failure(result: JsonObject) -> Failure | None:
    words = str_at(result, "result") or str_at(result, "error", "message") or ""
    if words.startswith(_API_ERROR):
        return failure_from_text(words, otherwise=FailureKind.SERVER_ERROR)
    if not bool_at(result, "is_error"):
        return None
    kind = _BY_SUBTYPE.get(str_at(result, "subtype") or "")
    return make_failure(kind, words) if kind is not None else failure_from_text(words, otherwise=FailureKind.CRASH)


def _denials(result: JsonObject) -> tuple[str, ...]:
    tools = [name_at(denial, "tool_name") or "a tool" for denial in dicts_at(result, "permission_denials")]
    return (f"not permitted and so not done: {', '.join(tools)}",) if tools else ()


class QwenCodeAgent(CommandLineAgent):
    """Reads skills from `.qwen/skills`, instructions from `QWEN.md`, settings from `.qwen/settings.json`."""

    name = "qwen-code"
    program = "qwen"
    install = "npm install -g @qwen-code/qwen-code"
    options = TurnOptions
    tool_forms = ("mcp__{server}__{tool}",)
    needs_model = True
    ignores_no_proxy = True
    bypass_variables = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
    keys = ("OPENAI_API_KEY",)
    login_files = (".qwen/oauth_creds.json",)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - the base class's signature
        """The provider, which is always the same."""
        return "openai"

    def launch(self, request: AttemptRequest, home: str) -> Launch:  # noqa: ARG002 - the base class's signature
        """`qwen` with the prompt on standard input and events on standard output."""
        access, turns, reader = request.model_access, self.options_of(request.arm).max_turns, QwenCodeReader()
        return Launch(
            arguments=(
                *("--output-format", "stream-json", "--yolo", "--auth-type", "openai"),
                *("--model", request.arm.model or ""),
                *(() if turns is None else ("--max-session-turns", str(turns))),
            ),
            stdin=build_prompt(request).encode(),
            on_output=reader.feed,
            report=lambda _: reader.report(),
            files={".qwen/settings.json": msgspec.json.encode(_settings(request, self.secrets_of_servers(request)))},
            exit_codes=FATAL_EXIT_CODES,
            report_scope=ReportScope.TOTALS,
            gateway_variables={}
            if access is None
            else {"OPENAI_BASE_URL": f"{access.base_url}/v1", "OPENAI_API_KEY": access.key},
        )

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:
        """`qwen --resume` with what the user says on standard input."""
        first = self.launch(request, home)
        return replace(first, arguments=(*first.arguments, "--resume", session), stdin=message.encode())


def _settings(request: AttemptRequest, secrets: tuple[str, ...]) -> dict[str, Any]:
    return {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
        "mcpServers": mcp_server_settings(request.arm, secrets),
    }
