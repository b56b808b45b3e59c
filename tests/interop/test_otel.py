"""Traces of OpenTelemetry become runs: one for each trace, or for each agent in it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.interop.imported import imported_runs, passes

from outweigh.errors import EvidenceError
from outweigh.interop.otel import OtelImporter
from outweigh.model.failure import Status
from outweigh.testing.importer_contract import ImporterContract

EXAMPLE = Path(__file__).parents[2] / "examples" / "otel"
"""Files of the SDK itself."""

NO_CACHE = frozenset({"input_tokens"})
"""Models without cache writes report only cache reads; all other input is fresh."""


def attributes(**values: Any) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    return [
        {"key": key, "value": {kinds[type(value)]: str(value) if isinstance(value, int) else value}}
        for key, value in ((key.replace("__", "."), value) for key, value in values.items())
    ]


def a_span(span_id: str, parent: str | None = None, *, trace: str = "t1", **more: Any) -> dict[str, Any]:
    fields = {
        "traceId": trace,
        "spanId": span_id,
        "name": span_id,
        "startTimeUnixNano": "1794969034000000000",
        "endTimeUnixNano": "1794969036500000000",
        "attributes": [],
        "status": {},
    }
    return fields | ({} if parent is None else {"parentSpanId": parent}) | more


def a_chat(span_id: str, parent: str | None, *, trace: str = "t1", read: int | None = 60) -> dict[str, Any]:
    held: dict[str, Any] = {
        "gen_ai__operation__name": "chat",
        "gen_ai__request__model": "gpt-5",
        "gen_ai__usage__input_tokens": 100,
        "gen_ai__usage__output_tokens": 7,
        "gen_ai__input__messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Fix it."}]}]),
    }
    if read is not None:
        held |= {"gen_ai__usage__cache_read__input_tokens": read, "gen_ai__usage__cache_creation__input_tokens": 10}
    return a_span(span_id, parent, trace=trace, attributes=attributes(**held))


def an_agent(span_id: str, parent: str | None = None, *, trace: str = "t1", **more: Any) -> dict[str, Any]:
    held = attributes(gen_ai__operation__name="invoke_agent", gen_ai__agent__name="fixer")
    return a_span(span_id, parent, trace=trace, attributes=held, **more)


def a_tool(span_id: str, parent: str) -> dict[str, Any]:
    return a_span(span_id, parent, attributes=attributes(gen_ai__operation__name="execute_tool"))


def written(path: Path, *spans: dict[str, Any], **service: str) -> Path:
    resource = {"attributes": attributes(service__name="shop", **service)}
    path.write_text(
        json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]})
    )
    return path


class TestTraces(ImporterContract):
    alternatives = NO_CACHE

    def importer(self) -> OtelImporter:
        return OtelImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "traces.json", an_agent("a"), a_chat("c1", "a"), a_chat("c2", "a"), a_tool("x", "a"))


class TestRealFiles(ImporterContract):
    def importer(self) -> OtelImporter:
        return OtelImporter()

    def example(self, folder: Path) -> Path:
        return Path(shutil.copytree(EXAMPLE, folder / "otel"))


def test_files_of_the_sdk_become_two_arms_on_the_same_tasks() -> None:
    runs, _ = imported_runs(OtelImporter(), EXAMPLE)

    assert passes(runs) == {
        "sums-agent@1.2 adder large": [True, True, True, True],
        "sums-agent@1.2 adder small": [True, False, True, False],
    }
    assert {run.trial.task_id for run in runs} >= {"What is 1 plus 2? Answer with a number."}
    assert {(run.agent.name, run.step_count, run.tool_call_count, run.usage.output_tokens) for run in runs} == {
        ("adder", 1, 1, 2)
    }


def test_figures_are_those_of_the_requests(tmp_path: Path) -> None:
    path = written(tmp_path / "traces.json", an_agent("a"), a_chat("c1", "a"), a_chat("c2", "a"), a_tool("x", "c2"))

    (run,), _ = imported_runs(OtelImporter(), path)

    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.cache_write_tokens) == (60, 120, 20)
    assert (run.usage.output_tokens, run.step_count, run.tool_call_count) == (14, 2, 1)
    assert (run.duration_seconds, run.cost.usd, run.agent.model) == (2.5, None, "gpt-5")


def test_input_is_unknown_where_the_size_of_the_cache_is(tmp_path: Path) -> None:
    (run,), _ = imported_runs(OtelImporter(), written(tmp_path / "t.json", a_chat("c", None, read=None)))

    assert (run.usage.input_tokens, run.usage.output_tokens) == (None, 7)


def test_a_request_within_a_request_counts_once(tmp_path: Path) -> None:
    (run,), _ = imported_runs(
        OtelImporter(), written(tmp_path / "t.json", a_chat("outer", None), a_chat("in", "outer"))
    )

    assert (run.step_count, run.usage.output_tokens) == (1, 7)


def test_several_agents_in_one_trace_are_several_runs(tmp_path: Path) -> None:
    spans = [a_span("script"), an_agent("a", "script"), a_chat("c1", "a"), an_agent("b", "script"), a_chat("c2", "b")]

    runs, _ = imported_runs(OtelImporter(), written(tmp_path / "t.json", *spans))

    assert [(run.trial.repeat, run.step_count) for run in runs] == [(1, 1), (2, 1)]


def test_a_failed_trace_says_whose_fault_it_was(tmp_path: Path) -> None:
    broken = an_agent("a", status={"code": 2, "message": "Error code: 429 rate limit"})

    (run,), _ = imported_runs(OtelImporter(), written(tmp_path / "t.json", broken, a_chat("c", "a")))

    assert (run.status, run.checks) == (Status.INFRA_ERROR, None)


def test_an_evaluation_in_the_logs_belongs_to_its_span(tmp_path: Path) -> None:
    held = attributes(gen_ai__evaluation__name="Relevance", gen_ai__evaluation__score__label="fail")
    record = {"eventName": "gen_ai.evaluation.result", "traceId": "t1", "spanId": "c", "attributes": held}
    path = written(tmp_path / "t.jsonl", a_chat("c", None))
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    path.write_text(f"{path.read_text()}\n{json.dumps(logs)}\n")

    runs, _ = imported_runs(OtelImporter(), path)

    assert passes(runs) == {"shop gpt-5": [False]}


def test_attributes_of_your_own_name_task_and_arm(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", a_chat("c", None), variant="with-notes", case="7")

    (run,), _ = imported_runs(OtelImporter(), path, columns={"arm": "variant", "task_id": "case"})

    assert (run.trial.arm, run.trial.task_id) == ("with-notes", "7")


def test_a_trace_without_its_messages_asks_for_the_task(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", an_agent("a"))

    with pytest.raises(EvidenceError, match=r"--map task_id=COLUMN.*service\.name"):
        imported_runs(OtelImporter(), path)
