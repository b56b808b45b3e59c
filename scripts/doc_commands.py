"""Runs the commands that the documents show, and writes down what they really print."""

import io
import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from shutil import copytree, which
from tempfile import TemporaryDirectory

from outweigh.cli.main import main

DOCUMENTS = (
    "README.md",
    "docs/tutorial.md",
    "docs/scale.md",
    "docs/cli.md",
    "docs/import.md",
    "docs/suites-from-elsewhere.md",
    "docs/report.md",
    "docs/judges.md",
    "docs/model-server.md",
    "docs/try.md",
    "docs/parts.md",
    "docs/bundles.md",
    "docs/ladders.md",
    "docs/bisect.md",
    "docs/triggers.md",
    "docs/history.md",
)
IN_REPOSITORY = ("docs/try.md",)
"""Documents whose commands are run in a repository of their own, where no coding agent is installed."""
PROMPT = "$ "
WRITTEN = "outweigh-runs"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[str]:
    """The content of every console block."""
    for match in _BLOCK.finditer(text):
        yield match[1]


def refreshed(name: str, root: Path) -> str:
    """The document with every console block as it really comes out."""
    text = (root / name).read_text()
    return _BLOCK.sub(lambda match: f"```console\n{rerun(name, match[1], root)}```", text)


def rerun(name: str, block: str, root: Path) -> str:
    """One block of a document with its output replaced by what the commands print now."""
    commands = [line for line in block.splitlines() if line.startswith(PROMPT)]
    with TemporaryDirectory() as fresh, _place(name, root) as place:
        runs = "" if place != root else fresh
        return "".join(f"{command}\n{_output(command.removeprefix(PROMPT), place, runs)}" for command in commands)


@contextmanager
def _place(name: str, root: Path) -> Iterator[Path]:
    """Where the commands of a document are run: the root of the project, or a new repository with a CLAUDE.md."""
    if name not in IN_REPOSITORY:
        yield root
        return
    kept = dict(os.environ)
    with TemporaryDirectory() as fresh:
        place, programs = Path(fresh, "repository").resolve(), Path(fresh, "bin")
        copytree(root / "examples" / "demo", place / "suite")
        (place / "CLAUDE.md").write_text("Run the checks before you say that you are done.\n")
        subprocess.run(["git", "init", "--quiet", str(place)], check=True)
        programs.mkdir()
        for program in ("git", "sh", "cp", "mv", "rm", "mkdir", "cat", "sed", "python3"):
            (programs / program).symlink_to(which(program) or program)
        keys = [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN"))]
        for key in keys:
            del os.environ[key]
        os.environ.update(PATH=str(programs), HOME=fresh)
        try:
            yield place
        finally:
            os.environ.clear()
            os.environ.update(kept)


def _output(command: str, root: Path, fresh: str) -> str:
    """Run one `outweigh` command in-process, from the root of the project; `| head -N` is understood.

    What is written goes to a fresh folder that stands for `outweigh-runs`, so that a block says the same every time;
    in a repository that is new itself, it stays there.
    """
    line, _, shorten = command.partition(" | head -")
    program, *arguments = shlex.split(line)
    if program != "outweigh":
        raise ValueError(f"a documented command must be outweigh, not {program}")
    if fresh:
        text = _run([argument.replace(WRITTEN, fresh) for argument in arguments], root).replace(fresh, WRITTEN)
    else:
        text = _run(arguments, root)
    return "".join(text.splitlines(keepends=True)[: int(shorten)]) if shorten else text


def _run(arguments: list[str], root: Path) -> str:
    printed = io.StringIO()
    # argparse wraps its help to the terminal's width; documents are 100 columns wide.
    os.environ.update(NO_COLOR="1", COLUMNS="100")
    with chdir(root), redirect_stdout(printed), redirect_stderr(printed), suppress(SystemExit):
        main(arguments)
    return printed.getvalue()
