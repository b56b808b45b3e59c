"""The steps of a run as they are shown: from its stored trajectory, or from the excerpts in its record."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from outweigh.model.run_record import Step
from outweigh.model.untrusted_json import as_amount
from outweigh.model.usage import Usage
from outweigh.transcript.atif import AtifStep, content_text, usage_from_metrics
from outweigh.transcript.tool_calls import call_outcomes

_encoder = msgspec.json.Encoder(order="sorted")


class ShownCall(Struct, frozen=True, kw_only=True):
    """A tool call. `arguments` is JSON with its keys in order; it and `output` are None where nothing was kept."""

    tool: str
    arguments: str | None
    output: str | None
    succeeded: bool | None


class ShownStep(Struct, frozen=True, kw_only=True):
    """One turn. `output` is what came back without naming a call; all texts are whole, as they were kept."""

    number: int
    source: str
    message: str
    reasoning: str | None
    calls: tuple[ShownCall, ...]
    output: str | None
    usage: Usage | None
    cost_usd: float | None
    at: str | None


def steps_of_trajectory(steps: Sequence[AtifStep]) -> tuple[ShownStep, ...]:
    """Steps of a kept trajectory, copied ones too: they are what the agent had before it."""
    return tuple(map(_of_trajectory, steps))


def steps_of_record(steps: Sequence[Step]) -> tuple[ShownStep, ...]:
    """The excerpts that a record holds; nothing is known of what its calls were given and gave."""
    return tuple(map(_of_record, steps))


def _of_trajectory(step: AtifStep) -> ShownStep:
    outputs: dict[str | None, list[str]] = {}
    for result in step.observation.results if step.observation else ():
        outputs.setdefault(result.source_call_id, []).append(content_text(result.content or ""))
    outcomes, metrics = call_outcomes(step), step.metrics
    return ShownStep(
        number=step.step_id,
        source=step.source,
        message=content_text(step.message),
        reasoning=step.reasoning_content,
        calls=tuple(
            ShownCall(
                tool=call.function_name,
                arguments=_encoder.encode(call.arguments).decode(),
                output=_joined(outputs.get(call.tool_call_id)),
                succeeded=outcomes[call.tool_call_id],
            )
            for call in step.tool_calls or ()
        ),
        output=_joined(outputs.get(None)),
        usage=None if metrics is None else usage_from_metrics(metrics),
        cost_usd=None if metrics is None else as_amount(metrics.cost_usd),
        at=step.timestamp,
    )


def _of_record(step: Step) -> ShownStep:
    return ShownStep(
        number=step.index,
        source=step.source.value,
        message=step.message or "",
        reasoning=None,
        calls=tuple(
            ShownCall(tool=call.name, arguments=None, output=None, succeeded=call.succeeded) for call in step.tool_calls
        ),
        output=None,
        usage=step.usage,
        cost_usd=step.cost_usd,
        at=None,
    )


def _joined(texts: list[str] | None) -> str | None:
    return None if texts is None else "\n".join(texts)
