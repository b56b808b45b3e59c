"""Text that shows all it holds: characters that nobody sees, or that turn others around, are spelled out."""

import unicodedata

_KEPT = frozenset("\n\t")
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Controls, format characters (zero widths, writing directions, tags), private ones, halves, unassigned, separators."""


def spelled_out(text: str) -> str:
    """Every character that could hide or reorder others, as `\\u{202E}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(character):04X}}}" if is_unseen(character) else character for character in text)


def is_unseen(character: str) -> bool:
    """Whether it leaves no mark of its own, line breaks and tabs aside."""
    if character in _KEPT:
        return False
    return unicodedata.category(character) in _UNSEEN or _selects_variation(character)


def _selects_variation(character: str) -> bool:
    """Marks that change how the one before looks; whole messages have been hidden in rows of them."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
