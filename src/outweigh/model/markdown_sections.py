"""The sections of a Markdown file: its headings, its bullets, and the text before the first heading.

Headings and bullets are those of CommonMark. What stands in fenced or indented code, in HTML blocks or in front matter
is text. Every character belongs to the innermost section that holds it, so all sections together are the whole file.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import StrEnum

from msgspec import Struct

from outweigh.errors import UsageError, quote_names

BEFORE_FIRST_HEADING = "(before the first heading)"
"""The title of the text before the first heading; of the whole file where it has no heading."""
NO_TITLE = "(no title)"
"""The title of a heading that has none."""
PATH_SEPARATOR = " > "
"""Between the titles of a section and those that it is in, where its own title is not enough."""
SHOWN_TITLES = 20


class SectionKind(StrEnum):
    """What starts a section."""

    START = "start"
    HEADING = "heading"
    BULLET = "bullet"


class MarkdownSection(Struct, frozen=True, kw_only=True):
    """One section with everything nested in it, from `start` to `end` in characters of the file.

    `within` are the titles of the sections around it, the outermost first.
    """

    title: str
    kind: SectionKind
    within: tuple[str, ...]
    start: int
    end: int

    @property
    def path(self) -> str:
        """Its title after those of the sections around it."""
        return PATH_SEPARATOR.join((*self.within, self.title))

    def holds(self, other: "MarkdownSection") -> bool:
        """Whether another section is nested in it."""
        is_around = self.start <= other.start and other.end <= self.end
        has_more = (self.start, self.end) != (other.start, other.end)
        return is_around and (has_more or (other.kind is SectionKind.BULLET and self.kind is not SectionKind.BULLET))


def split_sections(text: str) -> tuple[MarkdownSection, ...]:
    """All sections in the order of the file; a section comes before those that are nested in it."""
    reader = _Reader(text)
    reader.read()
    starts = [start for start, _, _ in reader.headings]
    found: list[MarkdownSection] = []
    first = min(starts, default=len(text))
    if first > 0:
        found.append(_section(BEFORE_FIRST_HEADING, SectionKind.START, (0, first), ()))
    open_headings: list[tuple[int, str]] = []
    for index, (start, level, title) in enumerate(reader.headings):
        open_headings = [each for each in open_headings if each[0] < level]
        end = next((other for other, depth, _ in reader.headings[index + 1 :] if depth <= level), len(text))
        found.append(_section(title, SectionKind.HEADING, (start, end), tuple(name for _, name in open_headings)))
        open_headings.append((level, title))
    found.extend(_bullet_sections(reader.bullets, found))
    return tuple(sorted(found, key=lambda each: (each.start, -each.end)))


def _bullet_sections(
    bullets: Iterable[tuple[int, int, str]], others: Sequence[MarkdownSection]
) -> Iterator[MarkdownSection]:
    around: list[MarkdownSection] = []
    for start, end, title in sorted(bullets, key=lambda each: (each[0], -each[1])):
        around = [each for each in around if end <= each.end]
        outer = (
            around[-1]
            if around
            else max((each for each in others if each.start <= start < each.end), key=lambda each: each.start)
        )
        section = _section(title, SectionKind.BULLET, (start, end), (*outer.within, outer.title))
        around.append(section)
        yield section


def _section(title: str, kind: SectionKind, span: tuple[int, int], within: tuple[str, ...]) -> MarkdownSection:
    return MarkdownSection(title=title, kind=kind, within=within, start=span[0], end=span[1])


def find_section(sections: Sequence[MarkdownSection], title: str, where: str) -> MarkdownSection:
    """The section of this title, of this path of titles, or the only bullet that starts so; UsageError otherwise."""
    exact = [each for each in sections if title in (each.title, each.path)]
    headings = [each for each in exact if each.kind is not SectionKind.BULLET]
    found = headings or exact or [each for each in sections if _is_plainly(each, title)]
    if len(found) == 1:
        return found[0]
    if not found:
        names = [each.title for each in sections if each.kind is not SectionKind.BULLET]
        near = get_close_matches(title, [each.title for each in sections], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"its sections are {quote_names(names, SHOWN_TITLES)}."
        raise UsageError(f"{where} has no section {title!r}; {hint if names or near else 'it is empty.'}")
    paths = list(dict.fromkeys(each.path for each in found))
    if len(paths) < len(found):
        raise UsageError(
            f"{where} has {len(found)} sections {title!r} that cannot be told apart ({quote_names(paths)}); give them "
            "different titles."
        )
    raise UsageError(
        f"{where} has {len(found)} sections {title!r}; name one of them: {quote_names(paths, SHOWN_TITLES)}."
    )


_EMPHASIS = re.compile(r"[*_`]")


def _is_plainly(section: MarkdownSection, title: str) -> bool:
    """Whether a heading is the title, or a bullet starts with it, without marks of emphasis and code."""
    known, wanted = (_EMPHASIS.sub("", text) for text in (section.title, title))
    if section.kind is SectionKind.BULLET:
        return section.title.startswith(title) or known.startswith(wanted)
    return known == wanted


def own_spans(section: MarkdownSection, named: Collection[MarkdownSection]) -> tuple[tuple[int, int], ...]:
    """What belongs to a section where the sections in `named` stand for themselves: all of it but those in it."""
    spans, place = [], section.start
    for inner in sorted((each for each in named if section.holds(each)), key=lambda each: (each.start, -each.end)):
        if inner.start >= place:
            spans.append((place, inner.start))
            place = inner.end
    spans.append((place, section.end))
    return tuple(span for span in spans if span[0] < span[1])


def sent_pieces(text: str) -> tuple[str, ...]:
    """The pieces of instructions that every agent sends.

    Claude Code leaves out a byte order mark, front matter, and HTML comments that start a line.
    """
    reader = _Reader(text)
    reader.read()
    first = _front_matter_end(text) or len(text) - len(text.removeprefix("\ufeff"))
    places = [first, *(place for span in reader.comments for place in span), len(text)]
    return tuple(text[start:end] for start, end in zip(places[::2], places[1::2], strict=True))


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"(=+|-+)[ \t]*$")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_BREAK = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_MARKER = re.compile(r"([-*+]|\d{1,9}[.)])(?=[ \t]|$)")
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_HTML_BLOCKS = (
    (
        re.compile(r"<(?:pre|script|style|textarea)(?:[\s>]|$)", re.I),
        re.compile(r"</(?:pre|script|style|textarea)>", re.I),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![a-z]", re.I), re.compile(r">")),
    (re.compile(rf"</?(?:{_BLOCK_TAGS})(?:[\s/>]|$)", re.I), re.compile(r"^\s*$")),
)
_ANY_TAG = re.compile(
    r"(?:<[a-z][a-z0-9-]*(?:\s+[^\s=>\"']+(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?)*\s*/?>|</[a-z][a-z0-9-]*\s*>)\s*$",
    re.I,
)
_CODE_INDENT = 4


class _Item:
    """A bullet that is still open: where it starts, and from which column on lines belong to it."""

    def __init__(self, start: int, column: int, title: str) -> None:
        self.start, self.column, self.title = start, column, title


class _Reader:
    """Reads lines one after another, and knows what is open: items of lists, fenced code, HTML, a paragraph."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.headings: list[tuple[int, int, str]] = []
        self.bullets: list[tuple[int, int, str]] = []
        self.comments: list[tuple[int, int]] = []
        self._comment_start: int | None = None
        self._items: list[_Item] = []
        self._fence: tuple[str, int] | None = None
        self._html_end: re.Pattern[str] | None = None
        self._paragraph: list[tuple[int, str]] = []
        self._is_quote = False
        self._end = 0
        """Where the last line with text ended."""

    def read(self) -> None:
        """Find all headings and bullets."""
        place = _front_matter_end(self._text)
        for line in _LINE.findall(self._text[place:]):
            self._read_line(place, line.rstrip("\r\n").removeprefix("\ufeff" if place == 0 else ""))
            place += len(line)
            if line.strip():
                self._end = place
            if self._comment_start is not None and self._html_end is None:
                self._end_comment(place)
        self._close_items(0, self._end)
        self._end_comment(place)

    def _end_comment(self, place: int) -> None:
        if self._comment_start is not None:
            self.comments.append((self._comment_start, place))
            self._comment_start = None

    def _read_line(self, place: int, line: str) -> None:
        content = line.lstrip(" \t")
        if not content:
            self._paragraph, self._is_quote = [], False
            if self._html_end is not None and self._html_end.search(content):
                self._html_end = None
            return
        column = len(line[: len(line) - len(content)].expandtabs(_CODE_INDENT))
        while self._items and column < self._items[-1].column and not self._continues_paragraph(content, column):
            self._fence = self._html_end = None
            is_bullet = self._bullet_column(content, column) is not None
            self._close_items(len(self._items) - 1, place if is_bullet else self._end)
        if not self._in_block(content, column):
            self._read_block(place, content, column)

    def _continues_paragraph(self, content: str, column: int) -> bool:
        """Whether a line that is not indented goes on with the paragraph of the open bullet."""
        if not self._paragraph or self._fence is not None or self._html_end is not None:
            return False
        if column - self._outer_column(column) >= _CODE_INDENT:
            return True
        starts_block = _heading_of(content) or _FENCE.match(content) or _BREAK.match(content) or content[0] == ">"
        return not (starts_block or _MARKER.match(content) or any(start.match(content) for start, _ in _HTML_BLOCKS))

    def _outer_column(self, column: int) -> int:
        return max((item.column for item in self._items if item.column <= column), default=0)

    def _in_block(self, content: str, column: int) -> bool:
        """Whether the line is part of fenced code or of an HTML block, which it may end."""
        base = self._items[-1].column if self._items else 0
        if self._fence is not None:
            mark, length = self._fence
            closing = content.rstrip(" \t")
            if column - base < _CODE_INDENT and len(closing) >= length and set(closing) == {mark}:
                self._fence = None
            return True
        if self._html_end is not None:
            if self._html_end.search(content):
                self._html_end = None
            return True
        return False

    def _read_block(self, place: int, content: str, column: int) -> None:
        base = self._items[-1].column if self._items else 0
        if column - base >= _CODE_INDENT:
            if self._paragraph:
                self._paragraph.append((place, content))
            return
        if self._start_block(place, content) or self._read_heading(place, content, is_inside=column >= base):
            self._paragraph, self._is_quote = [], False
            return
        if content[0] == ">":
            quoted = content.lstrip("> \t")
            is_text = quoted and not (_heading_of(quoted) or _FENCE.match(quoted) or _BREAK.match(quoted))
            self._paragraph, self._is_quote = ([(place, quoted)], True) if is_text else ([], False)
            return
        inner = self._bullet_column(content, column)
        if inner is None:
            self._paragraph.append((place, content))
            return
        self._paragraph, self._is_quote = [], False
        self._items.append(_Item(place, inner, _MARKER.sub("", content, count=1).strip()))
        marker = _MARKER.match(content)
        rest = content[marker.end(1) :] if marker else ""
        if rest.strip():
            self._read_block(place, rest.lstrip(" \t"), inner)

    def _start_block(self, place: int, content: str) -> bool:
        if fence := _FENCE.match(content):
            mark = fence[1] or fence[2]
            self._fence = (mark[0], len(mark))
            return True
        for start, end in _HTML_BLOCKS:
            if start.match(content):
                self._html_end = None if end.search(content) else end
                self._comment_start = place if content.startswith("<!--") else None
                return True
        if not self._paragraph and _ANY_TAG.match(content):
            self._html_end = _HTML_BLOCKS[-1][1]
            return True
        return False

    def _read_heading(self, place: int, content: str, *, is_inside: bool) -> bool:
        """Whether the line is a heading or ends one; those within a bullet are part of the bullet."""
        if (heading := _heading_of(content)) is not None:
            if not self._items:
                self.headings.append((place, *heading))
            return True
        if self._paragraph and is_inside and not self._is_quote and (line := _UNDERLINE.match(content)):
            if not self._items:
                title = " ".join(text.strip() for _, text in self._paragraph)
                self.headings.append((self._paragraph[0][0], 1 if line[1][0] == "=" else 2, title))
            return True
        return bool(_BREAK.match(content))

    def _bullet_column(self, content: str, column: int) -> int | None:
        """The column of a bullet's text; None where the line starts no bullet."""
        marker = _MARKER.match(content)
        if marker is None or _BREAK.match(content):
            return None
        may_interrupt = content[marker.end() :].strip() and marker[1][:-1] in ("", "1")
        if self._paragraph and not (self._items or self._is_quote or may_interrupt):
            return None
        after = column + len(marker[1])
        # A tab goes to the next stop of the line, not of what is left of it.
        rest = (" " * after + content[len(marker[1]) :]).expandtabs(_CODE_INDENT)[after:]
        spaces = len(rest) - len(rest.lstrip(" "))
        return after + (spaces if rest.strip() and 1 <= spaces <= _CODE_INDENT else 1)

    def _close_items(self, left: int, end: int) -> None:
        while len(self._items) > left:
            item = self._items.pop()
            self._paragraph, self._is_quote = [], False
            if all(item.start != outer.start for outer in self._items):  # a bullet of a bullet on one line
                self.bullets.append((item.start, end, item.title))


def _heading_of(content: str) -> tuple[int, str] | None:
    found = _HEADING.match(content)
    return None if found is None else (len(found[1]), (found[2] or "").strip() or NO_TITLE)


def _front_matter_end(text: str) -> int:
    """Where front matter between lines of three hyphens ends; 0 where there is none."""
    found = re.match(r"\ufeff?---[ \t]*\r?\n(?:[^\r\n]*\r?\n)*?(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", text)
    return 0 if found is None else found.end()
