"""Converts the steps of a trajectory to the bounded steps of a run record; long texts are kept as artifacts."""

from collections.abc import Sequence

from outweigh.model.run_record import Step, StepSource, ToolCall
from outweigh.model.untrusted_json import as_amount
from outweigh.transcript.atif import AtifStep, content_text, usage_from_metrics
from outweigh.transcript.tool_calls import call_outcomes, steps_without_copies

STEP_LIMIT = 300
"""Of a longer run the first and the last half of this many steps are kept; the indices show the gap."""

CALL_LIMIT = 1000
"""At most this many tool calls are kept, the earliest; a record has their total number, too."""

EXCERPT_LENGTH = 160
NAME_LENGTH = 100


def record_steps(steps: Sequence[AtifStep]) -> tuple[Step, ...]:
    """The steps that a record keeps of a trajectory, bounded so that the record's line stays small."""
    own = steps_without_copies(steps)
    half = STEP_LIMIT // 2
    kept = own if len(own) <= STEP_LIMIT else (*own[:half], *own[-half:])
    remaining_calls = CALL_LIMIT
    found = []
    for step in kept:
        calls = _calls(step)[:remaining_calls]
        remaining_calls -= len(calls)
        found.append(_step(step, calls))
    return tuple(found)


def _step(step: AtifStep, calls: tuple[ToolCall, ...]) -> Step:
    metrics = step.metrics
    return Step(
        index=step.step_id,
        source=StepSource(step.source),
        message=_excerpt(content_text(step.message)),
        tool_calls=calls,
        usage=None if metrics is None else usage_from_metrics(metrics),
        cost_usd=None if metrics is None else as_amount(metrics.cost_usd),
        duration_seconds=None,
    )


def _calls(step: AtifStep) -> tuple[ToolCall, ...]:
    outcomes = call_outcomes(step)
    return tuple(
        ToolCall(name=_printable(call.function_name[:NAME_LENGTH]) or "unnamed", succeeded=outcomes[call.tool_call_id])
        for call in step.tool_calls or ()
    )


def _excerpt(message: str) -> str | None:
    """The beginning of a message on one line; None where it is empty."""
    text = " ".join(_printable(message[: 10 * EXCERPT_LENGTH]).split())
    if not text:
        return None
    return text if len(text) <= EXCERPT_LENGTH else text[: EXCERPT_LENGTH - 1] + "…"


def _printable(text: str) -> str:
    """The text without control characters, which could affect a terminal and take six bytes each in a record."""
    return "".join(character if character.isprintable() else " " for character in text)
