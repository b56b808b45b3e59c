"""Outputs, sessions and trajectories of agents become runs that state what the agent stated."""

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.harbor.harbor_jobs import TRAJECTORY

from outweigh.interop.agent_sessions import (
    ClaudeCodeImporter,
    ClineImporter,
    CodexImporter,
    CopilotImporter,
    MiniSweAgentImporter,
    PiImporter,
)
from outweigh.interop.atif import AtifImporter
from outweigh.model.failure import Status
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.importers import FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.prices import GenaiPrices
from outweigh.score.resource_usage import run_cost
from outweigh.testing.importer_contract import ImporterContract, read_all

SAMPLES = Path(__file__).parents[1] / "agents" / "samples"
SESSION: list[dict[str, Any]] = [
    {"type": "summary", "summary": "a summary"},
    {
        "type": "user",
        "sessionId": "s-1",
        "version": "2.1.0",
        "timestamp": "2026-05-01T10:00:00Z",
        "uuid": "u1",
        "message": {"role": "user", "content": "Fix it."},
    },
    {
        "type": "assistant",
        "sessionId": "s-1",
        "timestamp": "2026-05-01T10:00:30Z",
        "uuid": "u2",
        "requestId": "r1",
        "message": {
            "id": "m1",
            "role": "assistant",
            "model": "claude-opus-4-5",
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Done."}],
            "usage": {
                "input_tokens": 5,
                "output_tokens": 7,
                "cache_read_input_tokens": 11,
                "cache_creation_input_tokens": 13,
            },
        },
    },
]
OUTPUT: list[dict[str, Any]] = [
    {
        "type": "system",
        "subtype": "init",
        "session_id": "o-1",
        "model": "claude-opus-4-5",
        "claude_code_version": "2.1.0",
        "tools": ["Bash"],
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 2500,
        "num_turns": 3,
        "result": "Done.",
        "session_id": "o-1",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        "modelUsage": {
            "claude-opus-4-5": {
                "inputTokens": 10,
                "outputTokens": 20,
                "cacheReadInputTokens": 30,
                "cacheCreationInputTokens": 40,
                "costUSD": 0.5,
            }
        },
    },
]
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t-1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Done."}},
    {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 9}},
]
MINI: dict[str, Any] = {
    "trajectory_format": "mini-swe-agent-1.1",
    "info": {
        "mini_version": "2.0.0",
        "exit_status": "Submitted",
        "submission": "diff",
        "model_stats": {"instance_cost": 0.75, "api_calls": 1},
        "config": {"model": {"model_name": "openai/gpt-5"}},
    },
    "messages": [{"role": "user", "content": "Fix it."}],
}


def write_lines(path: Path, events: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return path


def write_document(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(document))
    return path


def copy_sample(agent: str, path: Path) -> Path:
    """Copy a recorded output of an agent to another path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(SAMPLES / agent / "run.txt", path))


def runs(importer: Importer, path: Path, **options: Any) -> list[RunRecord]:
    return [record for record in read_all(importer, path, **options)[0] if isinstance(record, RunRecord)]


class TestClaudeCodeImporter(ImporterContract):
    def importer(self) -> Importer:
        return ClaudeCodeImporter()

    def example(self, folder: Path) -> Path:
        write_lines(folder / "sessions" / "one.jsonl", SESSION)
        write_lines(folder / "sessions" / "two.jsonl", OUTPUT)
        return folder / "sessions"


class TestCodexImporter(ImporterContract):
    # Stated, else what lies between the first and the last event.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> Importer:
        return CodexImporter()

    def example(self, folder: Path) -> Path:
        return write_lines(folder / "one.jsonl", CODEX)


class TestMiniSweAgentImporter(ImporterContract):
    # Providers leave out cache counts that are 0.
    alternatives = frozenset({"input_tokens", "cache_read_tokens", "cache_write_tokens"})

    def importer(self) -> Importer:
        return MiniSweAgentImporter()

    def example(self, folder: Path) -> Path:
        return write_document(folder / "batch" / "a__a-1" / "a__a-1.traj.json", MINI).parent.parent


class TestClineImporter(ImporterContract):
    # Stated, else what lies between the first and the last event.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> Importer:
        return ClineImporter()

    def example(self, folder: Path) -> Path:
        return copy_sample("cline", folder / "outputs" / "hello.txt").parent


class TestCopilotImporter(ImporterContract):
    # Stated, else what lies between the first and the last event.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> Importer:
        return CopilotImporter()

    def example(self, folder: Path) -> Path:
        return copy_sample("copilot", folder / "outputs" / "hello.txt").parent


class TestPiImporter(ImporterContract):
    # What lies between the first and the last event that has a time.
    alternatives = frozenset({"duration_seconds"})

    def importer(self) -> Importer:
        return PiImporter()

    def example(self, folder: Path) -> Path:
        return copy_sample("pi", folder / "outputs" / "hello.txt").parent


class TestAtifImporter(ImporterContract):
    # Without a count of cache writes, nothing was written.
    alternatives = frozenset({"input_tokens"})

    def importer(self) -> Importer:
        return AtifImporter()

    def example(self, folder: Path) -> Path:
        return write_document(folder / "trajectories" / "one.trajectory.json", TRAJECTORY).parent


def test_a_session_is_read_with_its_tokens_and_no_word_about_the_outcome(tmp_path: Path) -> None:
    found, notes = read_all(ClaudeCodeImporter(), write_lines(tmp_path / "fix-median.jsonl", SESSION))

    (run,) = found
    assert isinstance(run, RunRecord)
    assert (run.run_id, run.trial.task_id, run.trial.arm) == (
        "claude-code/s-1",
        "fix-median",
        "claude-code claude-opus-4-5",
    )
    assert run.usage == Usage(input_tokens=5, output_tokens=7, cache_read_tokens=11, cache_write_tokens=13)
    assert (run.duration_seconds, run.checks, run.cost.usd) == (30, None, None)
    assert any("pass rates not" in warning for warning in notes.warnings)


def test_an_output_is_read_with_the_totals_of_all_models(tmp_path: Path) -> None:
    (run,) = runs(ClaudeCodeImporter(), write_lines(tmp_path / "fix-median.jsonl", OUTPUT))

    assert run.usage == Usage(input_tokens=10, output_tokens=20, cache_read_tokens=30, cache_write_tokens=40)
    assert (run.cost.usd, run.duration_seconds, run.status) == (0.5, 2.5, Status.COMPLETED)


@pytest.mark.parametrize("name", ["array.json", "stream.jsonl"])
def test_the_output_of_qwen_code_is_not_taken_for_claude_codes(name: str) -> None:
    """It has the same shape, and another meaning of input tokens."""
    output = SAMPLES / "qwen-code" / name

    records, notes = read_all(ClaudeCodeImporter(), output)

    assert not ClaudeCodeImporter().recognises(output)
    assert records == []
    assert "not a session or an output of Claude Code" in str([*notes.unreadable, *notes.warnings])


def test_a_short_output_of_copilot_is_not_taken_for_a_session_of_claude_code(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"type": "session.skills_loaded", "data": {"skills": []}},
        {"type": "result", "sessionId": "s-1"},
    ]
    output = write_lines(tmp_path / "short.jsonl", events)

    assert not ClaudeCodeImporter().recognises(output)
    assert CopilotImporter().recognises(output)


def test_codex_counts_the_cache_inside_input_and_has_no_cost(tmp_path: Path) -> None:
    (run,) = runs(CodexImporter(), write_lines(tmp_path / "fix-median.jsonl", CODEX))

    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.output_tokens) == (40, 60, 9)
    assert run.cost.usd is None


def import_request(path: Path, model: str | None) -> ImportRequest:
    return ImportRequest(
        path=path, arm=None, tasks=None, columns={}, keep=lambda content: sha256(content).hexdigest(), model=model
    )


def priced(run: RunRecord) -> float | None:
    cost, _ = run_cost(run, PriceTables(GenaiPrices()))
    return cost.usd


class TestPrices:
    """What a transcript states about its bill prices a run that states no cost."""

    def test_a_codex_stream_is_priced_by_the_model_that_the_user_names(self, tmp_path: Path) -> None:
        search = {"id": "s", "type": "web_search", "query": "x", "action": {"type": "search"}}
        page = {"id": "p", "type": "web_search", "query": "", "action": {"type": "open_page"}}
        events = [*CODEX[:2], *({"type": "item.completed", "item": item} for item in (search, page)), *CODEX[2:]]
        path = write_lines(tmp_path / "fix.jsonl", events)

        notes = ImportNotes()
        (run,) = CodexImporter().read(import_request(path, "gpt-5.4"), notes)

        assert not any("--model" in warning for warning in notes.warnings)
        assert (run.agent.model, run.trial.arm) == ("gpt-5.4", "codex gpt-5.4")
        # One search at a cent; opening the page that it found is free.
        assert priced(run) == pytest.approx((40 * 2.5 + 60 * 0.25 + 9 * 15) / 1e6 + 0.01)

    def test_without_a_model_a_codex_stream_has_no_price(self, tmp_path: Path) -> None:
        notes = ImportNotes()
        (run,) = CodexImporter().read(import_request(write_lines(tmp_path / "fix.jsonl", CODEX), None), notes)

        assert any("add --model NAME" in warning for warning in notes.warnings)
        cost, reason = run_cost(run, PriceTables(GenaiPrices()))
        assert cost.usd is None
        assert "the model is not recorded" in reason

    def test_the_model_of_a_transcript_wins_over_the_one_that_the_user_names(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "one.jsonl", SESSION)

        (run,) = ClaudeCodeImporter().read(import_request(path, "gpt-5.4"), ImportNotes())

        assert run.agent.model == "claude-opus-4-5"

    def test_a_codex_rollout_is_priced_request_by_request(self, tmp_path: Path) -> None:
        usage = {"input_tokens": 300_000, "cached_input_tokens": 0, "output_tokens": 0}
        small = {**usage, "input_tokens": 100_000}
        both = {**usage, "input_tokens": 400_000}
        events: list[dict[str, Any]] = [
            {"type": "session_meta", "payload": {"id": "t"}},
            {"type": "turn_context", "payload": {"model": "gpt-5.4"}},
            *(
                {
                    "type": "token_usage_record",
                    "payload": {"response_id": name, "usage": one, "thread_token_usage": total},
                }
                for name, one, total in (("a", usage, usage), ("b", small, both))
            ),
        ]

        (run,) = CodexImporter().read(import_request(write_lines(tmp_path / "r.jsonl", events), None), ImportNotes())

        # Above 272,000 tokens, input costs $5 a million instead of $2.50.
        assert priced(run) == pytest.approx(0.3 * 5 + 0.1 * 2.5)

    def test_a_claude_session_is_priced_by_speed_cache_and_searches(self, tmp_path: Path) -> None:
        usage = {
            "input_tokens": 1000,
            "output_tokens": 500,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 100,
            "cache_creation": {"ephemeral_1h_input_tokens": 100, "ephemeral_5m_input_tokens": 0},
            "server_tool_use": {"web_search_requests": 2},
            "service_tier": "standard",
            "speed": "fast",
            "inference_geo": "not_available",
            "iterations": [
                {"type": "message", "input_tokens": 1000, "output_tokens": 500},
                {
                    "type": "compaction",
                    "input_tokens": 4000,
                    "output_tokens": 100,
                    "cache_read_input_tokens": 0,
                    "cache_creation_input_tokens": 0,
                },
            ],
        }
        message = {**SESSION[2]["message"], "model": "claude-opus-4-6", "usage": usage}
        path = write_lines(tmp_path / "one.jsonl", [*SESSION[:2], {**SESSION[2], "message": message}])

        (run,) = ClaudeCodeImporter().read(import_request(path, None), ImportNotes())

        assert run.usage == Usage(input_tokens=5000, output_tokens=600, cache_read_tokens=0, cache_write_tokens=100)
        assert priced(run) == pytest.approx(6 * (5000 * 5 + 600 * 25 + 100 * 10) / 1e6 + 2 * 0.01)


def test_cline_counts_the_cache_inside_input(tmp_path: Path) -> None:
    (run,) = runs(ClineImporter(), copy_sample("cline", tmp_path / "hello.txt"))

    assert (run.trial.task_id, run.trial.arm, run.status) == ("hello", "cline fake-model", Status.COMPLETED)
    assert run.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert (run.tool_call_count, run.cost.usd, run.checks) == (1, None, None)


def test_copilot_states_no_tokens_and_no_cost(tmp_path: Path) -> None:
    (run,) = runs(CopilotImporter(), copy_sample("copilot", tmp_path / "hello.txt"))

    assert (run.trial.arm, run.status) == ("copilot fake-model", Status.COMPLETED)
    assert (run.usage, run.cost.usd, run.checks) == (NO_USAGE, None, None)
    assert (run.step_count, run.tool_call_count) == (2, 1)
    assert {CopilotImporter().fields[name] for name in ("usage", "cost")} == {FieldOrigin.UNKNOWN}


def test_pi_sums_the_tokens_of_its_answers(tmp_path: Path) -> None:
    (run,) = runs(PiImporter(), copy_sample("pi", tmp_path / "hello.txt"))

    assert (run.trial.arm, run.status, run.tool_call_count) == ("pi fake-model", Status.COMPLETED, 1)
    assert run.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)


def test_an_event_whose_type_is_no_text_is_no_output_of_copilot(tmp_path: Path) -> None:
    output = write_lines(tmp_path / "odd.jsonl", [{"type": ["session.skills_loaded"], "data": {}}])

    assert not CopilotImporter().recognises(output)


def test_session_files_that_copilot_and_pi_keep_are_not_taken_for_outputs(tmp_path: Path) -> None:
    """They state no end, so that every run would look as if it had been cut off."""
    kept_by_copilot: list[dict[str, Any]] = [
        {"type": "session.start", "data": {"sessionId": "s-1"}},
        {"type": "session.skills_loaded", "data": {"skills": []}},
    ]
    kept_by_pi: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s-1"},
        {"type": "message", "message": {"role": "user"}},
    ]

    assert not CopilotImporter().recognises(write_lines(tmp_path / "1" / "events.jsonl", kept_by_copilot))
    assert not PiImporter().recognises(write_lines(tmp_path / "2" / "session.jsonl", kept_by_pi))


def test_folders_name_the_arm_and_the_task(tmp_path: Path) -> None:
    for arm in ("plain", "skilled"):
        for task in ("one", "two"):
            events = [OUTPUT[0] | {"cwd": f"{arm}{task}"}, OUTPUT[1]]
            write_lines(tmp_path / "all" / arm / task / "transcript.jsonl", events)

    found = runs(ClaudeCodeImporter(), tmp_path / "all")

    assert {(run.trial.arm, run.trial.task_id) for run in found} == {
        ("plain", "one"),
        ("plain", "two"),
        ("skilled", "one"),
        ("skilled", "two"),
    }


def test_a_session_and_its_sub_agents_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-home-me"
    write_lines(folder / "s-1.jsonl", SESSION)
    side = {**SESSION[2], "isSidechain": True, "agentId": "a", "uuid": "u9", "requestId": "r9"}
    side["message"] = {**SESSION[2]["message"], "id": "m9"}
    write_lines(folder / "s-1" / "subagents" / "agent-a.jsonl", [side])

    (run,) = runs(ClaudeCodeImporter(), tmp_path / "projects")

    assert run.usage.output_tokens == 14


def test_a_copied_transcript_counts_once(tmp_path: Path) -> None:
    write_lines(tmp_path / "all" / "one.jsonl", CODEX)
    shutil.copytree(tmp_path / "all", tmp_path / "all" / "all")

    found, notes = read_all(CodexImporter(), tmp_path / "all")

    assert len(found) == 1
    assert any("is a copy of" in warning for warning in notes.warnings)


def test_a_batch_of_mini_swe_agent_has_a_task_for_every_instance(tmp_path: Path) -> None:
    for instance in ("a__a-1", "b__b-2"):
        document = MINI | {"messages": [{"role": "user", "content": instance}]}
        write_document(tmp_path / "batch" / instance / f"{instance}.traj.json", document)
    write_document(tmp_path / "batch" / "preds.json", {})

    found = runs(MiniSweAgentImporter(), tmp_path / "batch")

    assert MiniSweAgentImporter().recognises(tmp_path / "batch")
    assert [(run.trial.task_id, run.trial.arm, run.cost.usd) for run in found] == [
        ("a__a-1", "mini-swe-agent openai/gpt-5", 0.75),
        ("b__b-2", "mini-swe-agent openai/gpt-5", 0.75),
    ]


def test_a_trajectory_is_read_with_the_totals_that_include_sub_agents(tmp_path: Path) -> None:
    (run,) = runs(AtifImporter(), write_document(tmp_path / "one.trajectory.json", TRAJECTORY))

    # The steps alone would say 900 and 600.
    assert run.usage == Usage(input_tokens=200, output_tokens=50, cache_read_tokens=700, cache_write_tokens=100)
    assert (run.cost.usd, run.step_count, run.tool_call_count, run.trial.task_id) == (0.25, 2, 1, "one")


def test_a_continued_trajectory_is_one_run_with_its_last_totals(tmp_path: Path) -> None:
    first = TRAJECTORY | {"continued_trajectory_ref": "trajectory.cont-1.json"}
    steps = [{"step_id": 1, "source": "agent", "message": "again", "is_copied_context": True}]
    steps.append({"step_id": 2, "source": "agent", "message": "more"})
    totals = {"total_prompt_tokens": 3000, "total_completion_tokens": 90, "total_cached_tokens": 0}
    last = TRAJECTORY | {"steps": steps, "final_metrics": totals}
    write_document(tmp_path / "one" / "trajectory.json", first)
    write_document(tmp_path / "one" / "trajectory.cont-1.json", last)

    (run,) = runs(AtifImporter(), tmp_path / "one")

    assert (run.usage.input_tokens, run.usage.output_tokens, run.step_count) == (3000, 90, 3)


def test_zeros_everywhere_are_no_figures(tmp_path: Path) -> None:
    nothing = {"total_prompt_tokens": 0, "total_completion_tokens": 0, "total_cached_tokens": 0, "total_cost_usd": 0}
    document = TRAJECTORY | {"steps": [{"step_id": 1, "source": "agent", "message": "x"}], "final_metrics": nothing}

    (run,) = runs(AtifImporter(), write_document(tmp_path / "one.json", document))

    assert (run.usage, run.cost.usd) == (NO_USAGE, None)


@pytest.mark.parametrize(
    "importer",
    [
        ClaudeCodeImporter(),
        ClineImporter(),
        CodexImporter(),
        CopilotImporter(),
        MiniSweAgentImporter(),
        PiImporter(),
        AtifImporter(),
    ],
    ids=lambda each: each.name,
)
def test_nobody_takes_what_is_anothers(tmp_path: Path, importer: Importer) -> None:
    examples = {
        "claude-code": write_lines(tmp_path / "1" / "a.jsonl", SESSION).parent,
        "codex": write_lines(tmp_path / "2" / "a.jsonl", CODEX).parent,
        "mini-swe-agent": write_document(tmp_path / "3" / "a.traj.json", MINI).parent,
        "atif": write_document(tmp_path / "4" / "a.json", TRAJECTORY).parent,
        "cline": copy_sample("cline", tmp_path / "5" / "a.jsonl").parent,
        "copilot": copy_sample("copilot", tmp_path / "6" / "a.jsonl").parent,
        "pi": copy_sample("pi", tmp_path / "7" / "a.jsonl").parent,
    }

    assert [name for name, path in examples.items() if importer.recognises(path)] == [importer.name]
