"""`outweigh dev man`: the manual page, made of the same text as the help."""

import argparse
from collections.abc import Iterator, Sequence
from importlib import import_module

from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import EXIT_CODE_MEANINGS, ExitCode
from outweigh.cli.verbs import GROUPS, ROOT, Verb
from outweigh.version import __version__

ENVIRONMENT = {
    "NO_COLOR": "Print text without colours.",
    "OUTWEIGH_TRACEBACK": "Show the traceback of an error that is a bug in outweigh.",
}


def main(arguments: Sequence[str]) -> int:
    """Print the page."""
    build_parser().parse_args(arguments)
    print("\n".join(_page()))
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    return Parser(
        prog="outweigh dev man",
        description="Print the manual page, with every verb and option.",
        examples=("outweigh dev man > ~/.local/share/man/man1/outweigh.1",),
    )


def _page() -> Iterator[str]:
    yield f'.TH OUTWEIGH 1 "" "outweigh {_escaped(__version__)}" "User Commands"'
    yield from (".SH NAME", "outweigh \\- decide whether a change to a coding agent's set\\-up may ship")
    yield from (".SH SYNOPSIS", ".B outweigh", ".I VERB", "[\\fIargument\\fR ...] [\\fIoption\\fR ...]")
    yield from (".SH DESCRIPTION", _line(ROOT.summary))
    yield "Results go to standard output; progress, warnings and errors go to standard error."
    for job, verbs in GROUPS.items():
        yield f".SH {_escaped(job.upper())}"
        for name, verb in verbs.items():
            yield from _verb((name,), verb)
    yield ".SH OPTIONS"
    yield from _entry("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show help.")
    yield from _entry("\\fB\\-q\\fR, \\fB\\-\\-quiet\\fR", "Print only results and errors.")
    yield from _entry("\\fB\\-V\\fR, \\fB\\-\\-version\\fR", "Print the version.")
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODE_MEANINGS.items():
        yield from _entry(f"\\fB{int(code)}\\fR", f"{meaning[0].upper()}{meaning[1:]}.")
    yield ".SH ENVIRONMENT"
    for variable, meaning in ENVIRONMENT.items():
        yield from _entry(f"\\fB{_escaped(variable)}\\fR", meaning)


def _verb(words: tuple[str, ...], verb: Verb) -> Iterator[str]:
    """A verb, and then those below it."""
    if verb.module:
        yield from _explained(words, import_module(verb.module).build_parser())
    for name, below in verb.below.items():
        yield from _verb((*words, name), below)


def _explained(words: tuple[str, ...], parser: Parser) -> Iterator[str]:
    yield f".SS {_escaped(' '.join(words))}"
    yield _line(parser.description or "")
    yield ".PP"
    yield _line(parser.format_usage().strip())
    for group in parser.groups():
        for action in group._group_actions:
            if action.dest not in ("help", "quiet"):
                yield from _entry(_names(action), _help(parser, action))
    yield from (".PP", "Examples:", ".PP", ".RS 4", ".nf")
    yield from map(_line, parser.examples)
    yield from (".fi", ".RE")
    if parser.epilog:
        yield from (".PP", _line(parser.epilog))


def _names(action: argparse.Action) -> str:
    """An option with its value, or an argument, as a manual page sets them."""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices is not None else action.dest.upper()
    value = f"\\fI{_escaped(str(action.metavar or choices))}\\fR"
    if not action.option_strings:
        return value
    names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


def _help(parser: Parser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action)


def _entry(term: str, text: str) -> Iterator[str]:
    yield from (".TP", term, _line(text))


def _line(text: str) -> str:
    """A line of text that roff does not take for a request."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
