"""The beginning and the end of a long text, within a number of tokens."""

CHARACTERS_PER_TOKEN = 4
"""Roughly, for English and code; a judge's window is larger than what is shown to it by far."""


def excerpt(text: str, tokens: int) -> str:
    """All of it where it fits; else head and tail in equal parts, cut at line ends, and how much is left out."""
    limit = tokens * CHARACTERS_PER_TOKEN
    if len(text) <= limit:
        return text
    head, tail = _up_to_line_end(text[: limit // 2]), _from_line_start(text[-(limit // 2) :])
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out …]\n{tail}"


def _up_to_line_end(text: str) -> str:
    whole, found, _ = text.rpartition("\n")
    return whole if found and len(whole) > len(text) // 2 else text


def _from_line_start(text: str) -> str:
    _, found, whole = text.partition("\n")
    return whole if found and len(whole) > len(text) // 2 else text
