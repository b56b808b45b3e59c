"""The programs that install dependencies: where they are, and which of them a machine lacks."""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from outweigh.mining.dependencies import SYSTEM_PATH

_TOOL = re.compile(r"(?:^|&&|\|\||;)\s*(?:\w+=\S*\s+)*(uv|npm|go|cargo)\s")


def find_uv() -> Path | None:
    """The program uv: beside the Python that runs outweigh, or on the PATH."""
    beside = Path(sys.executable).with_name("uv")
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("uv")
    return None if found is None else Path(found).resolve()


def missing_tool(commands: Iterable[str], *, in_image: bool) -> str | None:
    """The first program of these commands that sandboxes do not have, with the way out; None where all are there.

    An image has its own programs, except uv, which is always that of this machine.
    """
    for tool in dict.fromkeys(name for command in commands for name in _TOOL.findall(command)):
        if tool == "uv":
            if find_uv() is None:
                return "uv is not installed, which installs Python packages; run `pip install uv`."
        elif not in_image and shutil.which(tool, path=SYSTEM_PATH) is None:
            return (
                f"{tool} is not in {SYSTEM_PATH.replace(':', ', ')}, which is where sandboxes look for programs; "
                "install it there, or name an --image that has it."
            )
    return None
