"""A step of a run as HTML, and the names under which its long texts have pages of their own."""

from collections.abc import Callable, Iterator

import msgspec

from outweigh.model.usage import Usage
from outweigh.report.formatting import format_count, format_dollars
from outweigh.report.run_diff import ComparedRun
from outweigh.report.run_steps import ShownCall, ShownStep
from outweigh.web.markup import Child, Html, element, escape_lines, join_markup

PATCH_TEXT = "patch"


def step_text_name(number: int, part: str) -> str:
    """The name of a text of a step: its message, reasoning or output, or for example `call-1-output`."""
    return f"{number}.{part}"


def find_text(run: ComparedRun, name: str) -> str | None:
    """The whole text with this name; None if the run has none."""
    if name == PATCH_TEXT:
        return run.patch
    number, _, part = name.partition(".")
    step = next((each for each in run.steps or () if str(each.number) == number), None)
    return None if step is None else _step_part(step, part)


def _step_part(step: ShownStep, part: str) -> str | None:
    if part in ("message", "reasoning", "output"):
        found: str | None = getattr(step, part)
        return found
    for position, call in enumerate(step.calls, start=1):
        if part == f"call-{position}-arguments":
            return call.arguments
        if part == f"call-{position}-output":
            return call.output
    return None


MAX_SHOWN_CHARACTERS = 4_000
"""A longer text is cut, with a link to the page of the whole."""

TextAddress = Callable[[str], str]
"""A function from the name of a text to the address of its page."""


def render_step(step: ShownStep, url: str, text_url: TextAddress) -> Html:
    """Everything about a step; `url` is the step's own address."""
    return join_markup((_head(step, url), *_parts(step, text_url)))


def render_long_text(text: str, name: str, text_url: TextAddress, kind: str) -> Html:
    """A text of many lines, cut if it is long."""
    cut = text[:MAX_SHOWN_CHARACTERS]
    more = (
        element("a", f"All {len(text):,} characters", href=text_url(name), class_="more")
        if len(text) > len(cut)
        else None
    )
    return join_markup((element("pre", escape_lines(cut), class_=f"words {kind}", tabindex="0"), more))


def _head(step: ShownStep, url: str) -> Html:
    facts = [step.at, _tokens(step.usage), None if step.cost_usd is None else format_dollars(step.cost_usd)]
    summary = " · ".join(fact for fact in facts if fact)
    return element(
        "p",
        element("a", f"{step.number}", href=url, class_="number", aria_label=f"Step {step.number}"),
        element("b", step.source),
        element("span", summary, class_="quiet") if summary else None,
        class_="step-head",
    )


def _tokens(usage: Usage | None) -> str | None:
    """The known kinds of tokens, one by one, because their sum is rarely known for a step."""
    if usage is None:
        return None
    kinds = (
        ("in", usage.input_tokens),
        ("cached", usage.cache_read_tokens),
        ("to cache", usage.cache_write_tokens),
        ("out", usage.output_tokens),
    )
    summary = ", ".join(f"{format_count(tokens)} {kind}" for kind, tokens in kinds if tokens is not None)
    return f"tokens: {summary}" if summary else None


def _parts(step: ShownStep, text_url: TextAddress) -> Iterator[Child]:
    if step.reasoning:
        inner = render_long_text(step.reasoning, step_text_name(step.number, "reasoning"), text_url, "reasoning")
        yield element("details", element("summary", "Reasoning"), inner)
    if step.message:
        yield render_long_text(step.message, step_text_name(step.number, "message"), text_url, "message")
    for position, call in enumerate(step.calls, start=1):
        yield _call(step, call, position, text_url)
    if step.output:
        yield render_long_text(step.output, step_text_name(step.number, "output"), text_url, "output")


def _call(step: ShownStep, call: ShownCall, position: int, text_url: TextAddress) -> Html:
    outcome = {True: "succeeded", False: "failed", None: ""}[call.succeeded]
    name = step_text_name(step.number, f"call-{position}")
    return element(
        "div",
        element(
            "p",
            "→ ",
            element("code", call.tool),
            element("span", f" {outcome}", class_="bad" if call.succeeded is False else "quiet") if outcome else None,
        ),
        render_long_text(format_arguments(call.arguments), f"{name}-arguments", text_url, "arguments")
        if call.arguments
        else None,
        render_long_text(call.output, f"{name}-output", text_url, "output") if call.output else None,
        class_="call",
    )


def format_arguments(arguments: str) -> str:
    """A single argument as plain text, several as indented JSON."""
    if len(arguments) > 10 * MAX_SHOWN_CHARACTERS:
        return arguments
    found = msgspec.json.decode(arguments)
    if isinstance(found, dict) and len(found) == 1 and isinstance(only := next(iter(found.values())), str):
        return f"{next(iter(found))}: {only}"
    return msgspec.json.format(arguments, indent=2)
