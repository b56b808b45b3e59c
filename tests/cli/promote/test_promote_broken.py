"""`outweigh promote` where a step fails: what was made is taken back, and what remains is said."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.promote.promotable import Promotable
from tests.conftest import Outweigh
from tests.loopback_forge import NO_ANSWER, TOKEN, CannedResponse, LoopbackForge


@pytest.mark.parametrize(
    ("canned", "said"),
    [
        (CannedResponse("POST", 403), "has no right"),
        (CannedResponse("POST", 401), "does not accept the token"),
        (CannedResponse("POST", 429, {"Retry-After": "3600"}), "Try again in 3600 seconds"),
        (CannedResponse("POST", NO_ANSWER), "does not answer"),
        (CannedResponse("/labels", 500), "was answered by 500"),
        (CannedResponse("/requested_reviewers", NO_ANSWER), "does not answer"),
    ],
)
def test_a_step_that_the_forge_refuses_takes_back_what_was_made(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh, canned: CannedResponse, said: str
) -> None:
    forge.canned = [canned]

    answer = outweigh(*change.execute(forge, "--label", "a", "--reviewer", "b"))

    assert answer.code == 2
    assert said in answer.err
    assert "Undone: " in answer.err
    assert "Nothing remains open." in answer.err
    assert TOKEN not in answer.err + answer.out
    assert [pull["state"] for pull in forge.pulls if pull["state"] == "open"] == []
    assert change.untouched()


def test_a_forge_that_cannot_be_asked_at_first_is_asked_for_nothing(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    forge.canned = [CannedResponse("GET", 404)]

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "does not show it to this token" in answer.err
    assert "Nothing was made." in answer.err
    assert change.untouched()


def test_an_answer_that_was_lost_on_the_way_back_is_found_out(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    forge.canned = [CannedResponse("POST", NO_ANSWER, late=True)]

    answer = outweigh(*change.execute(forge))

    assert (answer.code, len(forge.pulls)) == (0, 1)


def test_what_cannot_be_taken_back_is_said(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    forge.canned = [CannedResponse("/labels", 500), CannedResponse("PATCH", 500)]

    answer = outweigh(*change.execute(forge, "--label", "a"))

    assert answer.code == 2
    assert "This could not be undone and may remain: pull request" in answer.err
    assert change.branches() == ["main"]


def test_a_protected_remote_leaves_nothing_behind(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    change.hook("pre-receive", "echo 'protected branch rules: creation refused' >&2; exit 1")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "protected branch rules" in answer.err
    assert "Nothing was made." in answer.err
    assert forge.pulls == []
    assert change.untouched()


def test_a_push_that_is_cut_off_leaves_nothing_behind(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh, tmp_path: Path
) -> None:
    """The remote takes the branch, and the line goes dead before it can say so."""
    marker = tmp_path / "cut"
    change.hook("post-update", f'[ -e "{marker}" ] || {{ touch "{marker}"; kill -9 $PPID; }}')

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "Undone: branch outweigh/promote-" in answer.err
    assert marker.exists()
    assert forge.pulls == []
    assert change.untouched()


def test_an_interrupted_promotion_takes_back_what_it_made(change: Promotable, forge: LoopbackForge) -> None:
    """As a process of its own, which gets a Ctrl-C while the remote still works on the push."""
    number = change.bare / "pid"
    change.hook("post-update", f'if [ -e "{number}" ]; then kill -INT "$(cat "{number}")"; rm "{number}"; sleep 1; fi')
    # A test run in the background of a shell has its interrupts ignored, and its children inherit that.
    program = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"open({str(number)!r}, 'w').write(str(os.getpid())); "
        "from outweigh.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )

    command = [sys.executable, "-c", program, *change.execute(forge)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 130
    assert "Undone: branch outweigh/promote-" in done.stderr
    assert forge.pulls == []
    assert change.untouched()


def test_a_remote_that_is_gone_is_said(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    change.bare.rename(change.bare.with_name("elsewhere.git"))

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "git ls-remote was refused" in answer.err
    assert "Nothing was made." in answer.err


def test_a_branch_of_that_name_with_something_else_is_left_alone(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    branch = outweigh("promote", *change.words("--format", "json")).json()["destination"]["branch"]
    change.repository.git("push", "--quiet", "origin", f"better:refs/heads/{branch}")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "with other content" in answer.err
    assert change.remote("rev-parse", branch) == change.repository.git("rev-parse", "better")


@pytest.mark.parametrize(
    "name", ["fixes #1 @team [skip ci]", "--exec=x", "$(touch pwned)", "x\u202ey", "closes GH-3", "`a` <img src=x> |"]
)
def test_hostile_names_stay_names(
    untested: Promotable, forge: LoopbackForge, outweigh: Outweigh, tmp_path: Path, name: str
) -> None:
    change = untested
    change.move_base({"CLAUDE.md": None})
    change.test_arms({"old": {}, name: {"instructions": "The answer is 42."}})

    answer = outweigh(*change.execute(forge))

    (pull,) = forge.pulls
    (branch,) = [one for one in change.branches() if one != "main"]
    message = change.remote("log", "-1", "--format=%B", branch)
    assert answer.code == 0
    for text in (pull["title"], message):
        assert not set("#@[]<`$\u202e") & set(text)
        assert "GH-3" not in text
    assert "@team" not in pull["body"]
    assert "<img" not in pull["body"].replace("\\<img", "")
    assert not list(tmp_path.rglob("pwned"))


def test_a_password_in_the_remotes_address_is_never_shown(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change.repository.git("config", "remote.origin.url", "https://me:hunter2@127.0.0.1:9/team/config.git")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "hunter2" not in answer.err + answer.out
