"""Nobody who judges a run may know whose it is: names of arms, models, skills and agents are withheld, on all sides."""

import re
from collections.abc import Iterable
from re import Pattern

WITHHELD = "[withheld]"

SHORTEST_NAME = 3
"""Shorter names stand in any text by chance: `a/` begins every path of a diff."""

_MAKERS = (
    *("anthropic", "claude", "sonnet", "opus", "haiku", "openai", "chatgpt", "gpt-", "codex", "gemini", "qwen"),
    *("deepseek", "mistral", "llama", "grok", "aider", "goose", "opencode", "copilot", "mini-swe-agent"),
)
"""Families of models and agents: a judge may favour its own kind, whatever the suite calls its arms."""

_SET_UP = (r"\.(?:claude|agents|codex|gemini|qwen)/[\w./-]*", r"agents\.md", r"skill\.md")
"""Where set-ups are laid; a run that reads there shows that it has one."""

VOCABULARY = (*_MAKERS, *_SET_UP)
"""What is withheld from every judge, whatever a suite names; other words here make another question."""


class Blinding:
    """Withholds names. Words that the task itself uses are its own, and stay on all sides."""

    def __init__(self, names: Iterable[str], task_words: str) -> None:
        known = {name.strip() for name in names}
        kept = sorted((name for name in known if len(name) >= SHORTEST_NAME), key=lambda name: (-len(name), name))
        patterns = [_as_word(re.escape(name)) for name in kept]
        patterns += [_as_word(path) for path in _SET_UP]
        patterns += [rf"(?<![A-Za-z0-9]){re.escape(maker)}(?![A-Za-z])[\w.-]*" for maker in _MAKERS]
        foreign = [pattern for pattern in patterns if re.search(pattern, task_words, re.IGNORECASE) is None]
        self._pattern: Pattern[str] | None = re.compile("|".join(foreign), re.IGNORECASE) if foreign else None

    def __call__(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._pattern.sub(WITHHELD, text)


def _as_word(pattern: str) -> str:
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
