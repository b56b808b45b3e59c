"""`outweigh init`: a starter suite that runs as it is, or one converted from another program's evals."""

import argparse
import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from outweigh.app.new_files import refuse_to_overwrite, write_files
from outweigh.app.starter_suite import starter_files
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.engine.load_suite import SUITE_FILE
from outweigh.errors import UsageError
from outweigh.plugins import adapter_names
from outweigh.ports.suites import DEFAULT_AGENT, DraftFile


def main(arguments: Sequence[str]) -> int:
    """Write the suite and say what to do next."""
    options = _parser().parse_args(arguments)
    folder = Path(options.folder)
    if options.source is not None or options.skill is not None:
        _convert(options, folder)
        return ExitCode.SATISFIED
    if options.agent is not None or options.model is not None:
        raise UsageError("-a and -m say who works on a suite from elsewhere; name it with --from or --from-skill.")
    files = {name: DraftFile(content=content) for name, content in starter_files().items()}
    refuse_to_overwrite([folder / name for name in files], folder)
    write_files(folder, files)
    _print_next_steps(folder, len(files))
    return ExitCode.SATISFIED


def _convert(options: argparse.Namespace, folder: Path) -> None:
    # Imported here: a starter suite needs none of it.
    from outweigh.app.convert_suite import (  # noqa: PLC0415
        choose_skill_reader,
        choose_suite_reader,
        convert_suite,
    )
    from outweigh.ports.suites import SuiteOverrides  # noqa: PLC0415

    agent = None if options.agent is None else _require_agent(options.agent)
    source = Path(options.source or options.skill)
    reader = choose_skill_reader(source) if options.source is None else choose_suite_reader(source)
    convert_suite(reader, source, folder, SuiteOverrides(agent=agent, model=options.model))


def _require_agent(name: str) -> str:
    known = adapter_names("agent")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"there is no agent {name!r}; installed are {', '.join(known)}.{hint}")
    return name


def _print_next_steps(folder: Path, files: int) -> None:
    suite = shlex.quote(str(folder))
    print(f"{files} files written; {folder / SUITE_FILE} is the experiment, tasks/ is what it asks.")
    print("It runs as it is, with an agent that only pretends:")
    print(f"  outweigh doctor -c {suite}    try the tasks without an agent")
    print(f"  outweigh run -c {suite}       run it")


def _parser() -> Parser:
    parser = Parser(
        prog="outweigh init",
        description="Write a starter suite that runs as it is, or one made of what somebody wrote for another program.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where (default: this folder)")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--from", dest="source", metavar="PATH", help="a suite of another program; its format is found")
    source.add_argument(
        "--from-skill", dest="skill", metavar="PATH", help="a skill with evals: the same agent without it and with it"
    )
    parser.add_argument(
        "-a",
        "--agent",
        metavar="AGENT",
        help=f"who works on a suite from elsewhere (default: whom it names, else {DEFAULT_AGENT})",
    )
    parser.add_argument("-m", "--model", metavar="MODEL", help="its model (default: the agent's own)")
    return parser
