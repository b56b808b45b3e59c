"""What `outweigh promote` refuses: evidence that is not enough, and anything that is not as it was tested."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.promote.promotable import Promotable, edit_experiment
from tests.conftest import Outweigh
from tests.loopback_forge import LoopbackForge

from outweigh.model.codec import decode, encode
from outweigh.model.failure import Status
from outweigh.model.line_seal import seal
from outweigh.model.run_record import AgentKind, RunRecord
from outweigh.store.experiment_file import read_experiment

REAL, SCRIPTED, REPLAYED = AgentKind.REAL, AgentKind.SCRIPTED, AgentKind.REPLAYED


@pytest.mark.parametrize(
    ("facts", "code", "said"),
    [
        ({"kinds": (REAL, SCRIPTED)}, 1, "scripted agents"),
        ({"kinds": (REPLAYED, REAL)}, 1, "replayed agents"),
        ({"passes": (True, False)}, 1, "regressed, not improved"),
        ({"passes": (True, True)}, 3, "inconclusive, not improved"),
        ({"repeats": 2}, 1, "at least 3 counted repeats per task and arm, or 30 tasks"),
        ({"tasks": 11}, 1, "at least 12 tasks; both arms share 11"),
        ({"tasks": 2}, 3, "inconclusive, not improved"),
        ({"arm_fingerprint": "0" * 64}, 1, "the same configuration"),
        ({"artifacts": {"transcript": "0" * 64}}, 1, "missing or damaged"),
    ],
)
def test_evidence_that_is_not_enough_promotes_nothing(
    untested: Promotable, forge: LoopbackForge, outweigh: Outweigh, facts: dict[str, Any], code: int, said: str
) -> None:
    change = untested.test(**facts)

    answer = outweigh(*change.execute(forge))

    assert (answer.code, forge.requests, change.untouched()) == (code, [], True)
    assert said in " ".join(answer.out.split())


def test_an_arm_that_lost_more_of_its_runs_promotes_nothing(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    log = change.store / "runs-engine.jsonl"
    records = [decode(line) for line in log.read_bytes().splitlines()]
    # The last ones are the candidate's; 4 of 60 are more than 5 points.
    lost = [
        msgspec.structs.replace(run, status=Status.INFRA_ERROR, checks=None)
        for run in records[-4:]
        if isinstance(run, RunRecord)
    ]
    log.write_bytes(b"".join(seal(encode(record)) for record in (*records[:-4], *lost)))

    decided = outweigh("verdict", str(change.store), "--format", "json")
    answer = outweigh(*change.execute(forge))

    assert (decided.code, decided.json()["decision"]) == (3, "inconclusive")
    assert "the arms lost different shares of their attempts to infrastructure" in decided.json()["reasons"][0]
    assert (answer.code, forge.requests, change.untouched()) == (3, [], True)
    assert "inconclusive, not improved" in " ".join(answer.out.split())


def test_a_task_of_the_suite_that_was_never_run_promotes_nothing(
    tmp_path: Path, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change = Promotable.made_in(tmp_path, tasks=13).test(tasks=12)

    answer = outweigh(*change.execute(forge))

    assert (answer.code, forge.requests, change.untouched()) == (1, [], True)
    assert "task 'task-9' has not been run by both arms" in " ".join(answer.out.split())


def test_evidence_that_changed_since_it_was_looked_at_promotes_nothing(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    answer = outweigh(*change.execute(forge, "--evidence", "0" * 64))

    assert answer.code == 1
    assert "not those of the verdict that --evidence names" in answer.out
    assert change.untouched()


def test_a_store_that_was_edited_promotes_nothing(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    experiment = read_experiment(change.store)
    assert experiment is not None
    edited: dict[str, list[str]] = {name: [] for name in experiment.overlays}
    edit_experiment(change.store, overlays=edited)

    answer = outweigh(*change.execute(forge))

    assert answer.code == 3
    assert "was edited" in answer.err
    assert change.untouched()


@pytest.mark.parametrize("part", ["manifest", "file"])
def test_a_store_whose_files_were_edited_promotes_nothing(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh, part: str
) -> None:
    experiment = read_experiment(change.store)
    assert experiment is not None
    overlay = {file.path: file.sha256 for file in experiment.overlays["head"]}
    digest = experiment.arms["head"] if part == "manifest" else overlay["CLAUDE.md"]
    (change.store / "artifacts" / digest[:2] / digest).write_bytes(b"{}")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 3
    assert "does not match its hash" in answer.err
    assert change.untouched()


def test_records_without_a_store_promote_nothing(change: Promotable, outweigh: Outweigh) -> None:
    (file,) = change.store.glob("runs-*.jsonl")

    answer = outweigh("promote", str(file), "--baseline", "base", "--candidate", "head")

    assert answer.code == 2
    assert "one store that `outweigh run` wrote" in answer.err


def test_arms_that_differ_in_more_than_files_are_not_promoted(untested: Promotable, outweigh: Outweigh) -> None:
    untested.test_arms({"old": {}, "new": {"model": "opus", "instructions": "The answer is 42."}})

    answer = outweigh("promote", *untested.words())

    assert answer.code == 1
    assert "differ in more than files: 'model'" in answer.out


@pytest.mark.parametrize("path", ["CLAUDE.md", ".claude/skills/new/SKILL.md", ".claude/skills/old/SKILL.md"])
def test_a_base_that_moved_in_these_files_refuses(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh, path: str
) -> None:
    change.move_base({path: "Another text.\n"})

    answer = outweigh(*change.execute(forge))

    assert answer.code == 1
    assert f"no longer what was tested against: '{path}'" in " ".join(answer.out.split())
    assert (forge.requests, change.branches()) == ([], ["main"])


def test_a_candidate_that_moved_refuses(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    change.repository.git("checkout", "--quiet", "better")
    change.repository.commit({"CLAUDE.md": "Something that nobody tested.\n"})

    answer = outweigh(*change.execute(forge))

    assert answer.code == 1
    assert "no longer what was tested: 'CLAUDE.md'" in answer.out
    assert forge.requests == []


def test_refs_that_are_gone_are_named(change: Promotable, forge: LoopbackForge, outweigh: Outweigh) -> None:
    change.repository.git("branch", "--quiet", "-D", "better")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "there is no commit 'better'" in answer.err
    assert change.branches() == ["main"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--into", "gone"], "the remote has no branch 'gone'"),
        (["--into=--upload-pack=touch x"], "is not the name of a branch"),
        (["--into", "a..b"], "is not the name of a branch"),
        (["--remote", "elsewhere"], "no remote 'elsewhere'"),
        (["--remote=--upload-pack=x"], "is not the name of a remote"),
        (["--forge", "sourcehut"], "there is no forge 'sourcehut'"),
        (["--folder", "other"], "the arms come from '.'"),
        (["--forge", "gitlab"], "GITLAB_TOKEN"),
        (["--api", "http://forge.example"], "by https alone"),
    ],
)
def test_places_that_cannot_be_meant_are_refused(
    change: Promotable, outweigh: Outweigh, words: list[str], said: str
) -> None:
    answer = outweigh("promote", *change.words("--execute", *words))

    assert answer.code == 2
    assert said in answer.err
    assert change.untouched()


@pytest.mark.parametrize("target", ["link", "submodule", "file"])
def test_a_base_in_which_a_folder_is_none_is_refused(untested: Promotable, outweigh: Outweigh, target: str) -> None:
    """A new skill must not replace what stands where its folder would."""
    skill = untested.project.suite / "skills" / "fresh" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("A skill.\n")
    untested.test_arms({"old": {}, "new": {"skills": ["skills/fresh"]}})
    git = untested.repository.git
    blob, commit = git("hash-object", "-w", "--stdin", stdin=b"/etc"), git("rev-parse", "main")
    entry = {"link": f"120000 blob {blob}", "file": f"100644 blob {blob}", "submodule": f"160000 commit {commit}"}
    tip = untested.repository.commit_tree(f"{entry[target]}\t.claude\n".encode())
    git("push", "--quiet", "origin", f"{tip}:refs/heads/strange")

    answer = outweigh("promote", *untested.words("--execute", "--forge", "git", "--into", "strange"))

    assert answer.code == 2
    assert "'.claude' is not a folder in the base" in answer.err
    assert untested.branches() == ["main", "strange"]


def test_nobody_known_as_author_is_said_before_anything_is_made(
    change: Promotable, forge: LoopbackForge, outweigh: Outweigh
) -> None:
    change.repository.git("config", "--unset", "user.email")

    answer = outweigh(*change.execute(forge))

    assert answer.code == 2
    assert "git config user.email" in answer.err
    assert change.untouched()
