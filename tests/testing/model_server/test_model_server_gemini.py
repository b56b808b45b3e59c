"""The scripted model speaks Gemini as documented: whole, as events, as an array, with tools, with errors."""

import http.client
import json
from typing import Any

import pytest
from tests.testing.model_server.model_clients import ask, question, send

from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec

USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
TURNS = {
    "words": Turn(text="A text that is long enough to come in several pieces: 6 × 7 = 42 🎉.", usage=USAGE),
    "everything": Turn(text="I will.", thinking="Hm, let me see.", run=["echo 42 >answer.txt", "ls"], usage=USAGE),
    "refusal": Turn(refuse=True, usage=USAGE),
    "truncated": Turn(text="It is", truncate=True, usage=USAGE),
}
STREAM = "/v1beta/models/m:streamGenerateContent"


def folded(chunks: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str, dict[str, int]]:
    """What a client makes of a stream: parts with adjacent texts joined, the last finish reason, the last usage."""
    parts: list[dict[str, Any]] = []
    for part in (part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]):
        joins = parts and "text" in part and "text" in parts[-1] and part.get("thought") == parts[-1].get("thought")
        if joins:
            parts[-1] = parts[-1] | {"text": parts[-1]["text"] + part["text"]}
        else:
            parts.append(part)
    last = chunks[-1]
    return parts, last["candidates"][0]["finishReason"], last["usageMetadata"]


@pytest.mark.parametrize("name", TURNS)
def test_a_stream_adds_up_to_the_whole_answer(name: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server:
        body = question("gemini", "6 x 7?")
        whole = ask(server, "gemini", body).json()
        events = send(f"{server.url}{STREAM}?alt=sse", body)
        array = send(f"{server.url}{STREAM}", body)

    assert folded(events.events()) == folded(array.json()) == folded([whole])
    assert events.headers["content-type"].startswith("text/event-stream")
    assert array.headers["content-type"].startswith("application/json")


def test_the_usage_is_told_as_google_counts_it() -> None:
    with ModelServer(Script(turn=[TURNS["words"]])) as server:
        usage = ask(server, "gemini", question("gemini", "6 x 7?")).json()["usageMetadata"]

    assert usage == {
        "promptTokenCount": 60,
        "cachedContentTokenCount": 7,
        "candidatesTokenCount": 16,
        "thoughtsTokenCount": 4,
        "totalTokenCount": 80,
    }


def test_a_call_has_a_name_arguments_and_an_id() -> None:
    with ModelServer(Script(turn=[TURNS["everything"]])) as server:
        answer = ask(server, "gemini", question("gemini", "6 x 7?")).json()

    thought, words, first, second = answer["candidates"][0]["content"]["parts"]
    assert (thought["thought"], words["text"]) == (True, "I will.")
    assert first["functionCall"]["name"] == "run_shell_command"
    assert first["functionCall"]["args"]["command"] == "echo 42 >answer.txt"
    assert first["functionCall"]["id"] != second["functionCall"]["id"]


@pytest.mark.parametrize(("name", "reason"), [("words", "STOP"), ("refusal", "SAFETY"), ("truncated", "MAX_TOKENS")])
def test_the_model_says_why_it_stopped(name: str, reason: str) -> None:
    with ModelServer(Script(turn=[TURNS[name]])) as server:
        answer = ask(server, "gemini", question("gemini", "6 x 7?")).json()

    assert answer["candidates"][0]["finishReason"] == reason


def test_both_of_googles_spellings_are_understood() -> None:
    schema = {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}, "required": ["command"]}
    tools = [{"function_declarations": [{"name": "run_shell_command", "parameters_json_schema": schema}]}]
    with ModelServer(Script(turn=[TURNS["everything"]])) as server:
        answer = ask(server, "gemini", question("gemini", "6 x 7?", tools=False) | {"tools": tools}).json()

    assert "functionCall" in answer["candidates"][0]["content"]["parts"][-1]


@pytest.mark.parametrize(
    ("kind", "status", "name"),
    [
        ("rate_limited", 429, "RESOURCE_EXHAUSTED"),
        ("overloaded", 503, "UNAVAILABLE"),
        ("unauthorized", 400, "INVALID_ARGUMENT"),
        ("forbidden", 403, "PERMISSION_DENIED"),
        ("server_error", 500, "INTERNAL"),
        ("context_overflow", 400, "INVALID_ARGUMENT"),
        ("unknown_model", 404, "NOT_FOUND"),
        ("quota_exhausted", 429, "RESOURCE_EXHAUSTED"),
    ],
)
def test_trouble_has_googles_shape(kind: Any, status: int, name: str) -> None:
    with ModelServer(Script(turn=[Turn(error=ErrorSpec(kind=kind))])) as server:
        answer = ask(server, "gemini", question("gemini", "6 x 7?"))

    assert answer.status == status
    assert (answer.json()["error"]["code"], answer.json()["error"]["status"]) == (status, name)
    assert answer.json()["error"]["message"]


def test_a_rate_limit_says_in_its_details_when_to_come_back() -> None:
    error = ErrorSpec(kind="rate_limited", retry_after_seconds=2)
    with ModelServer(Script(turn=[Turn(error=error)])) as server:
        details = ask(server, "gemini", question("gemini", "6 x 7?")).json()["error"]["details"]

    assert [detail.get("retryDelay") for detail in details if detail["@type"].endswith("RetryInfo")] == ["2s"]
    assert any("PerMinute" in json.dumps(detail) for detail in details)


def test_a_connection_that_is_lost_leaves_half_an_answer() -> None:
    with ModelServer(Script(turn=[Turn(text="Words that are never heard to their end.", cut=True)])) as server:
        with pytest.raises(http.client.IncompleteRead):
            ask(server, "gemini", question("gemini", "6 x 7?"))
        with pytest.raises(http.client.IncompleteRead):
            send(f"{server.url}{STREAM}?alt=sse", question("gemini", "6 x 7?"))

    assert [entry.ending for entry in server.ledger] == ["cut", "cut"]
