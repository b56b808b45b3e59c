"""The CI system that the process runs on, as its environment says, and the comment on the pull request of a job."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import UsageError
from outweigh.ports.forges import ForgeError, PullRequestComments
from outweigh.report.ci_outcome import workflow_run_number

_DEPENDABOT = "dependabot[bot]"


@dataclass(frozen=True, slots=True, kw_only=True)
class CiHost:
    """What a job knows about itself. `withholds_secrets` says why it gets none, where that is known."""

    environment: Mapping[str, str]

    @property
    def run(self) -> int | None:
        """The number of this run of the workflow; later runs have larger numbers."""
        number = self.environment.get("GITHUB_RUN_ID") or self.environment.get("CI_PIPELINE_ID") or ""
        return int(number) if number.isdecimal() and len(number) <= 18 else None

    @property
    def link(self) -> str | None:
        """Where people find this run."""
        given = self.environment
        if "GITHUB_RUN_ID" in given:
            return f"{given.get('GITHUB_SERVER_URL')}/{given.get('GITHUB_REPOSITORY')}/actions/runs/{self.run}"
        return given.get("CI_JOB_URL")

    @property
    def pull_request(self) -> int | None:
        """The number of the pull or merge request that the job is about."""
        number = (self._event().get("pull_request") or {}).get("number") or self._event().get("number")
        text = str(number or self.environment.get("CI_MERGE_REQUEST_IID") or "")
        return int(text) if text.isdecimal() else None

    @property
    def withholds_secrets(self) -> str | None:
        """Why this job gets no secrets: forks and dependency bots have none. None where it may have them."""
        request = self._event().get("pull_request") or {}
        ours, theirs = ((request.get(side) or {}).get("repo") or {} for side in ("base", "head"))
        if request and theirs.get("full_name") != ours.get("full_name"):
            return "the pull request comes from a fork"
        if self.environment.get("GITHUB_ACTOR") == _DEPENDABOT:
            return "the pull request was opened by Dependabot"
        source, target = (self.environment.get(f"CI_MERGE_REQUEST_{side}PROJECT_ID") for side in ("SOURCE_", ""))
        return "the merge request comes from a fork" if source and source != target else None

    def set_outputs(self, values: Mapping[str, str]) -> None:
        """Set outputs for later steps. Only printable characters are kept, so that no value can add an output."""
        lines = (f"{name}={''.join(filter(str.isprintable, value))}\n" for name, value in values.items())
        self._append("GITHUB_OUTPUT", "".join(lines))

    def add_summary(self, markdown: str) -> None:
        """Add to the page of the job, where the host has one."""
        self._append("GITHUB_STEP_SUMMARY", markdown)

    def annotation(self, text: str) -> str | None:
        """The line on standard output that marks the job with a warning; None where the host knows no such line."""
        if self.environment.get("GITHUB_ACTIONS") != "true":
            return None
        escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        return f"::warning title=outweigh::{escaped}\n"

    def _append(self, variable: str, text: str) -> None:
        path = self.environment.get(variable)
        if not path:
            return
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as fault:
            raise UsageError(f"{variable} names {path}, which cannot be written: {fault.strerror}.") from fault

    def _event(self) -> dict[str, Any]:
        path = self.environment.get("GITHUB_EVENT_PATH")
        if not path:
            return {}
        try:
            found = msgspec.json.decode(Path(path).read_bytes())
        except (OSError, msgspec.MsgspecError):
            return {}
        return found if isinstance(found, dict) else {}


def current_host() -> CiHost:
    """The host that this process runs on."""
    return CiHost(environment=os.environ)


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
        raise UsageError(f"{file} is not a comment that `outweigh ci` wrote; its first line would be the mark.")
    return body


def _pull_request_comments(number: int | None, environment: Mapping[str, str]) -> PullRequestComments:
    """The comments of the pull request that is named, or that the job is about."""
    number = number or CiHost(environment=environment).pull_request
    if number is None:
        raise UsageError("this job is about no pull request; name one with --number.")
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
