import json

import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.acp import PARTIAL_USAGE_WARNING, AcpReader, acp_usage
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def acp(name: str) -> AgentReport:
    return read(AcpReader(), sample(f"acp/{name}.jsonl"))


def update(**fields: object) -> bytes:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": fields}}
    return json.dumps(message).encode() + b"\n"


def end(stop_reason: str, **fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 2, "result": {"stopReason": stop_reason, **fields}}).encode() + b"\n"


@pytest.mark.parametrize(
    ("name", "version", "model", "session"),
    [
        ("goose", "1.52.0", "fake-model", "20261115_2"),
        ("opencode", "1.18.33", "x/fake-model", "ses_e2089b9abffeOVPlf5KXQYy6fw"),
        ("gemini-cli", "0.61.0", "gemini-2.5-flash", "8ffcc8f0-72e6-4f0f-905a-6b33ac0c0022"),
        ("qwen-code", "0.15.10", "$runtime|openai|fake-model(openai)", "81eed0c5-de9d-4073-a744-531e8bc5d645"),
    ],
)
def test_an_agent_says_who_it_is_what_it_asks_and_how_it_ended(
    name: str, version: str, model: str, session: str
) -> None:
    report = acp(name)
    assert (report.version, report.model, report.session_id) == (version, model, session)
    assert (report.step_count, report.tool_call_count) == (2, 1)
    assert report.final_text == "Done: wrote it"
    assert report.finished
    assert report.failure is None


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("goose", ("shell", False)),
        ("opencode", ("execute", False)),
        ("gemini-cli", ("edit", True)),
        ("qwen-code", ("run_shell_command", False)),
    ],
)
def test_a_tool_has_its_own_name_where_it_is_told_and_else_its_kind(name: str, call: tuple[str, bool]) -> None:
    assert calls(acp(name)) == [call]


@pytest.mark.parametrize("name", ["goose", "opencode"])
def test_tokens_that_are_those_of_the_last_request_alone_are_left_out(name: str) -> None:
    report = acp(name)
    assert report.usage == NO_USAGE
    assert report.request_count is None
    assert report.warnings == (PARTIAL_USAGE_WARNING,)


def test_the_cost_is_of_the_whole_session() -> None:
    assert acp("opencode").cost_usd == 0.00145


def test_a_cost_of_zero_or_in_another_currency_is_unknown() -> None:
    nothing = update(sessionUpdate="usage_update", used=1, size=9, cost={"amount": 0, "currency": "USD"})
    euros = update(sessionUpdate="usage_update", used=1, size=9, cost={"amount": 2.5, "currency": "EUR"})
    assert read(AcpReader(), nothing + end("end_turn")).cost_usd is None
    assert read(AcpReader(), euros + end("end_turn")).cost_usd is None


def test_the_usage_of_an_answer_without_tools_is_the_runs() -> None:
    told = {"totalTokens": 30, "inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 15}
    chunk = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "Hi"})
    report = read(AcpReader(), chunk + end("end_turn", usage=told))
    assert report.usage == Usage(input_tokens=10, output_tokens=5, cache_read_tokens=15, cache_write_tokens=None)
    assert report.request_count == 1


@pytest.mark.parametrize(
    ("told", "usage"),
    [
        # All beside each other, as the protocol says: 100 + 20 + 7 + 40 + 3.
        ((170, 100, 20, 7, 40, 3), (100, 27, 40, 3)),
        # The cache within input, thoughts beside output: 100 + 20 + 7.
        ((127, 100, 20, 7, 40, 3), (57, 27, 40, 3)),
        # The cache beside input, thoughts within output: 100 + 20 + 40 + 3.
        ((163, 100, 20, 7, 40, 3), (100, 20, 40, 3)),
        # Both within: 100 + 20.
        ((120, 100, 20, 7, 40, 3), (57, 20, 40, 3)),
        # The total fits nothing.
        ((999, 100, 20, 7, 40, 3), (None, None, None, None)),
        # Nobody mentions the cache.
        ((120, 100, 20, None, None, None), (None, 20, None, None)),
    ],
)
def test_the_total_tells_what_is_counted_within_what(
    told: tuple[int | None, ...], usage: tuple[int | None, ...]
) -> None:
    keys = ("totalTokens", "inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens")
    found = acp_usage({key: count for key, count in zip(keys, told, strict=True) if count is not None})
    assert (found.input_tokens, found.output_tokens, found.cache_read_tokens, found.cache_write_tokens) == usage


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("goose-fail401", FailureKind.UNAUTHORIZED),
        ("gemini-cli-fail401", FailureKind.UNAUTHORIZED),
        ("opencode-fail401", FailureKind.CRASH),
    ],
)
def test_an_error_in_answer_to_the_prompt_is_the_failure(name: str, kind: FailureKind) -> None:
    report = acp(name)
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.finished
    assert report.step_count == 0


@pytest.mark.parametrize(
    ("stop_reason", "kind"),
    [
        ("max_tokens", FailureKind.CONTEXT_OVERFLOW),
        ("max_turn_requests", FailureKind.TURN_LIMIT),
        ("refusal", FailureKind.REFUSAL),
        ("cancelled", FailureKind.NO_RESULT),
    ],
)
def test_any_stop_but_the_end_of_the_turn_is_a_failure(stop_reason: str, kind: FailureKind) -> None:
    report = read(AcpReader(), end(stop_reason))
    assert report.finished
    assert report.failure is not None
    assert report.failure.kind is kind


def test_chunks_of_one_message_are_one_step_and_thoughts_belong_to_it() -> None:
    def chunk(kind: str, words: str, message_id: str) -> bytes:
        return update(sessionUpdate=kind, content={"type": "text", "text": words}, messageId=message_id)

    report = read(
        AcpReader(),
        chunk("agent_thought_chunk", "Hm", "m1")
        + chunk("agent_message_chunk", "Hel", "m1")
        + chunk("agent_message_chunk", "lo", "m1")
        + chunk("agent_message_chunk", "there", "m2")
        + update(sessionUpdate="user_message_chunk", content={"type": "text", "text": "Go on"})
        + update(sessionUpdate="plan", entries=[])
        + end("end_turn"),
    )
    assert [(step.source, step.message) for step in report.steps] == [
        ("agent", "Hello"),
        ("agent", "there"),
        ("user", "Go on"),
    ]
    assert report.steps[0].reasoning_content == "Hm"


def test_news_about_a_call_add_to_what_is_known_of_it() -> None:
    report = read(
        AcpReader(),
        update(sessionUpdate="tool_call", toolCallId="a", title="Edit: x", rawInput={"path": "x"}, status="pending")
        + update(sessionUpdate="tool_call_update", toolCallId="a", status="in_progress", kind=None)
        + update(
            sessionUpdate="tool_call_update",
            toolCallId="a",
            status="completed",
            content=[{"type": "diff", "path": "x", "newText": "y"}, {"type": "terminal", "terminalId": "t"}],
        ),
    )
    assert calls(report) == [("Edit", False)]
    step = report.steps[0]
    assert step.tool_calls is not None
    assert step.tool_calls[0].arguments == {"path": "x"}
    assert step.observation is not None
    assert step.observation.results[0].content == "[changed x]\n[terminal]"


@pytest.mark.parametrize("raw_output", [{"exit_code": 3}, {"metadata": {"exit": 3}}, "Command exited with code 3"])
def test_a_command_that_was_completed_with_an_exit_code_has_failed(raw_output: object) -> None:
    call = update(sessionUpdate="tool_call", toolCallId="a", kind="execute", status="completed", rawOutput=raw_output)
    assert calls(read(AcpReader(), call)) == [("execute", True)]


def test_requests_of_the_agent_to_its_client_are_no_answers() -> None:
    request = b'{"jsonrpc": "2.0", "id": 0, "method": "fs/read_text_file", "params": {"path": "x"}}\n'
    report = read(AcpReader(), request)
    assert not report.finished
    assert report.steps == ()
