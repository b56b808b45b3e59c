"""Untrusted text made safe to show to a judge.

Invisible characters escaped, long text shortened, names that identify the arm withheld, and fences that the text
cannot forge.
"""

import re
import unicodedata
from collections.abc import Iterable
from re import Pattern

_KEPT_CONTROLS = frozenset("\n\t")
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
"""Controls, format characters (zero widths, writing directions, tags), private ones, halves, unassigned, separators."""


def escape_invisible(text: str) -> str:
    """Every character that could hide or reorder others, as `\\u{202E}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(character):04X}}}" if is_invisible(character) else character for character in text)


def is_invisible(character: str) -> bool:
    """Whether it leaves no mark of its own, line breaks and tabs aside."""
    if character in _KEPT_CONTROLS:
        return False
    return unicodedata.category(character) in _INVISIBLE_CATEGORIES or _selects_variation(character)


def _selects_variation(character: str) -> bool:
    """Marks that change how the one before looks; whole messages have been hidden in rows of them."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


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


REMOVED_CODE = "[code]"


def fence_text(title: str, text: str, code: str) -> str:
    """The text between a BEGIN and an END line. The code is drawn anew for every question, after the text was written.

    Should the text hold the code all the same, it is taken out: no text can end its own fence.
    """
    inside = escape_invisible(text).replace(code, REMOVED_CODE).strip("\n")
    return f"BEGIN {code} {title}\n{inside}\nEND {code} {title}"


WITHHELD = "[withheld]"

SHORTEST_NAME = 3
"""Shorter names stand in any text by chance: `a/` begins every path of a diff."""

_MODEL_FAMILIES = (
    *("anthropic", "claude", "sonnet", "opus", "haiku", "openai", "chatgpt", "gpt-", "codex", "gemini", "qwen"),
    *("deepseek", "mistral", "llama", "grok", "aider", "goose", "opencode", "copilot", "mini-swe-agent"),
)
"""Families of models and agents: a judge may favour its own kind, whatever the suite calls its arms."""

_SETUP_PATHS = (r"\.(?:claude|agents|codex|gemini|qwen)/[\w./-]*", r"agents\.md", r"skill\.md")
"""Where set-ups are laid; a run that reads there shows that it has one."""

WITHHELD_WORDS = (*_MODEL_FAMILIES, *_SETUP_PATHS)
"""What is withheld from every judge, whatever a suite names; other words here make another question."""


class Blinding:
    """Withholds names. Words that the task itself uses are its own, and stay on all sides."""

    def __init__(self, names: Iterable[str], task_words: str) -> None:
        known = {name.strip() for name in names}
        kept = sorted((name for name in known if len(name) >= SHORTEST_NAME), key=lambda name: (-len(name), name))
        patterns = [_as_word(re.escape(name)) for name in kept]
        patterns += [_as_word(path) for path in _SETUP_PATHS]
        patterns += [rf"(?<![A-Za-z0-9]){re.escape(maker)}(?![A-Za-z])[\w.-]*" for maker in _MODEL_FAMILIES]
        foreign = [pattern for pattern in patterns if re.search(pattern, task_words, re.IGNORECASE) is None]
        self._pattern: Pattern[str] | None = re.compile("|".join(foreign), re.IGNORECASE) if foreign else None

    def __call__(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._pattern.sub(WITHHELD, text)


def _as_word(pattern: str) -> str:
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
