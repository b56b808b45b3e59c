"""Words for a terminal: what stands in other people's files is shown there, and never obeyed."""

from typing import TextIO

from outweigh.report.wording import visible


def say(text: str, *, to: TextIO | None = None) -> None:
    """Print to standard output, or elsewhere, without a character that would move, colour or hide anything."""
    print("\n".join(map(visible, text.split("\n"))), file=to)
