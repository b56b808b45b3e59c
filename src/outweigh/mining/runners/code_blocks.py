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
    """A test in a file: its name, and where its text starts and ends."""

    __test__ = False

    name: str
    start: int
    end: int


FindBlocks = Callable[[str, str], Sequence[TestBlock]]
"""Finds the tests in a text, given with a copy in which strings and comments are blank."""


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
    blocks = find(text, blank_text(text))
    tests: dict[str, str] = {}
    for block in blocks:
        tests[block.name] = tests.get(block.name, "") + _plain(text[block.start : block.end])
    rest = list(text)
    for block in blocks:
        rest[block.start : block.end] = " " * (block.end - block.start)
    return _SplitFile(tests, "".join(rest))


def _plain(text: str) -> str:
    """A text in which indentation makes no difference."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n") if line.strip())


_IMPORT = re.compile(r"\s*(?:import\b|from\b|use\b|using\b|package\b|#include\b|mod\b|\}? *from\b)|.*\brequire\(")
_DECLARATION = re.compile(
    r"^(?:export |pub |async |static |final |private |public |protected |internal )*"
    r"(?:function\*?|const|let|var|func|fn|def|class|type|struct|enum|interface|impl|fun|val|void|[A-Z]\w*(?:<.*>)?)"
    r"(?: \([^)]*\))? +(?P<name>[A-Za-z_$][\w$]*)"
)


def _changed_helpers(old: str, new: str) -> set[str]:
    """The names whose declarations outside of tests have changed lines."""
    known = {_plain(line) for line in old.split("\n")}
    names: set[str] = set()
    current: str | None = None
    for line in new.split("\n"):
        found = _DECLARATION.match(line.strip()) if not line[:1].isspace() or _DECLARATION.match(line.strip()) else None
        if found is not None and not _IMPORT.match(line):
            current = found["name"]
        if line.strip() and _plain(line) not in known and not _IMPORT.match(line) and current is not None:
            names.add(current)
    return names


def blank_text(text: str) -> str:
    """The same text with the content of strings, comments and regular expressions blank, at the same places."""
    return _BLANKED.sub(lambda found: "".join(" " if letter != "\n" else letter for letter in found[0]), text)


_BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|"""(?:.*?)"""'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n]){2,}'|'(?:\\.|[^'\\\n])'"
    r"|`(?:\\.|[^`\\])*`"
    r"|(?<=[(,=:!&|?{};\n])[ \t]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*",
    re.DOTALL,
)


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
_JVM_TEST = re.compile(
    r"@(?:org\.junit\.(?:jupiter\.api\.)?)?(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b"
    r"(?P<heading>[^;{}]*?)(?P<name>\w+|` *`)\s*\([^;{}]*\)[^;{}=]*(?=[{=])"
)
_DOTNET_TEST = re.compile(
    r"\[(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod)\b[^;{}]*?"
    r"(?P<name>\w+)\s*\([^;{}()]*\)\s*(?=\{|=>)"
)
_PHP_TEST = re.compile(r"(?:public )?(?:static )?function (?P<name>test\w*)\s*\(")


def find_blocks(heading: re.Pattern[str]) -> FindBlocks:
    """A search for tests whose headings match a pattern and whose bodies are in braces."""

    def find(text: str, blank: str) -> Sequence[TestBlock]:
        return list(_matches(heading, text, blank))

    return find


def _matches(heading: re.Pattern[str], text: str, blank: str) -> Iterator[TestBlock]:
    for found in heading.finditer(blank):
        name = text[found.start("name") : found.end("name")].strip("`")
        yield TestBlock(name, found.start(), body_end(blank, found.end()))


BRACED_LANGUAGES: Mapping[str, FindBlocks] = {
    ".go": find_blocks(_GO_TEST),
    ".rs": find_blocks(_RUST_TEST),
    ".java": find_blocks(_JVM_TEST),
    ".kt": find_blocks(_JVM_TEST),
    ".groovy": find_blocks(_JVM_TEST),
    ".cs": find_blocks(_DOTNET_TEST),
    ".php": find_blocks(_PHP_TEST),
}
"""How tests are found, by the ending of a file."""
