"""`outweigh store arms`: put the arms and tasks of imported runs right, without touching their records."""

from collections.abc import Sequence
from functools import partial

from outweigh.app.correct_arms import CorrectRequest, correct_arms
from outweigh.app.open_runs import refuse_tables_as_records
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


def main(arguments: Sequence[str]) -> int:
    """Add the changes to the store, and list its arms and tasks."""
    options = build_parser().parse_command(arguments, _Options())
    runs = choose_store(options.runs, options.command)
    refuse_tables_as_records([runs])
    store = Store.open(runs)
    request = CorrectRequest(store=store, changes=tuple(options.changes), by=options.by, tasks=options.tasks)
    print_report(correct_arms(request), options.format)
    return ExitCode.SATISFIED


def _change(kind: str, value: str) -> tuple[str, str]:
    """Changes of all kinds stay in the order in which they are asked for."""
    return kind, value


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh store arms",
        description="List the arms and tasks of imported runs, or put them right without touching the records: changes "
        "are kept in the store's arms.toml, and every verdict names them.",
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
            option,
            metavar=metavar,
            dest="changes",
            action="append",
            default=[],
            type=partial(_change, option.removeprefix("--")),
            help=f"{words}; may be repeated",
        )
    group.add_argument(
        "--by", metavar="FIELD", help="what to split by: agent.model, agent.name, agent.version, family or extra.NAME"
    )
    group.add_argument("--tasks", action="store_true", help="change tasks instead of arms")
    add_format_option(parser)
    return parser
