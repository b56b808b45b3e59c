"""A step of a run as HTML, and the names by which the long texts of a run have pages of their own."""

from collections.abc import Callable, Iterator

import msgspec

from outweigh.model.usage import Usage
from outweigh.report.formatting import format_count, format_dollars
from outweigh.report.run_diff import ComparedRun
from outweigh.report.run_steps import ShownCall, ShownStep
from outweigh.web.markup import Child, Html, element, escape_lines, join_markup

PATCH_TEXT = "patch"


def step_text_name(number: int, part: str) -> str:
    """The name of a text of a step: its message, reasoning or output, or `call-1-output`."""
    return f"{number}.{part}"


def find_text(side: ComparedRun, name: str) -> str | None:
    """The whole text of that name; None where there is none."""
    if name == PATCH_TEXT:
        return side.patch
    number, _, part = name.partition(".")
    step = next((each for each in side.steps or () if str(each.number) == number), None)
    return None if step is None else _step_part(step, part)


def _step_part(step: ShownStep, part: str) -> str | None:
    if part in ("message", "reasoning", "output"):
        found: str | None = getattr(step, part)
        return found
    for place, call in enumerate(step.calls, start=1):
        if part == f"call-{place}-arguments":
            return call.arguments
        if part == f"call-{place}-output":
            return call.output
    return None


MAX_SHOWN_CHARACTERS = 4_000
"""Of a longer text the beginning is shown, with a link to the whole."""

TextAddress = Callable[[str], str]
"""Where the whole text of a name is."""


def render_step(step: ShownStep, place: str, whole: TextAddress) -> Html:
    """Everything about a step; `place` is its own address."""
    return join_markup((_head(step, place), *_parts(step, whole)))


def render_long_text(words: str, name: str, whole: TextAddress, kind: str) -> Html:
    """A text of many lines, cut where it is long."""
    cut = words[:MAX_SHOWN_CHARACTERS]
    more = (
        element("a", f"All {len(words):,} characters", href=whole(name), class_="more")
        if len(words) > len(cut)
        else None
    )
    return join_markup((element("pre", escape_lines(cut), class_=f"words {kind}", tabindex="0"), more))


def _head(step: ShownStep, place: str) -> Html:
    facts = [step.at, _tokens(step.usage), None if step.cost_usd is None else format_dollars(step.cost_usd)]
    told = " · ".join(fact for fact in facts if fact)
    return element(
        "p",
        element("a", f"{step.number}", href=place, class_="number", aria_label=f"Step {step.number}"),
        element("b", step.source),
        element("span", told, class_="quiet") if told else None,
        class_="step-head",
    )


def _tokens(usage: Usage | None) -> str | None:
    """The kinds that are known, each by itself: a step's sum is rarely known."""
    if usage is None:
        return None
    kinds = (
        ("in", usage.input_tokens),
        ("cached", usage.cache_read_tokens),
        ("to cache", usage.cache_write_tokens),
        ("out", usage.output_tokens),
    )
    told = ", ".join(f"{format_count(tokens)} {kind}" for kind, tokens in kinds if tokens is not None)
    return f"tokens: {told}" if told else None


def _parts(step: ShownStep, whole: TextAddress) -> Iterator[Child]:
    if step.reasoning:
        inner = render_long_text(step.reasoning, step_text_name(step.number, "reasoning"), whole, "reasoning")
        yield element("details", element("summary", "Reasoning"), inner)
    if step.message:
        yield render_long_text(step.message, step_text_name(step.number, "message"), whole, "message")
    for place, call in enumerate(step.calls, start=1):
        yield _call(step, call, place, whole)
    if step.output:
        yield render_long_text(step.output, step_text_name(step.number, "output"), whole, "output")


def _call(step: ShownStep, call: ShownCall, place: int, whole: TextAddress) -> Html:
    said = {True: "succeeded", False: "failed", None: ""}[call.succeeded]
    name = step_text_name(step.number, f"call-{place}")
    return element(
        "div",
        element(
            "p",
            "→ ",
            element("code", call.tool),
            element("span", f" {said}", class_="bad" if call.succeeded is False else "quiet") if said else None,
        ),
        render_long_text(format_arguments(call.arguments), f"{name}-arguments", whole, "arguments")
        if call.arguments
        else None,
        render_long_text(call.output, f"{name}-output", whole, "output") if call.output else None,
        class_="call",
    )


def format_arguments(arguments: str) -> str:
    """A single argument is shown as it is; several as indented JSON."""
    if len(arguments) > 10 * MAX_SHOWN_CHARACTERS:
        return arguments
    found = msgspec.json.decode(arguments)
    if isinstance(found, dict) and len(found) == 1 and isinstance(only := next(iter(found.values())), str):
        return f"{next(iter(found))}: {only}"
    return msgspec.json.format(arguments, indent=2)
