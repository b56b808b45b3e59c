"""A page before it has a format: headline, headings, tables, lists, pictures."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Tone(StrEnum):
    """How a line should feel; a reporter may colour it."""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    PLAIN = "plain"


WORD_TONES = {
    "better": Tone.GOOD,
    "worse": Tone.BAD,
    "holds": Tone.GOOD,
    "fails": Tone.BAD,
    "unknown": Tone.UNSURE,
}
"""Cells of a table that carry a tone of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Begins a part of a page that is about more than one thing; `lead` says in one sentence what is in it."""

    title: str
    tone: Tone
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under named columns; the first column is text, the others are aligned as numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A titled list of sentences."""

    title: str
    items: tuple[str, ...]
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A drawing as SVG, with everything in it escaped by whoever drew it, and the same in words.

    A format without pictures shows the words and the sketch, whose lines are to be kept as they are; the caption
    explains how to read the drawing.
    """

    title: str
    svg: str
    caption: str
    words: tuple[str, ...]
    sketch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Lines to be copied as they are, such as a command."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Details that are closed until somebody asks for them. A format that cannot fold says `instead` where they are."""

    title: str
    instead: str
    blocks: tuple["Block", ...]


Block = Heading | Table | Bullets | Picture | Listing | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One answer, as a page for people and as the JSON that scripts may rely on. `lead` is the answer in a sentence."""

    headline: str
    tone: Tone
    blocks: tuple[Block, ...]
    payload: Mapping[str, Any]
    lead: str = ""


def notes(title: str, items: tuple[str, ...]) -> list[Bullets]:
    """A list of warnings, or nothing at all."""
    return [Bullets(title=title, items=items, tone=Tone.UNSURE)] if items else []
