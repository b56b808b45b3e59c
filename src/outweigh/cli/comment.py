"""`outweigh comment`: put what `outweigh ci` wrote on a pull request, replacing the earlier comment.

A step of its own, so that the token that may write comments is never near the agents.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from outweigh.app.ci_host import CiHost
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import UsageError
from outweigh.ports.forges import ForgeError, PullRequestComments
from outweigh.report.ci_outcome import workflow_run_number
from outweigh.report.formatting import escape_controls


def main(arguments: Sequence[str]) -> int:
    """Write it once, and after that bring it up to date."""
    options = _parser().parse_args(arguments)
    try:
        body = Path(options.file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{options.file} cannot be read: {fault}.") from fault
    if not body.startswith("<!-- outweigh "):
        raise UsageError(f"{options.file} is no comment that `outweigh ci` wrote; its first line would be the mark.")
    try:
        written = pull_request_comments(options, os.environ).upsert(body, workflow_run_number)
    except ForgeError as fault:
        raise UsageError(f"the comment could not be written: {fault}") from fault
    print(f"written: {escape_controls(written)}")
    return ExitCode.SATISFIED


def pull_request_comments(options: argparse.Namespace, environment: Mapping[str, str]) -> PullRequestComments:
    """The comments of the pull request that the job is about, or that is named."""
    number = options.number or CiHost(environment=environment).pull_request
    if number is None:
        raise UsageError("this job is about no pull request; name one by --number.")
    if "GITLAB_CI" in environment:
        return _gitlab(environment, number)
    return _github(environment, number)


def _github(environment: Mapping[str, str], number: int) -> PullRequestComments:
    from outweigh.forge.comments import GitHubComments  # noqa: PLC0415 - one of two is needed
    from outweigh.forge.rest_api import ForgeApi, HttpForgeTransport  # noqa: PLC0415

    token, repository = (_require_variable(environment, name) for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY"))
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    url = environment.get("GITHUB_API_URL") or "https://api.github.com"
    return GitHubComments(ForgeApi(HttpForgeTransport(_require_https(url), headers)), repository, number)


def _gitlab(environment: Mapping[str, str], number: int) -> PullRequestComments:
    from outweigh.forge.comments import GitLabComments  # noqa: PLC0415
    from outweigh.forge.rest_api import ForgeApi, HttpForgeTransport  # noqa: PLC0415

    token, project = (_require_variable(environment, name) for name in ("GITLAB_TOKEN", "CI_PROJECT_ID"))
    url = environment.get("CI_API_V4_URL") or "https://gitlab.com/api/v4"
    return GitLabComments(ForgeApi(HttpForgeTransport(_require_https(url), {"PRIVATE-TOKEN": token})), project, number)


def _require_https(url: str) -> str:
    from outweigh.forge.rest_api import may_send_token  # noqa: PLC0415

    if not may_send_token(url):
        raise UsageError(f"a token is sent by https alone, not to {url}.")
    return url


def _require_variable(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name)
    if not value:
        raise UsageError(f"{name} is not set; a job that may write comments has it.")
    return value


def _parser() -> Parser:
    parser = Parser(prog="outweigh comment", description="Put what `ci` wrote on a pull request.", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE", help="the comment.md that `outweigh ci` wrote")
    parser.add_argument(
        "--number", type=_parse_number, metavar="N", help="the pull or merge request (default: the one of this job)"
    )
    return parser


def _parse_number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a pull request")
    return int(text)
