"""`outweigh init`: a starter suite that runs as it is."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError, name_some
from outweigh.run.loading import SUITE_FILE
from outweigh.run.starter import starter_files


def main(arguments: Sequence[str]) -> int:
    """Write the suite and say what to do next."""
    options = _parser().parse_args(arguments)
    folder = Path(options.folder)
    files = {folder / name: content for name, content in starter_files().items()}
    _refuse_to_overwrite(files, folder)
    for path, content in files.items():
        _write(path, content)
    _say_what_next(folder, len(files))
    return ExitCode.SATISFIED


def _refuse_to_overwrite(paths: Iterable[Path], folder: Path) -> None:
    """All are looked at before the first is written, so that a refusal leaves everything as it was."""
    there = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if there:
        is_one = len(there) == 1
        raise UsageError(
            f"{name_some(there)} {'is' if is_one else 'are'} there already, and nothing is overwritten. Name another "
            f"folder, as in `outweigh init {shlex.quote(str(folder / 'starter'))}`, or move "
            f"{'it' if is_one else 'them'} away."
        )


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"{path.parent} cannot be made: {fault.strerror}. Name a folder to write to.") from fault
    write_whole(path, [content])


def _say_what_next(folder: Path, files: int) -> None:
    suite = shlex.quote(str(folder))
    print(f"{files} files written; {folder / SUITE_FILE} is the experiment, tasks/ is what it asks.")
    print("It runs as it is, with an agent that only pretends:")
    print(f"  outweigh doctor -c {suite}    try the tasks without an agent")
    print(f"  outweigh run -c {suite}       run it")


def _parser() -> Parser:
    parser = Parser(prog="outweigh init", description="Write a starter suite that runs as it is.", allow_abbrev=False)
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where (default: this folder)")
    return parser
