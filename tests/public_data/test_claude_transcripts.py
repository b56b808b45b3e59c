"""Session files of Claude Code 2.1.38 that were published: the same message stands in them up to seven times."""

from pathlib import Path

import msgspec
import pytest

from outweigh.agents.claude_code.session import read_claude_session
from outweigh.model.usage import Usage
from outweigh.transcript.trajectory_file import read_trajectory, trajectory_json

Tokens = tuple[int | None, int | None, int | None, int | None]
FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def of(usage: Usage) -> Tokens:
    return usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens


def naive(session: bytes) -> tuple[int, ...]:
    """What comes of adding up every line."""
    events = [msgspec.json.decode(line) for line in session.splitlines()]
    usages = [event["message"]["usage"] for event in events if event["type"] == "assistant"]
    return tuple(sum(usage[field] for usage in usages) for field in FIELDS)


@pytest.mark.parametrize(
    ("name", "main", "every_line", "requests", "tool_calls", "finished"),
    [
        ("short", (3, 13, 11515, 13835), (15, 65, 57575, 69175), 1, 2, False),
        ("tool_heavy", (54, 212, 88231, 17696), (111, 271, 194575, 44489), 4, 6, False),
        ("subagent", (1576, 1586, 427286, 25842), (6281, 1729, 870364, 100746), 17, 25, True),
    ],
)
def test_every_message_counts_once(
    claude_transcripts: Path,
    name: str,
    main: Tokens,
    every_line: Tokens,
    requests: int,
    tool_calls: int,
    finished: bool,
) -> None:
    session = (claude_transcripts / f"{name}.jsonl").read_bytes()

    report = read_claude_session(session)

    assert of(report.usage_by_model["claude-opus-4-6"]) == main
    assert naive(session) == every_line
    assert (report.request_count, report.tool_call_count, report.finished) == (requests, tool_calls, finished)
    assert (report.version, report.model) == ("2.1.38", "claude-opus-4-6")
    assert "output tokens are too low" in report.warnings[0]


def test_a_sub_agent_of_another_model_is_counted_too(claude_transcripts: Path) -> None:
    report = read_claude_session((claude_transcripts / "subagent.jsonl").read_bytes())

    assert of(report.usage_by_model["claude-haiku-4-5-20251001"]) == (24, 7, 95343, 14285)
    assert of(report.usage) == (1600, 1593, 522629, 40127)
    assert sum(step.extra is not None for step in report.steps) == 6  # its prompt, and five answers


def test_a_session_without_any_usage_knows_none(claude_transcripts: Path) -> None:
    report = read_claude_session((claude_transcripts / "simonw_sample_session.jsonl").read_bytes())

    assert of(report.usage) == (None, None, None, None)
    assert (report.step_count, report.tool_call_count, report.final_text) == (
        3,
        2,
        "Done! The hello function is ready.",
    )


def test_all_of_them_become_valid_trajectories(claude_transcripts: Path) -> None:
    for path in sorted(claude_transcripts.glob("*.jsonl")):
        report = read_claude_session(path.read_bytes())

        assert len(read_trajectory(trajectory_json(report, "claude-code")).steps) == len(report.steps)
