"""Tables and paragraphs of the page."""

from collections.abc import Iterable, Sequence
from textwrap import fill


def section(title: str, words: str, content: str) -> str:
    """A heading, a paragraph and what follows."""
    return f"## {title}\n\n{paragraph(words)}\n\n{content}"


def paragraph(words: str) -> str:
    """Words filled to the width of the page."""
    return fill(" ".join(words.split()), 120, break_long_words=False, break_on_hyphens=False)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[int]) -> str:
    """A table whose numeric columns are aligned to the right."""
    right = set(numeric)
    rule = ["--:" if place in right else "---" for place in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def percent(share: float) -> str:
    """A share in per cent, without the sign."""
    return f"{100 * share:.1f}"
