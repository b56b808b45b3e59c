"""Folders in which agents keep their sessions: which files are one run, whose they are, and how arms are called."""

from pathlib import Path
from typing import Any

import msgspec
from tests.conftest import Outweigh

from outweigh.interop.agent_sessions import ClaudeCodeImporter, CodexImporter
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import Importer, ImportNotes
from outweigh.testing.importer_contract import read_all


def lines(path: Path, *events: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    return path


def runs_of(importer: Importer, path: Path) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(importer, path)
    return [run for run in found if isinstance(run, RunRecord)], notes


def claude_session(path: Path, session: str, cwd: str, branch: str) -> Path:
    about = {"sessionId": session, "cwd": cwd, "gitBranch": branch, "version": "2.1.38"}
    answer = {
        "id": f"m-{session}",
        "role": "assistant",
        "model": "claude-opus-4-5",
        "content": [{"type": "text", "text": "Done."}],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    return lines(
        path,
        about | {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Fix it."}},
        about | {"type": "assistant", "uuid": "2", "requestId": "r", "message": answer},
    )


def claude_output(path: Path, session: str) -> Path:
    result = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "duration_ms": 1000}
    usage = {"claude-opus-4-5": {"inputTokens": 5, "outputTokens": 7, "costUSD": 0.25}}
    return lines(path, result | {"session_id": session, "total_cost_usd": 0.25, "modelUsage": usage, "result": "Done."})


def test_an_output_of_claude_code_and_its_session_are_one_run(tmp_path: Path) -> None:
    claude_output(tmp_path / "plain" / "fix" / "stdout.jsonl", "s-1")
    claude_session(tmp_path / "plain" / "fix" / "s-1.jsonl", "s-1", "/w", "main")

    runs, notes = runs_of(ClaudeCodeImporter(), tmp_path)

    assert [(run.trial.arm, run.trial.task_id, run.cost.usd) for run in runs] == [("plain", "fix", 0.25)]
    assert any("is not counted again" in warning for warning in notes.warnings)


def test_an_output_of_codex_and_its_rollout_are_one_run_with_the_model_of_the_rollout(tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 0}
    lines(
        tmp_path / "plain" / "fix" / "stdout.jsonl",
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.completed", "usage": usage},
    )
    total = {"total_token_usage": usage | {"total_tokens": 13}}
    lines(
        tmp_path / "plain" / "fix" / "rollout-1.jsonl",
        {"type": "session_meta", "payload": {"id": "t-1", "cli_version": "0.166.0"}},
        {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
        {"type": "event_msg", "payload": {"type": "token_count", "info": total}},
    )

    runs, _ = runs_of(CodexImporter(), tmp_path)

    assert [(run.trial.arm, run.trial.task_id, run.agent.model) for run in runs] == [("plain", "fix", "gpt-5-codex")]


def test_files_of_other_programs_in_a_folder_are_passed_by(tmp_path: Path, outweigh: Outweigh) -> None:
    lines(
        tmp_path / "all" / "rollout-1.jsonl",
        {"type": "session_meta", "payload": {"id": "t-1", "cli_version": "0.166.0"}},
        {"type": "turn_context", "payload": {"model": "gpt-5-codex"}},
    )
    claude_session(tmp_path / "all" / "s-1.jsonl", "s-1", "/w", "main")
    lines(tmp_path / "all" / "history.jsonl", {"display": "fix it", "timestamp": 1})

    codex = outweigh("import", "codex", str(tmp_path / "all"), "-o", str(tmp_path / "codex"))
    claude = outweigh("import", "claude-code", str(tmp_path / "all"), "-o", str(tmp_path / "claude"))

    assert (codex.code, "1 run of 1 arm" in codex.out) == (0, True)
    assert (claude.code, "1 run of 1 arm" in claude.out) == (0, True)
    assert "history.jsonl is not a stream or a rollout of Codex and was passed by" in codex.err


def test_a_folder_of_projects_has_an_arm_for_each_working_folder_and_branch(tmp_path: Path) -> None:
    for session, folder, branch in (
        ("1", "app", "main"),
        ("2", "app", "main"),
        ("3", "app", "skill"),
        ("4", "lib", ""),
    ):
        path = tmp_path / "projects" / f"-home-me-{folder}" / f"{session}.jsonl"
        claude_session(path, session, f"/home/me/{folder}", branch)

    runs, _ = runs_of(ClaudeCodeImporter(), tmp_path / "projects")

    assert sorted((run.trial.arm, run.trial.task_id, run.trial.repeat) for run in runs) == [
        ("home/me/app@main", "session", 1),
        ("home/me/app@main", "session", 2),
        ("home/me/app@skill", "session", 1),
        ("home/me/lib", "session", 1),
    ]


def test_the_name_of_an_arm_is_never_an_option(tmp_path: Path) -> None:
    claude_output(tmp_path / "-home-me-app" / "fix" / "stdout.jsonl", "s-1")

    assert [run.trial.arm for run in runs_of(ClaudeCodeImporter(), tmp_path)[0]] == ["home-me-app"]


def test_a_session_of_gemini_cli_is_not_claude_codes(tmp_path: Path) -> None:
    head = {"sessionId": "s", "projectHash": "abc", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}
    as_lines = lines(tmp_path / "session-1.jsonl", head, {"id": "1", "type": "gemini", "content": "Done."})
    whole = lines(tmp_path / "session-2.json", head | {"messages": [{"id": "1", "type": "user", "content": "Fix."}]})

    assert not ClaudeCodeImporter().recognises(as_lines)
    assert not ClaudeCodeImporter().recognises(whole)
