"""Which component a request's tokens went to: markers of the arm's set-up that are found in it, sub-agents recognised
by their first messages, and shares of text that add up to the provider's own count.
"""

from collections.abc import Iterable, Iterator, Mapping

from outweigh.gateway.dialects.request_and_response import GenerationResponse, RequestPart
from outweigh.model.usage import Component, ComponentTokens, Usage
from outweigh.ports.gateways import ArmMarker

ComponentSizes = Mapping[Component, int]


def attribute_tokens(
    parts: Iterable[RequestPart], answer: GenerationResponse, *, is_sub_agent: bool
) -> tuple[ComponentTokens, ...]:
    """The component ledger of one request; empty where the provider did not say what it took."""
    usage = answer.usage
    total_input = total_input_tokens(usage)
    if total_input is None or usage.output_tokens is None:
        return ()
    if is_sub_agent:
        return (_component_tokens(Component.SUB_AGENT, total_input, usage.output_tokens),)
    spoken = {Component.ORCHESTRATOR: answer.text_bytes, Component.TOOL_CALL: answer.tool_bytes}
    sent = apportion_tokens(total_input, _sum_sizes(parts))
    got = apportion_tokens(usage.output_tokens, spoken)
    return tuple(
        _component_tokens(component, sent.get(component, 0), got.get(component, 0))
        for component in Component
        if sent.get(component) or got.get(component)
    )


def total_input_tokens(usage: Usage) -> int | None:
    """All that was sent: fresh, read from the cache and written to it."""
    sent = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    return None if None in sent else sum(tokens or 0 for tokens in sent)


def apportion_tokens(total: int, sizes: ComponentSizes) -> dict[Component, int]:
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


def _sum_sizes(parts: Iterable[RequestPart]) -> dict[Component, int]:
    sizes: dict[Component, int] = {}
    for part in parts:
        sizes[part.component] = sizes.get(part.component, 0) + part.size_bytes
    return sizes


def _component_tokens(component: Component, sent: int, got: int) -> ComponentTokens:
    return ComponentTokens(component=component, input_tokens=sent, output_tokens=got)


MAX_SEARCHED_TEXTS = 20_000
"""Texts of one run: a conversation sends its whole past every time, and a text once searched is not searched again."""

_GAP = "\0"
"""Stands where a marker was found, so that no other is found across it."""


class MarkerSearch:
    """Looks for the markers of one run, word by word: how a text is broken into lines is no matter."""

    def __init__(self, markers: Iterable[ArmMarker]) -> None:
        worded = [(marker, _normalize_whitespace(marker.text)) for marker in markers]
        # The longest first: what is inside another marker belongs to that one.
        self._markers = sorted((entry for entry in worded if entry[1]), key=lambda entry: -len(entry[1]))
        self._known: dict[int, dict[str, int]] = {}
        self.seen: set[str] = set()

    def split(self, parts: Iterable[RequestPart]) -> list[RequestPart]:
        """The same parts, with what belongs to a marker under the marker's own component."""
        return [piece for part in parts for piece in (self._split(part) if self._markers else (part,))]

    def _split(self, part: RequestPart) -> Iterator[RequestPart]:
        rest = part.size_bytes
        for text in part.texts:
            for name, size in self._found(text).items():
                self.seen.add(name)
                taken = min(size, rest)
                rest -= taken
                yield RequestPart(self._component(name), (), taken)
        yield RequestPart(part.component, part.texts, rest)

    def _component(self, name: str) -> Component:
        return next(marker.component for marker, _ in self._markers if marker.name == name)

    def _found(self, text: str) -> dict[str, int]:
        """Bytes by marker."""
        key = hash(text)
        if key not in self._known:
            if len(self._known) >= MAX_SEARCHED_TEXTS:
                self._known.clear()
            self._known[key] = self._search(_normalize_whitespace(text))
        return self._known[key]

    def _search(self, words: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for marker, wanted in self._markers:
            if times := words.count(wanted):
                found[marker.name] = times * len(wanted.encode(errors="surrogatepass"))
                words = words.replace(wanted, _GAP)
        return found


def _normalize_whitespace(text: str) -> str:
    return " ".join(text.split())


MIN_TASK_LENGTH = 12
"""Characters: shorter arguments of tools are no tasks, and might be anybody's first words."""

MAX_CONVERSATIONS = 100_000


class SubAgentDetector:
    """The conversations of one run, each known by the user's words before the model first spoke.

    A conversation is a sub-agent's if, when it is first seen, one of those texts is word for word what a tool was
    called with before: that is how agents hand a task to another. Once decided, it stays so: an agent that hands on
    its own instruction unchanged does not become its own sub-agent.
    """

    def __init__(self) -> None:
        self._handed_over: set[int] = set()
        self._is_sub_agent: dict[tuple[int, ...], bool] = {}

    def is_sub_agent(self, opening: Iterable[str]) -> bool:
        """Whether the conversation that begins so was started by a tool call of this run."""
        texts = tuple(opening)
        begun = tuple(map(hash, texts))
        if begun not in self._is_sub_agent:
            if len(self._is_sub_agent) >= MAX_CONVERSATIONS:
                self._is_sub_agent.clear()
            self._is_sub_agent[begun] = not self._handed_over.isdisjoint(map(_word_hash, texts))
        return self._is_sub_agent[begun]

    def hand_over(self, texts: Iterable[str]) -> None:
        """Note what a tool was called with."""
        for text in texts:
            if len(text) >= MIN_TASK_LENGTH and len(self._handed_over) < MAX_CONVERSATIONS:
                self._handed_over.add(_word_hash(text))


def _word_hash(text: str) -> int:
    return hash(tuple(text.split()))
