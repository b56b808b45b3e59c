"""Find the verb that a command line names, and run it. Only that verb's module is imported."""

from collections.abc import Sequence
from importlib import import_module

from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.verbs import MOVED, Verb, find_verb
from outweigh.errors import UsageError

HELP = ("--help", "-h")
QUIET = frozenset(("-q", "--quiet"))


def dispatch(arguments: Sequence[str]) -> int:
    """Run the verb; the exit code says how it ended. Without one, say where the current folder stands."""
    if not arguments:
        return _print_status()
    first = arguments[0]
    if first in HELP or list(arguments) == ["help"]:
        from outweigh.cli.help_page import program_help  # noqa: PLC0415 - verbs need none of it

        print(program_help())
        return ExitCode.SATISFIED
    if first == "help":
        return dispatch([*arguments[1:], "--help"])
    if first in QUIET:
        from outweigh.cli.console import silence_notices  # noqa: PLC0415 - only needed for this option

        silence_notices()
        return dispatch(arguments[1:])
    if first in MOVED:
        if not QUIET.intersection(arguments):
            _hint_at_new_name(first)
        return dispatch([*MOVED[first], *arguments[1:]])
    return _run_verb(*find_verb(arguments))


def _print_status() -> int:
    from outweigh.cli.status import main as print_status  # noqa: PLC0415 - loaded when it is asked for, like a verb

    return print_status()


def _run_verb(words: Sequence[str], verb: Verb, arguments: Sequence[str]) -> int:
    if verb.below and arguments and not arguments[0].startswith("-"):
        from outweigh.cli.help_page import unknown_verb  # noqa: PLC0415 - only needed for a mistake

        raise UsageError(unknown_verb(words, verb, arguments[0]))
    if not verb.module:
        return _explain_group(words, verb, arguments)
    if not verb.takes_down:
        return _call(verb, arguments)
    from outweigh.cli.console import terminable  # noqa: PLC0415 - only needed by verbs that take longer anyway

    with terminable():
        return _call(verb, arguments)


def _call(verb: Verb, arguments: Sequence[str]) -> int:
    try:
        code: int = import_module(verb.module).main(arguments)
    except SystemExit:  # how a parser ends after it printed its help
        return ExitCode.SATISFIED
    return code


def _explain_group(words: Sequence[str], verb: Verb, arguments: Sequence[str]) -> int:
    """A verb that only has others below it takes no option but `--help`."""
    from outweigh.cli.help_page import group_help, unknown_option  # noqa: PLC0415 - verbs need none of it

    if arguments and arguments[0] not in HELP:
        raise UsageError(unknown_option(words, arguments[0]))
    print(group_help(words, verb))
    return ExitCode.SATISFIED


def _hint_at_new_name(old: str) -> None:
    from outweigh.cli.console import notify  # noqa: PLC0415 - only needed for an old name

    notify(f"`outweigh {old}` is now `outweigh {' '.join(MOVED[old])}`. The next release drops the old name.")
