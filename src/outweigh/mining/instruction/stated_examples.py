"""What a change shows rather than says: the texts that its tests expect, and what it adds to the documentation."""

import re
from collections.abc import Callable, Iterable, Iterator
from textwrap import dedent, indent

_MOST_LINES = 25
_LONGEST = 1500
_MOST_LINES_TOGETHER = 60
_FEWEST_LINES = 2
_SHORTEST_EXPECTED = 3
_LONGEST_EXPECTED = 120
_MOST_EXPECTED = 25

IsLeak = Callable[[str], bool]
"""Whether a text quotes a line of the patch."""


def is_example(text: str) -> bool:
    """Whether a literal text has several lines, so that no title tells what it is."""
    return sum(bool(line.strip()) for line in text.splitlines()) >= _FEWEST_LINES


def is_telling(text: str) -> bool:
    """Whether a short text that a test compares with shows more than a word or a sign does."""
    one_line = _SHORTEST_EXPECTED <= len(text.strip()) <= _LONGEST_EXPECTED and "\n" not in text
    return one_line and re.search(r"[^\W_]", text) is not None and re.fullmatch(r"\w+", text.strip()) is None


def expected_section(texts: Iterable[str], told: str, is_leak: IsLeak) -> str | None:
    """Short texts that hidden tests compare results with and that are not told yet; None where there are none."""
    left = [text for text in texts if text.strip() not in told and not is_leak(text)][:_MOST_EXPECTED]
    if not left:
        return None
    listed = "\n".join(f"- {quoted(text)}" for text in left)
    used = "The hidden tests pass these texts in or compare results with them, among others:"
    return f"## Expected texts\n\n{used}\n\n{listed}"


def quoted(text: str) -> str:
    """A literal text as Markdown code, with its line breaks written out."""
    shown = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    marks = "``" if "`" in shown else "`"
    space = " " if "`" in shown else ""
    return f'{marks}{space}"{shown}"{space}{marks}'


def examples_section(texts: Iterable[str], is_leak: IsLeak) -> str | None:
    """Texts of several lines that hidden tests pass in or expect, as far as there is room; None where there are none.

    What a program prints is often laid out in a way that no message of a commit describes.
    """
    shown = list(_within_bounds((dedent(text).strip("\n") for text in texts), is_leak))
    if not shown:
        return None
    return "\n\n".join(
        ["## Examples", "Texts that the hidden tests pass to the program, or expect from it:", *map(_fenced, shown)]
    )


def documentation_section(blocks: Iterable[str], is_wanted: Callable[[str], bool], is_leak: IsLeak) -> str | None:
    """What the change adds to the documentation about what is wanted; None where it adds nothing about it."""
    pieces = (piece for block in blocks for piece in _of_readable_length(block.strip("\n")))
    shown = list(_within_bounds(filter(is_wanted, pieces), is_leak))
    if not shown:
        return None
    quoted = (indent(block, "> ", lambda _: True).replace("> \n", ">\n") for block in shown)
    return "\n\n".join(["## Documentation", "After the change, the documentation says:", *quoted])


def _of_readable_length(block: str) -> Iterator[str]:
    """A block as it is, or the paragraphs of one that is too long to be quoted as a whole; code is not cut."""
    if _is_short(block):
        yield block
        return
    paragraph, fenced = "", False
    for line in block.splitlines(keepends=True):
        fenced ^= line.lstrip().startswith("```")
        if line.strip() or fenced:
            paragraph += line
        elif paragraph:
            yield paragraph.rstrip("\n")
            paragraph = ""
    if paragraph:
        yield paragraph.rstrip("\n")


def _is_short(text: str) -> bool:
    return text.count("\n") < _MOST_LINES and len(text) <= _LONGEST


def _within_bounds(texts: Iterable[str], is_leak: IsLeak) -> Iterator[str]:
    """Each text once, without those that are long or quote the patch, until they are too many."""
    left = _MOST_LINES_TOGETHER
    for text in dict.fromkeys(texts):
        lines = text.count("\n") + 1
        if text.strip() and lines <= left and _is_short(text) and not is_leak(text):
            left -= lines
            yield text


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
