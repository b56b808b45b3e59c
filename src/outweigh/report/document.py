"""A page before it has a format: headline, tables, lists."""

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
class Report:
    """One answer, as a page for people and as the JSON that scripts may rely on."""

    headline: str
    tone: Tone
    blocks: tuple[Table | Bullets, ...]
    payload: Mapping[str, Any]


def notes(title: str, items: tuple[str, ...]) -> list[Bullets]:
    """A list of warnings, or nothing at all."""
    return [Bullets(title=title, items=items, tone=Tone.UNSURE)] if items else []
