"""Starts bubblewrap so that the paths of the host do not appear inside.

/proc/self/mountinfo shows of every bind mount which folder of its file system it is, and so the path of the trial's
folders on the host. The root of an overlay has no such path. In a mount namespace of its own, which ends with the
sandbox, each folder is therefore covered by an overlay whose upper layer is that folder: files are written to where
they were written before, and what is named in the options of the overlay says nothing.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from secrets import token_hex
from subprocess import TimeoutExpired

from outweigh.ports.sandboxes import SandboxRequest
from outweigh.process import run_process

# An empty folder is needed below every upper layer; /sys is not used by bubblewrap and hidden in this namespace alone.
# Where an overlay cannot be mounted (the folder is one already, or its file system cannot hold one) it stays as it is.
_SCRIPT = """PATH=/usr/sbin:/usr/bin:/sbin:/bin
options=$1; shift
mount -t tmpfs tmpfs /sys && mkdir /sys/empty || exit 125
while [ "$1" != -- ]; do
  ( cd "$2" || exit
    layers=lowerdir=.:/sys/empty
    [ "$1" = read-only ] || { mkdir "$3" && layers="lowerdir=/sys/empty,upperdir=.,workdir=$3,volatile"; }
    mount -t overlay overlay -o "$layers$options" . ) 2>/dev/null
  shift 3
done
shift
exec "$@"
"""
_PROBE_SECONDS = 20.0


def hide_paths(request: SandboxRequest, command: Sequence[str]) -> list[str]:
    """The command of bubblewrap, started so that mounts inside show no path of the host; unchanged where that fails."""
    start = _start()
    return list(command) if start is None else [*start, *_folder_arguments(request), "--", *command]


def _folder_arguments(request: SandboxRequest) -> list[str]:
    arguments: list[str] = []
    mounts = [(mount.source, mount.writable) for mount in request.mounts if mount.source.is_dir()]
    for folder, writable in ((request.workspace, True), (request.home, True), *mounts):
        # The work folder of a volatile overlay cannot be used twice.
        arguments += ["writable" if writable else "read-only", str(folder), f"../.layer-{token_hex(4)}"]
    return arguments


@cache
def _start() -> tuple[str, ...] | None:
    """How to start something with hidden folders, tried once per process."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return None
    # Only root of a user namespace may mount there, and an overlay of such a one keeps its notes as those of a user.
    user, options = ((), "") if os.geteuid() == 0 else (("--user", "--map-root-user"), ",userxattr")
    start = (unshare, *user, "--mount", "--propagation", "private", "/bin/sh", "-c", _SCRIPT, "sh", options)
    return start if _works(start) else None


def _works(start: Sequence[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="outweigh-trial-", ignore_cleanup_errors=True) as folder:
        covered = Path(folder, "covered")
        covered.mkdir()
        command = [*start, "writable", str(covered), "../layer", "--", "/bin/sh", "-c", f"echo kept >{covered}/file"]
        try:
            done = run_process(command, environment={}, timeout_seconds=_PROBE_SECONDS)
        except (OSError, TimeoutExpired):
            return False
        return done.returncode == 0 and (covered / "file").exists()
