"""`outweigh parts apply`: the set-up without some parts, as a patch or a pull request."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.apply_parts import ApplyPartsRequest, apply_parts
from outweigh.app.choose_arms import SUITE_ARMS
from outweigh.app.promotion_basis import PromoteRequest
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import REQUIREMENT_CODES
from outweigh.cli.promote import add_forge_options
from outweigh.cli.reading_options import ReadingOptions, reading_parser
from outweigh.errors import UsageError
from outweigh.report.drop_page import drop_report


class _Options(ReadingOptions):
    drop: tuple[str, ...]
    setup: str
    suite: str | None
    patch: str | None
    pull_request: bool
    remote: str
    into: str | None
    forge: str | None
    api: str | None
    reviewer: list[str]
    label: list[str]
    draft: bool
    format: str


def main(arguments: Sequence[str]) -> int:
    """Write what may be dropped; the exit code says whether it is allowed."""
    options = build_parser().parse_command(arguments, _Options())
    if options.patch is not None and options.pull_request:
        raise UsageError("--patch and --pull-request both say what to write; use one of them.")
    if options.pull_request and not options.runs:
        raise UsageError("--pull-request opens one, so name the store that it rests on: RUNS is missing.")
    evidence = options.evidence_request()
    request = ApplyPartsRequest(
        evidence=evidence,
        drop=options.drop,
        setup=Path(options.setup),
        suite=options.suite,
        patch=None if options.patch is None else Path(options.patch),
        pull_request=None
        if not options.pull_request
        else PromoteRequest(
            evidence=evidence,
            arms=SUITE_ARMS,
            execute=True,
            repository=Path(options.setup),
            remote=options.remote,
            into=options.into,
            forge=options.forge,
            api=options.api,
            reviewers=tuple(options.reviewer),
            labels=tuple(options.label),
            draft=options.draft,
        ),
    )
    result = apply_parts(request, notify)
    print_report(drop_report(result.dropped), options.format)
    return REQUIREMENT_CODES[result.is_allowed]


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "parts apply",
        "Write the set-up without some of its parts, where an arm without all of them together was judged neutral or "
        "improved.",
        "outweigh parts apply outweigh-runs/parts --drop style,docs --patch smaller.patch",
        "outweigh parts apply outweigh-runs/parts --drop style --pull-request",
    )
    parser.add_argument("--drop", metavar="A,B", type=_parse_names, required=True, help="the parts to drop")
    parser.add_argument("--patch", metavar="FILE", help="write a patch for `git apply`; nothing is overwritten")
    parser.add_argument("--pull-request", action="store_true", help="push a branch and open a pull request")
    parser.add_argument(
        "--setup", metavar="DIR", default=".", help="the folder with the files of the set-up (default: this folder)"
    )
    parser.add_argument(
        "-c",
        "--suite",
        metavar="SUITE",
        help="the suite that was run (default: the one of this folder, or just below it, that the store names)",
    )
    add_forge_options(parser)
    group = parser.group("Repository")
    group.add_argument("--remote", metavar="NAME", default="origin", help="its remote (default: %(default)s)")
    group.add_argument("--into", metavar="BRANCH", help="the branch to change (default: the remote's default branch)")
    add_format_option(parser)
    return parser


def _parse_names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if "" in names:
        raise argparse.ArgumentTypeError(f"{text!r} holds an empty name; write A,B")
    return names
