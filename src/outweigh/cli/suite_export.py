"""`outweigh suite export`: the tasks of a suite as evals of a plugin of Claude Code."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.export_suite import export_suite
from outweigh.cli.arguments import CommandOptions, Parser
from outweigh.cli.console import print_escaped
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.formatting import count_of


class _Options(CommandOptions):
    suite: str
    output: str


def main(arguments: Sequence[str]) -> int:
    """Write the cases, and say what has no counterpart."""
    options = build_parser().parse_command(arguments, _Options())
    exported = export_suite(options.suite, Path(options.output))
    print_escaped(f"{count_of(len(exported.cases), 'case')} written to {options.output}.")
    if exported.notes:
        print_escaped("Not carried over, or not as it was:")
        for note in exported.notes:
            print_escaped(f"  - {note}")
    print_escaped("Next: claude plugin eval PLUGIN --scaffold --allow-tools Write Edit Bash")
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh suite export",
        description="Write the tasks of a suite as evals of a plugin, for `claude plugin eval`, where its graders can "
        "stand for their checks.",
        examples=("outweigh suite export my-suite -o my-plugin/evals",),
    )
    parser.add_argument("suite", metavar="SUITE", help="a suite.toml, or the folder it is in")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder of the plugin's evals")
    return parser
