"""A step of a run as markup: what was said, called and answered, and what it cost."""

from collections.abc import Callable, Iterator

import msgspec

from outweigh.record.usage import Usage
from outweigh.report.run_steps import ShownCall, ShownStep
from outweigh.report.wording import count, dollars
from outweigh.web.markup import Child, Html, element, joined, prose
from outweigh.web.run_texts import step_text

MOST_OF_A_TEXT = 4_000
"""Of a longer text the beginning is shown, with a link to the whole."""

TextAddress = Callable[[str], str]
"""Where the whole text of a name is."""


def step_markup(step: ShownStep, place: str, whole: TextAddress) -> Html:
    """Everything about a step; `place` is its own address."""
    return joined((_head(step, place), *_parts(step, whole)))


def long_text(words: str, name: str, whole: TextAddress, kind: str) -> Html:
    """A text of many lines, cut where it is long."""
    cut = words[:MOST_OF_A_TEXT]
    more = (
        element("a", f"All {len(words):,} characters", href=whole(name), class_="more")
        if len(words) > len(cut)
        else None
    )
    return joined((element("pre", prose(cut), class_=f"words {kind}", tabindex="0"), more))


def _head(step: ShownStep, place: str) -> Html:
    facts = [step.at, _tokens(step.usage), None if step.cost_usd is None else dollars(step.cost_usd)]
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
    told = ", ".join(f"{count(tokens)} {kind}" for kind, tokens in kinds if tokens is not None)
    return f"tokens: {told}" if told else None


def _parts(step: ShownStep, whole: TextAddress) -> Iterator[Child]:
    if step.reasoning:
        inner = long_text(step.reasoning, step_text(step.number, "reasoning"), whole, "reasoning")
        yield element("details", element("summary", "Reasoning"), inner)
    if step.message:
        yield long_text(step.message, step_text(step.number, "message"), whole, "message")
    for place, call in enumerate(step.calls, start=1):
        yield _call(step, call, place, whole)
    if step.output:
        yield long_text(step.output, step_text(step.number, "output"), whole, "output")


def _call(step: ShownStep, call: ShownCall, place: int, whole: TextAddress) -> Html:
    said = {True: "succeeded", False: "failed", None: ""}[call.succeeded]
    name = step_text(step.number, f"call-{place}")
    return element(
        "div",
        element(
            "p",
            "→ ",
            element("code", call.tool),
            element("span", f" {said}", class_="bad" if call.succeeded is False else "quiet") if said else None,
        ),
        long_text(readable(call.arguments), f"{name}-arguments", whole, "arguments") if call.arguments else None,
        long_text(call.output, f"{name}-output", whole, "output") if call.output else None,
        class_="call",
    )


def readable(arguments: str) -> str:
    """A single argument is shown as it is; several as indented JSON."""
    if len(arguments) > 10 * MOST_OF_A_TEXT:
        return arguments
    found = msgspec.json.decode(arguments)
    if isinstance(found, dict) and len(found) == 1 and isinstance(only := next(iter(found.values())), str):
        return f"{next(iter(found))}: {only}"
    return msgspec.json.format(arguments, indent=2)
