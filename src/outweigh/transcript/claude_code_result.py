"""The last event of a Claude Code run: its totals, which are cumulative, so that only the last one counts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.record.usage import Usage
from outweigh.transcript.claude_code_turn import message_usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, total_usage

_NOTHING = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


@dataclass(frozen=True, slots=True)
class ResultTotals:
    """What a `result` event says about tokens. `complete` is whether sub-agents and side requests are in it."""

    usage: Usage
    by_model: dict[str, Usage]
    complete: bool


def totals(result: Mapping[str, Any]) -> ResultTotals:
    """`modelUsage` covers everything; `usage` only the main loop, and is all zeros when an answer was cut off."""
    by_model = {
        model: _model_usage(mapping(raw))
        for model, raw in mapping(result.get("modelUsage")).items()
        if name(model) is not None
    }
    main_loop = message_usage(result.get("usage"))
    if by_model:
        return ResultTotals(total_usage(list(by_model.values())), by_model, complete=True)
    nothing_was_answered = "modelUsage" in result and main_loop == _NOTHING
    return ResultTotals(main_loop, {}, complete=nothing_was_answered)


def result_warnings(result: Mapping[str, Any], read: ResultTotals) -> Iterator[str]:
    """What a result says between the lines."""
    if not read.complete:
        yield "the agent's tokens cover its main loop only, without sub-agents and side requests"
    guessed = sorted(model for model, raw in mapping(result.get("modelUsage")).items() if _is_guess(model, raw))
    if guessed:
        yield f"the dollar figure is a guess: Claude Code knows no price of {', '.join(guessed)}"
    refused = Counter(name(mapping(each).get("tool_name")) or "unknown" for each in _denials(result))
    if refused:
        calls = ", ".join(f"{tool} ({times})" for tool, times in sorted(refused.items()))
        yield f"tool calls were refused for lack of permission: {calls}"
    if result.get("stop_reason") == "refusal":
        yield "the model's last answer was a refusal"


def only_model(read: ResultTotals) -> str | None:
    """The model of the run, where only one was used."""
    return next(iter(read.by_model)) if len(read.by_model) == 1 else None


def cost_usd(result: Mapping[str, Any]) -> float | None:
    """The agent's own dollars."""
    return amount(result.get("total_cost_usd"))


def duration_seconds(result: Mapping[str, Any]) -> float | None:
    """The agent's own time."""
    milliseconds = amount(result.get("duration_ms"))
    return None if milliseconds is None else milliseconds / 1000


def _denials(result: Mapping[str, Any]) -> list[Any]:
    return sequence(result.get("permission_denials"))


def _model_usage(raw: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=count(raw.get("inputTokens")),
        output_tokens=count(raw.get("outputTokens")),
        cache_read_tokens=count(raw.get("cacheReadInputTokens")),
        cache_write_tokens=count(raw.get("cacheCreationInputTokens")),
    )


def _is_guess(model: str, raw: object) -> bool:
    """Newer versions admit it; older ones silently take the price of another model for a name they do not know."""
    basis = mapping(raw).get("costBasis")
    return basis == "unknown" or (basis is None and "claude" not in model.lower())
