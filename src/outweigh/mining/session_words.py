"""The words that a user typed to a coding agent in the session that made a commit."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from outweigh.model.redact import redact_passwords, redact_secrets
from outweigh.model.untrusted_json import as_dict, dict_at, str_at

_LARGEST_SESSION = 64 * 2**20
_LONGEST_WORDS = 4000
_BEFORE = timedelta(hours=24)
_AFTER = timedelta(minutes=10)
_CLAUDE_FOLDER = ".claude/projects"
_CODEX_FOLDER = ".codex/sessions"
_INSERTED = re.compile(
    r"<(system-reminder|environment_context|user_instructions|local-command-\w+|command-\w+|ide_\w+)>.*?</\1>",
    re.DOTALL,
)
_NOT_TYPED = (
    "Caveat: ",
    "[Request interrupted",
    "This session is being continued from",
    "# AGENTS.md instructions",
    "<",
)
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abprs]|hf|npm|pypi)[-_][\w-]{12,}|\bgithub_pat_\w{20,}"
    r"|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{12,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END[^\n]*|\Z)"
    r"|(?i:\bbearer\s+)[\w.~+/-]{12,}|(?i:(?:password|passwd|secret|token|api[_-]?key)\s*[:=]\s*)[^\s'\"]{4,}",
    re.DOTALL,
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """One line of a session: what was typed, or what a tool was called with."""

    at: datetime
    typed: str = ""
    call: str = ""


_EventReader = Callable[[dict[str, Any], datetime], _Event | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSession:
    """A session of an agent in a repository or in a folder of it."""

    agent: str
    repository: str
    events: tuple[_Event, ...]


def read_sessions(home: Path, repository: Path) -> tuple[AgentSession, ...]:
    """The sessions of Claude Code and Codex in a repository or below it, from a user's home folder."""
    root = str(repository.resolve())
    found = [
        *(_read(path, "claude-code", root, _claude_event) for path in _files(home / _CLAUDE_FOLDER)),
        *(_read(path, "codex", root, _codex_event) for path in _files(home / _CODEX_FOLDER)),
    ]
    return tuple(session for session in found if session)


def typed_words(
    sessions: Iterable[AgentSession],
    *,
    committed: datetime,
    previous: datetime | None,
    files: Sequence[str],
    secrets: Collection[str] = (),
) -> tuple[str, ...]:
    """What was typed in the session that made a commit, without secrets; empty where no session did.

    A session made a commit if tools touched at least half of its files in the day before it. The words are those since
    the commit before, or all of the session where it began later.
    """
    best: tuple[float, datetime, AgentSession] | None = None
    for session in sessions:
        calls = [e for e in session.events if e.call and committed - _BEFORE <= e.at <= committed + _AFTER]
        touched = sum(any(_names(event.call, session.repository, path) for event in calls) for path in files)
        if calls and files and touched / len(files) >= 0.5:
            rank = (touched / len(files), max(event.at for event in calls), session)
            best = rank if best is None or rank[:2] > best[:2] else best
    if best is None:
        return ()
    session = best[2]
    typed = [event for event in session.events if event.typed and event.at <= committed]
    recent = [event for event in typed if previous is None or event.at > previous] or typed[-1:]
    return tuple(_clean(event.typed, session.repository, secrets) for event in recent)


def _names(call: str, repository: str, path: str) -> bool:
    start = rf"(?:{re.escape(repository)}/|(?<![\w./-])(?:\./)?)"
    return bool(re.search(rf"{start}{re.escape(path)}(?![\w-]|\.\w)", call))


def _clean(text: str, repository: str, secrets: Collection[str]) -> str:
    hidden = redact_secrets(text.encode(errors="replace"), secrets).decode(errors="replace")
    hidden = _EMAIL.sub("[address]", _SECRET.sub("[secret]", redact_passwords(hidden)))
    return hidden.replace(f"{repository}/", "").replace(repository, ".")[:_LONGEST_WORDS].strip()


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.rglob("*.jsonl") if path.is_file() and not path.is_symlink())


def _read(path: Path, agent: str, root: str, read_event: _EventReader) -> AgentSession | None:
    if path.stat().st_size > _LARGEST_SESSION:
        return None
    folder, events = "", []
    for line in path.read_bytes().splitlines():
        try:
            record = as_dict(msgspec.json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        folder = folder or str_at(record, "cwd") or str_at(record, "payload", "cwd") or ""
        at = _time(str_at(record, "timestamp"))
        if at is not None and (event := read_event(record, at)):
            events.append(event)
    if folder != root and not folder.startswith(f"{root}/"):
        return None
    return AgentSession(agent=agent, repository=root, events=tuple(events))


def _time(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _claude_event(record: dict[str, Any], at: datetime) -> _Event | None:
    if record.get("isMeta") or record.get("isSidechain") or record.get("isCompactSummary"):
        return None
    content = dict_at(record, "message").get("content")
    blocks = [as_dict(block) for block in content] if isinstance(content, list) else []
    if record.get("type") == "assistant":
        calls = [
            msgspec.json.encode(block.get("input")).decode() for block in blocks if block.get("type") == "tool_use"
        ]
        return _Event(at=at, call="\n".join(calls)) if calls else None
    if record.get("type") != "user" or any(block.get("type") == "tool_result" for block in blocks):
        return None
    texts = [content] if isinstance(content, str) else [block.get("text") for block in blocks]
    return _typed(at, texts)


def _codex_event(record: dict[str, Any], at: datetime) -> _Event | None:
    payload = dict_at(record, "payload")
    if record.get("type") != "response_item":
        return None
    match payload.get("type"):
        case "message" if payload.get("role") == "user":
            return _typed(at, [as_dict(block).get("text") for block in payload.get("content") or []])
        case "function_call" | "custom_tool_call" | "local_shell_call":
            return _Event(at=at, call=msgspec.json.encode(payload).decode())
    return None


def _typed(at: datetime, texts: Iterable[object]) -> _Event | None:
    """What is left of a message without what the program put into it."""
    typed = "\n".join(text for text in texts if isinstance(text, str))
    typed = _INSERTED.sub("", typed).strip()
    return _Event(at=at, typed=typed) if typed and not typed.startswith(_NOT_TYPED) else None
