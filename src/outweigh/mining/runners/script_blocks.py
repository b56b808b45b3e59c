"""Tests of JavaScript, TypeScript and Ruby files: blocks with titles within blocks with titles."""

import re
from collections.abc import Iterator, Sequence

from outweigh.mining.runners.code_blocks import ANY_TEXT, TestBlock, blank_text, closing

_SCRIPT_CALL = re.compile(
    # Names such as `testOrSkip` are variables that stand for one of these functions.
    r"(?<![\w$.])(?P<kind>describe|context|suite|it|test|specify|xit|fit|xtest|xdescribe|fdescribe)(?:[A-Z_]\w*)?"
    r"(?P<more>(?:\.\w+)*)\s*(?=[(`])"
)
_GROUPS = frozenset({"describe", "context", "suite", "xdescribe", "fdescribe"})
_TITLE = re.compile(r"\(\s*(?P<quote>['\"`])(?P<title>(?:\\.|(?!(?P=quote)).)*)(?P=quote)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_INSERTED = re.compile(r"\$\{[^}]*\}|%[sdifjopc#]|\$\w+(?:\.\w+)*")


def find_script_blocks(text: str) -> Sequence[TestBlock]:
    """The tests of a JavaScript or TypeScript file, by the titles of all blocks around them."""
    return list(_script_blocks(text, blank_text(text, quotes=True)))


_HOOK = re.compile(r"(?<![\w$.])(?:before|after)(?:Each|All)?\s*(?=\()")


def _script_blocks(text: str, blank: str) -> Iterator[TestBlock]:
    hooks = [(found.start(), closing(blank, found.end(), "()")) for found in _HOOK.finditer(blank)]
    groups: list[TestBlock] = []
    tests: list[tuple[TestBlock, list[TestBlock]]] = []
    for found in _SCRIPT_CALL.finditer(blank):
        opening = _arguments(blank, found.end(), is_table="each" in found["more"] or blank[found.end()] == "`")
        if opening is None:
            continue
        around = [group for group in groups if group.start < found.start() < group.end]
        title = _title(text, opening, dynamic="each" in found["more"])
        name = "::".join((*(group.name for group in around[-1:]), title))
        block = TestBlock(name, found.start(), closing(blank, opening, "()"))
        if found["kind"] in _GROUPS or ".describe" in found["more"]:
            groups.append(block)
        elif not found["more"].startswith((".before", ".after")):
            tests.append((block, around))
    for block, around in tests:
        shared = "".join(text[start:end] for start, end in hooks if _applies(start, groups, around))
        yield TestBlock(block.name, block.start, block.end, shared)


def _applies(hook: int, groups: Sequence[TestBlock], around: Sequence[TestBlock]) -> bool:
    """Whether what is run around tests is run around those in these blocks."""
    own = [group for group in groups if group.start < hook < group.end]
    return not own or own[-1] in around


def _arguments(blank: str, at: int, *, is_table: bool) -> int | None:
    """Where the arguments with the title start; those of `each` with its table come before them."""
    if is_table:
        # A template is blank in the copy, and a table in parentheses is skipped.
        at = closing(blank, at, "()") if blank[at] == "(" else at
        at = blank.find("(", at)
        return None if at < 0 else at
    return at if blank[at] == "(" else None


def _title(text: str, opening: int, *, dynamic: bool) -> str:
    found = _TITLE.match(text, opening)
    if found is None:
        return ANY_TEXT
    title = _ESCAPE.sub(r"\1", found["title"])
    return _INSERTED.sub(ANY_TEXT, title) if dynamic or found["quote"] == "`" else title


_RUBY_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?:RSpec\.)?(?P<kind>describe|context|feature|it|specify|example|scenario|its|test)\b[ (]*"
    r"(?:(?P<quote>['\"])(?P<title>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<word>[A-Z][\w:]*))?[^\n]*\bdo\b[^\n]*$",
    re.MULTILINE,
)
_RUBY_GROUPS = frozenset({"describe", "context", "feature"})


def find_ruby_blocks(text: str) -> Sequence[TestBlock]:
    """The examples of an RSpec file, by their own titles; a block ends where `end` has its indentation."""
    return list(_ruby_blocks(text))


def _ruby_blocks(text: str) -> Iterator[TestBlock]:
    for found in _RUBY_BLOCK.finditer(text):
        if found["kind"] in _RUBY_GROUPS:
            continue
        end = re.compile(rf"^{found['indent']}end\b[^\n]*$", re.MULTILINE).search(text, found.end())
        title = found["title"]
        name = ANY_TEXT if title is None else re.sub(r"#\{[^}]*\}", ANY_TEXT, title)
        yield TestBlock(name, found.start(), len(text) if end is None else end.end())


def matches_name(pattern: str, name: str) -> bool:
    """Whether a name fits one in which parts are unknown."""
    if ANY_TEXT not in pattern:
        return pattern == name
    return re.fullmatch(".*".join(map(re.escape, pattern.split(ANY_TEXT))), name, re.DOTALL) is not None
