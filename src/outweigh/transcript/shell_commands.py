"""Shell text as simple commands, and the files that it writes: enough to look for things, not a shell.

Texts come from agents. Every expression here is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]{0,4}['\"\\]?([A-Za-z_]\w{0,60})")
_TARGET = re.compile(
    r">{1,2}[ \t]{0,4}['\"]?([^\s'\"|;&<>()]{1,300})"
    r"|\btee[ \t]{1,4}(?:-a[ \t]{1,4})?['\"]?([^\s'\"|;&<>()-][^\s'\"|;&<>()]{0,300})"
)
_INTERPRETER = re.compile(r"\b(?:python[\d.]{0,4}|node|ruby|perl|php|bash|sh|zsh)\b")
# Quoted text is one token even where its closing quote is missing, so that no quote is looked for twice.
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|'[^']*+(?:'|\Z)|\\.|&&|\|\||[;|\n]|\$\(|`|(?<!>)&(?!>)", re.DOTALL
)
_SEPARATORS = frozenset({"&&", "||", ";", "|", "\n", "$(", "`", "&"})
_PREFIX = re.compile(
    r"[\s({!]|(?:sudo|time|nohup|exec|command|env|then|do|else|if|while)\s|timeout\s(?:-\S{1,20}\s){0,2}\S{1,10}\s"
    r"|(?!LD_)\w{1,60}=(?:\"[^\"]{0,200}\"|'[^']{0,200}'|\S{0,200})\s"
)
_SHELL = re.compile(r"(?:/\S{1,40}/)?(?:ba|z|da)?sh\s{1,4}-\w{0,4}c\s{1,4}(['\"])")
_GIT_OPTION = re.compile(r"git\s{1,4}(?:-C\s{1,4}\S{1,200}|--no-pager|-c\s{1,4}\S{1,100}|--git-dir[= ]\S{1,200})(?=\s)")
_EDIT_IN_PLACE = re.compile(r"(?:sed|perl)\s(?=[^\n]{0,80}?-\w{0,4}i)")
_MOST_PREFIXES = 12
_MOST_DEPTH = 2


@dataclass(slots=True, kw_only=True)
class ShellText:
    """The simple commands of a text, and each file that it writes, with the lines where they are in the text."""

    commands: list[str] = field(default_factory=list)
    written: list[tuple[str, list[str]]] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)


def read_shell_text(text: str) -> ShellText:
    """Split a text into simple commands without what stands before them: `sudo`, `timeout 60`, `VAR=x`.

    Here-documents are files that are written, or programs that are run; others, such as messages, are left out.
    """
    found = ShellText()
    _read(text, found, 0)
    return found


def _read(text: str, found: ShellText, depth: int) -> None:
    rest: list[str] = []
    ending: str | None = None
    body: list[str] = []
    head = ""
    for line in text.split("\n"):
        if ending is not None:
            if line.strip() == ending:
                _keep_heredoc(head, body, found)
                ending, body = None, []
            else:
                body.append(line)
            continue
        rest.append(line)
        if (opened := _HEREDOC.search(line)) is not None:
            ending, head = opened[1], line
    if ending is not None:
        _keep_heredoc(head, body, found)
    for command in _simple_commands("\n".join(rest)):
        _keep_command(command, found, depth)


def _keep_heredoc(head: str, body: list[str], found: ShellText) -> None:
    target = _TARGET.search(head)
    if target is not None:
        found.written.append((target[1] or target[2], body))
    elif _INTERPRETER.search(head):
        found.commands += [line.strip() for line in body if line.strip()]


def _keep_command(command: str, found: ShellText, depth: int) -> None:
    command = _without_prefixes(command)
    inner = _SHELL.match(command)
    if inner is not None and depth < _MOST_DEPTH:
        _read(command[inner.end() :].removesuffix(inner[1]), found, depth + 1)
        return
    while (option := _GIT_OPTION.match(command)) is not None:
        command = "git" + command[option.end() :]
    if not command:
        return
    found.commands.append(command)
    if "<<" not in command:
        found.written += [(target[1] or target[2], []) for target in _TARGET.finditer(command[:2000])]
    if _EDIT_IN_PLACE.match(command):
        found.edited.append(command.split()[-1].strip("'\""))


def _simple_commands(text: str) -> Iterator[str]:
    begin = 0
    for token in _TOKEN.finditer(text):
        if token[0] in _SEPARATORS:
            yield text[begin : token.start()]
            begin = token.end()
    yield text[begin:]


def _without_prefixes(command: str) -> str:
    place = 0
    for _ in range(_MOST_PREFIXES):
        prefix = _PREFIX.match(command, place)
        if prefix is None:
            break
        place = prefix.end()
    return command[place:].strip()
