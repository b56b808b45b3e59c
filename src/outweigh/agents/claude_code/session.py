"""Reads Claude Code's session files, `projects/<folder>/<session>.jsonl`, for runs whose output was not captured."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from outweigh.agents.claude_code.messages import ClaudeCodeConversation, ClaudeCodeTurn
from outweigh.agents.claude_code.result_event import failure_from_message, read_totals
from outweigh.agents.claude_code.stream import READING_TOOLS
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.json_text import JsonLineDecoder
from outweigh.model.untrusted_json import as_amount, as_dict, as_list, as_name, as_str
from outweigh.model.usage import sum_usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.tool_calls import setup_from_calls

SessionEvent = Mapping[str, Any]


def read_claude_session(*files: bytes) -> AgentReport:
    """The report of one session: its own file first, then those of its sub-agents, if any.

    A session file has no result event. It is finished when its last message is the agent's and no tool call is open.
    Newer versions end it with totals; otherwise the messages are summed, each counted once with its last usage.
    """
    read = [JsonLineDecoder() for _ in files]
    events = _sort_events([[*lines.feed(file), *lines.finish()] for lines, file in zip(read, files, strict=True)])
    conversation = ClaudeCodeConversation()
    starts = _calls_that_started(events)
    for event in events:
        for message, sub_agent in _messages(event):
            conversation.add(message, starts.get(sub_agent or "", sub_agent))
    return _report(events, conversation, tuple(chain.from_iterable(lines.warnings() for lines in read)))


def _report(events: list[SessionEvent], conversation: ClaudeCodeConversation, faults: tuple[str, ...]) -> AgentReport:
    steps = conversation.steps()
    answers = conversation.answers
    metered = [turn for turn in answers if turn.usage is not None]
    by_model = conversation.usage_by_model(settled=False)
    usage, cost = sum_usage(list(by_model.values())), None
    state = next((event for event in reversed(events) if event.get("type") == "cost-state"), {})
    stated = read_totals(state)
    if stated.by_model:
        usage, by_model, cost = stated.usage, stated.by_model, as_amount(state.get("totalCostUSD"))
    failed = _failure(conversation.last)
    setup = setup_from_calls(steps, READING_TOOLS)
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
        loaded=setup if setup.skills_used else None,
        warnings=(*faults, *conversation.warnings(), *_warnings(() if stated.by_model else metered, state)),
        billed=conversation.bills(),
    )


def _sort_events(files: list[list[SessionEvent]]) -> list[SessionEvent]:
    """The events of one file in order, of several files by time; a line without a time stays after its predecessor."""
    if len(files) == 1:
        return files[0]
    timed: list[tuple[str, SessionEvent]] = []
    for events in files:
        latest = ""
        for event in events:
            latest = as_str(event.get("timestamp")) or latest
            timed.append((latest, event))
    return [event for _, event in sorted(timed, key=lambda pair: pair[0])]


def _messages(event: SessionEvent) -> Iterator[tuple[SessionEvent, str | None]]:
    """The message of a line with its sub-agent; older versions wrap messages of sub-agents."""
    match event.get("type"):
        case "assistant" | "user":
            side = event.get("isSidechain") is True
            yield event, (as_name(event.get("agentId")) or "sidechain") if side else None
        case "progress" if as_dict(event.get("data")).get("type") == "agent_progress":
            inner = as_dict(as_dict(event.get("data")).get("message"))
            if inner.get("type") in ("assistant", "user"):
                yield inner, as_name(event.get("parentToolUseID"))


def _calls_that_started(events: Iterable[SessionEvent]) -> dict[str, str]:
    """Which tool call started which sub-agent."""
    found = {}
    for event in events:
        agent = as_name(as_dict(event.get("toolUseResult")).get("agentId"))
        for block in as_list(as_dict(event.get("message")).get("content")):
            call = as_name(as_dict(block).get("tool_use_id"))
            if agent is not None and call is not None:
                found[agent] = call
    return found


def _failure(last: ClaudeCodeTurn | None) -> Failure | None:
    if last is None:
        return make_failure(FailureKind.NO_RESULT, "the session holds no message")
    if last.is_error:
        return failure_from_message("\n".join(last.texts), None, None)
    if last.source != "agent" or last.waits_for_tools:
        return make_failure(FailureKind.NO_RESULT, "the session breaks off before the agent's last message")
    return None


def _warnings(counted: Sequence[ClaudeCodeTurn], state: SessionEvent) -> Iterator[str]:
    unended = sum(turn.stop_reason is None for turn in counted)
    if unended:
        yield f"output tokens are too low: {unended:,} of {len(counted):,} messages were written before they had ended"
    if state.get("hasUnknownModelCost") is True:
        yield "the dollar figure is a guess: Claude Code does not know the price of every model"


def _first_name(events: Iterable[SessionEvent], key: str) -> str | None:
    return next((found for event in events if (found := as_name(event.get(key))) is not None), None)
