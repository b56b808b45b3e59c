"""Test blocks of languages with braces, found by a scan that tolerates what it does not know, and which differ.

The scan only has to tell code from strings and comments; it is no parser.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

ANY_TEXT = "…"
"""Stands in a name for a part that is only known when the test runs."""

_MOST_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True)
class TestBlock:
    """A test in a file: its name, where its text starts and ends, and the text of what is run before or after it."""

    __test__ = False

    name: str
    start: int
    end: int
    shared: str = ""


FindBlocks = Callable[[str], Sequence[TestBlock]]
"""Finds the tests in a text."""


def changed_blocks(before: bytes | None, after: bytes, find: FindBlocks) -> frozenset[str] | None:
    """The names of tests that are new or differ, or that use a helper that does; None where there is no test."""
    if len(after) > _MOST_CHARACTERS or len(before or b"") > _MOST_CHARACTERS:
        return None
    new, old = _split(after, find), _split(before or b"", find)
    if not new.tests:
        return None
    helpers = _changed_helpers(old.rest, new.rest)
    uses = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(helpers)))})\b") if helpers else None
    return frozenset(
        name
        for name, text in new.tests.items()
        if old.tests.get(name) != text or (uses is not None and uses.search(text))
    )


@dataclass(frozen=True, slots=True)
class _SplitFile:
    tests: Mapping[str, str]
    rest: str


def _split(content: bytes, find: FindBlocks) -> _SplitFile:
    text = content.decode("utf-8", "replace")
    blocks = find(text)
    tests: dict[str, str] = {}
    for block in blocks:
        tests[block.name] = tests.get(block.name, "") + text[block.start : block.end] + block.shared
    rest, end = "", 0
    for block in sorted(blocks, key=lambda each: each.start):
        rest += text[end : max(block.start, end)]
        end = max(block.end, end)
    return _SplitFile(tests, rest + text[end:])


_IMPORT = re.compile(r"\s*(?:import\b|from\b|use\b|using\b|package\b|#include\b|mod\b|\}? *from\b)|.*\brequire\(")
_DECLARATION = re.compile(
    r"^(?:export |pub |async |static |final |private |public |protected |internal )*"
    r"(?:function\*?|const|let|var|func|fn|def|class|type|struct|enum|interface|impl|fun|val|void|[A-Z]\w*(?:<.*>)?)"
    r"(?: \([^)]*\))? +(?P<name>[A-Za-z_$][\w$]*)"
)


def _changed_helpers(old: str, new: str) -> set[str]:
    """The names whose declarations outside of tests have changed lines."""
    known = set(old.split("\n"))
    names: set[str] = set()
    current: str | None = None
    for line in new.split("\n"):
        found = None if _IMPORT.match(line) else _DECLARATION.match(line.strip())
        if found is not None:
            current = found["name"]
        elif line and not line[0].isspace() and line[0] not in "})]":
            current = None
        if line.strip() and line not in known and not _IMPORT.match(line) and current is not None:
            names.add(current)
    return names


def blank_text(text: str, *, quotes: bool) -> str:
    """The same text with the content of strings, comments and regular expressions blank, at the same places.

    `quotes` says that strings may have single quotes; elsewhere these are for one character, or for a lifetime.
    """
    pattern = _WITH_QUOTES if quotes else _WITHOUT_QUOTES
    return pattern.sub(lambda found: "".join(" " if letter != "\n" else letter for letter in found[0]), text)


_SHARED = r'//[^\n]*|/\*.*?\*/|"""(?:.*?)"""|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`'
_REGEX = r"(?<=[(,=:!&|?{};\n])[ \t]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
_WITH_QUOTES = re.compile(rf"{_SHARED}|'(?:\\.|[^'\\\n])*'|{_REGEX}", re.DOTALL)
_WITHOUT_QUOTES = re.compile(rf"{_SHARED}|'(?:\\[^'\n]*|[^'\\\n])'", re.DOTALL)


def closing(blank: str, opening: int, pair: str = "{}") -> int:
    """Where a bracket is closed, one character further; the end of the text where it is not."""
    depth = 0
    for place in re.finditer(rf"[{re.escape(pair)}]", blank[opening:]):
        depth += 1 if place[0] == pair[0] else -1
        if depth == 0:
            return opening + place.end()
    return len(blank)


def body_end(blank: str, start: int) -> int:
    """Where the block in braces ends that follows a heading."""
    opening = blank.find("{", start)
    return len(blank) if opening < 0 else closing(blank, opening)


_GO_TEST = re.compile(r"^func (?:\([^)]*\) )?(?P<name>(?:Test|Example|Fuzz)\w*)\(", re.MULTILINE)
_RUST_TEST = re.compile(
    r"#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b[^\n]*\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\s*)*"
    r"(?:pub |async |unsafe )*fn (?P<name>\w+)"
)
_JVM_TEST = re.compile(r"@(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b")
_DOTNET_TEST = re.compile(r"\[(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)\b")
_ANNOTATION = re.compile(r"\s*(?:@[\w.]+|(?=\[))")
_METHOD = re.compile(r"[^;{}()=@\[]*?(?P<name>\w+)\s*(?=\()")
_PHP_TEST = re.compile(r"(?:public )?(?:static )?function (?P<name>test\w*)\s*\(")


def _find_blocks(heading: re.Pattern[str], *, quotes: bool = False) -> FindBlocks:
    """A search for tests whose headings match a pattern and whose bodies are in braces."""

    def find(text: str) -> Sequence[TestBlock]:
        return list(_matches(heading, blank_text(text, quotes=quotes)))

    return find


def _matches(heading: re.Pattern[str], blank: str) -> Iterator[TestBlock]:
    for found in heading.finditer(blank):
        yield TestBlock(found["name"], found.start(), body_end(blank, found.end()))


def _find_annotated(annotation: re.Pattern[str]) -> FindBlocks:
    """A search for methods that follow an annotation or an attribute, and others after it."""

    def find(text: str) -> Sequence[TestBlock]:
        blank = blank_text(text, quotes=False)
        found = (_annotated(text, blank, place.start()) for place in annotation.finditer(blank))
        blocks = list(filter(None, found))
        # A method may have several such annotations; the first is where it starts.
        return [block for place, block in enumerate(blocks) if not place or blocks[place - 1].end <= block.start]

    return find


def _annotated(text: str, blank: str, start: int) -> TestBlock | None:
    at = start
    while (found := _ANNOTATION.match(blank, at)) is not None:
        at = found.end()
        if blank[at : at + 1] in ("(", "["):
            at = closing(blank, at, "()" if blank[at] == "(" else "[]")
    method = _METHOD.match(blank, at)
    if method is None:
        return None
    quoted = re.search("`([^`\n]+)`", text[at : method.end()])
    name = method["name"] if quoted is None else quoted[1]
    parameters = closing(blank, method.end(), "()")
    heading = re.compile(r"[^;{}]*?(?:=>?[^;\n]*(?P<line>;|\n)|(?=\{))").match(blank, parameters)
    is_expression = heading is not None and heading["line"] is not None
    return TestBlock(name, start, heading.end() if heading and is_expression else body_end(blank, parameters))


BRACED_LANGUAGES: Mapping[str, FindBlocks] = {
    ".go": _find_blocks(_GO_TEST),
    ".rs": _find_blocks(_RUST_TEST),
    ".java": _find_annotated(_JVM_TEST),
    ".kt": _find_annotated(_JVM_TEST),
    ".groovy": _find_annotated(_JVM_TEST),
    ".cs": _find_annotated(_DOTNET_TEST),
    ".php": _find_blocks(_PHP_TEST, quotes=True),
}
"""How tests are found, by the ending of a file."""
