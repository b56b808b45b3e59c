"""The format-independent document: a headline and blocks (headings, tables, bullet lists, figures, code, details).

Pages build a `Report`; the `render_*` modules turn it into text, Markdown, HTML or data.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    "not shown": Tone.UNSURE,
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
class BulletList:
    """A titled list of sentences."""

    title: str
    items: tuple[str, ...]
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPoints:
    """Short labels, each with a sentence or two. It has no title; text wraps it to the width of a screen."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart: as SVG, and as text for formats without images. The caption explains how to read the drawing.

    `draw` gives the SVG, with everything in it escaped. It is called only by a format that shows it, because drawing
    takes longer than deciding. The lines of `text_chart` are to be kept as they are.
    """

    title: str
    draw: Callable[[], str] = field(compare=False, repr=False)
    caption: str
    text_lines: tuple[str, ...]
    text_chart: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlock:
    """Lines to be copied as they are, such as a command."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Blocks that are folded until a reader opens them. A format that cannot fold shows `fallback` instead."""

    title: str
    fallback: str
    blocks: tuple["Block", ...]


Block = Heading | Table | BulletList | KeyPoints | Figure | CodeBlock | Details


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One answer, as a page for people and as the JSON that scripts may rely on. `lead` is the answer in a sentence."""

    headline: str
    tone: Tone
    blocks: tuple[Block, ...]
    payload: Mapping[str, Any]
    lead: str = ""


def optional_bullets(title: str, items: tuple[str, ...]) -> list[BulletList]:
    """A list of warnings, or nothing at all."""
    return [BulletList(title=title, items=items, tone=Tone.UNSURE)] if items else []
