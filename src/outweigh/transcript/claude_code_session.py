"""Claude Code's session files, `projects/<folder>/<session>.jsonl`: what is left of a run nobody listened to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from outweigh.record.loaded import Loaded
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.claude_code_conversation import Conversation
from outweigh.transcript.claude_code_failure import failure_of_words
from outweigh.transcript.claude_code_loaded import used_skills
from outweigh.transcript.claude_code_result import totals
from outweigh.transcript.claude_code_turn import Turn
from outweigh.transcript.failure import Failure, FailureKind, failure
from outweigh.transcript.foreign import amount, mapping, name, sequence, text, total_usage
from outweigh.transcript.json_lines import JsonLines

Event = Mapping[str, Any]


def read_claude_session(*files: bytes) -> AgentReport:
    """The report of one session: its own file first, then those of its sub-agents, if any.

    A session file has no result. It has finished when its last word is the agent's and no tool is waited for. Newer
    versions end it with totals of everything; before, the messages add up, each counted once with its last usage.
    """
    read = [JsonLines() for _ in files]
    events = _in_order([[*lines.feed(file), *lines.rest()] for lines, file in zip(read, files, strict=True)])
    conversation = Conversation()
    starts = _calls_that_started(events)
    for event in events:
        for message, sub_agent in _messages(event):
            conversation.add(message, starts.get(sub_agent or "", sub_agent))
    return _report(events, conversation, tuple(chain.from_iterable(lines.warnings() for lines in read)))


def _report(events: list[Event], conversation: Conversation, faults: tuple[str, ...]) -> AgentReport:
    steps = conversation.steps()
    answers = conversation.answers
    metered = [turn for turn in answers if turn.usage is not None]
    by_model = conversation.usage_by_model(settled=False)
    usage, cost = total_usage(list(by_model.values())), None
    state = next((event for event in reversed(events) if event.get("type") == "cost-state"), {})
    stated = totals(state)
    if stated.by_model:
        usage, by_model, cost = stated.usage, stated.by_model, amount(state.get("totalCostUSD"))
    failed = _failure(conversation.last)
    skills = used_skills(steps)
    return AgentReport(
        version=_first_name(events, "version"),
        model=next((turn.model for turn in answers if turn.sub_agent is None), None),
        session_id=_first_name(events, "sessionId"),
        usage=usage,
        usage_by_model=by_model,
        cost_usd=cost,
        duration_seconds=None,
        step_count=len(answers),
        tool_call_count=conversation.tool_call_count,
        request_count=None if stated.by_model else len(metered),
        finished=failed is None,
        failure=failed,
        final_text="\n".join(conversation.last.texts) if conversation.last and failed is None else None,
        steps=steps,
        loaded=_loaded(skills) if skills else None,
        warnings=(*faults, *conversation.warnings(), *_doubts(() if stated.by_model else metered, state)),
    )


def _in_order(files: list[list[Event]]) -> list[Event]:
    """One file as it is; several by time, each line without one staying behind the line it follows."""
    if len(files) == 1:
        return files[0]
    timed: list[tuple[str, Event]] = []
    for events in files:
        latest = ""
        for event in events:
            latest = text(event.get("timestamp")) or latest
            timed.append((latest, event))
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def _messages(event: Event) -> Iterator[tuple[Event, str | None]]:
    """The message of a line, with the sub-agent that it belongs to: older versions wrap those of sub-agents."""
    match event.get("type"):
        case "assistant" | "user":
            side = event.get("isSidechain") is True
            yield event, (name(event.get("agentId")) or "sidechain") if side else None
        case "progress" if mapping(event.get("data")).get("type") == "agent_progress":
            inner = mapping(mapping(event.get("data")).get("message"))
            if inner.get("type") in ("assistant", "user"):
                yield inner, name(event.get("parentToolUseID"))


def _calls_that_started(events: Iterable[Event]) -> dict[str, str]:
    """Which tool call started which sub-agent."""
    found = {}
    for event in events:
        agent = name(mapping(event.get("toolUseResult")).get("agentId"))
        for block in sequence(mapping(event.get("message")).get("content")):
            call = name(mapping(block).get("tool_use_id"))
            if agent is not None and call is not None:
                found[agent] = call
    return found


def _failure(last: Turn | None) -> Failure | None:
    if last is None:
        return failure(FailureKind.NO_RESULT, "the session holds no message")
    if last.is_error:
        return failure_of_words("\n".join(last.texts), None, None)
    if last.source != "agent" or last.waits_for_tools:
        return failure(FailureKind.NO_RESULT, "the session breaks off before the agent's last word")
    return None


def _doubts(counted: Sequence[Turn], state: Event) -> Iterator[str]:
    unended = sum(turn.stop_reason is None for turn in counted)
    if unended:
        yield f"output tokens are too low: {unended:,} of {len(counted):,} messages were written before they had ended"
    if state.get("hasUnknownModelCost") is True:
        yield "the dollar figure is a guess: Claude Code does not know the price of every model"


def _first_name(events: Iterable[Event], key: str) -> str | None:
    return next((found for event in events if (found := name(event.get(key))) is not None), None)


def _loaded(skills: tuple[str, ...]) -> Loaded:
    return Loaded(
        skills=None, skills_used=skills, mcp_servers=None, tools=None, memory_files=None, seen_by=("tool calls",)
    )
