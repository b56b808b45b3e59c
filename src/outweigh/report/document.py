"""The format-independent document: a headline and blocks (headings, paragraphs, tables, lists, figures, code, details).

Pages build a `Report`; the `render_*` modules turn it into text, Markdown, HTML or data.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


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
    "improved": Tone.GOOD,
    "regressed": Tone.BAD,
    "trade-off": Tone.UNSURE,
    "inconclusive": Tone.UNSURE,
}
"""Cells of a table that carry a tone of their own."""


class Heading(Struct, frozen=True, kw_only=True):
    """Begins a part of a page that is about more than one thing; `lead` says in one sentence what is in it."""

    title: str
    tone: Tone
    lead: str = ""


TONED_COLUMNS = frozenset({"state", "decision", "decision without it", "is"})
"""Only cells of these columns have a tone: anywhere else a word such as "better" may be the name of an arm."""


class Table(Struct, frozen=True, kw_only=True):
    """Rows under named columns; the first column is text, the others are aligned as numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class RunPair(Struct, frozen=True, kw_only=True):
    """Two runs of one task side by side: their figures, and the command that shows every step of both."""

    task: str
    baseline_run: str
    candidate_run: str
    table: Table
    command: str


class TaskPairs(Struct, frozen=True, kw_only=True):
    """A table of tasks in which every row leads to a pair of runs of that task; None where it has no such pair."""

    table: Table
    pairs: tuple[RunPair | None, ...]
    note: str


PAIRS_TITLE = "The runs behind these tasks, side by side"


class BulletList(Struct, frozen=True, kw_only=True):
    """A titled list of sentences."""

    title: str
    items: tuple[str, ...]
    tone: Tone


class KeyPoints(Struct, frozen=True, kw_only=True):
    """Short labels, each with a sentence or two. It has no title; text wraps it to the width of a screen.

    `commands` are to be pasted, and `most_lines` is how much of a sentence text shows; both are by label. `facts` are
    short values that a page with room shows side by side.
    """

    rows: tuple[tuple[str, str], ...]
    commands: Mapping[str, str] = {}
    most_lines: Mapping[str, int] = {}
    facts: bool = False


class FigureValues(Struct, frozen=True, kw_only=True):
    """The numbers that a figure draws, in full precision; None where a number is unknown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]


class Figure(Struct, frozen=True, kw_only=True):
    """A chart: as SVG, and as text for formats without images. The caption explains how to read the drawing.

    `draw` gives the SVG, with everything in it escaped. It is called only by a format that shows it, because drawing
    takes longer than deciding. The lines of `text_chart` are to be kept as they are. A figure that can be written to
    files of its own has a `name` for them, and `values`.
    """

    title: str
    draw: Callable[[], str]
    caption: str
    text_lines: tuple[str, ...]
    text_chart: tuple[str, ...] = ()
    name: str = ""
    values: FigureValues | None = None


class Paragraph(Struct, frozen=True, kw_only=True):
    """Sentences under a title; text wraps them to the width of a screen."""

    title: str
    text: str


class CodeBlock(Struct, frozen=True, kw_only=True):
    """Lines to be copied as they are, such as a command."""

    title: str
    lines: tuple[str, ...]


class Badge(Struct, frozen=True, kw_only=True):
    """A decision as one word, with the tone that gives it its colour."""

    word: str
    tone: Tone


class Details(Struct, frozen=True, kw_only=True):
    """Blocks that are folded until a reader opens them. A format that cannot fold shows `fallback` instead.

    Without a fallback such a format shows the blocks under the title. What is `long` stays folded on paper.
    """

    title: str
    blocks: tuple["Block", ...]
    lead: str = ""
    fallback: str | None = None
    badge: Badge | None = None
    long: bool = False


Block = Heading | Table | TaskPairs | BulletList | KeyPoints | Figure | Paragraph | CodeBlock | Details


class Report(Struct, frozen=True, kw_only=True):
    """One answer, as a page for people and as the JSON that scripts may rely on. `lead` is the answer in a sentence.

    `badge` and `title` are the headline in two parts, for a page that shows the decision as a badge.
    """

    headline: str
    tone: Tone
    blocks: tuple[Block, ...]
    payload: Mapping[str, Any]
    lead: str = ""
    badge: Badge | None = None
    title: str = ""


def unfolded(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block in order, with those that are folded in place of their folds."""
    for block in blocks:
        if isinstance(block, Details):
            yield from unfolded(block.blocks)
        else:
            yield block


def add_blocks(report: Report, title: str, blocks: tuple[Block, ...]) -> Report:
    """The same report with more blocks after its first one; as the first fold where it has folds."""
    if not blocks:
        return report
    place = next((place for place, block in enumerate(report.blocks) if isinstance(block, Details)), None)
    if place is None:
        return replace(report, blocks=(*report.blocks[:1], *blocks, *report.blocks[1:]))
    folded = Details(title=title, blocks=blocks)
    return replace(report, blocks=(*report.blocks[:place], folded, *report.blocks[place:]))


def optional_bullets(title: str, items: tuple[str, ...]) -> list[BulletList]:
    """A list of warnings, or nothing at all."""
    return [BulletList(title=title, items=items, tone=Tone.UNSURE)] if items else []
