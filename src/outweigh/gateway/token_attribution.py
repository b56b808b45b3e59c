"""Which component a request's tokens went to: markers of the arm's set-up that are found in it, sub-agents recognised
by their first messages, and shares of text that add up to the provider's own count.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse, RequestPart
from outweigh.model.usage import Component, ComponentTokens, Usage
from outweigh.ports.gateways import ArmMarker

ComponentSizes = Mapping[Component, int]


def attribute_tokens(
    parts: Iterable[RequestPart], response: GenerationResponse, *, is_sub_agent: bool
) -> tuple[ComponentTokens, ...]:
    """The component ledger of one request; empty where the provider did not say what it took."""
    usage = response.usage
    total_input = total_input_tokens(usage)
    if total_input is None or usage.output_tokens is None:
        return ()
    if is_sub_agent:
        return (_component_tokens(_role(parts), total_input, usage.output_tokens),)
    generated = {Component.ORCHESTRATOR: response.text_bytes, Component.TOOL_CALL: response.tool_bytes}
    sent = apportion_tokens(total_input, _sum_sizes(parts))
    got = apportion_tokens(usage.output_tokens, generated)
    return tuple(
        _component_tokens(component, sent.get(component, 0), got.get(component, 0))
        for component in Component
        if sent.get(component) or got.get(component)
    )


def _role(parts: Iterable[RequestPart]) -> Component:
    """What a sub-agent is for: a monitor or an evaluator where its request contains the prompt of one."""
    found = {part.component for part in parts}
    return next((role for role in (Component.MONITOR, Component.EVALUATOR) if role in found), Component.SUB_AGENT)


def total_input_tokens(usage: Usage) -> int | None:
    """All input tokens: fresh, read from the cache and written to it."""
    sent = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return None if None in sent else sum(tokens or 0 for tokens in sent)


def apportion_tokens(total: int, sizes: ComponentSizes) -> dict[Component, int]:
    """Whole tokens in proportion to sizes, by largest remainders, so that they add up to the total exactly.

    Without sizes to go by, all tokens belong to the conversation itself.
    """
    whole = sum(sizes.values())
    if whole <= 0:
        return {Component.ORCHESTRATOR: total}
    shared = {component: total * size // whole for component, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda component: (-(total * sizes[component] % whole), component))
    for component in by_remainder[: total - sum(shared.values())]:
        shared[component] += 1
    return shared


def _sum_sizes(parts: Iterable[RequestPart]) -> dict[Component, int]:
    sizes: dict[Component, int] = {}
    for part in parts:
        sizes[part.component] = sizes.get(part.component, 0) + part.size_bytes
    return sizes


def _component_tokens(component: Component, sent: int, got: int) -> ComponentTokens:
    return ComponentTokens(component=component, input_tokens=sent, output_tokens=got)


MAX_SEARCHED_TEXTS = 20_000
"""Texts of one run whose search results are kept: a conversation sends its whole history with every request."""

MAX_SEARCHED_LENGTH = 1 << 20
"""How much of one text is searched, in characters: far more than any part of a set-up has before its own end."""

_GAP = "\0"
"""Replaces a marker that was found, so that no other is found across it."""


class MarkerSearch:
    """Searches texts for the markers of one run, regardless of line breaks."""

    def __init__(self, markers: Iterable[ArmMarker]) -> None:
        worded = [(marker, _normalize_whitespace(marker.text)) for marker in markers]
        # The longest first: a marker inside another one belongs to that one.
        self._markers = sorted((entry for entry in worded if entry[1]), key=lambda entry: -len(entry[1]))
        self._known: dict[int, dict[str, int]] = {}

    def measure(self, request: GenerationRequest) -> GenerationRequest:
        """The request with one part per component and no texts: markers that were found belong to their component.

        What stays of a request must be small: it is kept for the whole run, and read while others wait.
        """
        sizes: dict[Component, int] = {}
        seen: set[str] = set()
        for part in request.parts:
            rest = part.size_bytes
            for name, size in self._found_in(part):
                seen.add(name)
                taken = min(size, rest)
                rest -= taken
                component = self._component(name)
                sizes[component] = sizes.get(component, 0) + taken
            sizes[part.component] = sizes.get(part.component, 0) + rest
        return replace(
            request,
            parts=tuple(RequestPart(component, (), size) for component, size in sizes.items()),
            first_user_texts=tuple(text[:MAX_TASK_LENGTH] for text in request.first_user_texts[:MAX_FIRST_TEXTS]),
            markers=frozenset(seen),
        )

    def _found_in(self, part: RequestPart) -> Iterator[tuple[str, int]]:
        if self._markers:
            for text in part.texts:
                yield from self._found(text[:MAX_SEARCHED_LENGTH]).items()

    def _component(self, name: str) -> Component:
        return next(marker.component for marker, _ in self._markers if marker.name == name)

    def _found(self, text: str) -> dict[str, int]:
        """Bytes of each marker in a text."""
        key = hash(text)
        if key not in self._known:
            if len(self._known) >= MAX_SEARCHED_TEXTS:
                self._known.clear()
            self._known[key] = self._search(_normalize_whitespace(text))
        return self._known[key]

    def _search(self, text: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for marker, wanted in self._markers:
            if times := text.count(wanted):
                found[marker.name] = times * len(wanted.encode(errors="surrogatepass"))
                text = text.replace(wanted, _GAP)
        return found


def _normalize_whitespace(text: str) -> str:
    return " ".join(text.split())


MIN_TASK_LENGTH = 12
"""In characters: shorter arguments of tools are not tasks, and could match any first message."""

MAX_TASK_LENGTH = 64 << 10
"""Texts are compared up to here."""

MAX_FIRST_TEXTS = 100
MAX_CONVERSATIONS = 100_000


class SubAgentDetector:
    """Recognises the conversations of sub-agents by the user's texts before the model's first message.

    A conversation is a sub-agent's if, when it is first seen, one of those texts is exactly an argument of an earlier
    tool call: that is how agents delegate a task. The decision is kept, so that an agent that delegates its own
    instruction unchanged does not become its own sub-agent.
    """

    def __init__(self) -> None:
        self._tool_arguments: set[int] = set()
        self._is_sub_agent: dict[tuple[int, ...], bool] = {}

    def is_sub_agent(self, first_user_texts: Iterable[str]) -> bool:
        """Whether the conversation with these first texts was started by a tool call of this run."""
        texts = tuple(first_user_texts)
        begun = tuple(map(hash, texts))
        if begun not in self._is_sub_agent:
            if len(self._is_sub_agent) >= MAX_CONVERSATIONS:
                self._is_sub_agent.clear()
            self._is_sub_agent[begun] = not self._tool_arguments.isdisjoint(map(_word_hash, texts))
        return self._is_sub_agent[begun]

    def note_tool_arguments(self, texts: Iterable[str]) -> None:
        """Note the arguments of a tool call."""
        for text in texts:
            if len(text) >= MIN_TASK_LENGTH and len(self._tool_arguments) < MAX_CONVERSATIONS:
                self._tool_arguments.add(_word_hash(text[:MAX_TASK_LENGTH]))


def _word_hash(text: str) -> int:
    return hash(tuple(text.split()))
