"""Assertions of skill-validator as checks: about files by pattern, a command, and what the agent said last."""

import re
from typing import Annotated, Literal

from msgspec import Meta

from outweigh.adapters.suites.foreign_table import WORDS, ForeignTable
from outweigh.adapters.suites.workspace_path import workspace_path
from outweigh.errors import UsageError
from outweigh.task.check import AnswerContainsCheck, Check, CommandCheck, FileContainsCheck, FileExistsCheck
from outweigh.task.spec import Seconds

_Text = Annotated[str, Meta(pattern=WORDS, max_length=10_000)]
_ANY_DEPTH = re.compile(r"(?P<folder>(?:[^*]+/)?)\*\*/(?P<name>[^/]+)")
_FLAGS = re.compile(r"\(\?(?P<flags>[ims]+)\)(?P<rest>.+)", re.DOTALL)
"""At the beginning, which is the only place where they may stand here."""
_ODD = frozenset("?[]{}")
"""Letters that patterns of `find` and of skill-validator do not read alike."""
_SAYS = frozenset({"output_contains", "output_not_contains", "output_matches", "output_not_matches"})

_EXISTS = 'find "$@" 2>/dev/null | grep -q .'
_HOLDING = 'wanted=$1; shift; find "$@" -exec grep -qF -e "$wanted" {} \\; -print 2>/dev/null | grep -q .'
_LACKING = (
    'wanted=$1; shift; find "$@" 2>/dev/null | grep -q . && '
    '! find "$@" -exec grep -qF -e "$wanted" {} \\; -print 2>/dev/null | grep -q .'
)
_SCRIPTS = {
    "file_exists": _EXISTS,
    "file_not_exists": f"! {_EXISTS}",
    "file_contains": _HOLDING,
    "file_not_contains": _LACKING,
}
_PRINTS = (
    'wanted=$1 code=$2; shift 2; said=$("$@"); ended=$?; '
    '{ [ -z "$code" ] || [ "$ended" -eq "$code" ]; } && printf "%s\\n" "$said" | grep -qiF -e "$wanted"'
)


class Assertion(ForeignTable, frozen=True, kw_only=True):
    """One assertion; which keys it needs depends on its type."""

    type: Literal[
        "file_exists",
        "file_not_exists",
        "file_contains",
        "file_not_contains",
        "output_contains",
        "output_not_contains",
        "output_matches",
        "output_not_matches",
        "exit_success",
        "run_command_and_assert",
    ]
    path: _Text | None = None
    value: _Text | None = None
    pattern: _Text | None = None
    command_to_run: _Text | None = None
    command_arguments: _Text | None = None
    command_timeout: Seconds | None = None
    expected_exit_code: Annotated[int, Meta(ge=0, le=255)] | None = None
    expected_std_output_contains: _Text | None = None
    expected_std_error_contains: _Text | None = None
    expected_std_output_matches: _Text | None = None
    expected_std_error_matches: _Text | None = None

    def __post_init__(self) -> None:
        """An assertion without what it is about would pass or fail for nothing."""
        for kind, key in _NEEDED:
            if self.type.startswith(kind) and getattr(self, key) is None:
                raise ValueError(f"`{self.type}` needs `{key}`")


_NEEDED = (
    ("file_", "path"),
    ("file_contains", "value"),
    ("file_not_contains", "value"),
    ("output_contains", "value"),
    ("output_not_contains", "value"),
    ("output_matches", "pattern"),
    ("output_not_matches", "pattern"),
    ("run_command", "command_to_run"),
)


def check_of(assertion: Assertion, name: str, timeout_seconds: float) -> Check | None:
    """The same as a check, or None where there is none that does exactly this."""
    if assertion.type == "run_command_and_assert":
        return _command(assertion, name, timeout_seconds)
    if assertion.type in _SAYS:
        return _answer(assertion, name)
    return _file(assertion, name)


def words_of(assertion: Assertion) -> str | None:
    """What a judge is to look for in an answer where no check can; None for what is not about an answer."""
    if assertion.type not in ("output_matches", "output_not_matches"):
        return None
    part = "a part" if assertion.type == "output_matches" else "no part"
    return (
        f"The agent's answer has {part} that the regular expression {assertion.pattern!r} matches, in capitals or not."
    )


def _file(assertion: Assertion, name: str) -> Check | None:
    value = assertion.value or ""
    try:
        path = workspace_path(assertion.path or "", name)
    except UsageError:
        return None
    if "*" not in path and assertion.type == "file_exists":
        return FileExistsCheck(name=name, path=path)
    if "*" not in path and assertion.type == "file_contains":
        return FileContainsCheck(name=name, path=path, text=value)
    script, files = _SCRIPTS.get(assertion.type), _files_like(path)
    if script is None or files is None or "\n" in value:
        return None
    return CommandCheck(name=name, run=["sh", "-c", script, "sh", *([value] if value else []), *files])


def _answer(assertion: Assertion, name: str) -> Check | None:
    """Capitals or not are all the same; a regular expression must be one here too."""
    flags, pattern = "i", re.escape(assertion.value or "")
    if assertion.type.endswith("matches"):
        stated = _FLAGS.fullmatch(assertion.pattern or "")
        flags, pattern = (f"i{stated['flags']}", stated["rest"]) if stated else ("i", assertion.pattern or "")
    regex = f"(?{''.join(dict.fromkeys(flags))}){pattern}"
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError):
        return None
    return AnswerContainsCheck(name=name, regex=regex, absent="_not_" in assertion.type)


def _files_like(pattern: str) -> list[str] | None:
    """What `find` must be told. Its star takes slashes and theirs does not: at the same depth that is no difference."""
    if _ODD & set(pattern):
        return None
    if "**" not in pattern:
        depth = str(pattern.count("/") + 1)
        return [".", "-mindepth", depth, "-maxdepth", depth, "-type", "f", "-path", f"./{pattern}"]
    anywhere = _ANY_DEPTH.fullmatch(pattern)
    if anywhere is None or "**" in anywhere["name"]:
        return None
    return [f"./{anywhere['folder']}", "-type", "f", "-name", anywhere["name"]]


def _command(assertion: Assertion, name: str, timeout_seconds: float) -> Check | None:
    """Words that only need to be split at blanks, and at most one line that must be printed."""
    arguments, printed = assertion.command_arguments or "", assertion.expected_std_output_contains
    others = (
        assertion.expected_std_error_contains,
        assertion.expected_std_output_matches,
        assertion.expected_std_error_matches,
    )
    if any(other is not None for other in others) or set("\"'\\") & set(arguments) or "\n" in (printed or ""):
        return None
    words = [assertion.command_to_run or "", *arguments.split()]
    code = assertion.expected_exit_code
    seconds = assertion.command_timeout or timeout_seconds
    if printed is not None:
        run = ["sh", "-c", _PRINTS, "sh", printed, "" if code is None else str(code), *words]
        return CommandCheck(name=name, run=run, timeout_seconds=seconds)
    return None if code is None else CommandCheck(name=name, run=words, exit_code=code, timeout_seconds=seconds)
