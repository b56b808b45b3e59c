"""What the tests of readers share: the samples, and a report's tool calls in short."""

from pathlib import Path

from outweigh.transcript.agent_report import AgentReport, TranscriptReader
from outweigh.transcript.atif import AtifStep

SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> bytes:
    """A real output of an agent, such as "codex/exec.jsonl"."""
    return (SAMPLES / name).read_bytes()


def read(reader: TranscriptReader, content: bytes) -> AgentReport:
    """The report on a whole output."""
    reader.feed(content)
    return reader.report()


def calls(report: AgentReport) -> list[tuple[str, bool | None]]:
    """The names of the tools that were called, and whether they failed."""
    return [
        (call.function_name, _failed(step, call.tool_call_id))
        for step in report.steps
        for call in step.tool_calls or ()
    ]


def _failed(step: AtifStep, call_id: str) -> bool | None:
    results = step.observation.results if step.observation else ()
    extras = [result.extra for result in results if result.source_call_id == call_id]
    return extras[0].get("is_error") if extras and extras[0] else None
