"""`outweigh store export --inspect`: logs that Inspect reads, and that say no more than the records do."""

import os
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.agent_experiment import INSTALLED
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import require

from outweigh.app.suite_selection import read_suite
from outweigh.interop.inspect_ai.sample_writer import sample_id
from outweigh.model.codec import decode, encode
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.score.objective import passed
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_judgment, a_run
from outweigh.transcript.atif import AtifAgent, AtifObservation, AtifResult, AtifStep, AtifToolCall, AtifTrajectory
from outweigh.transcript.trajectory_file import encode_trajectory

PYTHON = INSTALLED.parent / "inspect" / "bin" / "python"
READING = Path(__file__).with_name("inspect_reading.py")
PATIENCE_SECONDS = 600

AGENT = AgentIdentity(kind=AgentKind.REAL, name="claude-code", version="2.1", model="claude-opus-4-5")
WORDS = AtifTrajectory(
    schema_version="ATIF-v1.8",
    agent=AtifAgent(name="claude-code", version="2.1", model_name="claude-opus-4-5"),
    steps=(
        AtifStep(step_id=1, source="system", message="Be kind."),
        AtifStep(step_id=2, source="user", message="Write 42."),
        AtifStep(
            step_id=3,
            source="agent",
            message="I write.",
            model_name="claude-opus-4-5",
            reasoning_content="How?",
            tool_calls=(AtifToolCall(tool_call_id="c1", function_name="Bash", arguments={"command": "echo 42"}),),
            observation=AtifObservation(
                results=(AtifResult(source_call_id="c1", content="denied", extra={"is_error": True}),)
            ),
        ),
        AtifStep(step_id=4, source="agent", message="It is done."),
    ),
)


def of_agent(task: str, arm: str, repeat: int = 1, **fields: Any) -> RunRecord:
    known: dict[str, Any] = {"agent": AGENT, "started_at": datetime(2026, 5, 1, 10, repeat, tzinfo=UTC)}
    return a_run(task, arm, repeat, **(known | fields))


RUNS = [
    of_agent("one", "plain", setup_seconds=1.0, checks_seconds=2.5),
    of_agent("one", "plain", 2, passed=False, duration_seconds=61.5),
    of_agent("two/../x", "plain", status=Status.TIMEOUT, status_detail="after 600 s", checks=None, usage=NO_USAGE),
    of_agent("three", "plain", status=Status.INFRA_ERROR, status_detail="the sandbox broke", checks=None),
    of_agent("four", "plain", passed=None, duration_seconds=None, step_count=None, cost=UNKNOWN_COST),
    of_agent("one", "with skill"),
    of_agent("one", "with skill", 2),
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two arms; one run was listened to, one was tried twice."""
    with FolderRunStore.open(tmp_path / "store") as opened:
        digest = opened.keep(encode_trajectory(WORDS))
        for run in (msgspec.structs.replace(RUNS[0], artifacts={"trajectory.json": digest}), *RUNS[1:]):
            opened.append(run)
        failed = of_agent("five", "plain", run_id="five#1", status=Status.INFRA_ERROR, checks=None)
        opened.append(failed)
        opened.append(of_agent("five", "plain", run_id="five#2", attempt=2))
        opened.append_judgment(a_judgment(RUNS[0], 0.75))
    return tmp_path / "store"


@pytest.fixture
def logs(outweigh: Any, store: Path, tmp_path: Path) -> Path:
    """The store's logs."""
    assert outweigh("store", "export", str(store), "--inspect", "-o", str(tmp_path / "logs")).code == 0
    return tmp_path / "logs"


def samples(log: Path) -> dict[tuple[str, int], dict[str, Any]]:
    with zipfile.ZipFile(log) as opened:
        found = [msgspec.json.decode(opened.read(name)) for name in opened.namelist() if name.startswith("samples/")]
    return {(each["metadata"]["task_id"], each["epoch"]): each for each in found}


def test_every_arm_has_a_log_with_its_runs_as_samples(logs: Path) -> None:
    plain, with_skill = logs / "plain.eval", next(logs.glob("with-skill-*.eval"))

    assert set(samples(plain)) == {
        ("one", 1),
        ("one", 2),
        ("two/../x", 1),
        ("three", 1),
        ("four", 1),
        ("five", 1),
    }
    assert set(samples(with_skill)) == {("one", 1), ("one", 2)}
    assert samples(plain)["five", 1]["metadata"]["attempt"] == 2
    assert samples(plain)["one", 1]["scores"]["judge_score"]["value"] == 0.75


def test_our_own_import_reads_the_same_arms_outcomes_tokens_dollars_and_times(
    outweigh: Any, logs: Path, tmp_path: Path
) -> None:
    assert outweigh("import", str(logs), "-o", str(tmp_path / "back")).code == 0

    lines = b"".join(file.read_bytes() for file in (tmp_path / "back").glob("*.jsonl")).splitlines(keepends=True)
    back = {
        (run.trial.task_id.removeprefix("store/"), run.trial.arm, run.trial.repeat): run
        for run in map(decode, lines)
        if isinstance(run, RunRecord)
    }
    assert len(back) == len(RUNS) + 1
    for run in RUNS:
        found = back[sample_id(run.trial.task_id), run.trial.arm, run.trial.repeat]
        assert passed(found).value == passed(run).value
        assert (found.status is Status.INFRA_ERROR) == (run.status is Status.INFRA_ERROR)
        assert found.usage == run.usage
        assert found.duration_seconds == run.duration_seconds
        assert found.started_at == run.started_at
        assert found.step_count == run.step_count
        assert found.cost.usd == (run.cost.usd if run.usage != NO_USAGE else None)


def test_the_same_evidence_gives_the_same_bytes(outweigh: Any, store: Path, logs: Path, tmp_path: Path) -> None:
    outweigh("store", "export", str(store), "--inspect", "-o", str(tmp_path / "again"))

    assert (tmp_path / "again" / "plain.eval").read_bytes() == (logs / "plain.eval").read_bytes()


def test_repeats_that_count_from_0_become_epochs_that_count_from_1(outweigh: Any, tmp_path: Path) -> None:
    runs = [a_run("one", "a", 0), a_run("one", "a", 1), a_run("one", "b", 1)]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))

    assert (
        outweigh("store", "export", str(tmp_path / "runs.jsonl"), "--inspect", "-o", str(tmp_path / "logs")).code == 0
    )

    assert [epoch for _, epoch in samples(tmp_path / "logs" / "a.eval")] == [1, 2]
    assert [epoch for _, epoch in samples(tmp_path / "logs" / "b.eval")] == [2]


def test_instructions_come_from_the_suite_that_was_run_and_from_no_other(outweigh: Any, tmp_path: Path) -> None:
    suite = write_suite(tmp_path, {"plain": {"agent": "oracle"}}, tasks=2)
    checksum = read_suite(str(suite)).tasks[0].checksum
    runs = [a_run("task-1", task_checksum=checksum), a_run("task-2", task_checksum="0" * 64)]
    (tmp_path / "runs.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))

    answer = outweigh(
        "store", "export", str(tmp_path / "runs.jsonl"), "--inspect", "-c", str(suite), "-o", str(tmp_path / "logs")
    )

    found = samples(tmp_path / "logs" / "baseline.eval")
    assert found["task-1", 1]["input"] == "Write 42 to answer.txt.\n"
    assert found["task-2", 1]["input"] == ""
    assert "what was asked in 1 of 2 tasks is not kept" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("-", "--inspect", "-o", "logs"), "standard input cannot"),
        (("{runs}", "--inspect", "-o", "{runs}"), "is a file; name a folder"),
        (("{runs}", "--inspect", "-o", "{runs}/logs"), "cannot be made"),
        (("{runs}", "-c", "suite", "-o", "runs.csv"), "-c goes with --inspect"),
        (("{runs}", "--inspect", "--trajectories", "-o", "logs"), "not allowed with argument"),
        (("{runs}", "--inspect", "--skip-invalid", "-o", "logs"), "would look complete"),
        (("{runs}", "--inspect", "-c", "nowhere", "-o", "logs"), "nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    outweigh: Any, tmp_path: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_bytes(encode(a_run()) + b"\n")

    answer = outweigh("store", "export", *(argument.format(runs=runs) for argument in arguments))

    assert answer.code == 2
    assert complaint in answer.err
    assert "Traceback" not in answer.err


def test_a_damaged_trajectory_leaves_no_log(outweigh: Any, store: Path, tmp_path: Path) -> None:
    for file in (store / "artifacts").rglob("*"):
        if file.is_file():
            file.write_bytes(b"{}")

    answer = outweigh("store", "export", str(store), "--inspect", "-o", str(tmp_path / "logs"))

    assert answer.code == 3
    assert "does not match its hash" in answer.err
    assert list((tmp_path / "logs").iterdir()) == []


def by_inspect(*arguments: str) -> Any:
    """What a program of Inspect prints, as JSON."""
    require("agent", None if PYTHON.exists() else "inspect is not installed; run `make agents`")
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "INSPECT_DISPLAY": "none"}
    done = subprocess.run(
        arguments, env=clean, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout)


@pytest.mark.needs_agent
def test_inspect_reads_the_logs_in_every_way_that_it_has(logs: Path) -> None:
    read = by_inspect(str(PYTHON), str(READING), str(logs))

    found = {each["log"]["eval"]["solver"]: each for each in read["logs"]}
    plain = found["plain"]
    assert found.keys() == {"plain", "with skill"}
    assert plain["listed"][0] == plain["log"]["eval"]["task"] == "store"
    assert plain["log"]["status"] == "success"
    assert plain["log"]["eval"]["model"] == "claude-opus-4-5"
    assert plain["alone"]
    _agrees_with_inspects_metrics(plain)
    _agrees_with_inspects_summaries(plain)
    _holds_the_conversation(plain)
    _fills_data_frames(read)


def _agrees_with_inspects_metrics(plain: dict[str, Any]) -> None:
    """By hand: one 1/2, two 0, five 1; three broke and of four nobody knows."""
    (score,) = plain["log"]["results"]["scores"]
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(plain["accuracy"]) == 0.5
    assert score["metrics"]["stderr"]["value"] == pytest.approx(plain["stderr"])
    assert (score["scored_samples"], score["unscored_samples"]) == (3, 2)
    assert plain["log"]["stats"]["model_usage"] == {}


def _agrees_with_inspects_summaries(plain: dict[str, Any]) -> None:
    """What we wrote as summaries is what Inspect makes of the samples; it knows no unknown number of messages."""
    key = "message_count"
    ours, theirs = ({(each["id"], each["epoch"]): each for each in plain[name]} for name in _SUMMARIES)
    assert ours.keys() == theirs.keys()
    for place, summary in theirs.items():
        assert {**ours[place], key: ours[place][key] or 0} == summary


_SUMMARIES = ("summaries", "summaries_of_samples")


def _holds_the_conversation(plain: dict[str, Any]) -> None:
    sample = next(each for each in plain["log"]["samples"] if (each["id"], each["epoch"]) == ("one", 1))
    assert [message["role"] for message in sample["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample["messages"][2]["tool_calls"][0]["arguments"] == {"command": "echo 42"}
    assert sample["messages"][3]["error"]["message"] == "denied"
    assert sample["output"]["completion"] == "It is done."
    assert (sample["working_time"], sample["total_time"]) == (60.0, 63.5)


def _fills_data_frames(read: dict[str, Any]) -> None:
    rows = {(row["log"].rsplit("/", 1)[-1], row["id"], row["epoch"]): row for row in read["samples_df"]}
    one, broken = rows["plain.eval", "one", 1], rows["plain.eval", "three", 1]
    assert (one["score_passed"], one["total_tokens"], one["working_time"]) == ("C", 9900, 60.0)
    assert "echo 42" in one["messages"]
    assert (broken["score_passed"], broken["error"]) == (None, "infra_error: the sandbox broke")
    assert {row["score_headline_value"] for row in read["evals_df"]} == {0.5, 1.0}
    assert {row["dataset_samples"] for row in read["evals_df"]} == {5, 1}


@pytest.mark.needs_agent
def test_the_command_line_of_inspect_lists_and_shows_them(logs: Path) -> None:
    listed = by_inspect(str(INSTALLED / "inspect"), "log", "list", "--json", "--log-dir", str(logs))
    shown = by_inspect(str(INSTALLED / "inspect"), "log", "dump", str(logs / "plain.eval"))

    assert sorted(each["name"].rsplit("/", 1)[-1][:5] for each in listed) == ["plain", "with-"]
    assert shown["eval"]["metadata"]["written_by"].startswith("outweigh ")
    assert len(shown["samples"]) == 6
