"""GitHub and GitLab, against a forge on loopback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.loopback_forge import TOKEN, CannedResponse, LoopbackForge, loopback_forge

from outweigh.forge.github import GitHub
from outweigh.forge.gitlab import GitLab
from outweigh.forge.plain_git import PlainGit, forge_name_of_host, parse_project
from outweigh.ports.forges import ForgeError, ForgeProject
from outweigh.testing.forge_contract import PULL_REQUEST_DRAFT, ForgeContract, ForgeTestProject

NOWHERE = "http://127.0.0.1:9"
HUB = ForgeProject(host="github.com", path="team/config", api_url=None)


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GH_TOKEN", "GITHUB_SERVER_URL", "GITHUB_API_URL", "CI_SERVER_URL", "CI_API_V4_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.setenv(name, TOKEN)


@contextmanager
def hub() -> Iterator[tuple[LoopbackForge, ForgeProject]]:
    with loopback_forge() as forge:
        yield forge, replace(HUB, api_url=forge.url)


class TestGitHub(ForgeContract):
    @contextmanager
    def project(self) -> Iterator[ForgeTestProject]:
        with hub() as (_, project):
            yield ForgeTestProject(GitHub(), project)

    def unreachable_project(self) -> ForgeTestProject:
        return ForgeTestProject(GitHub(), replace(HUB, api_url=NOWHERE))


class TestGitLab(ForgeContract):
    @contextmanager
    def project(self) -> Iterator[ForgeTestProject]:
        with hub() as (_, project):
            yield ForgeTestProject(GitLab(), replace(project, host="gitlab.com"))

    def unreachable_project(self) -> ForgeTestProject:
        return ForgeTestProject(GitLab(), replace(HUB, host="gitlab.com", api_url=NOWHERE))


class TestGh(ForgeContract):
    """GitHub without a token, by a program that stands in for `gh` and asks the forge on loopback."""

    @pytest.fixture(autouse=True)
    def _program(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.program = tmp_path / "bin" / "gh"
        self.program.parent.mkdir()
        monkeypatch.delenv("GITHUB_TOKEN")
        monkeypatch.setenv("PATH", f"{self.program.parent}:{os.environ['PATH']}")

    def install(self, url: str) -> None:
        stand_in = Path(__file__).with_name("gh_stand_in.py")
        self.program.write_text(f'#!/bin/sh\nexec {sys.executable} {stand_in} {url} {TOKEN} "$@"\n')
        self.program.chmod(0o755)

    @contextmanager
    def project(self) -> Iterator[ForgeTestProject]:
        with loopback_forge() as forge:
            self.install(forge.url)
            yield ForgeTestProject(GitHub(), HUB)

    def unreachable_project(self) -> ForgeTestProject:
        self.install(NOWHERE)
        return ForgeTestProject(GitHub(), HUB)


def test_labels_reviewers_and_teams_reach_github() -> None:
    with hub() as (forge, project):
        opened = GitHub().open_pull_request(project, PULL_REQUEST_DRAFT)
        GitHub().finish_pull_request(project, opened, replace(PULL_REQUEST_DRAFT, reviewers=("ada", "team/core")))

    (pull,) = forge.pulls
    assert (pull["draft"], pull["labels"]) == (True, ["agents", "tested"])
    assert (pull["reviewers"], pull["team_reviewers"]) == (["ada"], ["core"])


def test_labels_reviewers_and_drafts_reach_gitlab() -> None:
    with hub() as (forge, project):
        opened = GitLab().open_pull_request(project, PULL_REQUEST_DRAFT)
        GitLab().finish_pull_request(project, opened, PULL_REQUEST_DRAFT)

    (pull,) = forge.pulls
    assert pull["title"] == "Draft: Promote a over b"
    assert (pull["reviewer_ids"], pull["add_labels"]) == ([7], "agents,tested")


def test_a_reviewer_that_gitlab_does_not_know_is_named() -> None:
    with hub() as (_, project):
        opened = GitLab().open_pull_request(project, PULL_REQUEST_DRAFT)
        with pytest.raises(ForgeError, match="no user 'nobody'"):
            GitLab().finish_pull_request(project, opened, replace(PULL_REQUEST_DRAFT, reviewers=("nobody",)))


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (401, {}, "does not accept the token"),
        (403, {}, "has no right"),
        (404, {}, "does not know this repository"),
        (422, {}, "trouble"),
        (307, {"Location": "/elsewhere"}, "has moved"),
        (429, {"Retry-After": "3600"}, "Try again in 3600 seconds"),
        (429, {}, "takes no more requests"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999999999"}, "takes no more requests"),
    ],
)
def test_refusals_say_what_to_do_and_never_the_token(status: int, headers: dict[str, str], said: str) -> None:
    with hub() as (forge, project):
        forge.canned = [CannedResponse("POST", status, headers)]
        with pytest.raises(ForgeError, match=said) as caught:
            GitHub().open_pull_request(project, PULL_REQUEST_DRAFT)

    assert TOKEN not in str(caught.value)
    assert forge.leaked_tokens == []


def test_a_short_pause_that_a_forge_asks_for_is_made() -> None:
    with hub() as (forge, project):
        forge.canned = [CannedResponse("POST", 429, {"Retry-After": "0"})] * 2

        assert GitHub().open_pull_request(project, PULL_REQUEST_DRAFT).is_open


@pytest.mark.parametrize(
    ("content", "said"), [("no table", "not a pull request"), ({"number": "one"}, "not a pull request")]
)
def test_an_answer_that_is_no_pull_request_is_refused(content: Any, said: str) -> None:
    with hub() as (forge, project):
        forge.canned = [CannedResponse("POST", 201, content=content)]
        with pytest.raises(ForgeError, match=said):
            GitHub().open_pull_request(project, PULL_REQUEST_DRAFT)


@pytest.mark.parametrize("forge", [GitHub(), GitLab()])
@pytest.mark.parametrize(
    ("host", "api", "said"),
    [
        ("evil.example", None, "not sent to 'evil.example' unless you name"),
        ("evil.example", "http://evil.example/api", "by https alone"),
        ("", None, "on a host"),
    ],
)
def test_a_token_is_sent_to_no_address_that_nobody_named(
    forge: GitHub | GitLab, host: str, api: str | None, said: str
) -> None:
    assert said in (forge.missing(ForgeProject(host=host, path="team/config", api_url=api)) or "")


def test_the_ci_names_the_api_of_its_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://code.example")
    monkeypatch.setenv("GITHUB_API_URL", "https://code.example/api/v3")

    assert GitHub().missing(ForgeProject(host="code.example", path="team/config", api_url=None)) is None
    assert GitHub().missing(ForgeProject(host="other.example", path="team/config", api_url=None)) is not None


def test_without_a_token_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "GITHUB_TOKEN" in (GitHub().missing(HUB) or "")
    assert "GITLAB_TOKEN" in (GitLab().missing(HUB) or "")
    assert PlainGit().missing(HUB) is None


@pytest.mark.parametrize(
    ("address", "host", "path", "forge"),
    [
        ("https://github.com/team/config.git", "github.com", "team/config", "github"),
        ("https://user:secret@github.com/team/config", "github.com", "team/config", "github"),
        ("git@gitlab.com:group/sub/config.git", "gitlab.com", "group/sub/config", "gitlab"),
        ("ssh://git@gitlab.example:2222/group/config.git", "gitlab.example", "group/config", "gitlab"),
        ("https://code.example:8443/team/config", "code.example:8443", "team/config", "git"),
        ("https://notgithub.com/team/config", "notgithub.com", "team/config", "git"),
        ("/srv/git/config.git", "", "srv/git/config", "git"),
        ("file:///srv/git/config.git", "", "srv/git/config", "git"),
    ],
)
def test_an_address_says_which_project_on_which_forge(address: str, host: str, path: str, forge: str) -> None:
    project = parse_project(address)

    assert (project.host, project.path, forge_name_of_host(project.host)) == (host, path, forge)


def test_plain_git_opens_nothing_and_says_where_to() -> None:
    opened = PlainGit().open_pull_request(HUB, PULL_REQUEST_DRAFT)

    assert (opened.number, opened.is_open) == (None, False)
    assert opened.url == "https://github.com/team/config/pull/new/outweigh/promote-1"
