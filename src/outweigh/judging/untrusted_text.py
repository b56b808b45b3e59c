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
"""Controls, format characters (zero width, direction, tags), private use, surrogates, unassigned, separators."""


def escape_invisible(text: str) -> str:
    """The text with every character that could hide or reorder others written as `\\u{202E}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{{{ord(character):04X}}}" if is_invisible(character) else character for character in text)


def is_invisible(character: str) -> bool:
    """Whether a character is invisible; line breaks and tabs are not."""
    if character in _KEPT_CONTROLS:
        return False
    return unicodedata.category(character) in _INVISIBLE_CATEGORIES or _selects_variation(character)


def _selects_variation(character: str) -> bool:
    """Whether it is a variation selector; sequences of them can hide whole messages."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


CHARACTERS_PER_TOKEN = 4
"""A rough figure for English and code; a judge's context window is far larger than what is shown."""


def excerpt(text: str, tokens: int) -> str:
    """The whole text where it fits; otherwise head and tail in equal parts, cut at line ends."""
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
    """The text between a BEGIN and an END line with a code that is new for every question.

    Should the text contain the code all the same, it is removed, so that no text can end its own fence.
    """
    inside = escape_invisible(text).replace(code, REMOVED_CODE).strip("\n")
    return f"BEGIN {code} {title}\n{inside}\nEND {code} {title}"


WITHHELD = "[withheld]"

SHORTEST_NAME = 3
"""Shorter names occur in any text by chance: every path of a diff begins with `a/`."""

_MODEL_FAMILIES = (
    *("anthropic", "claude", "sonnet", "opus", "haiku", "openai", "chatgpt", "gpt-", "codex", "gemini", "qwen"),
    *("deepseek", "mistral", "llama", "grok", "aider", "goose", "opencode", "copilot", "mini-swe-agent"),
)
"""Families of models and agents, withheld because a judge may favor its own family."""

_SETUP_PATHS = (r"\.(?:claude|agents|codex|gemini|qwen)/[\w./-]*", r"agents\.md", r"skill\.md")
"""Where set-ups are laid out; a run that reads there shows that it has one."""

WITHHELD_WORDS = (*_MODEL_FAMILIES, *_SETUP_PATHS)
"""What is withheld in every suite. Part of the prompt's hash: changing it changes the question."""


class Blinding:
    """Withholds names, except words that the task itself uses, which say nothing about the arm."""

    def __init__(self, names: Iterable[str], task_words: str) -> None:
        known = {name.strip() for name in names}
        kept = sorted((name for name in known if len(name) >= SHORTEST_NAME), key=lambda name: (-len(name), name))
        patterns = [_as_word(re.escape(name)) for name in kept]
        patterns += [_as_word(path) for path in _SETUP_PATHS]
        patterns += [rf"(?<![A-Za-z0-9]){re.escape(maker)}(?![A-Za-z])[\w.-]*" for maker in _MODEL_FAMILIES]
        foreign = [pattern for pattern in patterns if re.search(pattern, task_words, re.IGNORECASE) is None]
        self._pattern: Pattern[str] | None = re.compile("|".join(foreign), re.IGNORECASE) if foreign else None

    def __call__(self, text: str) -> str:
        """The text with the names replaced."""
        return text if self._pattern is None else self._pattern.sub(WITHHELD, text)


def _as_word(pattern: str) -> str:
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
