"""OpenAI's own client understands the scripted model in both protocols: whole, streamed, with tools, with errors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam, ToolParam
from tests.testing.model_server.model_clients import COMMAND_SCHEMA, ask, question

from outweigh.testing.model_server import CallSpec, CutSpec, ErrorSpec, ModelServer, Script, Turn, UsageSpec

CHAT_BASH: ChatCompletionFunctionToolParam = {
    "type": "function",
    "function": {"name": "bash", "parameters": COMMAND_SCHEMA},
}
SHELL: FunctionToolParam = {"type": "function", "name": "shell", "parameters": COMMAND_SCHEMA, "strict": False}
USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
TURNS = {
    "words": Turn(text="A text that is long enough to come in several pieces: 6 × 7 = 42 🎉.", usage=USAGE),
    "everything": Turn(text="I will.", thinking="Hm, let me see.", run=["echo 42 >answer.txt", "ls"], usage=USAGE),
    "refusal": Turn(refuse=True, usage=USAGE),
    "truncated": Turn(text="It is", truncate=True, usage=USAGE),
}
each_protocol = pytest.mark.parametrize("protocol", ["chat", "responses"])


@contextmanager
def client_of(server: ModelServer, max_retries: int = 0) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="dummy", base_url=f"{server.url}/v1", max_retries=max_retries) as client:
        yield client


def chat(client: openai.OpenAI) -> Any:
    return client.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "6 x 7?"}], tools=[CHAT_BASH]
    )


def response(client: openai.OpenAI) -> Any:
    return client.responses.create(model="m", input="6 x 7?", tools=[SHELL])


ASKING: dict[str, Callable[[openai.OpenAI], Any]] = {"chat": chat, "responses": response}


@pytest.mark.parametrize("name", [name for name in TURNS if name != "truncated"])
def test_a_streamed_completion_adds_up_to_the_whole_one(name: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server, client_of(server) as client:
        whole = chat(client)
        with client.chat.completions.stream(
            model="m",
            messages=[{"role": "user", "content": "6 x 7?"}],
            tools=[CHAT_BASH],
            stream_options={"include_usage": True},
        ) as stream:
            streamed = stream.get_final_completion()

    one, other = whole.choices[0], streamed.choices[0]
    assert (one.finish_reason, one.message.content or "") == (other.finish_reason, other.message.content or "")
    assert one.message.refusal == other.message.refusal
    assert _calls(one.message) == _calls(other.message)
    assert whole.usage == streamed.usage
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (60, 20, 80)
    details = whole.usage.prompt_tokens_details
    assert (details.cached_tokens, details.cache_write_tokens) == (7, 3)
    assert whole.usage.completion_tokens_details.reasoning_tokens == 4


def _calls(message: Any) -> list[tuple[str, str, str]]:
    return [(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or []]


def test_a_completion_that_ends_at_the_limit_says_so() -> None:
    with ModelServer(Script(turn=[TURNS["truncated"]])) as server, client_of(server) as client:
        assert chat(client).choices[0].finish_reason == "length"
        assert response(client).incomplete_details.reason == "max_output_tokens"


def test_a_stream_of_chunks_has_the_usage_last_and_only_if_asked_for() -> None:
    with ModelServer(Script(turn=[TURNS["words"]])) as server:
        plain = ask(server, "chat", question("chat", "6 x 7?", stream=True))
        asked = ask(server, "chat", question("chat", "6 x 7?", stream=True, stream_options={"include_usage": True}))

    assert plain.body.endswith(b"data: [DONE]\n\n")
    assert plain.headers["content-type"].startswith("text/event-stream")
    assert not any("usage" in chunk for chunk in plain.events())
    *others, last = asked.events()
    assert all(chunk["usage"] is None for chunk in others)
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 80)
    assert others[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [chunk["choices"][0]["finish_reason"] for chunk in others][-2:] == [None, "stop"]


@pytest.mark.parametrize("name", TURNS)
def test_a_streamed_response_adds_up_to_the_whole_one(name: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server, client_of(server) as client:
        whole = response(client)
        with client.responses.stream(model="m", input="6 x 7?", tools=[SHELL]) as stream:
            events = list(stream)

    ended = events[-1]
    assert ended.type in ("response.completed", "response.incomplete")
    assert _items(ended.response) == _items(whole)
    assert ended.response.usage == whole.usage
    assert (whole.usage.input_tokens, whole.usage.output_tokens, whole.usage.total_tokens) == (60, 20, 80)
    details = whole.usage.input_tokens_details
    assert (details.cached_tokens, details.cache_write_tokens) == (7, 3)
    assert whole.usage.output_tokens_details.reasoning_tokens == 4


def _items(answer: Any) -> list[dict[str, Any]]:
    return [item.to_dict(exclude_none=True) | {"id": None} for item in answer.output]


def test_the_pieces_of_a_response_add_up_to_its_items() -> None:
    with ModelServer(Script(turn=[TURNS["everything"]])) as server, client_of(server) as client:
        events = list(client.responses.create(model="m", input="6 x 7?", tools=[SHELL], stream=True))

    arguments = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    words = [event.delta for event in events if event.type == "response.output_text.delta"]
    done = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    assert "".join(arguments) == "".join(done)
    assert "".join(words) == "I will."
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_events_come_in_the_order_of_the_service() -> None:
    with ModelServer(Script(turn=[Turn(thinking="Hm.", text="Words.", run="true")])) as server:
        events = ask(server, "responses", question("responses", "6 x 7?", stream=True)).events()

    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        *["function_call_arguments.delta"] * 2,
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_a_free_form_tool_gets_its_text_and_a_local_shell_its_list() -> None:
    tools: list[ToolParam] = [{"type": "custom", "name": "apply_patch"}, {"type": "local_shell"}]
    turn = Turn(run="ls", tool_calls=[CallSpec(name="apply_patch", arguments={"input": "*** Begin Patch"})])
    with ModelServer(Script(turn=[turn])) as server, client_of(server) as client:
        answer = client.responses.create(model="m", input="6 x 7?", tools=tools)

    shell, patch = answer.output
    assert shell.type == "local_shell_call"
    assert shell.action.command == ["bash", "-lc", "ls"]
    assert patch.type == "custom_tool_call"
    assert (patch.name, patch.input) == ("apply_patch", "*** Begin Patch")


@each_protocol
@pytest.mark.parametrize(
    ("kind", "raised", "status", "code"),
    [
        ("rate_limited", openai.RateLimitError, 429, "rate_limit_exceeded"),
        ("overloaded", openai.InternalServerError, 503, None),
        ("unauthorized", openai.AuthenticationError, 401, "invalid_api_key"),
        ("forbidden", openai.PermissionDeniedError, 403, "unsupported_country_region_territory"),
        ("server_error", openai.InternalServerError, 500, None),
        ("context_overflow", openai.BadRequestError, 400, "context_length_exceeded"),
        ("unknown_model", openai.NotFoundError, 404, "model_not_found"),
        ("quota_exhausted", openai.RateLimitError, 429, "insufficient_quota"),
    ],
)
def test_trouble_is_raised_as_the_client_knows_it(
    protocol: str, kind: Any, raised: type[openai.APIStatusError], status: int, code: str | None
) -> None:
    with (
        ModelServer(Script(turn=[Turn(error=ErrorSpec(kind=kind))])) as server,
        client_of(server) as client,
        pytest.raises(raised) as caught,
    ):
        ASKING[protocol](client)

    assert (caught.value.status_code, caught.value.code) == (status, code)
    assert server.totals().billed == 0


@each_protocol
def test_a_rate_limit_says_how_long_to_wait(protocol: str) -> None:
    error = ErrorSpec(kind="rate_limited", retry_after_seconds=2.5)
    with ModelServer(Script(turn=[Turn(error=error)])) as server:
        answer = ask(server, protocol, question(protocol, "6 x 7?"))

    assert (answer.headers["retry-after"], answer.headers["retry-after-ms"]) == ("2.5", "2500")
    assert answer.headers["x-ratelimit-reset-requests"] == "2.5s"
    assert answer.headers["x-ratelimit-remaining-tokens"] == "0"
    assert "Please try again in 2.5s." in answer.json()["error"]["message"]


@each_protocol
def test_the_client_gets_over_trouble_that_passes(protocol: str) -> None:
    turn = Turn(text="At last.", error=ErrorSpec(kind="overloaded", retry_after_seconds=0.01, times=2))
    with ModelServer(Script(turn=[turn])) as server, client_of(server, max_retries=2) as client:
        ASKING[protocol](client)

    assert [entry.status for entry in server.ledger] == [503, 503, 200]


def test_trouble_in_mid_stream_is_told() -> None:
    turn = Turn(text="Never heard.", error=ErrorSpec(kind="server_error", in_stream=True))
    with ModelServer(Script(turn=[turn])) as server, client_of(server) as client:
        events = list(client.responses.create(model="m", input="6 x 7?", stream=True))
        with pytest.raises(openai.APIError, match="The server had an error"):
            list(client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}], stream=True))

    assert events[-1].type == "response.failed"
    assert [event.sequence_number for event in events] == list(range(len(events)))


@each_protocol
def test_a_connection_that_is_lost_looks_lost_to_the_client(protocol: str) -> None:
    turn = Turn(text="Words that are never heard to their end.", cut=CutSpec(times=1))
    with ModelServer(Script(turn=[turn])) as server, client_of(server) as client:
        with pytest.raises(openai.APIConnectionError):
            ASKING[protocol](client)
        ASKING[protocol](client)

    assert [entry.ending for entry in server.ledger] == ["cut", "answered"]
