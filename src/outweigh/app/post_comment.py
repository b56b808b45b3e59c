"""Post the comment that `outweigh ci` wrote on the pull request that a CI job is about, replacing the earlier one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.ci_host import CiHost
from outweigh.errors import UsageError
from outweigh.ports.forges import ForgeError, PullRequestComments
from outweigh.report.ci_outcome import workflow_run_number


@dataclass(frozen=True, slots=True, kw_only=True)
class PostCommentRequest:
    """The file to post, and the number of the pull or merge request; without it, the one of the job."""

    file: Path
    number: int | None = None


def post_comment(request: PostCommentRequest, environment: Mapping[str, str]) -> str:
    """Write the comment, or bring it up to date; gives back its address."""
    body = _read_comment(request.file)
    try:
        return _pull_request_comments(request.number, environment).upsert(body, workflow_run_number)
    except ForgeError as fault:
        raise UsageError(f"the comment could not be written: {fault}") from fault


def _read_comment(file: Path) -> str:
    try:
        body = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise UsageError(f"{file} cannot be read: {fault}.") from fault
    if not body.startswith("<!-- outweigh "):
        raise UsageError(f"{file} is no comment that `outweigh ci` wrote; its first line would be the mark.")
    return body


def _pull_request_comments(number: int | None, environment: Mapping[str, str]) -> PullRequestComments:
    """The comments of the pull request that is named, or that the job is about."""
    number = number or CiHost(environment=environment).pull_request
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
