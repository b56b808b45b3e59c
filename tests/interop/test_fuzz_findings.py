"""What fuzzing found, each as the smallest source that shows it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.harbor.harbor_jobs import TRAJECTORY, a_job, a_trial, leave_trajectory

from outweigh.errors import EvidenceError
from outweigh.interop.agent_ab.importer import CollectedImporter
from outweigh.interop.agent_sessions import ClaudeCodeImporter, CodexImporter, MiniSweAgentImporter
from outweigh.interop.atif import AtifImporter
from outweigh.interop.harbor.importer import HarborImporter
from outweigh.interop.result_files import read_json, read_json_lines, read_yaml, walk_files
from outweigh.interop.skill_creator.importer import SkillCreatorImporter
from outweigh.interop.swe_bench import SweBenchImporter
from outweigh.model.json_text import RepeatedKeyError, decode_unique_keys
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import Importer, ImportNotes
from outweigh.testing.importer_contract import read_all


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document if isinstance(document, bytes) else msgspec.json.encode(document))
    return path


def the_run(importer: Importer, path: Path) -> RunRecord:
    (run,) = read_all(importer, path)[0]
    assert isinstance(run, RunRecord)
    return run


def answers(*usages: dict[str, Any], **extra: Any) -> dict[str, Any]:
    """A trajectory of mini-swe-agent with one answer for each usage."""
    messages = [
        {"role": "assistant", "content": "ls", "extra": {"response": {"usage": usage}} | extra} for usage in usages
    ]
    return {"trajectory_format": "mini-swe-agent-1.1", "info": {"exit_status": "Submitted"}, "messages": messages}


def test_a_link_that_leads_in_a_circle_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "circle.json").symlink_to("circle.json")
    write(tmp_path / "one.json", {})

    assert [file.name for file in walk_files(tmp_path)] == ["one.json"]


def test_a_checksum_that_is_no_text_says_nothing_about_a_task(tmp_path: Path) -> None:
    run = the_run(HarborImporter(), a_job(tmp_path / "job", [a_trial(1, "one", task_checksum=[1])]))

    assert run.task_checksum is None


def test_a_trajectory_that_cannot_be_read_leaves_the_input_unknown(tmp_path: Path) -> None:
    trial = a_trial(1, "one")
    job = a_job(tmp_path / "job", [trial])
    leave_trajectory(job, trial)
    known = the_run(HarborImporter(), job).usage.input_tokens
    file = next(job.rglob("trajectory.json"))
    file.write_bytes(file.read_bytes()[:-1])

    assert known is not None
    assert the_run(HarborImporter(), job).usage.input_tokens is None


def test_a_configuration_whose_name_is_no_text_has_no_summary(tmp_path: Path) -> None:
    document = {"with_skill": 1, "configs": [{"name": ["with_skill"], "summary": {"pass_rate": 1}}]}

    with pytest.raises(EvidenceError, match="neither runs with and without a skill nor a summary"):
        read_all(SkillCreatorImporter(), write(tmp_path / "benchmark.json", document))


@pytest.mark.parametrize("broken", [None, -1, "x", True, []])
def test_a_sum_of_which_a_part_is_unknown_is_unknown(tmp_path: Path, broken: object) -> None:
    folder = tmp_path / "runs" / "one"
    write(folder / "run_meta.json", {"task_id": "t", "arm": "a", "repeat": 1})
    infos = [{"role": "assistant", "cost": 0.5, "tokens": {"input": 7}}, {"cost": broken, "tokens": {"input": broken}}]
    write(folder / "session.export.json", {"messages": [{"info": info} for info in infos]})

    run = the_run(CollectedImporter(), tmp_path)

    assert (run.cost.usd, run.usage.input_tokens) == (None, None)


def test_events_of_which_one_cannot_be_read_are_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    write(folder / "run_meta.json", {"task_id": "t", "arm": "a", "repeat": 1})
    write(folder / "opencode.events.jsonl", b'{"type":"step_finish"}\n{"type":"step_fin\n{"type":"step_finish"}\n')

    (run,), notes = read_all(CollectedImporter(), tmp_path)

    assert isinstance(run, RunRecord)
    assert (run.step_count, run.tool_call_count) == (None, None)
    assert "steps and tool calls are unknown" in next(iter(notes.warnings))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"trajectory_format": "mini-swe-agent-1.1", "messages": [}', "is not valid JSON"),
        (b'{"trajectory_format": "mini-swe-agent-1.1", "messages": {}}', "has no messages"),
    ],
)
def test_a_trajectory_without_messages_is_no_run_without_steps(tmp_path: Path, content: bytes, reason: str) -> None:
    found, notes = read_all(MiniSweAgentImporter(), write(tmp_path / "a.traj.json", content))

    assert found == []
    assert reason in notes.unreadable[0].reason


@pytest.mark.parametrize("cached", [-1, "x", 1.5, {}])
def test_a_cache_that_cannot_be_counted_leaves_the_input_unknown(tmp_path: Path, cached: object) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}

    run = the_run(MiniSweAgentImporter(), write(tmp_path / "a.traj.json", answers(usage)))

    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.output_tokens) == (None, None, 5)


def test_a_moment_before_1970_is_none(tmp_path: Path) -> None:
    document = answers({}, {}, timestamp=1794728321.5)
    document["messages"][0]["extra"]["timestamp"] = -1

    assert the_run(MiniSweAgentImporter(), write(tmp_path / "a.traj.json", document)).duration_seconds is None


def test_a_prompt_of_which_nobody_says_how_much_was_cached_is_no_input(tmp_path: Path) -> None:
    totals = {"total_prompt_tokens": 1000, "total_completion_tokens": 50}

    run = the_run(AtifImporter(), write(tmp_path / "one.json", TRAJECTORY | {"final_metrics": totals}))

    assert (run.usage.input_tokens, run.usage.output_tokens) == (None, 50)


def test_a_stated_total_stays_where_another_is_missing(tmp_path: Path) -> None:
    totals = {"total_completion_tokens": 50, "total_cached_tokens": 700}

    run = the_run(AtifImporter(), write(tmp_path / "one.json", TRAJECTORY | {"final_metrics": totals}))

    assert (run.usage.input_tokens, run.usage.output_tokens, run.usage.cache_read_tokens) == (None, 50, 700)


@pytest.mark.parametrize(
    ("importer", "first", "second"),
    [
        (ClaudeCodeImporter(), {"type": "user", "sessionId": "s", "message": {"role": "user"}}, {"type": "assistant"}),
        (CodexImporter(), {"type": "thread.started", "thread_id": "t"}, {"type": "turn.completed"}),
    ],
    ids=["claude-code", "codex"],
)
def test_a_transcript_with_a_damaged_event_is_not_counted_without_it(
    tmp_path: Path, importer: Importer, first: object, second: object
) -> None:
    lines = (msgspec.json.encode(first), msgspec.json.encode(second)[:-1], msgspec.json.encode(second))

    found, notes = read_all(importer, write(tmp_path / "one.jsonl", b"\n".join(lines) + b"\n"))

    assert found == []
    assert [(row.line, row.reason) for row in notes.unreadable] == [
        (2, "not valid JSON, so that the run's figures would be too low")
    ]


def test_a_transcript_that_breaks_off_and_one_with_noise_are_read(tmp_path: Path) -> None:
    start = b'npm warn old\n{"type":"thread.started","thread_id":"t"}\nreading stdin\n{"type":"turn.comp'

    run = the_run(CodexImporter(), write(tmp_path / "one.jsonl", start))

    assert "the agent's output breaks off in the middle of a line" in run.warnings


def test_a_long_name_of_an_agent_and_its_model_is_cut(tmp_path: Path) -> None:
    line = {"instanceId": "a__a-1", "resolved": True, "agent": "a" * 400, "model": "m" * 400}

    run = the_run(SweBenchImporter(), write(tmp_path / "results.jsonl", msgspec.json.encode(line) + b"\n"))

    assert len(run.trial.arm) == 500


def test_a_number_beyond_all_numbers_is_unknown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", b'{"cost": 1e400, "debt": -1e400, "tokens": %s}' % (b"9" * 400))

    assert read_json(path, ImportNotes()) == {"cost": None, "debt": None, "tokens": None}


@pytest.mark.parametrize(
    "text",
    [
        '{"cost": 1, "cost": 2}',
        '{"cost" : 1, "cost" : 2}',
        '{"a": [{"b": {"cost": null, "other": 1, "cost": 2}}]}',
        '{"a": "say \\"cost\\": 1", "cost": 1, "cost": 1, "cost": [1]}',
        '{"cost": NaN, "cost": 2}',
        '{"c\\u006fst": 1, "cost": 2}',
    ],
)
def test_a_key_with_two_values_is_refused(tmp_path: Path, text: str) -> None:
    notes = ImportNotes()
    sentence = "'cost' stands for two values, so it is not clear which is meant"

    with pytest.raises(RepeatedKeyError, match="'cost' stands for two values"):
        decode_unique_keys(text.encode())
    with pytest.raises(EvidenceError, match=sentence):
        read_json(write(tmp_path / "a.json", text.encode()), notes)
    assert list(read_json_lines(write(tmp_path / "a.jsonl", text.encode() + b"\n"), notes)) == []
    assert [(row.line, row.reason) for row in notes.unreadable] == [(1, sentence)]


@pytest.mark.parametrize(
    "value",
    [
        {"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]},
        {"text": 'he said "a": 1 and "a": 2', '"a":': '"a" :'},
        {"é": "\u2028", "\\": '\\":', "": "", " ": '"'},
        [],
        "a",
    ],
)
def test_a_text_in_which_keys_only_seem_to_repeat_is_read(value: object) -> None:
    for ascii_only in (True, False):
        for separators in ((",", ":"), (", ", " : "), (",\n", "\t:\n")):
            text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
            assert decode_unique_keys(text.encode()) == value


def test_a_key_that_says_the_same_twice_is_read(tmp_path: Path) -> None:
    assert decode_unique_keys(b'{"cost": 1, "a": {"b": [1]}, "cost": 1, "a": {"b": [1]}}') == {
        "cost": 1,
        "a": {"b": [1]},
    }
    assert read_yaml(write(tmp_path / "a.yml", b"cost: 1\ncost: 1\n"), ImportNotes(), 100) == {"cost": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &a {x: 1}\nb: {<<: [*a, *a]}\n", "it refers to itself, or is nested without end"),
        ("[" * 100_000, "it refers to itself, or is nested without end"),
        ("- 2026-99-99\n", "month must be in 1..12"),
    ],
)
def test_yaml_that_is_a_trap_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(EvidenceError, match=f"is not valid YAML: {reason}"):
        read_yaml(write(tmp_path / "a.yml", text.encode()), ImportNotes(), 2**20)


def test_yaml_with_two_values_of_a_key_has_none(tmp_path: Path) -> None:
    notes = ImportNotes()

    found = read_yaml(write(tmp_path / "a.yml", b"- cost: 1\n  cases: 3\n  cost: 2\n"), notes, 2**20)

    assert found == [{"cost": None, "cases": 3}]
    assert list(notes.warnings) == [
        f"{tmp_path}/a.yml: 'cost' stands for two values in one place; which is meant is unknown."
    ]


def test_an_instance_that_is_called_resolved_and_failed_is_neither(tmp_path: Path) -> None:
    report = {"total_instances": 2, "resolved_ids": ["a__a-2", "a__a-1"], "unresolved_ids": ["a__a-1"]}

    found, _ = read_all(SweBenchImporter(), write(tmp_path / "model.run.json", report))

    assert [
        (run.trial.task_id, run.checks[0].passed) for run in found if isinstance(run, RunRecord) and run.checks
    ] == [
        ("a__a-1", None),
        ("a__a-2", True),
    ]


def test_an_entry_that_names_no_instance_is_not_read_over(tmp_path: Path) -> None:
    report = {"total_instances": 2, "resolved_ids": ["a__a-2"], "empty_patch_ids": ["a__a-1", None]}

    _, notes = read_all(SweBenchImporter(), write(tmp_path / "model.run.json", report))

    assert [row.reason for row in notes.unreadable] == ["1 of the entries of empty_patch_ids name no instance"]


def test_a_report_that_counts_other_instances_than_it_names_is_doubted(tmp_path: Path) -> None:
    report = {"total_instances": 2, "resolved_instances": 3, "resolved_ids": ["a__a-2"]}

    _, notes = read_all(SweBenchImporter(), write(tmp_path / "model.run.json", report))

    assert list(notes.warnings) == [
        "model.run.json does not agree with itself: it counts 3 and names 1 in resolved_ids. What it names is read."
    ]
