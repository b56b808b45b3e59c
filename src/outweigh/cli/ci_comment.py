"""`outweigh ci comment`: put what `outweigh ci` wrote on a pull request, replacing the earlier comment.

A step of its own, so that the token that may write comments is never near the agents.
"""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from outweigh.app.ci_host import PostCommentRequest, post_comment
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.report.formatting import escape_controls


class _Options:
    """The options, as the parser fills them in."""

    file: str
    number: int | None


def main(arguments: Sequence[str]) -> int:
    """Write it once, and after that bring it up to date."""
    options = build_parser().parse_args(arguments, namespace=_Options())
    request = PostCommentRequest(file=Path(options.file), number=options.number)
    print(f"written: {escape_controls(post_comment(request, os.environ))}")
    return ExitCode.SATISFIED


def build_parser() -> Parser:
    """The options of this verb."""
    parser = Parser(
        prog="outweigh ci comment",
        description="Post the result of `outweigh ci` on a pull request, or update the comment that is there.",
        examples=(
            "outweigh ci comment outweigh-runs/ci/comment.md",
            "outweigh ci comment outweigh-runs/ci/comment.md --number 7",
        ),
    )
    parser.add_argument("file", metavar="FILE", help="the comment.md that `outweigh ci` wrote")
    parser.add_argument(
        "--number", type=_parse_number, metavar="N", help="the pull or merge request (default: the one of this job)"
    )
    return parser


def _parse_number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a pull request")
    return int(text)
