"""Runs the commands that the documents show, and writes down what they really print."""

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.cli.main import main

DOCUMENTS = (
    "README.md",
    "docs/tutorial.md",
    "docs/cli.md",
    "docs/import.md",
    "docs/suites-from-elsewhere.md",
    "docs/report.md",
    "docs/judges.md",
    "docs/model-server.md",
)
PROMPT = "$ "
WRITTEN = "outweigh-runs"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[str]:
    """The content of every console block."""
    for match in _BLOCK.finditer(text):
        yield match[1]


def refreshed(text: str, root: Path) -> str:
    """The document with every console block as it really comes out."""
    return _BLOCK.sub(lambda match: f"```console\n{rerun(match[1], root)}```", text)


def rerun(block: str, root: Path) -> str:
    """One block with its output replaced by what the commands print now."""
    commands = [line for line in block.splitlines() if line.startswith(PROMPT)]
    with TemporaryDirectory() as fresh:
        return "".join(f"{command}\n{_output(command.removeprefix(PROMPT), root, fresh)}" for command in commands)


def _output(command: str, root: Path, fresh: str) -> str:
    """Run one `outweigh` command in-process, from the root of the project; `| head -N` is understood.

    What is written goes to a fresh folder that stands for `outweigh-runs`, so that a block says the same every time.
    """
    line, _, shorten = command.partition(" | head -")
    program, *arguments = shlex.split(line)
    if program != "outweigh":
        raise ValueError(f"a documented command must be outweigh, not {program}")
    text = _run([argument.replace(WRITTEN, fresh) for argument in arguments], root).replace(fresh, WRITTEN)
    return "".join(text.splitlines(keepends=True)[: int(shorten)]) if shorten else text


def _run(arguments: list[str], root: Path) -> str:
    printed = io.StringIO()
    # argparse wraps its help to the terminal's width; documents are 100 columns wide.
    os.environ.update(NO_COLOR="1", COLUMNS="100")
    with chdir(root), redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
        main(arguments)
    return printed.getvalue()
