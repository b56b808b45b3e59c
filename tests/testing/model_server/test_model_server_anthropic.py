"""Anthropic's own client understands the scripted model: whole, streamed, with tools, with errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import anthropic
import pytest
from anthropic.types import MessageParam, ToolParam
from tests.testing.model_server.model_clients import COMMAND_SCHEMA, ask, question

from outweigh.testing.model_server import CallSpec, CutSpec, ErrorSpec, ModelServer, Script, Turn, UsageSpec

BASH: ToolParam = {"name": "Bash", "input_schema": COMMAND_SCHEMA}
ASKED: list[MessageParam] = [{"role": "user", "content": "What is 6 x 7?"}]
USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
TURNS = {
    "words": Turn(text="A text that is long enough to come in several pieces: 6 × 7 = 42 🎉.", usage=USAGE),
    "everything": Turn(text="I will.", thinking="Hm, let me see.", run=["echo 42 >answer.txt", "ls"], usage=USAGE),
    "call": Turn(tool_calls=[CallSpec(name="Write", arguments={"path": "é", "lines": [1, None]})], usage=USAGE),
    "refusal": Turn(refuse=True, usage=USAGE),
    "truncated": Turn(text="It is", truncate=True, usage=USAGE),
}


@contextmanager
def client_of(server: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="dummy", base_url=server.url, max_retries=0) as client:
        yield client


@pytest.mark.parametrize("name", TURNS)
def test_a_stream_adds_up_to_the_whole_answer(name: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server, client_of(server) as client:
        whole = client.messages.create(model="m", max_tokens=100, messages=ASKED, tools=[BASH])
        with client.messages.stream(model="m", max_tokens=100, messages=ASKED, tools=[BASH]) as stream:
            streamed = stream.get_final_message()

    assert streamed.to_dict() | {"id": whole.id} == whole.to_dict()
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (50, 20)
    assert (whole.usage.cache_read_input_tokens, whole.usage.cache_creation_input_tokens) == (7, 3)
    assert whole.usage.output_tokens_details is not None
    assert whole.usage.output_tokens_details.thinking_tokens == 4


def test_everything_arrives_in_its_place() -> None:
    with ModelServer(Script(turn=[TURNS["everything"]])) as server, client_of(server) as client:
        answer = client.messages.create(model="m", max_tokens=100, messages=ASKED, tools=[BASH])

    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use", "tool_use"]
    calls = [block for block in answer.content if block.type == "tool_use"]
    assert [call.input["command"] for call in calls] == ["echo 42 >answer.txt", "ls"]
    assert len({call.id for call in calls}) == 2
    assert answer.stop_reason == "tool_use"


@pytest.mark.parametrize(
    ("name", "reason"), [("words", "end_turn"), ("refusal", "refusal"), ("truncated", "max_tokens")]
)
def test_the_model_says_why_it_stopped(name: str, reason: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server, client_of(server) as client:
        answer = client.messages.create(model="m", max_tokens=100, messages=ASKED)

    assert answer.stop_reason == reason


def test_events_come_in_the_order_of_the_service() -> None:
    with ModelServer(Script(turn=[Turn(text="Words.", run="true")])) as server:
        events = ask(server, "anthropic", question("anthropic", "6 x 7?", stream=True)).events()

    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0]["message"]["usage"]["output_tokens"] == 1
    assert events[-2]["usage"]["output_tokens"] == 10


def test_a_tool_that_the_service_defines_can_be_the_shell() -> None:
    with ModelServer(Script(turn=[Turn(run="true")])) as server, client_of(server) as client:
        tools: list[anthropic.types.ToolUnionParam] = [{"type": "bash_20250124", "name": "bash"}]
        answer = client.messages.create(model="m", max_tokens=100, messages=ASKED, tools=tools)

    (call,) = answer.content
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("bash", {"command": "true"})


@pytest.mark.parametrize(
    ("error", "raised", "status", "kind"),
    [
        (ErrorSpec(kind="rate_limited"), anthropic.RateLimitError, 429, "rate_limit_error"),
        (ErrorSpec(kind="overloaded"), anthropic.APIStatusError, 529, "overloaded_error"),
        (ErrorSpec(kind="unauthorized"), anthropic.AuthenticationError, 401, "authentication_error"),
        (ErrorSpec(kind="forbidden"), anthropic.PermissionDeniedError, 403, "permission_error"),
        (ErrorSpec(kind="server_error"), anthropic.InternalServerError, 500, "api_error"),
        (ErrorSpec(kind="context_overflow"), anthropic.BadRequestError, 400, "invalid_request_error"),
        (ErrorSpec(kind="unknown_model"), anthropic.NotFoundError, 404, "not_found_error"),
        (ErrorSpec(kind="quota_exhausted"), anthropic.BadRequestError, 400, "invalid_request_error"),
        (ErrorSpec(status=429), anthropic.RateLimitError, 429, "rate_limit_error"),
        (ErrorSpec(status=413, type="request_too_large", message="Too large."), anthropic.APIStatusError, 413, None),
    ],
)
def test_trouble_is_raised_as_the_client_knows_it(
    error: ErrorSpec, raised: type[anthropic.APIStatusError], status: int, kind: str | None
) -> None:
    with ModelServer(Script(turn=[Turn(error=error)])) as server, client_of(server) as client:
        with pytest.raises(raised) as caught:
            client.messages.create(model="m", max_tokens=100, messages=ASKED)
        body = ask(server, "anthropic", question("anthropic", "6 x 7?")).json()

    assert caught.value.status_code == status
    assert body["type"] == "error"
    assert body["error"]["type"] == (kind or "request_too_large")
    assert body["request_id"].startswith("req_")
    assert server.totals().billed == 0


def test_a_prompt_that_is_too_long_is_called_so() -> None:
    with ModelServer(Script(turn=[Turn(error=ErrorSpec(kind="context_overflow"))])) as server:
        body = ask(server, "anthropic", question("anthropic", "6 x 7?")).json()

    assert body["error"]["message"].startswith("prompt is too long: ")


def test_a_rate_limit_says_when_to_come_back() -> None:
    error = ErrorSpec(kind="rate_limited", retry_after_seconds=2)
    with ModelServer(Script(turn=[Turn(error=error)])) as server:
        headers = ask(server, "anthropic", question("anthropic", "6 x 7?")).headers

    assert headers["retry-after"] == "2"
    for kind in ("requests", "tokens", "input-tokens", "output-tokens"):
        assert headers[f"anthropic-ratelimit-{kind}-remaining"] == "0"
        assert datetime.fromisoformat(headers[f"anthropic-ratelimit-{kind}-reset"]).tzinfo is not None


def test_the_client_gets_over_trouble_that_passes() -> None:
    turn = Turn(text="At last.", error=ErrorSpec(kind="overloaded", retry_after_seconds=0.01, times=2))
    with (
        ModelServer(Script(turn=[turn])) as server,
        anthropic.Anthropic(api_key="dummy", base_url=server.url, max_retries=2) as client,
    ):
        answer = client.messages.create(model="m", max_tokens=100, messages=ASKED)

    assert [block.text for block in answer.content if block.type == "text"] == ["At last."]
    assert [entry.status for entry in server.ledger] == [529, 529, 200]


def test_trouble_in_mid_stream_is_raised() -> None:
    turn = Turn(text="Never heard.", error=ErrorSpec(kind="overloaded", in_stream=True))
    with (
        ModelServer(Script(turn=[turn])) as server,
        client_of(server) as client,
        pytest.raises(anthropic.APIStatusError, match="Overloaded"),
        client.messages.stream(model="m", max_tokens=100, messages=ASKED) as stream,
    ):
        stream.get_final_message()

    (entry,) = server.ledger
    assert (entry.ending, entry.status, entry.usage_sent) == ("refused", 200, False)
    assert entry.tokens is not None


def test_a_connection_that_is_lost_looks_lost_to_the_client() -> None:
    turn = Turn(text="Words that are never heard to their end.", cut=CutSpec(times=2))
    with ModelServer(Script(turn=[turn])) as server, client_of(server) as client:
        with pytest.raises(anthropic.APIConnectionError):
            client.messages.create(model="m", max_tokens=100, messages=ASKED)
        with (
            pytest.raises(Exception, match=r"incomplete|closed|peer"),
            client.messages.stream(model="m", max_tokens=100, messages=ASKED) as stream,
        ):
            stream.get_final_message()
        client.messages.create(model="m", max_tokens=100, messages=ASKED)

    assert [entry.ending for entry in server.ledger] == ["cut", "cut", "answered"]
    assert [entry.usage_sent for entry in server.ledger] == [False, False, True]
