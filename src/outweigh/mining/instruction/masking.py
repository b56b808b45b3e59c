"""Code with its comments and string literals blanked out, so that patterns find code only; for any language."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from outweigh.mining.instruction.code_facts import LiteralText

_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"
_DOUBLE = r'"(?:\\.|[^"\\\n])*"'
_SINGLE = r"'(?:\\.|[^'\\\n])*'"
_CHARACTER = r"'(?:\\.[^'\n]{0,8}|[^'\\\n])'"
_RAW = r"`[^`]*`"
_TEMPLATE = r"`(?:\\.|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|[^`\\])*`"
_TRIPLE = r'"""(?:\\.|[^\\])*?"""' + r"|'''(?:\\.|[^\\])*?'''"
_REGULAR = r"(?<=[(,=:\[!&|?;\n])[ \t]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
_RUST_RAW = r'r(?P<hashes>\#*)".*?"(?P=hashes)'

_SCRIPT = (_SLASHES, _TEMPLATE, _SINGLE, _DOUBLE, _REGULAR)
_BRACES = (_SLASHES, _TRIPLE, _DOUBLE, _CHARACTER)
_PHP = (_SLASHES, _HASH, _SINGLE, _DOUBLE)
_HASHES = (_TRIPLE, _HASH, _SINGLE, _DOUBLE)

FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue"), ("script", _SCRIPT)),
    ".go": ("go", (_SLASHES, _RAW, _DOUBLE, _CHARACTER)),
    ".rs": ("rust", (_SLASHES, _RUST_RAW, r'"(?:\\.|[^"\\])*"', _CHARACTER)),
    ".php": ("braces", _PHP),
    **dict.fromkeys((".rb", ".rake", ".ex", ".exs", ".cr", ".py", ".pyi", ".pyx"), ("ruby", _HASHES)),
}
"""The family of a language by suffix, and what is not code in it. Others are read as a language with braces."""

_PATTERNS = {words: re.compile("|".join(words), re.DOTALL) for _, words in {*FAMILIES.values(), ("braces", _BRACES)}}
_FIELD = re.compile(r"[$#]\{((?:[^{}]|\{[^{}]*\})*)\}")
_SIMPLE_FIELD = re.compile(r"(?:[\w$]+\.)*([\w$]+)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedCode:
    """A file whose comments and string literals are blank in `masked`, at the same positions as in `text`.

    `literals` have the position of each string literal, `prose` the spans of comments.
    """

    text: str
    masked: str
    family: str
    literals: tuple[tuple[int, LiteralText], ...]
    prose: tuple[tuple[int, int], ...]

    def line_of(self, position: int) -> int:
        """The line of a position, counted from 1."""
        return self.text.count("\n", 0, position) + 1

    def closing(self, opening: int) -> int:
        """The position of the bracket that closes the one at a position, or the end of the text."""
        depth = 0
        for match in re.compile(r"[()\[\]{}]").finditer(self.masked, opening):
            depth += 1 if match[0] in "([{" else -1
            if depth == 0:
                return match.start()
        return len(self.text)

    def comment_before(self, position: int) -> str:
        """The comment that ends right before a position, without its marks."""
        for start, end in reversed(self.prose):
            if end <= position and not self.masked[end:position].strip():
                block = self.text[start:end]
                above = self.comment_before(start) if block.startswith(("//", "#")) else ""
                return f"{above}\n{_without_marks(block)}".strip()
        return ""


def mask(path: str, text: str) -> MaskedCode:
    """Blank out what is not code in a file."""
    family, words = FAMILIES.get(PurePosixPath(path).suffix, ("braces", _BRACES))
    literals, prose, pieces, position = [], [], [], 0
    for match in _PATTERNS[words].finditer(text):
        found = match[0]
        pieces += [text[position : match.start()], re.sub(r"[^\n]", " ", found)]
        position = match.end()
        if found.startswith(("//", "/*", "#")):
            prose.append(match.span())
        else:
            literals.append((match.start(), _literal(found)))
    pieces.append(text[position:])
    return MaskedCode(
        text=text,
        masked="".join(pieces),
        family=family,
        literals=tuple(literals),
        prose=tuple(prose),
    )


def _literal(found: str) -> LiteralText:
    written = found.strip()
    if written.startswith("/"):
        return LiteralText((written.strip("/").rpartition("/")[0] or written.strip("/"),))
    opening = re.match(r"r?#*(\"{3}|'{3}|[\"'`])", written)
    inner = written.lstrip("r#").rstrip("#")
    if opening:
        inner = inner[len(opening[1]) : -len(opening[1])]
    parts, fields, position = [], [], 0
    for match in _FIELD.finditer(inner):
        simple = _SIMPLE_FIELD.fullmatch(match[1].strip())
        parts.append(_unescaped(inner[position : match.start()]))
        fields.append(simple[1] if simple else "…")
        position = match.end()
    return LiteralText((*parts, _unescaped(inner[position:])), tuple(fields))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _without_marks(comment: str) -> str:
    body = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^\s*(?:///?!?|[*#]+)?\s?", "", line).rstrip() for line in body.splitlines()]
    return "\n".join(lines).strip()
