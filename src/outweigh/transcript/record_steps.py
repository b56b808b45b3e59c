"""From the steps of a trajectory to those of a run record: short, whatever the agent did. Long texts are artifacts."""

from collections.abc import Sequence

from outweigh.model.run_record import Step, StepSource, ToolCall
from outweigh.model.untrusted_json import as_amount
from outweigh.transcript.atif import AtifStep, content_text, usage_from_metrics
from outweigh.transcript.tool_calls import call_outcomes, steps_without_copies

STEP_LIMIT = 300
"""Of a longer run the first and the last half of this many steps are kept; the indices show the gap."""

CALL_LIMIT = 1000
"""So many tool calls are kept at most, the earliest; how many there were is a number of its own in a record."""

EXCERPT_LENGTH = 160
NAME_LENGTH = 100


def record_steps(steps: Sequence[AtifStep]) -> tuple[Step, ...]:
    """What a record keeps of a trajectory: small whatever the agent did, so that the record's line stays readable."""
    own = steps_without_copies(steps)
    half = STEP_LIMIT // 2
    kept = own if len(own) <= STEP_LIMIT else (*own[:half], *own[-half:])
    room = CALL_LIMIT
    found = []
    for step in kept:
        calls = _calls(step)[:room]
        room -= len(calls)
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
    """The beginning on one line; nothing where nothing was said."""
    words = " ".join(_printable(message[: 10 * EXCERPT_LENGTH]).split())
    if not words:
        return None
    return words if len(words) <= EXCERPT_LENGTH else words[: EXCERPT_LENGTH - 1] + "…"


def _printable(words: str) -> str:
    """Without what could steer a terminal; such characters also take six bytes each in a record."""
    return "".join(character if character.isprintable() else " " for character in words)
