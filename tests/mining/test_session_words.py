"""Words that a user typed, from session files of Claude Code and Codex, matched to a commit by time and files."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from outweigh.mining.session_words import read_sessions, typed_words

COMMITTED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
FILES = ("src/net.py", "tests/test_net.py")


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00.000Z"


def claude(folder: Path, clock: str, content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": content}
    return {"type": role, "timestamp": at(clock), "cwd": str(folder), "sessionId": "s", "message": message, **more}


def edit(folder: Path, clock: str, path: str) -> dict[str, Any]:
    call = {
        "type": "tool_use",
        "id": "t",
        "name": "Edit",
        "input": {"file_path": f"{folder}/{path}", "new_string": "x"},
    }
    return claude(folder, clock, [call], "assistant")


def codex(clock: str, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": at(clock), "ordinal": 1, "type": kind, "payload": payload}


def said(clock: str, text: str) -> dict[str, Any]:
    return codex(clock, "response_item", type="message", role="user", content=[{"type": "input_text", "text": text}])


def write(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(map(msgspec.json.encode, records)) + b"\n{ broken")


def typed(
    home: Path, repository: Path, previous: datetime | None = None, files: tuple[str, ...] = FILES
) -> tuple[str, ...]:
    sessions = read_sessions(home, repository)
    return typed_words(sessions, committed=COMMITTED, previous=previous, files=files, secrets=["hunter2hunter2"])


def test_a_session_of_claude_code_gives_what_was_typed_and_nothing_else(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    write(
        tmp_path / ".claude/projects/-repository/a.jsonl",
        claude(repository, "10:00", "Retry lost connections in src/net.py<system-reminder>be brief</system-reminder>"),
        claude(repository, "10:01", "Caveat: generated", isMeta=True),
        claude(repository, "10:02", "<command-name>/clear</command-name>"),
        claude(repository, "10:03", [{"type": "tool_result", "tool_use_id": "t", "content": "output"}]),
        claude(repository, "10:04", "for a helper", isSidechain=True),
        edit(repository, "10:05", "src/net.py"),
        claude(repository, "10:06", [{"type": "text", "text": "and at most three times"}]),
        edit(repository, "10:07", "tests/test_net.py"),
        claude(repository, "13:00", "now something else"),
    )

    assert typed(tmp_path, repository) == ("Retry lost connections in src/net.py", "and at most three times")


def test_a_session_of_codex_gives_what_was_typed_and_nothing_else(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    write(
        tmp_path / ".codex/sessions/2026/03/01/rollout-1.jsonl",
        codex("09:59", "session_meta", id="1", cwd=str(repository)),
        said("10:00", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
        said("10:01", "# AGENTS.md instructions for /x"),
        said("10:02", "Retry lost connections"),
        codex(
            "10:03",
            "response_item",
            type="custom_tool_call",
            name="apply_patch",
            input="*** Update File: src/net.py\n*** Update File: tests/test_net.py\n",
        ),
    )

    assert typed(tmp_path, repository) == ("Retry lost connections",)


def test_words_from_before_the_last_commit_belong_to_that_one(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    write(
        tmp_path / ".claude/projects/p/a.jsonl",
        claude(repository, "08:00", "Add a proxy"),
        claude(repository, "10:00", "Retry lost connections"),
        edit(repository, "10:05", "src/net.py"),
        edit(repository, "10:06", "tests/test_net.py"),
    )

    assert typed(tmp_path, repository, datetime(2026, 3, 1, 9, tzinfo=UTC)) == ("Retry lost connections",)


def test_sessions_of_other_files_folders_or_days_say_nothing(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    write(
        tmp_path / ".claude/projects/p/other-files.jsonl",
        claude(repository, "10:00", "Write a guide"),
        edit(repository, "10:05", "docs/src/net.py.md"),
    )
    write(
        tmp_path / ".claude/projects/p/other-folder.jsonl",
        claude(tmp_path / "repository-2", "10:00", "Retry lost connections"),
        *(edit(tmp_path / "repository-2", "10:05", path) for path in FILES),
    )
    write(
        tmp_path / ".claude/projects/p/later.jsonl",
        claude(repository, "20:00", "Retry lost connections"),
        *(edit(repository, "20:05", path) for path in FILES),
    )

    assert typed(tmp_path, repository) == ()


def test_secrets_addresses_and_folders_are_not_repeated(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    secret = "sk-" + "a1b2c3d4" * 4
    write(
        tmp_path / ".claude/projects/p/a.jsonl",
        claude(
            repository,
            "10:00",
            f"Log in at https://me:pw@host.example with {secret}, hunter2hunter2 or password: letmein9, "
            f"as me@host.example, from {repository}/src/net.py",
        ),
        *(edit(repository, "10:05", path) for path in FILES),
    )

    (words,) = typed(tmp_path, repository)

    assert words == ("Log in at https://host.example with [secret], [secret] or [secret] as [address], from src/net.py")


def test_without_sessions_there_are_no_words(tmp_path: Path) -> None:
    assert read_sessions(tmp_path, tmp_path) == ()
    assert typed_words((), committed=COMMITTED, previous=None, files=FILES) == ()
