"""What a request says, in one shape for all dialects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from outweigh.gateway.dialects.loose import strings
from outweigh.record.components import Component

PICTURE_BYTES = 6_000
"""What a picture or document counts as beside text: about 1,500 tokens, where its own bytes would dwarf everything."""


class Part(NamedTuple):
    """A piece of a request and the part of the set-up it belongs to; `texts` are the strings in it, as people read."""

    component: Component
    texts: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `opening` are the user's texts before the model first spoke: they tell conversations apart.

    `says_sub_agent` is whether the agent itself marks the request as a sub-agent's; most say nothing about it.
    """

    model: str | None
    is_streamed: bool
    parts: tuple[Part, ...]
    tools: tuple[str, ...]
    opening: tuple[str, ...]
    says_sub_agent: bool = False

    @property
    def size_bytes(self) -> int:
        """All that is said, in bytes of text."""
        return sum(part.size_bytes for part in self.parts)


def utf8_size(text: str) -> int:
    """Bytes of a text; most are plain ASCII, and those need not be encoded to be measured."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def text_part(component: Component, text: str) -> Part:
    """A text as it stands."""
    return Part(component, (text,), utf8_size(text))


def data_part(component: Component, value: object) -> Part:
    """Something structured: it takes as many bytes as its JSON, and says what its strings say."""
    return Part(component, tuple(strings(value)), len(msgspec.json.encode(value)))


def content_parts(component: Component, content: object) -> Iterator[Part]:
    """A message's content as most dialects have it: a string, or blocks of text, pictures and data."""
    if isinstance(content, str):
        yield text_part(component, content)
    elif isinstance(content, list):
        for block in content:
            yield from _block_parts(component, block)


def _block_parts(component: Component, block: object) -> Iterator[Part]:
    if isinstance(block, str):
        yield text_part(component, block)
    elif isinstance(block, dict) and isinstance(block.get("text"), str):
        yield text_part(component, block["text"])
    elif isinstance(block, dict):
        yield Part(component, (), PICTURE_BYTES)
