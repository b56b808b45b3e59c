"""The entry point: run a command line, and turn errors into one paragraph and an exit code.

Standard output and error tolerate a reader that leaves early, as in `outweigh run … | head`.
"""

import atexit
import gc
import io
import os
import stat
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import OutweighError
from outweigh.version import __version__

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _BrokenPipeSafeFile(io.FileIO):
    """What nobody reads any more counts as written."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def tolerate_broken_pipe(name: str) -> None:
    """Replace `sys.stdout` or `sys.stderr` where it is a pipe; files, terminals and what tests put there stay."""
    stream = getattr(sys, name)
    if stream is not getattr(sys, f"__{name}__") or not _is_pipe(stream):
        return
    patient = io.TextIOWrapper(
        io.BufferedWriter(_BrokenPipeSafeFile(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
    setattr(sys, name, patient)


def _is_pipe(stream: io.TextIOWrapper) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


TRACEBACK_VARIABLE = "OUTWEIGH_TRACEBACK"


NEW_OBJECTS = 100_000
"""The garbage collector looks for cycles after so many new objects.

Records and modules have next to none. A verdict keeps about 55,000 objects, most of them the modules', and to look at
them once takes a twentieth of its time.
"""


def entry_point() -> None:
    """Run as a process."""
    gc.set_threshold(NEW_OBJECTS)
    _leave(main(sys.argv[1:]))


def _leave(code: int) -> None:
    """End the process without taking the interpreter apart, which takes an eighth of a small verdict's time.

    What is registered for the end still runs. A thread that still runs, or output that cannot be written, is left to
    the interpreter.
    """
    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError):
            sys.exit(code)
        os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run one command line; answers go to stdout, complaints to stderr."""
    for name in ("stdout", "stderr"):
        _prepare_stream(name)
    try:
        return _run_keeping_stderr(arguments)
    except OutweighError as error:
        return _print_error(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _print_error("interrupted.", ExitCode.INTERRUPTED)
    except RecursionError:
        # Our own code does not nest; readers of JSON and TOML do, as deeply as what they are given.
        return _print_error("what was to be read is nested too deeply. Take it apart, or leave it out.", ExitCode.USAGE)
    except Exception as fault:  # the last line of defence: a user never sees a traceback unasked
        return _report_bug(fault)


def _run_keeping_stderr(arguments: Sequence[str]) -> int:
    """`--quiet` replaces standard error; the error that ends a command goes to the real one."""
    if arguments and arguments[0] in ("--version", "-V"):  # without loading the verbs, as quick as Python itself
        print(f"outweigh {__version__}")
        return ExitCode.SATISFIED
    from outweigh.cli.dispatch import dispatch  # noqa: PLC0415 - see above

    before = sys.stderr
    try:
        return dispatch(arguments)
    finally:
        if sys.stderr is not before:
            sys.stderr.close()
            sys.stderr = before


def _prepare_stream(name: str) -> None:
    """A closed stream, a reader who left, or a name that the terminal cannot show must not end the program."""
    if getattr(sys, name) is None:
        setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open until the process ends
    elif hasattr(getattr(sys, name), "reconfigure"):
        getattr(sys, name).reconfigure(errors="backslashreplace")
        tolerate_broken_pipe(name)


def _print_error(message: str, code: int) -> int:
    from outweigh.cli.console import print_escaped  # noqa: PLC0415 - only needed for a complaint

    print_escaped(f"outweigh: {message}", to=sys.stderr)
    return code


def _report_bug(fault: Exception) -> int:
    import traceback  # noqa: PLC0415 - only needed when something is broken

    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(fault)
    what = traceback.format_exception_only(fault)[-1].strip()
    return _print_error(
        f"this is a bug in outweigh, not in your data: {what}. Run again with {TRACEBACK_VARIABLE}=1 for the details "
        "and please report them.",
        ExitCode.OUR_BUG,
    )
