"""The entries that a change adds to a changelog, and the sentences that it adds to those which are there."""

import re
from collections.abc import Collection, Iterator, Sequence

_START = re.compile(r"\s*(?:[*+-]|\d+[.)])\s|\s*(?:#|=+$|-+$|~+$|\.\. |```|\|)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(*_])")


def added_entries(before: str, after: str, added: Collection[int]) -> Iterator[str]:
    """The entries of which lines were added, one line each, without the sentences that stood there before.

    `added` are the numbers of these lines, counted from 1. An added line is often the middle of an entry that was
    there, and says nothing alone. Blank lines between entries are given as they are, and code blocks are left out.
    """
    known = _telling_words(before)
    lines = after.splitlines()
    for first, last in _entries(lines):
        if not any(number in added for number in range(first, last + 1)):
            continue
        text = " ".join([lines[first - 1].rstrip(), *(line.strip() for line in lines[first:last])])
        indent, mark, words = _taken_apart(text)
        new = [sentence for sentence in _SENTENCE_END.split(words) if not _is_known(sentence, known)]
        if new or not text.strip():
            yield f"{indent}{mark}{' '.join(new)}"


def _entries(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and the last line of every point, paragraph, heading, row of a table and blank line."""
    first, fenced = 0, False
    for number, line in enumerate(lines, 1):
        is_fence = line.strip().startswith("```")
        alone = fenced or is_fence or not line.strip()
        if first and (alone or _START.match(line)):
            yield first, number - 1
            first = 0
        if alone and not (fenced or is_fence):
            yield number, number
        elif not alone and not first:
            first = number
        fenced ^= is_fence
    if first:
        yield first, len(lines)


def goes_on(line: str) -> bool:
    """Whether a line goes on with the paragraph or the point above it, as far as the line itself shows."""
    return bool(line.strip()) and not _START.match(line)


def _taken_apart(text: str) -> tuple[str, str, str]:
    """The indentation of an entry, the mark of its point, and its words."""
    bare = text.lstrip()
    mark = re.match(r"(?:[*+-]|\d+[.)])\s+", bare)
    start = mark.end() if mark else 0
    return text[: len(text) - len(bare)], bare[:start], bare[start:]


def _is_known(sentence: str, known: str) -> bool:
    """Whether a sentence stood there before, apart from articles, case and marks, which are corrected later."""
    words = _telling_words(sentence)
    return not words or f" {words} " in f" {known} "


def _telling_words(text: str) -> str:
    words = re.findall(r"[\w$]+(?:[.'=-]+[\w$]+)*", text.lower())
    return " ".join(word for word in words if word not in ("a", "an", "the"))
