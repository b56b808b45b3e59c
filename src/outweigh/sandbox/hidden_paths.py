"""Starts bubblewrap so that the paths of a suite's folders do not appear inside.

/proc/self/mountinfo shows of every bind mount which folder of its file system it is, and so the path of the task's
tests on the host. The root of an overlay has no such path. In a mount namespace of its own, which ends with the
sandbox, each folder that is shown read-only is therefore covered by an overlay whose lower layer is that folder.

Folders that the engine and the sandbox both write to, the workspace and the home, are not covered: a file that the
engine adds below an overlay may never be seen by a program that looked for it before.
"""

import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from subprocess import TimeoutExpired

from outweigh.ports.sandboxes import SandboxRequest
from outweigh.process import run_process

# Layers are named relative to the folder, or as /sys, which bubblewrap does not need and which is an empty file system
# in this namespace. Where an overlay cannot be mounted (the folder is one already, or its file system cannot hold one),
# the folder stays as it is.
_SCRIPT = """PATH=/usr/sbin:/usr/bin:/sbin:/bin
options=$1; shift
mount -t tmpfs tmpfs /sys || exit 125
while [ "$1" != -- ]; do
  cd "$1" && mount -t overlay overlay -o "lowerdir=.:/sys$options" . 2>/dev/null
  shift
done
shift; cd /
exec "$@"
"""
_PROBE_SECONDS = 20.0


def hide_paths(request: SandboxRequest, command: Sequence[str]) -> list[str]:
    """The command of bubblewrap, started so that read-only mounts show no path; unchanged where that cannot be done."""
    folders = (mount.source for mount in request.mounts if not mount.writable)
    covered = [str(folder) for folder in folders if folder.is_dir() and not folder.is_mount()]
    start = _start() if covered else None
    return list(command) if start is None else [*start, *covered, "--", *command]


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
    """Whether it does, with the folder of this file: one of its own would stay behind when the engine is killed."""
    here = Path(__file__)
    command = [*start, str(here.parent), "--", "/bin/sh", "-c", 'test -e "$0"', str(here)]
    try:
        done = run_process(command, environment={}, timeout_seconds=_PROBE_SECONDS)
    except (OSError, TimeoutExpired):
        return False
    return done.returncode == 0
