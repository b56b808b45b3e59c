"""What every reader of an agent's output owes, whatever the agent."""

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.transcript_samples import SAMPLES, read

from outweigh.agents.acp import AcpReader
from outweigh.agents.aider import AiderLogReader
from outweigh.agents.cline import ClineReader
from outweigh.agents.codex.session import CodexSessionReader
from outweigh.agents.codex.stream import CodexReader
from outweigh.agents.copilot import CopilotReader
from outweigh.agents.gemini_cli import GeminiCliReader
from outweigh.agents.goose import GooseReader
from outweigh.agents.mini_swe_agent.trajectory import MiniSweAgentReader
from outweigh.agents.opencode import OpenCodeReader
from outweigh.agents.pi import PiReader
from outweigh.agents.qwen_code import QwenCodeReader
from outweigh.model.json_text import JsonLineDecoder
from outweigh.transcript.agent_report import AgentReport, TranscriptReader

READERS: dict[str, Callable[[], TranscriptReader]] = {
    "acp/*": AcpReader,
    "aider/*.jsonl": AiderLogReader,
    "cline/*": ClineReader,
    "codex/rollout*": CodexSessionReader,
    "codex/*": CodexReader,
    "copilot/*": CopilotReader,
    "gemini-cli/*": GeminiCliReader,
    "goose/*": GooseReader,
    "mini-swe-agent/*": MiniSweAgentReader,
    "opencode/*": OpenCodeReader,
    "pi/*": PiReader,
    "qwen-code/*": QwenCodeReader,
}


ENDS_TWICE = frozenset({"opencode/fail400.jsonl"})
"""Samples whose last line repeats the one before, which ended the run already."""


def cases() -> list[tuple[str, Callable[[], TranscriptReader]]]:
    found: dict[str, Callable[[], TranscriptReader]] = {}
    for pattern, reader in READERS.items():
        for path in sorted(SAMPLES.glob(pattern)):
            found.setdefault(str(path.relative_to(SAMPLES)), reader)
    return list(found.items())


every_sample = pytest.mark.parametrize(("name", "reader"), cases())


@every_sample
def test_feeding_byte_by_byte_equals_feeding_at_once(name: str, reader: Callable[[], TranscriptReader]) -> None:
    content = (SAMPLES / name).read_bytes()
    slowly = reader()
    for at in range(len(content)):
        slowly.feed(content[at : at + 1])
    assert slowly.report() == read(reader(), content)


@every_sample
def test_a_report_can_be_had_at_any_time_and_changes_nothing(name: str, reader: Callable[[], TranscriptReader]) -> None:
    content = (SAMPLES / name).read_bytes()
    asked = reader()
    for at in range(0, len(content), 41):
        asked.feed(content[at : at + 41])
        asked.report()
    assert asked.report() == read(reader(), content)


@every_sample
def test_what_breaks_off_before_its_last_event_is_not_finished(
    name: str, reader: Callable[[], TranscriptReader]
) -> None:
    """The last line of a stream, and the last bracket of a document, is what ends a run."""
    content = (SAMPLES / name).read_bytes().rstrip()
    if name in ENDS_TWICE:
        content = content[: content.rfind(b"\n")]
    last_line = content.rfind(b"\n") + 1
    for end in {0, 1, last_line // 2, last_line, (last_line + len(content)) // 2, len(content) - 1}:
        report = read(reader(), content[:end])
        assert not report.finished
        assert report.failure is not None


@every_sample
def test_a_report_can_be_stored(name: str, reader: Callable[[], TranscriptReader]) -> None:
    report = read(reader(), (SAMPLES / name).read_bytes())
    for usage in (report.usage, *report.usage_by_model.values()):
        assert msgspec.json.decode(msgspec.json.encode(usage), type=type(usage)) == usage
    if report.loaded is not None:
        assert msgspec.json.decode(msgspec.json.encode(report.loaded), type=type(report.loaded)) == report.loaded
    assert [step.step_id for step in report.steps] == list(range(1, len(report.steps) + 1))


def test_a_sum_that_no_record_could_hold_is_unknown() -> None:
    step = b'{"type": "step_finish", "part": {"reason": "stop", "cost": 9e11, "tokens": {"input": 900000000000000}}}\n'
    once, twice = read(OpenCodeReader(), step), read(OpenCodeReader(), step * 2)
    assert (once.usage.input_tokens, once.cost_usd) == (900_000_000_000_000, 9e11)
    assert (twice.usage.input_tokens, twice.cost_usd) == (None, None)


def test_a_model_whose_name_no_record_could_hold_is_left_out() -> None:
    used = {"tokens": {"prompt": 5, "cached": 1, "tool": 0, "candidates": 1, "thoughts": 0}}
    document = json.dumps({"stats": {"models": {"": used, "x" * 501: used, "m": used}}}).encode()
    report = read(GeminiCliReader(), document)
    assert list(report.usage_by_model) == ["m"]
    assert report.usage.input_tokens == 12


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def spoiled(value: object, path: list[int], by: object) -> object:
    """A JSON value in which one place, found by following the path, holds something else."""
    if not path or not isinstance(value, dict | list) or not value:
        return by
    at, rest = path[0] % len(value), path[1:]
    if isinstance(value, list):
        return [spoiled(each, rest, by) if place == at else each for place, each in enumerate(value)]
    chosen = list(value)[at]
    return {key: spoiled(each, rest, by) if key == chosen else each for key, each in value.items()}


@every_sample
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_spoiled_event_breaks_a_reader(
    name: str, reader: Callable[[], TranscriptReader], data: st.DataObject
) -> None:
    whole = JsonLineDecoder()
    lines: list[object] = [*whole.feed((SAMPLES / name).read_bytes()), *whole.finish()]
    at = data.draw(st.integers(0, len(lines) - 1))
    path = data.draw(st.lists(st.integers(0, 50), min_size=1, max_size=8))
    lines[at] = spoiled(lines[at], path, data.draw(JSON))
    report = read(reader(), "\n".join(json.dumps(line) for line in lines).encode())
    assert isinstance(report, AgentReport)
    msgspec.json.encode(report.steps)
    msgspec.json.decode(msgspec.json.encode(report.usage), type=type(report.usage))
