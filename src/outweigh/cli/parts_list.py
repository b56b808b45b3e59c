"""`outweigh parts list`: what is a set-up made of, and what does each part cost on every turn?"""

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from outweigh.app.list_parts import ListPartsRequest, list_parts
from outweigh.cli.arguments import CommandOptions, Parser, add_format_option, parse_jobs, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.model.parts import DesignKind
from outweigh.report.part_list_page import part_list_report


class _Options(CommandOptions):
    paths: list[str]
    agent: str | None
    model: str | None
    bullets: bool
    no_tokens: bool
    offline: bool
    prices: str | None
    output: str | None
    tasks: str | None
    design: DesignKind | None
    jobs: int
    format: str


def main(arguments: Sequence[str]) -> int:
    """Print every part, and write the suite where one is asked for."""
    options = build_parser().parse_command(arguments, _Options())
    request = ListPartsRequest(
        named=tuple(options.paths),
        agent=options.agent,
        model=options.model,
        by_bullet=options.bullets,
        measures=not options.no_tokens,
        asks_provider=not options.offline,
        tasks=options.tasks,
        output=None if options.output is None else Path(options.output),
        design=options.design,
        prices=options.prices,
        jobs=options.jobs,
    )
    print_report(part_list_report(list_parts(request, notify)), options.format)
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh parts list",
        description="List what a set-up is made of, with the tokens that each part costs on every turn. Your agent is "
        "started against a scripted model, with the whole set-up and once without each part; that costs nothing.",
        examples=(
            "outweigh parts list",
            "outweigh parts list CLAUDE.md .claude/ .mcp.json",
            "outweigh parts list CLAUDE.md --bullets --format json",
            "outweigh parts list -o parts-suite",
        ),
    )
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="files and folders of the set-up, such as CLAUDE.md, .claude/ and .mcp.json (default: all that is here)",
    )
    _add_measuring_options(parser)
    _add_suite_options(parser)
    add_format_option(parser)
    return parser


def _add_measuring_options(parser: Parser) -> None:
    group = parser.group("What is measured")
    group.add_argument("--bullets", action="store_true", help="list every bullet of a list as a part of its own")
    group.add_argument("-a", "--agent", metavar="AGENT", help="the agent (default: the first that is installed)")
    group.add_argument("-m", "--model", metavar="MODEL", help="its model (default: its own)")
    group.add_argument("--no-tokens", action="store_true", help="start no agent, and only list the parts")
    group.add_argument(
        "--offline",
        action="store_true",
        help="count tokens with a tokenizer, although there is a key for the provider, which could count them",
    )
    group.add_argument("--prices", metavar="FILE", help="a price file of your own (default: list prices)")
    group.add_argument(
        "-j", "--jobs", type=parse_jobs, default=2, metavar="N", help="agents at a time (default: %(default)s)"
    )


def _add_suite_options(parser: Parser) -> None:
    group = parser.group("A suite of the parts")
    group.add_argument("-o", "--suite", dest="output", metavar="FOLDER", help="write a suite that varies the parts")
    group.add_argument(
        "--design",
        choices=get_args(DesignKind),
        help="how it varies them (default: leave-one-out up to 8 parts, else screen)",
    )
    group.add_argument(
        "-t",
        "--tasks",
        metavar="TASKS",
        help="a suite or a folder whose tasks it gets (default: the repository's suite, or one made by `try`)",
    )
