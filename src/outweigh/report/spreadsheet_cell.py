"""Cells that a spreadsheet shows and never computes."""

# A cell that begins like this is taken for a formula by spreadsheets, whoever wrote it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def unless_formula(text: str) -> str:
    """The text; one that would be a formula gets the apostrophe by which spreadsheets know a text."""
    return f"'{text}" if text.startswith(_FORMULA) else text
