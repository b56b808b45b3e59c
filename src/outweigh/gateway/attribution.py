"""Which part of the set-up a request's tokens went to: shares of text, made to add up to the provider's own count."""

from collections.abc import Iterable, Mapping

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Part
from outweigh.record.components import Component, ComponentTokens
from outweigh.record.usage import Usage

Sizes = Mapping[Component, int]


def attribute(parts: Iterable[Part], answer: Answer, *, is_sub_agent: bool) -> tuple[ComponentTokens, ...]:
    """The component ledger of one request; empty where the provider did not say what it took."""
    usage = answer.usage
    total_input = input_total(usage)
    if total_input is None or usage.output_tokens is None:
        return ()
    if is_sub_agent:
        return (_line(Component.SUB_AGENT, total_input, usage.output_tokens),)
    spoken = {Component.ORCHESTRATOR: answer.text_bytes, Component.TOOL_CALL: answer.tool_bytes}
    sent = share_out(total_input, _sizes(parts))
    got = share_out(usage.output_tokens, spoken)
    return tuple(
        _line(component, sent.get(component, 0), got.get(component, 0))
        for component in Component
        if sent.get(component) or got.get(component)
    )


def input_total(usage: Usage) -> int | None:
    """All that was sent: fresh, read from the cache and written to it."""
    sent = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return None if None in sent else sum(tokens or 0 for tokens in sent)


def share_out(total: int, sizes: Sizes) -> dict[Component, int]:
    """Whole tokens in proportion to sizes, by largest remainders, so that they add up to the total exactly.

    What cannot be told apart, because nothing was seen, belongs to the conversation itself.
    """
    whole = sum(sizes.values())
    if whole <= 0:
        return {Component.ORCHESTRATOR: total}
    shared = {component: total * size // whole for component, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda component: (-(total * sizes[component] % whole), component))
    for component in by_remainder[: total - sum(shared.values())]:
        shared[component] += 1
    return shared


def _sizes(parts: Iterable[Part]) -> dict[Component, int]:
    sizes: dict[Component, int] = {}
    for part in parts:
        sizes[part.component] = sizes.get(part.component, 0) + part.size_bytes
    return sizes


def _line(component: Component, sent: int, got: int) -> ComponentTokens:
    return ComponentTokens(component=component, input_tokens=sent, output_tokens=got)
