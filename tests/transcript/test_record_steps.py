"""What a record keeps of a trajectory: enough to see what happened, and never too much to be read back."""

from typing import Any

import msgspec

from outweigh.model.codec import RECORD_LINE_LIMIT
from outweigh.model.run_record import Step, StepSource, ToolCall
from outweigh.model.usage import Usage
from outweigh.transcript.atif import AtifMetrics, AtifObservation, AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.record_steps import CALL_LIMIT, EXCERPT_LENGTH, STEP_LIMIT, record_steps


def step(number: int = 1, message: str = "", calls: tuple[str, ...] = (), **fields: Any) -> AtifStep:
    made = tuple(
        AtifToolCall(tool_call_id=f"c{place}", function_name=name, arguments={}) for place, name in enumerate(calls)
    )
    return AtifStep(step_id=number, source="agent", message=message, tool_calls=made or None, **fields)


def results(*outcomes: bool | None) -> AtifObservation:
    return AtifObservation(
        results=tuple(
            AtifResult(source_call_id=f"c{place}", extra=None if failed is None else {"is_error": failed})
            for place, failed in enumerate(outcomes)
        )
    )


def test_a_step_keeps_who_spoke_what_was_called_and_what_it_took() -> None:
    metrics = AtifMetrics(prompt_tokens=100, completion_tokens=7, cached_tokens=60, cost_usd=0.5)

    (kept,) = record_steps([step(3, "Hello.", ("Bash", "Read"), metrics=metrics, observation=results(True, False))])

    assert kept == Step(
        index=3,
        source=StepSource.AGENT,
        message="Hello.",
        tool_calls=(ToolCall(name="Bash", succeeded=False), ToolCall(name="Read", succeeded=True)),
        usage=Usage(input_tokens=40, output_tokens=7, cache_read_tokens=60, cache_write_tokens=None),
        cost_usd=0.5,
        duration_seconds=None,
    )


def test_an_outcome_that_nobody_told_is_unknown() -> None:
    (kept,) = record_steps([step(calls=("Bash", "Read"), observation=results(None))])

    assert [call.succeeded for call in kept.tool_calls] == [None, None]


def test_a_message_is_a_short_line() -> None:
    long, blank, blocks = record_steps(
        [step(1, "a\n\tb  c " + "x" * 500), step(2, " \n"), AtifStep(step_id=3, source="user", message=[{"text": "t"}])]
    )

    assert long.message is not None
    assert long.message.startswith("a b c xxx")
    assert long.message.endswith("…")
    assert len(long.message) == EXCERPT_LENGTH
    assert blank.message is None
    assert blocks.message == "t"


def test_what_could_steer_a_terminal_is_not_kept() -> None:
    (kept,) = record_steps([step(1, "\x1b[31mred\x07", ("\x1b[2J",))])

    assert kept.message == "[31mred"
    assert kept.tool_calls[0].name == " [2J"


def test_of_a_long_run_the_beginning_and_the_end_are_kept() -> None:
    kept = record_steps([step(number) for number in range(1, 1001)])

    assert [each.index for each in kept] == [*range(1, 151), *range(851, 1001)]
    assert len(kept) == STEP_LIMIT


def test_steps_that_were_copied_for_context_are_left_out() -> None:
    kept = record_steps([step(1, is_copied_context=True), step(2)])

    assert [each.index for each in kept] == [2]


def test_the_worst_of_runs_still_fits_a_record() -> None:
    wild = [step(number, "\U0001f600" * 10_000, ("\U0001f600" * 600,) * 50) for number in range(1, 1000)]

    kept = record_steps(wild)

    line = msgspec.json.encode(kept)
    assert sum(len(each.tool_calls) for each in kept) == CALL_LIMIT
    assert len(line) < RECORD_LINE_LIMIT * 0.8
    assert msgspec.json.decode(line, type=tuple[Step, ...]) == kept
