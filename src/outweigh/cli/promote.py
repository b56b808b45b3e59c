"""`outweigh promote`: the tested change as a pull request; only a plan of it unless `--execute`."""

from collections.abc import Sequence
from pathlib import Path

from outweigh.app.promote import promote
from outweigh.app.promotion_basis import PromoteRequest
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import REQUIREMENT_CODES
from outweigh.cli.reading_options import ArmOptions, ReadingOptions, reading_parser
from outweigh.errors import UsageError
from outweigh.report.promotion_page import promotion_report


class _Options(ReadingOptions, ArmOptions):
    """The options, as the parser fills them in. None of `verdict` that could bend the suite's rule is among them."""

    execute: bool
    evidence: str | None
    repo: str
    remote: str
    into: str | None
    folder: str | None
    forge: str | None
    api: str | None
    reviewer: list[str]
    label: list[str]
    draft: bool
    format: str

    def request(self) -> PromoteRequest:
        """What the options ask for."""
        return PromoteRequest(
            evidence=self.evidence_request(),
            arms=self.arm_choice(),
            execute=self.execute,
            shown_sha256=self.evidence,
            repository=Path(self.repo),
            remote=self.remote,
            into=self.into,
            folder=self.folder,
            forge=self.forge,
            api=self.api,
            reviewers=tuple(self.reviewer),
            labels=tuple(self.label),
            draft=self.draft,
        )


def main(arguments: Sequence[str]) -> int:
    """Plan, or carry out; the exit code says whether the promotion is allowed."""
    options = build_parser().parse_command(arguments, _Options())
    if options.execute and not options.runs:
        raise UsageError("--execute opens a pull request, so name the store that it rests on: RUNS is missing.")
    result = promote(options.request(), notify)
    print_report(promotion_report(result.promotion), options.format)
    return REQUIREMENT_CODES[result.is_allowed]


def build_parser() -> Parser:
    """The options of this verb."""
    parser = reading_parser(
        "promote",
        "Open the pull request that a verdict allows; without --execute, only show the plan.",
        "outweigh promote outweigh-runs/my-suite",
        "outweigh promote outweigh-runs/my-suite --execute --reviewer octocat",
    )
    parser.add_argument("--execute", action="store_true", help="push the branch and open the pull request")
    parser.add_argument("--evidence", metavar="SHA256", help="refuse unless the records still have this hash")
    arms = parser.group("Arms")
    arms.add_argument("--baseline", metavar="ARM", help="the arm to replace (default: the suite's)")
    arms.add_argument(
        "--candidate", metavar="ARM", action="append", help="the arm to promote (default: the only other arm)"
    )
    _add_repository_options(parser)
    add_forge_options(parser)
    add_format_option(parser)
    return parser


def _add_repository_options(parser: Parser) -> None:
    group = parser.group("Repository")
    group.add_argument("--repo", metavar="DIR", default=".", help="the repository to change (default: this one)")
    group.add_argument("--remote", metavar="NAME", default="origin", help="its remote (default: %(default)s)")
    group.add_argument("--into", metavar="BRANCH", help="the branch to change (default: the remote's default branch)")
    group.add_argument(
        "--folder", metavar="DIR", help="where to put files of arms that are not from git (default: the top folder)"
    )


def add_forge_options(parser: Parser) -> None:
    """How a pull request is opened."""
    group = parser.group("Pull request")
    group.add_argument("--forge", metavar="NAME", help="github, gitlab or git (default: by the remote's host)")
    group.add_argument("--api", metavar="URL", help="the address of the forge's API (default: by the remote's host)")
    group.add_argument(
        "--reviewer", metavar="NAME", action="append", default=[], help="ask this person or ORG/TEAM; may be repeated"
    )
    group.add_argument("--label", metavar="NAME", action="append", default=[], help="add this label; may be repeated")
    group.add_argument("--draft", action="store_true", help="open it as a draft")
