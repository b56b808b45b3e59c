"""`arms.toml`: arms and tasks are put right afterwards, everywhere, and never without being named."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store
from tests.conftest import Outweigh

from outweigh.model.codec import encode
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.store.store import Store
from outweigh.store.store_lock import StoreLock
from outweigh.testing.builders import a_judgment, a_run

TASKS = tuple(f"task-{number:02}" for number in range(14))


def a_model(name: str | None) -> AgentIdentity:
    return AgentIdentity(kind=AgentKind.REAL, name="agent", version="1", model=name)


def runs_of(arm: str, *, passes: int, repeats: int = 3, **fields: Any) -> list[RunRecord]:
    return [
        a_run(task, arm, repeat, passed=number < passes, agent=a_model("opus"), **fields)
        for number, task in enumerate(TASKS)
        for repeat in range(1, repeats + 1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """`plain` and two halves of `notes`, which were run on two days, under one fingerprint; `notes` passes more."""
    runs = [
        *runs_of("plain", passes=2, arm_fingerprint="0" * 64),
        *runs_of("monday", passes=14, arm_fingerprint="1" * 64),
        *runs_of("tuesday", passes=14, arm_fingerprint="1" * 64),
    ]
    return stored(tmp_path / "runs", runs)


def stored(folder: Path, runs: list[RunRecord]) -> str:
    folder.mkdir()
    (folder / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    return str(folder)


def verdict(outweigh: Outweigh, store: str, baseline: str, candidate: str) -> dict[str, Any]:
    arms = ("--baseline", baseline, "--candidate", candidate)
    answer = outweigh("verdict", store, *arms, "--gates", "pass_rate", "--format", "json")
    assert answer.out, answer.err
    return answer.json()


def blocked_by_corrections(decided: dict[str, Any]) -> bool:
    return any("arms.toml" in blocker for blocker in decided["blockers"])


def test_a_new_name_is_read_by_every_command_and_named_with_its_hash(outweigh: Outweigh, store: str) -> None:
    before = (Path(store) / "runs.jsonl").read_bytes()

    shown = outweigh("store", "arms", store, "--rename", "monday=notes")

    assert (shown.code, "42 runs renamed" in shown.out) == (0, True)
    decided = verdict(outweigh, store, "plain", "notes")
    (correction,) = decided["corrections"]
    assert (correction["renamed_runs"], correction["moved_runs"], correction["dropped_runs"]) == (42, 0, 0)
    assert not blocked_by_corrections(decided), "a name changes nothing about what was run"
    assert decided["may_promote"]
    assert f"Corrected   arms.toml (sha256 {correction['sha256'][:12]})" in outweigh("verdict", store, *ARMS).out
    assert "notes" in outweigh("store", "show", store).out
    for verb in ("compare", "report", "plan"):
        assert outweigh(verb, store, *ARMS).code == 0
    assert outweigh("suite", "check", store).code == 0
    assert outweigh("store", "export", store, "-o", f"{store}/../runs.csv").code == 0
    assert "notes" in Path(f"{store}/../runs.csv").read_text()
    assert (Path(store) / "runs.jsonl").read_bytes() == before


ARMS = ("--baseline", "plain", "--candidate", "notes")


def test_a_change_makes_evidence_that_was_hashed_before_another(outweigh: Outweigh, store: str) -> None:
    hashes = [verdict(outweigh, store, "plain", "monday")["evidence_sha256"]]
    for task in ("renamed", "renamed again"):
        old = "task-00" if task == "renamed" else "renamed"
        assert outweigh("store", "arms", store, "--tasks", "--rename", f"{old}={task}").code == 0
        hashes.append(verdict(outweigh, store, "plain", "monday")["evidence_sha256"])
    (Path(store) / "arms.toml").unlink()

    assert len(set(hashes)) == 3
    assert verdict(outweigh, store, "plain", "monday")["evidence_sha256"] == hashes[0]


def test_merged_arms_are_repeats_in_the_order_of_their_names(outweigh: Outweigh, store: str) -> None:
    outweigh("store", "arms", store, "--merge", "tuesday,monday=notes")

    records = {run.run_id: run.trial for run in Store.open(store).runs()}

    assert {trial.repeat for trial in records.values() if trial.arm == "notes"} == {1, 2, 3, 4, 5, 6}
    assert [records[f"task-00/{day}/1"].repeat for day in ("tuesday", "monday")] == [1, 4]
    decided = verdict(outweigh, store, "plain", "notes")
    assert (decided["corrections"][0]["moved_runs"], decided["decision"]) == (84, "improved")
    assert not blocked_by_corrections(decided), "both days ran the same configuration"


def test_merging_what_is_not_known_to_be_the_same_blocks_promotion(outweigh: Outweigh, tmp_path: Path) -> None:
    runs = [*runs_of("plain", passes=2), *runs_of("monday", passes=14), *runs_of("tuesday", passes=14)]
    store = stored(tmp_path / "runs", runs)

    outweigh("store", "arms", store, "--merge", "monday,tuesday=notes")

    decided = verdict(outweigh, store, "plain", "notes")
    assert (decided["decision"], decided["may_promote"]) == ("improved", False)
    assert blocked_by_corrections(decided)


def test_dropping_an_arm_that_is_not_compared_is_named_and_blocks_nothing(outweigh: Outweigh, store: str) -> None:
    outweigh("store", "arms", store, "--drop", "tuesday")

    decided = verdict(outweigh, store, "plain", "monday")

    assert decided["corrections"][0]["dropped_runs"] == 42
    assert decided["may_promote"]


@pytest.mark.parametrize(
    "changes",
    [
        ("--tasks", "--drop", "task-13"),
        ("--merge", "monday,tuesday=all", "--split", "all", "--by", "extra.day"),
    ],
    ids=["a task", "a part of an arm"],
)
def test_runs_of_a_compared_arm_that_are_gone_block_promotion(
    outweigh: Outweigh, tmp_path: Path, changes: tuple[str, ...]
) -> None:
    runs = [
        *runs_of("plain", passes=2, arm_fingerprint="0" * 64),
        *runs_of("monday", passes=14, arm_fingerprint="1" * 64, extra={"day": 1}),
        *runs_of("tuesday", passes=14, arm_fingerprint="1" * 64, extra={"day": 2}),
    ]
    store = stored(tmp_path / "runs", runs)

    assert outweigh("store", "arms", store, *changes).code == 0

    candidate = "monday" if "--tasks" in changes else "all 1"
    decided = verdict(outweigh, store, "plain", candidate)
    assert (decided["decision"], decided["may_promote"]) == ("improved", False)
    assert blocked_by_corrections(decided)


def test_an_export_does_not_wash_a_selection_away(outweigh: Outweigh, store: str) -> None:
    outweigh("store", "arms", store, "--tasks", "--drop", "task-13")
    exported = f"{store}/../exported.jsonl"
    outweigh("store", "export", store, "-o", exported)

    decided = verdict(outweigh, exported, "plain", "monday")

    assert blocked_by_corrections(decided)
    assert not decided["may_promote"]


def test_an_arm_is_split_by_a_field_and_what_lacks_it_is_called_unknown(outweigh: Outweigh, tmp_path: Path) -> None:
    runs = [
        a_run(task, "all", repeat, agent=a_model(model))
        for task in TASKS[:3]
        for repeat, model in enumerate(("opus", "haiku", None), start=1)
    ]
    store = stored(tmp_path / "runs", runs)

    outweigh("store", "arms", store, "--split", "all", "--by", "agent.model")

    assert {run.trial.arm for run in Store.open(store).runs()} == {"all opus", "all haiku", "all (agent.model unknown)"}


def test_judgments_stay_with_their_runs(outweigh: Outweigh, tmp_path: Path) -> None:
    runs = [*runs_of("plain", passes=2, repeats=1), *runs_of("other", passes=14, repeats=1)]
    store = stored(tmp_path / "runs", runs)
    judged = b"".join(encode(a_judgment(run)) + b"\n" for run in runs)
    (Path(store) / "judgments.jsonl").write_bytes(judged)

    outweigh("store", "arms", store, "--rename", "other=notes")

    arms = outweigh("store", "show", store, "--format", "json").json()["arms"]
    assert {name: arm["judged"] for name, arm in arms.items()} == {"plain": 14, "notes": 14}


def test_names_with_commas_and_equals_signs_are_found(outweigh: Outweigh, tmp_path: Path) -> None:
    store = stored(tmp_path / "runs", [a_run("t", arm, 1) for arm in ("a,b", "c=d", "-e", "plain")])

    assert outweigh("store", "arms", store, "--merge=a,b,c=d,-e=x=y").code == 0

    assert {run.trial.arm for run in Store.open(store).runs()} == {"x=y", "plain"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            ("--rename", "plian=base"),
            "there is no arm 'plian' by then; there are 'plain', 'monday', 'tuesday'. Did you",
        ),
        (
            ("--rename", "plain=monday"),
            "there is already an arm 'monday'. To join them, use merge = ['plain', 'monday']",
        ),
        (("--merge", "plain,mondey=x"), "there is no arm 'mondey' by then"),
        (("--merge", "plain=x"), "merge lists two names or more, each once"),
        (("--merge", "plain,plain=x"), "merge lists two names or more, each once"),
        (("--rename", "plain"), "write --rename OLD=NEW"),
        (("--split", "plain"), "--split ARM and --by FIELD belong together"),
        (("--by", "agent.model"), "--split ARM and --by FIELD belong together"),
        (("--split", "plain", "--by", "cost.usd"), "what a run came to does not tell arms apart"),
        (("--split", "plain", "--by", "extra.day"), "no run of 'plain' has the field 'extra.day'"),
        (("--drop", "plain", "--drop", "monday", "--drop", "tuesday"), "drops every run of the store"),
        (("--tasks", "--drop", "task-1"), "there is no task 'task-1' by then"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    outweigh: Outweigh, store: str, changes: tuple[str, ...], said: str
) -> None:
    answer = outweigh("store", "arms", store, *changes)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert not (Path(store) / "arms.toml").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "missing required field `schema`"),
        ('schema = "outweigh.arms/2"', "it must be 'outweigh.arms/1'"),
        ('schema = "outweigh.arms/1"\n[[arms]]\n', "a step has one of rename, merge, split and drop"),
        ('schema = "outweigh.arms/1"\n[[arms]]\nrename = "plain"', "rename = NAME needs to = NAME"),
        ('schema = "outweigh.arms/1"\n[[arms]]\nremove = "plain"', "unknown field `remove`"),
        ('schema = "outweigh.arms/1"\n[[arms]]\ndrop = "plian"', "there is no arm 'plian'"),
        ("schema = ", "cannot be used"),
    ],
)
def test_a_file_that_is_wrong_is_refused_wherever_the_store_is_read(
    outweigh: Outweigh, store: str, content: str, said: str
) -> None:
    (Path(store) / "arms.toml").write_text(content)

    for command in (("verdict", store, *ARMS), ("store", "show", store), ("store", "export", store, "-o", "x.csv")):
        answer = outweigh(*command)
        assert (answer.code, answer.out) == (3, "")
        assert f"{store}/arms.toml" in answer.err
        assert said in answer.err


def test_a_store_of_a_suite_refuses_corrections(outweigh: Outweigh, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", runs_of("plain", passes=1), ("plain", "better"))

    asked = outweigh("store", "arms", store, "--rename", "plain=base")
    assert (asked.code, "its suite names its arms and tasks" in asked.err) == (2, True)

    (Path(store) / "arms.toml").write_text('schema = "outweigh.arms/1"\n[[arms]]\nrename = "plain"\nto = "base"\n')
    read = outweigh("verdict", store)
    assert (read.code, "its suite names its arms and tasks" in read.err) == (3, True)


def test_a_store_that_is_written_to_refuses_corrections(outweigh: Outweigh, store: str) -> None:
    lock = StoreLock.take(Path(store))

    answer = outweigh("store", "arms", store, "--rename", "plain=base")

    lock.release()
    assert (answer.code, f"is in use by process {os.getpid()}" in answer.err) == (2, True)


def test_a_suite_is_not_run_into_a_store_with_corrections(outweigh: Outweigh, tmp_path: Path) -> None:
    suite = Path(__file__).resolve().parents[2] / "examples" / "demo"
    target = tmp_path / "runs"
    target.mkdir()
    (target / "arms.toml").write_text('schema = "outweigh.arms/1"\n')

    answer = outweigh("run", "-c", str(suite), "-o", str(target))

    assert (answer.code, "Name another folder with -o" in answer.err) == (2, True)
    assert not list(target.glob("*.jsonl"))


def test_a_bundle_carries_corrections_and_verifies_them(outweigh: Outweigh, store: str, tmp_path: Path) -> None:
    outweigh("store", "arms", store, "--merge", "monday,tuesday=notes")
    bundle = str(tmp_path / "study.outweigh.zip")

    assert outweigh("store", "bundle", store, "--baseline", "plain", "-o", bundle).code == 0

    assert outweigh("store", "verify", bundle).code == 0
    decided = verdict(outweigh, bundle, "plain", "notes")
    assert decided["evidence_sha256"] == verdict(outweigh, store, "plain", "notes")["evidence_sha256"]
    assert decided["corrections"][0]["moved_runs"] == 84
    answer = outweigh("store", "arms", bundle, "--rename", "plain=base")
    assert (answer.code, "is a bundle, which is only read" in answer.err) == (2, True)


def test_what_is_written_is_read_as_it_was_meant(outweigh: Outweigh, tmp_path: Path) -> None:
    names = ('say "hi"', "back\\slash", "tab\there", "ünïcode", "quote's")
    store = stored(tmp_path / "runs", [a_run("t", arm, 1) for arm in names])

    for name in names:
        assert outweigh("store", "arms", store, f"--rename={name}={name}!").code == 0

    assert {run.trial.arm for run in Store.open(store).runs()} == {f"{name}!" for name in names}
    assert (Path(store) / "arms.toml").read_text().count("[[arms]]") == len(names)
