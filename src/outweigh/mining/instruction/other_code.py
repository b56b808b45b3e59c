"""The facts of a file in a language other than Python, by patterns over its masked text."""

import re
from collections.abc import Iterator

from outweigh.mining.instruction.code_facts import CodeFacts, Declaration, DeclarationKind, LiteralText, TestFunction
from outweigh.mining.instruction.declaration_patterns import OWNERS, PATTERNS, TESTS
from outweigh.mining.instruction.masking import MaskedCode, mask
from outweigh.mining.instruction.python_code import first_sentence

_LONGEST_SIGNATURE = 300
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_MEMBER = re.compile(r"(?:\.|->|::)[ \t]*([A-Za-z_$][\w$]*)|([A-Za-z_$][\w$]*)(?=[ \t]*(?::(?!:)|\())")
_KEY = re.compile(r"([A-Za-z_$][\w$]*)[ \t]*:(?![:=])")
_BOUND = re.compile(
    r"\b(?:const|let|var|val|function|class|def|fn|func|mut)[ \t]+([A-Za-z_$][\w$]*)"
    r"|([A-Za-z_$][\w$]*)[ \t]*(?:,[ \t]*[A-Za-z_$][\w$]*[ \t]*)*:="
    r"|([A-Za-z_$][\w$]*)[ \t]*=>"
    r"|(?:\.|->)([A-Za-z_$][\w$]*)[ \t]*=(?![=>])"
    r"|^[ \t]*([A-Za-z_$][\w$]*)[ \t]*:(?!:)",
    re.MULTILINE,
)
_DESTRUCTURED = re.compile(
    r"\b(?:const|let|var)[ \t]*[{\[]([^}\]]*)[}\]]|\(([\w$,\s=]*)\)[ \t]*=>|\bfunction[ \t]*\w*\(([\w$,\s]*)\)"
)
_IMPORT = re.compile(r"(?:\bfrom|\bimport|\brequire\w*|\buse|\binclude)\b[ \t(<]*\Z")
_COMPARING = re.compile(
    r"\b(?:assert\w*|expect\w*|should\w*|want\w*|require\.\w+|to(?:Be|Equal|Match|Contain|Throw)\w*|\w*[eE]quals?"
    r"|throws|rejects)\b"
)
"""Code in which tests compare."""
_IMPORT_BLOCK = re.compile(r"^import[ \t]*\([^)]*\)", re.MULTILINE)


def other_facts(path: str, text: str) -> CodeFacts:
    """Take a file apart as far as patterns can."""
    code = mask(path, text)
    imported = dict(_imported_literals(code))
    return CodeFacts(
        declarations=tuple(dict.fromkeys(_declarations(path, code))),
        texts=tuple((code.line_of(at), literal) for at, literal in code.literals if at not in imported),
        used=frozenset(_with_lines(code, _IDENTIFIER)),
        members=frozenset(_with_lines(code, _MEMBER)),
        passed=frozenset(_with_lines(code, _KEY)),
        bound=frozenset(_bound(code.masked)),
        imports=frozenset([*(literal.parts[0] for literal in imported.values()), *_named_imports(code)]),
        raised=tuple(re.findall(r"\b(?:throw|raise)[ \t]+(?:new[ \t]+)?([A-Za-z_][\w.]*)", code.masked)),
        tests=tuple(_tests(code)),
        prose_lines=frozenset(_prose_lines(code)),
        comparing_lines=frozenset(n for n, line in enumerate(code.masked.splitlines(), 1) if _COMPARING.search(line)),
    )


def _with_lines(code: MaskedCode, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(code.masked.splitlines(), 1):
        for match in pattern.finditer(line):
            yield number, next((group for group in match.groups() if group), match[0])


def _bound(masked: str) -> Iterator[str]:
    for match in _BOUND.finditer(masked):
        yield from (group for group in match.groups() if group)
    for match in _DESTRUCTURED.finditer(masked):
        yield from _IDENTIFIER.findall(" ".join(group for group in match.groups() if group))


def _imported_literals(code: MaskedCode) -> Iterator[tuple[int, LiteralText]]:
    """The literals that name what is imported, with their positions."""
    blocks = [match.span() for match in _IMPORT_BLOCK.finditer(code.masked)] if code.family == "go" else []
    for position, literal in code.literals:
        inside = any(first <= position < last for first, last in blocks)
        if inside or _IMPORT.search(code.masked, max(0, position - 40), position):
            yield position, literal


def _named_imports(code: MaskedCode) -> Iterator[str]:
    for match in re.finditer(r"^[ \t]*(?:import|use|using|package)[ \t]+([\w.:{}, *]+)", code.masked, re.MULTILINE):
        yield match[1].strip()


def _prose_lines(code: MaskedCode) -> Iterator[int]:
    masked = code.masked.splitlines()
    for start, end in code.prose:
        first = code.line_of(start)
        for number in range(first, first + code.text.count("\n", start, end) + 1):
            if number <= len(masked) and not masked[number - 1].strip():
                yield number


def _declarations(path: str, code: MaskedCode) -> list[Declaration]:
    owners = _owners(code)
    found: dict[int, list[Declaration]] = {}
    for kind, pattern in PATTERNS[code.family]:
        for match in pattern.finditer(code.masked):
            declared = list(_declared(path, code, kind, match, owners))
            if declared:
                found.setdefault(_place(match), declared)
    return [declaration for place in sorted(found) for declaration in found[place]]


def _place(match: re.Match[str]) -> int:
    return match.start("name") if match.groupdict().get("name") else match.start()


def _owners(code: MaskedCode) -> list[tuple[int, int, str]]:
    pattern = OWNERS[code.family]
    if pattern is None:
        return []
    return [(match.end(), code.closing(match.end() - 1), match["name"]) for match in pattern.finditer(code.masked)]


def _declared(
    path: str, code: MaskedCode, kind: DeclarationKind, match: re.Match[str], owners: list[tuple[int, int, str]]
) -> Iterator[Declaration]:
    groups = match.groupdict()
    if groups.get("names"):
        for name in re.findall(r"([A-Za-z_$][\w$]*)[ \t]*(?:,|:|$|\n)", groups["names"]):
            yield Declaration(path=path, name=name, kind=kind, signature=name)
        return
    start = match.start() + len(match[0]) - len(match[0].lstrip())
    owner = groups.get("owner") or next((name for first, last, name in reversed(owners) if first <= start < last), "")
    if kind is DeclarationKind.CLASS:
        owner = ""
    elif kind is DeclarationKind.FUNCTION and owner:
        kind = DeclarationKind.METHOD
    signature = _signature(code, start, match.end())
    if signature is None or (kind is DeclarationKind.METHOD and not _has_body(code, match.end())):
        return
    yield Declaration(
        path=path,
        name=match["name"],
        kind=kind,
        signature=signature,
        contract=_contract(code.comment_before(start)),
        owner=owner,
    )


def _signature(code: MaskedCode, start: int, end: int) -> str | None:
    if not code.masked[start:end].endswith("("):
        return " ".join(code.text[start:end].split())
    closing = code.closing(end - 1)
    stop = re.compile(r"\{|;|=>|\n|=(?!>)").search(code.masked, closing)
    until = stop.start() if stop else closing + 1
    if until - start > _LONGEST_SIGNATURE:
        return None
    return " ".join(code.text[start:until].split())


def _has_body(code: MaskedCode, end: int) -> bool:
    """Whether what looks like a method is followed by a body or ends a declaration, so that it is no call."""
    if code.family in ("ruby", "rust", "go") or not code.masked[:end].endswith("("):
        return True
    after = code.masked[code.closing(end - 1) + 1 :][:200]
    return bool(
        re.match(
            r"\s*(?:(?::|throws|->|=>|const|noexcept|override)[^;{}\n]*)?(?:\{|=>)|\s*:[^;{}\n]*;|\s*=\s*0;", after
        )
    )


def _contract(comment: str) -> str:
    words = [line for line in comment.splitlines() if not line.startswith(("@", "eslint", "istanbul", "nolint"))]
    return first_sentence("\n".join(words))


def _tests(code: MaskedCode) -> Iterator[TestFunction]:
    groups = list(_groups(code)) if code.family == "script" else []
    for match in TESTS[code.family].finditer(code.masked):
        named = next((value for value in match.groupdict().values() if value), None)
        call, end = _test_span(code, match)
        title = named or next((literal.shown for position, literal in code.literals if call <= position < end), "")
        group = next((name for first, last, name in reversed(groups) if first <= match.start() < last), "")
        if title:
            first, last = code.line_of(match.start()), code.line_of(end)
            yield TestFunction(title=title, group=group, first_line=first, last_line=last)


def _groups(code: MaskedCode) -> Iterator[tuple[int, int, str]]:
    for match in re.finditer(r"(?<![\w$.])(?:describe|suite|context)(?:\.\w+)*[ \t]*(?=\()", code.masked):
        end = code.closing(match.end())
        title = next((literal.shown for position, literal in code.literals if match.end() <= position < end), "")
        yield match.start(), end, title


def _test_span(code: MaskedCode, match: re.Match[str]) -> tuple[int, int]:
    """Where the call that has a test's title begins, and where the test ends."""
    if code.family == "ruby":
        indent = len(match[0]) - len(match[0].lstrip())
        ending = re.compile(rf"^[ \t]{{0,{indent}}}end\b", re.MULTILINE).search(code.masked, match.end())
        return match.start(), ending.start() if ending else len(code.text)
    if code.family == "script":
        end = code.closing(match.end()) if code.masked[match.end() : match.end() + 1] == "(" else match.end()
        table = re.compile(r"\s*\(").match(code.masked, end + 1)
        return (table.end() - 1, code.closing(table.end() - 1)) if table else (match.end(), end)
    body = code.masked.find("{", match.end())
    return match.start(), code.closing(body) if body >= 0 else match.end()
