"""Patches as HTML: added and removed lines, with light syntax colouring."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath

from outweigh.web.markup import Html, element, escape_text, join_markup

MAX_PATCH_LINES = 2_000
MAX_PATCH_LINE_LENGTH = 1_000
"""Longer lines and patches are cut; the whole patch has a page of its own."""

_MAX_COLOURED_LENGTH = 400
_KEYWORDS = (
    "and as async await break case catch class const continue def default do done echo elif else enum esac export "
    "extends false False fi finally fn for from func function if impl import in interface is lambda let local match "
    "mod module new nil None not null or package pass private pub public raise return self static struct super switch "
    "then this throw trait true True try type use var void while with yield"
)
_SLASH_COMMENT_SUFFIXES = frozenset(
    ".c .cc .cpp .cs .css .go .h .hpp .java .js .jsx .kt .php .rs .scala .swift .ts .tsx".split()  # noqa: SIM905 - a list of words reads better
)
"""Files in which comments begin with `//`; in all others they begin with `#`."""

_COMMON_TOKENS = (
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<number>\b\d[\d_.]*\b)"
    rf"|(?P<keyword>\b(?:{'|'.join(_KEYWORDS.split())})\b)"
)
_HASH_COMMENT_TOKENS = re.compile(rf"(?P<comment>(?:^|(?<=\s))#.*$){_COMMON_TOKENS}")
_SLASH_COMMENT_TOKENS = re.compile(rf"(?P<comment>(?:^|(?<=\s))//.*$){_COMMON_TOKENS}")
_HEADER_PREFIXES = (
    "diff --git",
    "index ",
    "--- ",
    "+++ ",
    "new file",
    "deleted file",
    "old mode",
    "new mode",
    "similarity",
)


def render_patch(lines: Iterable[str]) -> Html:
    """The first lines of a patch."""
    shown = list(islice(lines, MAX_PATCH_LINES))
    return element("pre", element("code", *_lines(shown)), class_="patch", tabindex="0")


def _lines(lines: Iterable[str]) -> Iterator[Html]:
    inside, tokens = False, _HASH_COMMENT_TOKENS
    for line in lines:
        inside = not line.startswith("diff --git") and (inside or line.startswith("@@"))
        kind = _kind(line, inside=inside)
        if kind == "head":
            tokens = (
                _SLASH_COMMENT_TOKENS
                if PurePosixPath(line.rstrip()).suffix in _SLASH_COMMENT_SUFFIXES
                else _HASH_COMMENT_TOKENS
            )
        cut = line[:MAX_PATCH_LINE_LENGTH]
        content = (
            join_markup((_plain(cut[:1]), _coloured(cut[1:], tokens))) if kind in ("add", "gone", "") else _plain(cut)
        )
        rest = element("i", f" … {len(line) - len(cut):,} more characters") if len(line) > len(cut) else None
        yield element("span", content, rest, Html("\n"), class_=kind or None)


def _kind(line: str, *, inside: bool) -> str:
    if line.startswith("@@"):
        return "hunk"
    if not inside and line.startswith(_HEADER_PREFIXES):
        return "head"
    return {"+": "add", "-": "gone"}.get(line[:1], "")


def _coloured(code: str, tokens: re.Pattern[str]) -> Html:
    """Highlight strings, comments, numbers and keywords that most languages share. Long lines stay plain."""
    if len(code) > _MAX_COLOURED_LENGTH:
        return _plain(code)
    parts: list[Html] = []
    at = 0
    for found in tokens.finditer(code):
        parts += [_plain(code[at : found.start()]), element("span", _plain(found[0]), class_=f"t-{found.lastgroup}")]
        at = found.end()
    return join_markup([*parts, _plain(code[at:])])


def _plain(code: str) -> Html:
    return Html("\t".join(map(escape_text, code.split("\t"))))
