"""What an agent said and did, as plain text for a judge: its own steps, without what its set-up told it."""

from collections.abc import Iterable, Iterator

import msgspec

from outweigh.errors import EvidenceError
from outweigh.record.trajectory import Source, Step
from outweigh.transcript.atif import AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.atif_file import read_trajectory
from outweigh.transcript.content_text import content_text

_MOST_OF_A_RESULT = 2_000
_MOST_OF_A_CALL = 2_000


def conversation_of_trajectory(content: bytes) -> str | None:
    """The agent's steps of a kept trajectory; None where it cannot be read.

    System and user steps are left out: they hold the arm's own words, and would give it away.
    """
    try:
        steps = read_trajectory(content).steps
    except EvidenceError:
        return None
    return "\n\n".join("\n".join(_step(step)) for step in steps if step.source == "agent")


def conversation_of_steps(steps: Iterable[Step]) -> str:
    """The short steps of a record, where nothing longer was kept."""
    own = (step for step in steps if step.source is Source.AGENT)
    return "\n\n".join("\n".join(filter(None, (step.message, *_names(step)))) for step in own)


def _step(step: AtifStep) -> Iterator[str]:
    said = content_text(step.message).strip()
    if said:
        yield said
    for call in step.tool_calls or ():
        yield f"→ {call.function_name} {_shortened(_arguments(call), _MOST_OF_A_CALL)}"
    for result in () if step.observation is None else step.observation.results:
        yield f"← {_shortened(_result(result), _MOST_OF_A_RESULT)}"


def _arguments(call: AtifToolCall) -> str:
    return msgspec.json.encode(call.arguments, order="sorted").decode()


def _result(result: AtifResult) -> str:
    return "" if result.content is None else content_text(result.content).strip()


def _names(step: Step) -> Iterator[str]:
    yield from (f"→ {call.name}" for call in step.tool_calls)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [… {len(text) - limit:,} characters left out …]"
