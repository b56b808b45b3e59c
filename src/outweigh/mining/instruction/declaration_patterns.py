"""How declarations look in languages other than Python, as patterns over masked code.

A pattern ends at the opening parenthesis of the parameters where there are some. Groups: `name`, `owner`, `names` (a
list of names). They are tolerant: what looks like a declaration counts as one. In a pattern, a space stands for spaces
and tabs, and `~` for spaces and tabs that may be missing.
"""

import re

from outweigh.mining.instruction.code_facts import DeclarationKind as Kind

_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_NO_KEYWORD = (
    r"(?!(?:if|for|while|switch|catch|return|function|super|new|else|throw|await|typeof|do|assert|sizeof|match)\b)"
)


def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(written.replace(" ", r"[ \t]+").replace("~", r"[ \t]*"), re.MULTILINE)


def _compiled(*patterns: tuple[Kind, str]) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    return tuple((kind, _pattern(written)) for kind, written in patterns)


_EXPORTED = r"^~(?:export )?(?:default )?(?:declare )?"
_SCRIPT_MARKS = r"(?:(?:public|private|protected|static|readonly|async|get|set|override|abstract) )*"
_CLASS_LIKE = r"(?:class|interface|enum|record|trait|object|struct|protocol|namespace)"
_TYPES = r"(?:[\w<>\[\],.?@&*:]+ )+?[&*]*"
_FIELD_MARKS = r"(?:(?:public|protected|internal|static|final|readonly|const|val|var|let) )+"

PATTERNS = {
    "script": _compiled(
        (Kind.FUNCTION, rf"{_EXPORTED}(?:async )?function~\*?~{_NAME}~(?:<[^>(]*>)?\("),
        (Kind.CLASS, rf"{_EXPORTED}(?:abstract )?(?:class|interface|enum|namespace) {_NAME}[^{{\n]*"),
        (Kind.CLASS, rf"{_EXPORTED}type {_NAME}[^=\n]*(?==)"),
        (Kind.METHOD, rf"^ {_SCRIPT_MARKS}\*?{_NO_KEYWORD}{_NAME}~\??~(?:<[^>(]*>)?\("),
        (Kind.METHOD, rf"^~(?P<owner>[\w$]+)\.prototype\.{_NAME}~=~(?:async~)?(?:function~[\w$]*~)?\("),
        (Kind.METHOD, rf"^~{_NAME}~:~(?:async~)?function~[\w$]*~\("),
        (Kind.FUNCTION, rf"{_EXPORTED}(?:const|let|var) {_NAME}~=~(?:async~)?(?:function~\*?~[\w$]*~)\("),
        (Kind.FUNCTION, rf"{_EXPORTED}(?:const|let|var) {_NAME}~=~(?:async~)?\((?=[^()\n]*\)[^\n]*=>)"),
        (Kind.EXPORT, rf"^~(?:module\.)?exports\.{_NAME}(?=~=)"),
        (Kind.EXPORT, r"(?:export|module\.exports~=|export const|export default)~\{(?P<names>[^{}]*)\}"),
        (Kind.CONSTANT, rf"^(?:export )?(?:declare )?(?:const|let|var) {_NAME}(?=~[:=])"),
        (Kind.ATTRIBUTE, rf"\bthis\.{_NAME}(?=~=[^=])"),
        (Kind.ATTRIBUTE, rf"^ {_SCRIPT_MARKS}{_NAME}\??(?=~:[^;{{}}\n]*;)"),
    ),
    "go": _compiled(
        (Kind.FUNCTION, rf"^func {_NAME}~(?:\[[^\]]*\])?\("),
        (Kind.METHOD, rf"^func~\([^()]*?\*?(?P<owner>\w+)(?:\[[^\]]*\])?\)~{_NAME}~\("),
        (Kind.CLASS, rf"^(?:type |\t){_NAME}(?:\[[^\]\n]*\])? (?:struct|interface)\b"),
        (Kind.CLASS, rf"^type {_NAME} [^\n{{]*"),
        (Kind.CONSTANT, rf"^(?:const|var) {_NAME}[^=\n]*"),
        (Kind.ATTRIBUTE, r"^\t+(?P<name>[A-Z]\w*)(?: [*\[\]\w.{}]+|(?=~=)|$)"),
    ),
    "rust": _compiled(
        (Kind.FUNCTION, rf"^~(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe) )*fn {_NAME}~(?:<[^>(]*>)?\("),
        (Kind.CLASS, rf"^~(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union|type|mod) {_NAME}[^{{;=\n]*"),
        (Kind.CONSTANT, rf"^~(?:pub(?:\([^)]*\))? )?(?:const|static) (?:mut )?{_NAME}~:[^=;\n]*"),
        (Kind.FUNCTION, rf"^~macro_rules!~{_NAME}"),
        (Kind.ATTRIBUTE, rf"^ pub {_NAME}~:[^,\n]*"),
        (Kind.ATTRIBUTE, r"^ (?P<name>[A-Z]\w*)(?=~(?:,|\(|\{|$))"),
    ),
    "ruby": _compiled(
        (Kind.METHOD, r"^~(?:def|defp|defmacro) (?:self\.)?(?P<name>\w+[?!=]?)~\(?"),
        (Kind.CLASS, r"^~(?:class|module|defmodule) (?:[\w.]+::)*(?P<name>\w+)[^\n]*"),
        (Kind.ATTRIBUTE, r"^~attr_(?:accessor|reader|writer) (?P<names>:\w+(?:~,\s*:\w+)*)"),
        (Kind.CONSTANT, r"^~(?P<name>[A-Z][A-Z0-9_]+)(?=~=)"),
    ),
    "braces": _compiled(
        (Kind.CLASS, rf"^~(?:[\w@]+ )*?{_CLASS_LIKE} {_NAME}[^{{;\n]*"),
        (Kind.FUNCTION, rf"^~(?:[\w@]+ )*?(?:fun|func|function|def) (?:<[^>]*>~)?{_NAME}~\("),
        (Kind.METHOD, rf"^~{_NO_KEYWORD}{_TYPES}{_NO_KEYWORD}{_NAME}~\((?=[^;{{}}]*\)[^;{{}}]*[{{;=])"),
        (Kind.CONSTANT, rf"^\#define {_NAME}"),
        (Kind.ATTRIBUTE, rf"^~{_FIELD_MARKS}(?:[\w<>\[\],.?]+ )?\$?{_NAME}(?=~[=;:{{])"),
        (Kind.ATTRIBUTE, r"^ (?P<name>[A-Z][A-Z0-9_]+)(?=~[,;(])"),
    ),
}  # fmt: skip
"""The declarations of each family of languages."""

OWNERS = {
    "script": _pattern(r"\b(?:class|interface|enum) (?P<name>[\w$]+)[^{};]*\{"),
    "go": _pattern(r"^(?:type |\t)(?P<name>\w+)(?:\[[^\]\n]*\])? (?:struct|interface)~\{"),
    "rust": _pattern(r"\b(?:impl(?:<[^{]*?>)? (?:[^{]*?\bfor )?|(?:struct|enum|trait) )(?P<name>\w+)[^{};]*\{"),
    "ruby": None,
    "braces": _pattern(rf"\b{_CLASS_LIKE} (?P<name>\w+)[^{{}};]*\{{"),
}
"""Where the members of a class begin."""

TESTS = {
    "script": _pattern(r"(?<![\w$.])(?:test|it|specify)(?:\.\w+)*~(?=[(`])"),
    "go": _pattern(r"^func (?P<name>(?:Test|Fuzz|Example)\w*)~\("),
    "rust": _pattern(r"#\[(?:\w+::)*test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub )?(?:async )?fn (?P<name>\w+)"),
    "ruby": _pattern(r"^~(?:(?:it|specify|test)\b|def (?P<name>test\w*))"),
    "braces": _pattern(
        r"(?:(?:@(?:\w*Test|Theory)|\[(?:Fact|Theory|Test\w*)[^\]]*\])\s*(?:(?:@\w+(?:\([^)]*\))?|\[[^\]]*\])\s*)*"
        r"(?:\w+ )*?(?P<name>\w+)~\()|(?:\bfunction (?P<named>test\w*)~\()|(?:\bTEST\w*~\()"
    ),
}  # fmt: skip
"""Where a test begins."""
