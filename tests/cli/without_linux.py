"""Runs outweigh as on a system that has none of what only Linux has: `python without_linux.py VERB …`."""

import fcntl
import os
import platform
import sys

for name in ("pidfd_open", "memfd_create", "O_PATH", "setns", "unshare"):
    if hasattr(os, name):
        delattr(os, name)
delattr(fcntl, "F_SETPIPE_SZ")
platform.system = lambda: "Darwin"
own = os.uname()
os.uname = lambda: os.uname_result(("Darwin", *own[1:]))

if __name__ == "__main__":
    from outweigh.cli.main import main

    sys.exit(main(sys.argv[1:]))
