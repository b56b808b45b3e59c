"""The entry point: find the verb, run it, turn what went wrong into one paragraph and an exit code."""

import sys
from collections.abc import Sequence
from importlib import import_module

from outweigh import __version__
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.patient_stream import be_patient
from outweigh.cli.verbs import VERBS
from outweigh.errors import OutweighError, UsageError

TRACEBACK_VARIABLE = "OUTWEIGH_TRACEBACK"


def entry_point() -> None:
    """Run as a process."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line; answers go to stdout, complaints to stderr."""
    for name in ("stdout", "stderr"):
        _prepare(name)
    try:
        return _dispatch(arguments)
    except OutweighError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted.", ExitCode.INTERRUPTED)
    except Exception as fault:  # the last line of defence: a user never sees a traceback unasked
        return _our_bug(fault)


def _prepare(name: str) -> None:
    """A closed stream, a reader who left, or a name that the terminal cannot show must not end the program."""
    if getattr(sys, name) is None:
        import os  # noqa: PLC0415 - only needed for a closed stream

        setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open until the process ends
    elif hasattr(getattr(sys, name), "reconfigure"):
        getattr(sys, name).reconfigure(errors="backslashreplace")
        be_patient(name)


def _dispatch(arguments: Sequence[str]) -> int:
    first = arguments[0] if arguments else "--help"
    # These two answer without loading a parser or any verb, so they stay as quick as Python itself.
    if first in ("--help", "-h", "help"):
        print(_help())
        return ExitCode.SATISFIED
    if first == "--version":
        print(f"outweigh {__version__}")
        return ExitCode.SATISFIED
    if first not in VERBS:
        raise UsageError(_unknown_verb(first))
    module = import_module(VERBS[first].module)
    code: int = module.main(arguments[1:])
    return code


def _help() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {name:<{width}}  {verb.summary}" for name, verb in VERBS.items()]
    return "\n".join(
        [
            "usage: outweigh VERB …",
            "",
            "Does this change to a coding agent's set-up outweigh the noise, and may it ship?",
            "",
            *lines,
            "",
            "`outweigh VERB --help` explains a verb. Exit codes: 0 satisfied, 1 not satisfied, 2 usage,",
            "3 inconclusive or unusable evidence, 4 budget exhausted, 70 our bug, 130 interrupted.",
        ]
    )


def _unknown_verb(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

    near = get_close_matches(name, VERBS, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"there is no verb {name!r}; there is {', '.join(VERBS)}.{hint}"


def _complain(message: str, code: int) -> int:
    from outweigh.cli.plain_words import say  # noqa: PLC0415 - only needed for a complaint

    say(f"outweigh: {message}", to=sys.stderr)
    return code


def _our_bug(fault: Exception) -> int:
    import os  # noqa: PLC0415 - only needed when something is broken
    import traceback  # noqa: PLC0415

    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(fault)
    what = traceback.format_exception_only(fault)[-1].strip()
    return _complain(
        f"this is a bug in outweigh, not in your data: {what}. Run again with {TRACEBACK_VARIABLE}=1 for the details "
        "and please report them.",
        ExitCode.OUR_BUG,
    )
