"""Whether a change of code is one: more than comments, layout and moved lines."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

from outweigh.mining.history_objects import ChangedLines

_HASH = re.compile(r"pyx?|rb|sh|bash|zsh|p[lm]|r|jl|nim|exs?|cr|coffee")
_SLASHES = re.compile(
    r"[cm]?[jt]s|[jt]sx|vue|svelte|go|rs|java|kts?|scala|groovy|php|cs|fs|[ch]|cc|cpp|cxx|hh|hpp|hxx|mm?|swift|dart|zig|d"
    r"|proto|sol|s?css|less"
)
_STRING = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_SLASH_TOKENS = re.compile(
    rf"(?P<string>{_STRING}|`(?:\\.|[^`\\])*`)|(?P<kept>//go:[^\n]*)|//[^\n]*|/\*.*?\*/|\s+|;", re.DOTALL
)
_HASH_TOKENS = re.compile(rf"(?P<string>{_STRING})|(?P<kept>\#!.*)|\#[^\n]*|\s+|[,()]")
_COMMENT_LINE = re.compile(r"(?://(?!go:)|/\*|\*|#(?!\[|include|define|if|el|end|undef|pragma)|--|<!--)")
_COMMENT_AFTER_CODE = re.compile(r"\s(?:#|//|/\*)\s.*$")
_LAYOUT = re.compile(r"[\s,;()'\"`]+")
_PYTHON_CODE = re.compile(
    r"""(?:async\ )?(?:def|class)\ \w+[(:\[]
    |(?:async\ )?(?:if|elif|else|for|while|with|try|except|finally|match|case)\b.*:(?:\s*\#.*)?$
    |[\w(\[*][\w.\[\]'", *]*(?::\s?[\w\[\],\ .|"']+)?\ [-+*/|&]?=\ \S|@\w|(?:from\ [\w.]+\ )?import\ \w
    |(?:return|pass)$|(?:return|raise|assert|yield|await|del)\ [\w.'"\[({-]+(?:[(\[.,:=+*/<>-]|$)
    |\w[\w.]*\(.*\)?,?$|[)\]}]+[,:]?$""",
    re.VERBOSE,
)
_OTHER_CODE = re.compile(
    r".*(?:[;{}),(\[\]]|=>|->|:=|\bdo|\bthen|\bend)$|.*(?: = |:=|=>|->|\(\)|&&|\|\|)|#(?:include|define|if)"
)
_LONGEST_LINE = 400
_IMPORT_LINE = re.compile(
    r"(?:from\s+\S+\s+import\b|import\b|export\s+(?:\*|\{)|use\s|mod\s|pub (?:use|mod)\s|package\s|using\s|namespace\s"
    r"|#include\b|require|(?:const|var|let)\s.*\brequire\(|module\.exports)"
)
_INLINE_TESTS = re.compile(r"^\s*#\[cfg\((?:all\()?test\b", re.MULTILINE)


def changed_by_lines(path: str, lines: ChangedLines) -> bool | None:
    """Whether changed lines show a change of code; None where only the whole files could tell."""
    suffix = _suffix(path)
    if not _HASH.fullmatch(suffix) and not _SLASHES.fullmatch(suffix):
        return bool(lines.added or lines.removed)
    removed, added = _code_lines(lines.removed), _code_lines(lines.added)
    if _joined(removed) == _joined(added):
        return None
    pattern = _PYTHON_CODE if suffix in ("py", "pyx") else _OTHER_CODE
    return True if any(pattern.match(line) for line in {*removed} ^ {*added}) else None


def changed_by_content(path: str, before: bytes, after: bytes) -> bool:
    """Whether two versions of a file differ in code, and not in comments, docstrings or layout alone."""
    suffix = _suffix(path)
    if not _HASH.fullmatch(suffix) and not _SLASHES.fullmatch(suffix):
        return before != after
    old, new = (text.decode(errors="replace") for text in (before, after))
    if suffix == "py":
        return _python_differs(old, new)
    tokens = _HASH_TOKENS if _HASH.fullmatch(suffix) else _SLASH_TOKENS
    return _without_layout(tokens, old) != _without_layout(tokens, new)


def is_move(files: Iterable[ChangedLines]) -> bool:
    """Whether all lines that one file loses another one gains, apart from imports."""
    removed: Counter[str] = Counter()
    added: Counter[str] = Counter()
    between_files = False
    for lines in files:
        lost, gained = (Counter(_without_imports(each)) for each in (lines.removed, lines.added))
        between_files = between_files or lost != gained
        removed += lost
        added += gained
    return between_files and removed == added


def inline_tests(path: str, content: bytes) -> tuple[bytes, bytes]:
    """A source file without its inline tests, and those tests. Only Rust has them, at the end by convention."""
    if not path.endswith(".rs"):
        return content, b""
    text = content.decode(errors="surrogateescape")
    found = _INLINE_TESTS.search(text)
    if found is None:
        return content, b""
    parts = text[: found.start()], text[found.start() :]
    return parts[0].encode(errors="surrogateescape"), parts[1].encode(errors="surrogateescape")


def _suffix(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def _code_lines(lines: Sequence[str]) -> list[str]:
    stripped = (_COMMENT_AFTER_CODE.sub("", line[:_LONGEST_LINE]).strip() for line in lines)
    return [line for line in stripped if line and not _COMMENT_LINE.match(line)]


def _without_imports(lines: Sequence[str]) -> list[str]:
    return [line for line in _code_lines(lines) if not _IMPORT_LINE.match(line)]


def _joined(lines: Sequence[str]) -> str:
    return _LAYOUT.sub("", "".join(lines))


def _without_layout(tokens: re.Pattern[str], text: str) -> str:
    def kept(found: re.Match[str]) -> str:
        string = found["string"]
        return f'"{string[1:-1]}"' if string else found["kept"] or ""

    return re.sub(r",(?=[)\]}])", "", tokens.sub(kept, text))


def _python_differs(old: str, new: str) -> bool:
    try:
        return _python_code(old) != _python_code(new)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # of another version of Python
        return _indented_code(old) != _indented_code(new)


def _indented_code(text: str) -> list[tuple[int, str]]:
    lines = ((line, _without_layout(_HASH_TOKENS, line)) for line in text.expandtabs().split("\n"))
    return [(len(line) - len(line.lstrip()), code) for line, code in lines if code]


def _python_code(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the code that is read
        tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not body:
            continue
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            del body[0]
    return ast.dump(tree)
