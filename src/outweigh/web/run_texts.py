"""The long texts of a run by name, so that each can be a page of its own."""

from outweigh.report.run_diff.run_diff import RunSide
from outweigh.report.run_steps import ShownStep

PATCH = "patch"


def step_text(number: int, part: str) -> str:
    """The name of a text of a step: its message, reasoning or output, or `call-1-output`."""
    return f"{number}.{part}"


def named_text(side: RunSide, name: str) -> str | None:
    """The whole text of that name; None where there is none."""
    if name == PATCH:
        return side.patch
    number, _, part = name.partition(".")
    step = next((each for each in side.steps or () if str(each.number) == number), None)
    return None if step is None else _part(step, part)


def _part(step: ShownStep, part: str) -> str | None:
    if part in ("message", "reasoning", "output"):
        found: str | None = getattr(step, part)
        return found
    for place, call in enumerate(step.calls, start=1):
        if part == f"call-{place}-arguments":
            return call.arguments
        if part == f"call-{place}-output":
            return call.output
    return None
