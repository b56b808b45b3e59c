"""`outweigh store arms`: put the arms and tasks of imported runs right, without touching their records."""

import argparse
from collections.abc import Sequence

from outweigh.app.correct_arms import CorrectRequest, correct_arms
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, print_report
from outweigh.cli.defaults import choose_store
from outweigh.cli.exit_codes import ExitCode
from outweigh.store.store import Store


class _Options(CommandOptions):
    runs: str | None
    changes: list[tuple[str, str]]
    by: str | None
    tasks: bool
    format: str


class _Change(argparse.Action):
    """Keeps changes of all kinds in the order in which they are asked for."""

    def __call__(self, _: object, namespace: argparse.Namespace, values: object, option: str | None = None) -> None:
        """One more change, of the kind that its option names."""
        namespace.changes = [*namespace.changes, ((option or "").removeprefix("--"), str(values))]


def main(arguments: Sequence[str]) -> int:
    """Add the changes to the store, and list its arms and tasks."""
    options = build_parser().parse_command(arguments, _Options())
    store = Store.open(choose_store(options.runs, options.command))
    request = CorrectRequest(store=store, changes=tuple(options.changes), by=options.by, tasks=options.tasks)
    print_report(correct_arms(request), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store arms",
        description="List the arms and tasks of a store of imported runs, or put them right. Changes are kept in "
        "arms.toml in the store, are named in every verdict, and leave the records as they are; remove the file to "
        "undo them.",
        examples=(
            "outweigh store arms runs",
            "outweigh store arms runs --rename gpt5-run7=plain --merge monday,tuesday=with-notes",
            "outweigh store arms runs --split all --by agent.model",
            "outweigh store arms runs --tasks --drop smoke-test",
        ),
    )
    parser.add_argument("runs", nargs="?", metavar="RUNS", help="the store (default: the last one of this folder)")
    group = parser.group("Changes")
    for option, metavar, words in (
        ("--rename", "OLD=NEW", "give an arm another name"),
        ("--merge", "ONE,OTHER=NEW", "make one arm of several, whose runs become repeats in the order of the names"),
        ("--split", "ARM", "make an arm of every value of the field that --by names"),
        ("--drop", "ARM", "leave an arm out"),
    ):
        group.add_argument(
            option, metavar=metavar, dest="changes", action=_Change, default=[], help=f"{words}; may be repeated"
        )
    group.add_argument(
        "--by", metavar="FIELD", help="what to split by: agent.model, agent.name, agent.version, family or extra.NAME"
    )
    group.add_argument("--tasks", action="store_true", help="change tasks instead of arms")
    add_format_option(parser)
    return parser
