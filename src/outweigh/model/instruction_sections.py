"""Sections of an instruction file such as CLAUDE.md: by heading, and the bullets of its lists.

A section goes from its heading to the next heading of the same level or above, so it has its sub-sections in it. A
bullet goes to the next bullet of its list, with the lines that continue it and the bullets below it. Headings and
bullets inside code blocks are code.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from outweigh.errors import UsageError, quote_names

_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_BULLET = re.compile(r"^( {0,3})(?:[-*+]|\d{1,9}[.)])[ \t]+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_BREAK = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
BULLET_LEVEL = 7
"""The level of a bullet: below every heading."""


class InstructionSection(NamedTuple):
    """A heading with everything below it, or a bullet; `start` and `end` are lines.

    `level` is 1 to 6 for headings. Level 0 is text that no title names, such as what is before the first heading.
    """

    title: str
    level: int
    start: int
    end: int


def outline(text: str) -> tuple[InstructionSection, ...]:
    """Every heading and every top-level bullet of a text, in its order; sections contain those below them."""
    lines = text.splitlines(keepends=True)
    marks = [*_marks(lines), (len(lines), "", 0)]
    spans = (
        InstructionSection(title, level, start, next(later for later, _, above in marks[place + 1 :] if above <= level))
        for place, (start, title, level) in enumerate(marks[:-1])
    )
    return tuple(one._replace(end=_bullet_end(lines, one)) if one.level == BULLET_LEVEL else one for one in spans)


def split_sections(text: str) -> tuple[InstructionSection, ...]:
    """The text cut at its headings, without a gap: at the highest level that has several, else at its only heading.

    A heading above that level is level 0, with the text up to the next heading: its own section has all the others.
    """
    found = [section for section in outline(text) if section.level < BULLET_LEVEL]
    levels = [section.level for section in found]
    several = [level for level in sorted(set(levels)) if levels.count(level) > 1]
    level = several[0] if several else min(levels, default=0)
    cut = [one if one.level == level else one._replace(level=0) for one in found if one.level <= level]
    whole = InstructionSection("", 0, 0, len(text.splitlines()))
    ends = (*(one.start for one in cut[1:]), whole.end)
    return _fill_gaps(whole, [one._replace(end=end) for one, end in zip(cut, ends, strict=False)])


def split_bullets(text: str, section: InstructionSection) -> tuple[InstructionSection, ...]:
    """The section cut at its bullets, without a gap; what is around them keeps the section's title, at level 0."""
    bullets = [one for one in outline(text) if one.level == BULLET_LEVEL and section.start <= one.start < section.end]
    return (section,) if len(bullets) < 2 else _fill_gaps(section._replace(level=0), bullets)


def _fill_gaps(whole: InstructionSection, pieces: Sequence[InstructionSection]) -> tuple[InstructionSection, ...]:
    """The pieces and what is between them, all of level 0 and with the title of the whole."""
    found: list[InstructionSection] = []
    at = whole.start
    for piece in (*pieces, whole._replace(start=whole.end)):
        if at < piece.start:
            found.append(whole._replace(level=0, start=at, end=piece.start))
        if piece.start < piece.end:
            found.append(piece)
        at = piece.end
    return tuple(found)


def section_text(text: str, section: InstructionSection) -> str:
    """The lines of a section, as they are in the text."""
    return "".join(text.splitlines(keepends=True)[section.start : section.end])


def take_sections(text: str, titles: Sequence[str], where: str) -> str:
    """The sections with these titles, in the text's own order; a bullet is named by how it starts.

    UsageError where there is no such section, or more than one.
    """
    known = outline(text)
    taken = [_find_section(known, title, where) for title in titles]
    lines = text.splitlines(keepends=True)
    return "".join(line for number, line in enumerate(lines) if any(one.start <= number < one.end for one in taken))


def _find_section(known: Sequence[InstructionSection], title: str, where: str) -> InstructionSection:
    wanted = plain_title(title)
    headings = [one for one in known if one.level < BULLET_LEVEL]
    found = [one for one in headings if one.title == wanted]
    found = found or [one for one in known if one.level == BULLET_LEVEL and one.title.startswith(wanted)]
    if not found:
        there = quote_names([one.title for one in headings if one.title]) if headings else "no heading"
        raise UsageError(f"{where}: there is no heading {title!r} and no bullet that starts so; there is {there}.")
    if len(found) > 1:
        raise UsageError(
            f"{where}: {title!r} is {len(found)} sections of the file. Give them headings of their own, or name more "
            "of how the bullet starts."
        )
    return found[0]


def plain_title(heading: str) -> str:
    """A title without the marks of a heading or a bullet, and with single spaces."""
    marked = _HEADING.match(heading) or _BULLET.match(heading)
    return " ".join(((marked[2] or "") if marked else heading).split())


def _bullet_end(lines: Sequence[str], bullet: InstructionSection) -> int:
    """A bullet ends where text that is not indented begins a new paragraph."""
    after_blank = False
    for number in range(bullet.start + 1, bullet.end):
        line = lines[number]
        if after_blank and line.strip() and not line[0].isspace():
            return number
        after_blank = not line.strip()
    return bullet.end


def _marks(lines: Iterable[str]) -> Iterator[tuple[int, str, int]]:
    """Every heading and top-level bullet: its line, its title and its level."""
    before, list_indent = "", 0
    for number, line in _outside_code(lines):
        bullet = None if _BREAK.match(line) else _BULLET.match(line)
        if (heading := _HEADING.match(line)) is not None:
            yield number, " ".join((heading[2] or "").split()), len(heading[1])
            before, list_indent = "", 0
        elif before and (underline := _UNDERLINE.match(line)) is not None:
            yield number - 1, " ".join(before.split()), 1 if underline[1].startswith("=") else 2
            before, list_indent = "", 0
        elif bullet is not None:
            if not list_indent or len(bullet[1]) < list_indent:
                yield number, " ".join(bullet[2].split()), BULLET_LEVEL
                list_indent = bullet.start(2)
            before = ""
        else:
            is_plain = bool(line.strip()) and not line[0].isspace()
            before = line.strip() if is_plain and not list_indent else ""


def _outside_code(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, whole in enumerate(lines):
        line = whole.rstrip("\r\n")
        found = _FENCE.match(line)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closes else fence
        elif found is not None and not (found[1].startswith("`") and "`" in found[2]):
            fence = found[1]
        else:
            yield number, line
