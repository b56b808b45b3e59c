"""What qwen-code writes: `--output-format stream-json` (one event per line) or `json` (all of them in one array).

The shape is Claude Code's, the meaning is not: input includes what the cache held, and a request that failed ends in
`subtype: success`, `is_error: false` and exit code 0; only the result's own words tell.
"""

from outweigh.record.loaded import Loaded, LoadedServer
from outweigh.record.usage import Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifMetrics
from outweigh.transcript.event_reader import EventReader, ended
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.failure_text import exit_code_told, failure_of_text
from outweigh.transcript.fields import (
    as_text,
    at,
    count_at,
    flag_at,
    name_at,
    names_at,
    seconds_at,
    table_at,
    tables_at,
    text_at,
)
from outweigh.transcript.foreign import total_usage
from outweigh.transcript.json_lines import Event
from outweigh.transcript.skill_use import used_skills
from outweigh.transcript.step_list import StepList
from outweigh.transcript.token_counts import is_empty, together, unless_empty, without

API_ERROR = "[API Error: "
_BY_SUBTYPE = {"error_max_turns": FailureKind.TURN_LIMIT}


class QwenCodeReader(EventReader):
    """Reads the output of one `qwen -p`, in either format."""

    def __init__(self) -> None:
        super().__init__()
        self._init: Event = {}
        self._result: Event | None = None
        self._usage_of: dict[str, Usage] = {}
        self._steps = StepList()

    def _take(self, event: Event) -> None:
        match text_at(event, "type"), text_at(event, "subtype"):
            case "system", "init":
                self._init = event
            case "assistant", _:
                self._assistant(table_at(event, "message"), name_at(event, "parent_tool_use_id"))
            case "user", _:
                self._user(table_at(event, "message"))
            case "result", _:
                self._result = event

    def _assistant(self, message: Event, sub_agent: str | None) -> None:
        self._steps.close()
        for block in tables_at(message, "content"):
            match text_at(block, "type"):
                case "text":
                    self._steps.say(text_at(block, "text") or "")
                case "thinking":
                    self._steps.think(text_at(block, "thinking") or "")
                case "tool_use":
                    call_id, tool = text_at(block, "id") or "unknown", name_at(block, "name") or "unknown"
                    self._steps.call(call_id, tool, table_at(block, "input"))
        counts = table_at(message, "usage")
        self._usage_of[text_at(message, "id") or f"unnamed {len(self._usage_of)}"] = _usage(counts)
        self._steps.note(model=name_at(message, "model"), metrics=_metrics(counts), sub_agent=sub_agent)

    def _user(self, message: Event) -> None:
        """Results of tools. A command that failed is no error for qwen-code; its output tells otherwise."""
        content = at(message, "content")
        if isinstance(content, str):
            self._steps.add("user", content)
        for block in tables_at(message, "content"):
            if text_at(block, "type") == "tool_result":
                output = as_text(at(block, "content"))
                failed = flag_at(block, "is_error") or bool(exit_code_told(output))
                self._steps.result(text_at(block, "tool_use_id") or "unknown", output, failed)
            else:
                self._steps.add("user", text_at(block, "text") or "")

    def _summary(self, warnings: tuple[str, ...]) -> AgentReport:
        steps, result = self._steps.steps(), self._result or {}
        by_model = _usage_by_model(result)
        answers = [usage for usage in self._usage_of.values() if not is_empty(usage)]
        totals = [_usage(table_at(result, "usage"))] if self._result else answers
        return AgentReport(
            version=name_at(self._init, "qwen_code_version"),
            model=name_at(self._init, "model"),
            session_id=name_at(self._init, "session_id") or name_at(result, "session_id"),
            usage=unless_empty(total_usage(list(by_model.values()) or totals)),
            usage_by_model={model: usage for model, usage in by_model.items() if not is_empty(usage)},
            cost_usd=None,
            duration_seconds=seconds_at(result, "duration_ms"),
            step_count=self._steps.agent_step_count,
            tool_call_count=self._steps.tool_call_count,
            request_count=_request_count(result) if by_model else len(answers),
            finished=self._result is not None,
            failure=ended(self._result is not None, _failure(result)),
            final_text=text_at(result, "result"),
            steps=steps,
            loaded=self._loaded(used_skills(steps)) if self._init else None,
            warnings=(*warnings, *_denials(result), *self._steps.warnings()),
        )

    def _loaded(self, skills_used: tuple[str, ...]) -> Loaded:
        named = ((name_at(each, "name"), text_at(each, "status")) for each in tables_at(self._init, "mcp_servers"))
        servers = tuple(LoadedServer(name=name, state=state or "unknown") for name, state in named if name is not None)
        return Loaded(
            skills=names_at(self._init, "skills"),
            skills_used=skills_used,
            mcp_servers=servers if "mcp_servers" in self._init else None,
            tools=names_at(self._init, "tools"),
            memory_files=None,
            seen_by=("init event", "tool calls"),
        )


def _usage(counts: Event) -> Usage:
    """Claude Code's keys, with the cache within input. Nothing is said about what is written to it."""
    read = count_at(counts, "cache_read_input_tokens")
    return Usage(
        input_tokens=without(count_at(counts, "input_tokens"), read),
        output_tokens=count_at(counts, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=None,
    )


def _usage_by_model(result: Event) -> dict[str, Usage]:
    """The array's figures by model, which cover sub-agents and side requests too. Thoughts are within candidates."""
    return {
        model: Usage(
            input_tokens=without(count_at(of, "tokens", "prompt"), count_at(of, "tokens", "cached")),
            output_tokens=count_at(of, "tokens", "candidates"),
            cache_read_tokens=count_at(of, "tokens", "cached"),
            cache_write_tokens=None,
        )
        for model, of in table_at(result, "stats", "models").items()
    }


def _request_count(result: Event) -> int | None:
    counts = [table_at(of, "api") for of in table_at(result, "stats", "models").values()]
    return together(*(without(count_at(of, "totalRequests"), count_at(of, "totalErrors")) for of in counts))


def _metrics(counts: Event) -> AtifMetrics:
    return AtifMetrics(
        prompt_tokens=count_at(counts, "input_tokens"),
        completion_tokens=count_at(counts, "output_tokens"),
        cached_tokens=count_at(counts, "cache_read_input_tokens"),
    )


def _failure(result: Event) -> Failure | None:
    words = text_at(result, "result") or text_at(result, "error", "message") or ""
    if words.startswith(API_ERROR):
        return failure_of_text(words, otherwise=FailureKind.SERVER_ERROR)
    if not flag_at(result, "is_error"):
        return None
    kind = _BY_SUBTYPE.get(text_at(result, "subtype") or "")
    return failure(kind, words) if kind is not None else failure_of_text(words, otherwise=FailureKind.CRASH)


def _denials(result: Event) -> tuple[str, ...]:
    tools = [name_at(denial, "tool_name") or "a tool" for denial in tables_at(result, "permission_denials")]
    return (f"not permitted and so not done: {', '.join(tools)}",) if tools else ()
