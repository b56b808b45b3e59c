"""One comment per suite on a pull request, kept up to date, and nobody else's ever touched."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.engines import Ended
from tests.loopback_forge import NO_ANSWER, TOKEN, CannedResponse, LoopbackForge, loopback_forge

from outweigh.cli.main import main
from outweigh.report.ci_outcome import comment_marker

MARK = comment_marker("suite")


@pytest.fixture
def forge() -> Iterator[LoopbackForge]:
    with loopback_forge() as made:
        yield made


class Job:
    """A CI job that may write comments."""

    def __init__(
        self, folder: Path, forge: LoopbackForge, environment: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self._environment, self._said = folder, environment, said
        for name in ("GITLAB_CI", "CI_MERGE_REQUEST_IID"):
            environment.delenv(name, raising=False)
        event = folder / "event.json"
        event.write_text(json.dumps({"pull_request": {"number": 12}}))
        self.github = {
            "GITHUB_API_URL": forge.url,
            "GITHUB_REPOSITORY": "team/project",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_TOKEN": TOKEN,
        }
        self.gitlab = {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": forge.url,
            "CI_PROJECT_ID": "34",
            "CI_MERGE_REQUEST_IID": "12",
            "GITLAB_TOKEN": TOKEN,
        }

    def comment(self, text: str, variables: dict[str, str], *more: str) -> Ended:
        file = self.folder / "comment.md"
        file.write_text(text)
        for name, value in variables.items():
            self._environment.setenv(name, value)
        code = main(["ci", "comment", str(file), *more])
        said = self._said.readouterr()
        assert TOKEN not in said.out + said.err
        return Ended(code, said.out, said.err)


@pytest.fixture
def job(
    tmp_path: Path, forge: LoopbackForge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Job:
    return Job(tmp_path, forge, monkeypatch, capsys)


@pytest.fixture(params=["github", "gitlab"])
def variables(request: pytest.FixtureRequest, job: Job) -> dict[str, str]:
    found: dict[str, str] = getattr(job, request.param)
    return found


def test_the_first_comment_is_written_and_the_second_takes_its_place(
    job: Job, forge: LoopbackForge, variables: dict[str, str]
) -> None:
    first = job.comment(f"{MARK}\n\none\n", variables)
    second = job.comment(f"{MARK}\n\ntwo\n", variables)

    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert forge.comment_bodies() == [f"{MARK}\n\ntwo\n"]


def test_the_same_words_are_not_written_again(job: Job, forge: LoopbackForge) -> None:
    job.comment(f"{MARK}\n\none\n", job.github)
    job.comment(f"{MARK}\n\none\n", job.github)

    assert not [asked for asked in forge.requests if asked.startswith("PATCH")]


def test_comments_of_others_and_about_other_suites_stay(
    job: Job, forge: LoopbackForge, variables: dict[str, str]
) -> None:
    others = [f"{MARK}\n\nnot yours", "A comment.", f"{comment_marker('other')}\n\nour other suite", f"> {MARK}"]
    forge.add_comment(others[0], login="stranger")
    for body in others[1:]:
        forge.add_comment(body)

    job.comment(f"{MARK}\n\nours\n", variables)
    job.comment(f"{MARK}\n\nours, later\n", variables)

    assert forge.comment_bodies() == [*others, f"{MARK}\n\nours, later\n"]


def test_a_job_s_own_token_finds_the_comments_of_its_bot(job: Job, forge: LoopbackForge) -> None:
    forge.user = None
    forge.add_comment(f"{MARK}\n\nfrom a person", login="person")

    job.comment(f"{MARK}\n\none\n", job.github)
    job.comment(f"{MARK}\n\ntwo\n", job.github)

    assert forge.comment_bodies() == [f"{MARK}\n\nfrom a person", f"{MARK}\n\ntwo\n"]


def test_a_comment_far_down_is_found(job: Job, forge: LoopbackForge, variables: dict[str, str]) -> None:
    for number in range(230):
        forge.add_comment(f"comment {number}", login="stranger")
    forge.add_comment(f"{MARK}\n\nold")

    job.comment(f"{MARK}\n\nnew\n", variables)

    assert forge.comment_bodies()[-1] == f"{MARK}\n\nnew\n"
    assert len(forge.comments) == 231


def test_doubles_of_ours_are_removed(job: Job, forge: LoopbackForge, variables: dict[str, str]) -> None:
    for word in ("one", "two"):
        forge.add_comment(f"{MARK}\n\n{word}")

    job.comment(f"{MARK}\n\nthree\n", variables)

    assert forge.comment_bodies() == [f"{MARK}\n\nthree\n"]


def test_an_earlier_run_does_not_overwrite_a_later_one(
    job: Job, forge: LoopbackForge, variables: dict[str, str]
) -> None:
    job.comment(f"{MARK}\n\n<!-- outweigh run 20 -->\n\nlater\n", variables)
    job.comment(f"{MARK}\n\n<!-- outweigh run 9 -->\n\nearlier\n", variables)

    assert "later" in forge.comment_bodies()[0]


@pytest.mark.parametrize(
    "canned",
    [
        CannedResponse("/user", 429, {"Retry-After": "0"}),
        CannedResponse("POST", 403, {"Retry-After": "0"}),
        CannedResponse("POST", 403, {"X-RateLimit-Remaining": "0", "Retry-After": "0"}),
        CannedResponse("GET", 503, {"Retry-After": "0"}),
    ],
)
def test_a_forge_that_asks_for_patience_gets_it(job: Job, forge: LoopbackForge, canned: CannedResponse) -> None:
    forge.canned = [canned]

    ended = job.comment(f"{MARK}\n\none\n", job.github)

    assert ended.code == 0, ended.err
    assert forge.comment_bodies() == [f"{MARK}\n\none\n"]


@pytest.mark.parametrize(
    ("canned", "complaint"),
    [
        (CannedResponse("POST", 403, {}), "the token has no right to do this"),
        (CannedResponse("GET /repos", 404, {}), "does not show it to this token"),
        (CannedResponse("POST", 429, {"Retry-After": "7200"}), "the forge takes no more requests for now"),
        (CannedResponse("POST", 422, {}), "answered by 422"),
        (CannedResponse("GET", NO_ANSWER), "does not answer"),
        (CannedResponse("POST", NO_ANSWER), "does not answer"),
    ],
)
def test_a_refusal_is_said_in_one_paragraph_without_the_token(
    job: Job, forge: LoopbackForge, canned: CannedResponse, complaint: str
) -> None:
    forge.canned = [canned]

    ended = job.comment(f"{MARK}\n\none\n", job.github)

    assert ended.code == 2
    assert complaint in ended.err
    assert "Traceback" not in ended.err
    assert forge.comment_bodies() == []


def test_what_was_sent_and_may_have_arrived_is_not_sent_twice(job: Job, forge: LoopbackForge) -> None:
    forge.canned = [CannedResponse("POST", NO_ANSWER)]

    job.comment(f"{MARK}\n\none\n", job.github)

    assert sum(asked.startswith("POST") for asked in forge.requests) == 1


def test_a_redirect_does_not_take_the_token_along(job: Job, forge: LoopbackForge) -> None:
    forge.canned = [CannedResponse("/user", 302, {"Location": f"{forge.url}/elsewhere"})]

    ended = job.comment(f"{MARK}\n\none\n", job.github)

    assert ended.code == 2
    assert forge.leaked_tokens == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        ({"GITHUB_REPOSITORY": ""}, "GITHUB_REPOSITORY is not set"),
        ({"GITHUB_EVENT_PATH": "/nowhere"}, "about no pull request; name one with --number"),
        ({"GITHUB_API_URL": "http://127.0.0.1:1"}, "does not answer"),
        ({"GITHUB_API_URL": "http://forge.example"}, "by https alone"),
    ],
)
def test_what_the_job_lacks_is_named(job: Job, change: dict[str, str], complaint: str) -> None:
    ended = job.comment(f"{MARK}\n\none\n", job.github | change)

    assert ended.code == 2
    assert complaint in ended.err


def test_only_what_bears_a_mark_is_posted(job: Job, forge: LoopbackForge) -> None:
    ended = job.comment("Just words.\n", job.github)

    assert ended.code == 2
    assert forge.requests == []
