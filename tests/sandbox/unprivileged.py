"""Runs a part of a test as a user without privileges, where the tests themselves run as root."""

import os
import subprocess
import sys

import pytest

NOBODY = 65534


def as_nobody(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python as an unprivileged user; only some installations of Python are readable to every user."""
    programs = [sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for program in programs:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", program]
        tried = subprocess.run(
            [*command, "-c", "import outweigh.ports"], env=environment, capture_output=True, check=False
        )
        if tried.returncode == 0:
            return subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=False)
    pytest.skip("no Python here that every user may run")
