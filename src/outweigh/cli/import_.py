"""`outweigh import`: results of other harnesses as run records."""

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from outweigh.app.choose_importer import choose_importer, describe_unread_formats, split_format
from outweigh.app.import_source import ImportOptions, import_source, print_next_command
from outweigh.cli.arguments import Parser
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.plugins import adapter_names


def parse_column_map(text: str) -> dict[str, str]:
    """One FIELD=COLUMN, or all that a TOML file has as `field = "column"`."""
    field, mark, column = text.partition("=")
    if field and mark and column:
        return {field: column}
    if mark or not text.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither FIELD=COLUMN nor a .toml file with such lines")
    try:
        found = tomllib.loads(Path(text).read_text(encoding="utf-8"))
    except OSError as fault:
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {fault.strerror}") from None
    except ValueError as fault:
        raise argparse.ArgumentTypeError(f"{text} is not TOML: {fault}") from None
    for name, value in found.items():
        if not (isinstance(value, str) and value):
            raise argparse.ArgumentTypeError(f'{text}: {name} must name a column, such as {name} = "config.name"')
    return found


_FILE_SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")


def main(arguments: Sequence[str]) -> int:
    """Import every path into one folder."""
    options = _parser().parse_intermixed_args(arguments)
    named, paths = split_format(options.what)
    target = Path(options.output)
    if target.suffix in _FILE_SUFFIXES or target.is_file():
        raise UsageError(f"-o {target}: name a folder; it gets the records, their manifest and what belongs to them.")
    wishes = ImportOptions(
        arm=options.arm,
        tasks=None if options.tasks is None else _read_task_ids(options.tasks),
        columns={field: column for each in options.map for field, column in each.items()},
        skip_invalid=options.skip_invalid,
    )
    mapped = bool(wishes.columns)
    chosen = [(path, choose_importer(named, path, mapped=mapped)) for path in paths]
    imported = [import_source(importer, path, target, wishes) for path, importer in chosen]
    for path, importer in chosen if named is None else ():
        if path.is_dir() and (words := describe_unread_formats(path, importer)):
            print_escaped(f"outweigh: {words}", to=sys.stderr)
    print_next_command(imported[-1].arms, target)
    return ExitCode.SATISFIED if all(each.found for each in imported) else ExitCode.UNUSABLE_EVIDENCE


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh import",
        description="Read what another harness wrote as run records.",
        epilog=f"Formats: {', '.join(adapter_names('importer'))}. One that is left out is found by looking at PATH.",
        allow_abbrev=False,
    )
    parser.add_argument("what", nargs="+", metavar="[FORMAT] PATH", help="files or folders, as their harness left them")
    parser.add_argument("-o", "--output", metavar="RUNS", required=True, help="the folder to put the records into")
    parser.add_argument("--arm", metavar="NAME", help="the arm, where the results do not name it")
    parser.add_argument("--tasks", metavar="FILE", help="the ids of a fixed suite, one a line; a missing one failed")
    parser.add_argument(
        "--map",
        metavar="FIELD=COLUMN",
        action="append",
        default=[],
        type=parse_column_map,
        help="where a table has a field, such as arm=config.name, or a .toml file of them; repeat it",
    )
    parser.add_argument("--skip-invalid", action="store_true", help="go on without rows that cannot be read")
    return parser


def _read_task_ids(path: str) -> frozenset[str]:
    """The lines of a file, or a JSON array of texts."""
    try:
        content = Path(path).read_bytes()
    except OSError as fault:
        raise UsageError(f"--tasks {path} cannot be read: {fault.strerror}.") from fault
    try:
        as_array = content.lstrip().startswith(b"[")
        ids = msgspec.json.decode(content, type=list[str]) if as_array else content.decode().split("\n")
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise UsageError(f"--tasks {path} is neither a list of ids nor a JSON array of them: {fault}.") from fault
    found = frozenset(line.strip() for line in ids) - {""}
    if not found:
        raise UsageError(f"--tasks {path} names no task.")
    return found
