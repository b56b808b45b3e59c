"""`outweigh dev completion`: a script that completes verbs, options and file names in a shell.

The script is generated from the parsers of all verbs, and runs without Python.
"""

import argparse
from collections.abc import Sequence
from importlib import import_module

from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.verbs import ROOT, Verb
from outweigh.errors import requires_extra

SHELLS = ("bash", "zsh", "fish")
FILE_NAMES = frozenset(("DIR", "FILE", "LABELS", "PATH", "PIN", "RUNS", "SCRIPT", "STORE", "SUITE", "[FORMAT] PATH"))
"""Values that are paths, by the word that stands for them in the help."""


class _Options:
    """The options, as the parser fills them in."""

    shell: str


def main(arguments: Sequence[str]) -> int:
    """Print the script."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    with requires_extra("shell completion", "completion"):
        import shtab  # noqa: PLC0415 - needs the extra

    program = _program_parser()
    _mark_files(program, shtab.FILE)
    print(shtab.complete(program, options.shell))
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh dev completion",
        description="Print a script for bash, zsh or fish that completes verbs, options and file names.",
        examples=(
            "outweigh dev completion bash > ~/.local/share/bash-completion/completions/outweigh",
            "outweigh dev completion zsh > ~/.zfunc/_outweigh",
            "outweigh dev completion fish > ~/.config/fish/completions/outweigh.fish",
        ),
        epilog="zsh reads ~/.zfunc if ~/.zshrc has `fpath+=~/.zfunc` before `compinit`. Open a new shell afterwards.",
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    return parser


def _program_parser() -> argparse.ArgumentParser:
    """All verbs as one tree of parsers."""
    program = argparse.ArgumentParser(prog="outweigh", description=ROOT.summary, add_help=False)
    program.add_argument("-h", "--help", action="help", help="show help")
    program.add_argument("-q", "--quiet", action="store_true", help="print only results and errors")
    program.add_argument("-V", "--version", action="store_true", help="print the version")
    _add_verbs_below(program, ROOT, ())
    return program


def _add_verbs_below(parser: argparse.ArgumentParser, verb: Verb, words: tuple[str, ...]) -> None:
    if not verb.below:
        return
    below = parser.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, each in verb.below.items():
        path = (*words, name)
        below.add_parser(name, help=each.summary, add_help=False)
        below.choices[name] = _verb_parser(each, path)
        _add_verbs_below(below.choices[name], each, path)


def _verb_parser(verb: Verb, words: tuple[str, ...]) -> argparse.ArgumentParser:
    if verb.module:
        parser: argparse.ArgumentParser = import_module(verb.module).build_parser()
    else:
        parser = argparse.ArgumentParser(prog=" ".join(("outweigh", *words)))
    parser.description = verb.summary
    return parser


def _mark_files(parser: argparse.ArgumentParser, completer: object) -> None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark_files(below, completer)
        elif action.metavar in FILE_NAMES:
            action.complete = completer  # type: ignore[attr-defined] # where shtab looks for it
