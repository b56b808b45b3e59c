"""The few words of shell that stand before a command."""

from collections.abc import Sequence

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

# A command that is not there ends with 127, and one that cannot be run with 126, in every kind of sandbox.
EXEC = ("/bin/sh", "-c", 'exec "$@"', "sh")

# The shell enters the control groups itself and then becomes the command, so that nothing can be started outside.
_ENTER = 'while [ "$1" != -- ]; do { echo $$ >"$1"; } 2>/dev/null; shift; done; shift; '
_SHELL_LINE = ["sh", "-c"]


def enter(entrances: Sequence[str], command: Sequence[str]) -> list[str]:
    """The command, started inside control groups. A line of shell goes on in the shell that entered."""
    if not entrances:
        return list(command)
    is_line = len(command) == 3 and list(command[:2]) == _SHELL_LINE
    script, words = (command[2], []) if is_line else ('exec "$@"', list(command))
    return ["/bin/sh", "-c", f"{_ENTER}{script}", "sh", *entrances, "--", *words]
