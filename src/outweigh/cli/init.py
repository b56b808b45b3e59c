"""`outweigh init`: a starter suite that runs as it is, one converted from another program's evals, or one mined from a
history.
"""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outweigh.app.starter_suite import write_starter
from outweigh.cli.arguments import Parser
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.init_from_git import MiningOptions, add_mining_options, mine
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.suite import SUITE_FILE
from outweigh.ports.suites import DEFAULT_AGENT

if TYPE_CHECKING:
    from outweigh.app.convert_suite import ConvertedSuite

SHOWN_NOTES = 8


class _Options(MiningOptions):
    """The options, as the parser fills them in."""

    source: str | None
    skill: str | None


def main(arguments: Sequence[str]) -> int:
    """Write the suite and say what to do next."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    if options.repository is not None:
        return mine(options)
    options.refuse_without_repository()
    folder = Path(options.folder)
    if options.source is not None or options.skill is not None:
        _convert(options, folder)
        return ExitCode.SATISFIED
    if options.agent is not None or options.model is not None:
        raise UsageError(
            "-a and -m say who works on a suite from elsewhere; name it with --from, --from-skill or --from-git."
        )
    files = write_starter(folder)
    print_escaped(f"{files} files written; {folder / SUITE_FILE} is the experiment, tasks/ has its tasks.")
    _print_next_steps(folder, _starter_steps())
    return ExitCode.SATISFIED


def _convert(options: _Options, folder: Path) -> None:
    # Imported here: a starter suite needs none of it.
    from outweigh.app.convert_suite import ConvertRequest, convert_suite  # noqa: PLC0415

    source = Path(options.source or options.skill or "")
    request = ConvertRequest(
        source=source,
        folder=folder,
        is_skill=options.source is None,
        agent=options.agent,
        model=options.model,
    )
    _print_converted(convert_suite(request), source)


def _print_converted(converted: "ConvertedSuite", source: Path) -> None:
    draft, suite, folder = converted.draft, converted.suite, converted.folder
    names = list(suite.tiers)
    arms = " and ".join(names) if len(names) == 2 else f"{len(names)} arms"
    tasks = "1 task" if len(draft.tasks) == 1 else f"{len(draft.tasks)} tasks"
    cases = len(suite.tasks) - len(draft.tasks)
    read = f"{cases} trigger cases" if not draft.tasks else f"{tasks} and {cases} trigger cases" if cases else tasks
    print_escaped(f"{source} was read as {converted.format}: {read}, {arms}.")
    print_escaped(f"{converted.files} files written; {folder / SUITE_FILE} is the experiment.")
    if 0 < len(draft.tasks) < converted.tasks_for_a_gain:
        print_escaped(_describe_few_tasks(tasks, converted))
    _print_notes(draft.notes, converted.notes_file)
    for provider, variable, address in converted.own_addresses():
        print_escaped(f"{variable} is set, so [gateway.{provider}] asks {address}.")
    _print_next_steps(folder, _converted_steps(suite))


def _describe_few_tasks(tasks: str, converted: "ConvertedSuite") -> str:
    fewest = converted.tasks_for_a_verdict
    gain = f"a better pass rate alone is called improved from {converted.tasks_for_a_gain} on"
    if len(converted.draft.tasks) < fewest:
        return f"{tasks} can show no more than a direction: a verdict takes at least {fewest}, and {gain}."
    return f"{tasks} are just enough for a verdict; {gain}."


def _print_notes(notes: tuple[str, ...], file: Path) -> None:
    if not notes:
        print_escaped("Everything was carried over.")
        return
    print_escaped("Not carried over, or not as it was:")
    for note in notes[:SHOWN_NOTES]:
        print_escaped(f"  - {note}")
    if len(notes) > SHOWN_NOTES:
        print_escaped(f"  - and {len(notes) - SHOWN_NOTES} more, all in {file}")


def _print_next_steps(folder: Path, steps: Mapping[str, str]) -> None:
    """Commands to paste, each with what it does. The words are comments, so that all of it can be pasted at once."""
    entered = {} if folder.resolve() == Path.cwd() else {f"cd {_path_word(folder)}": ""}
    width = max(map(len, steps))
    print_escaped("Next:")
    for command, meaning in {**entered, **steps}.items():
        print_escaped(f"  {command:<{width}}  # {meaning}" if meaning else f"  {command}")


def _path_word(folder: Path) -> str:
    """The folder as a word of a shell, which `cd` does not take for an option."""
    text = str(folder)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _starter_steps() -> dict[str, str]:
    return {
        "outweigh doctor": "try the tasks without an agent",
        "outweigh run": "run it with a simulated agent, and show the result",
        "outweigh verdict": "the whole verdict",
    }


def _converted_steps(suite: LoadedSuite) -> dict[str, str]:
    judged = " and judge" if suite.spec.judges else ""
    return {
        "outweigh doctor": "check what is missing, for free",
        "outweigh run": f"run{judged} everything, and show the result; with -k 1 every trial once",
        "outweigh verdict": "the whole verdict",
    }


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh init",
        description="Write a starter suite that runs as it is, or make a suite from evals that you have or from the "
        "history of a repository.",
        examples=(
            "outweigh init my-suite",
            "outweigh init skill-suite --from-skill release-notes",
            "outweigh init mined-suite --from-git . --to-see 10",
        ),
    )
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where to write (default: this folder)")
    group = parser.group("Evals that you have")
    source = group.add_mutually_exclusive_group()
    source.add_argument(
        "--from", dest="source", metavar="PATH", help="a suite of another program; its format is detected"
    )
    source.add_argument(
        "--from-skill", dest="skill", metavar="PATH", help="a skill with evals; compares the agent without and with it"
    )
    group.add_argument(
        "-a",
        "--agent",
        metavar="AGENT",
        help=f"the agent that works on the tasks (default: the one that the evals name, else {DEFAULT_AGENT})",
    )
    group.add_argument("-m", "--model", metavar="MODEL", help="its model (default: the agent's own)")
    add_mining_options(parser, source)
    return parser
