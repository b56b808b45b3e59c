"""Which conversation of a script a request belongs to, and how side questions are answered."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.testing.model_server.model_clients import PROTOCOLS, ask, converse, question, rules, said, send

from outweigh.testing.model_server import Conversation, ErrorSpec, ModelServer, Script, Turn, When, parse_script
from outweigh.testing.model_server.model_script import EXAMPLE_SCRIPT

SCRIPT = Script(turn=[Turn(run="echo 42 >answer.txt"), Turn(text="It is done.")])
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


def test_a_request_without_tools_is_a_side_question_where_the_script_calls_tools(server: ModelServer) -> None:
    answer = ask(server, "chat", question("chat", "A title, please.", tools=False)).json()

    assert answer["choices"][0]["message"]["content"] == "Noted."
    assert rules(server) == ["side"]
    assert server.totals().billed == 1


def test_a_side_question_that_wants_json_gets_the_smallest_that_fits(server: ModelServer) -> None:
    schema = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "kind": {"enum": ["task", "chat"]},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "sure": {"type": ["boolean", "null"]},
            "weight": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            "extra": {"type": "string"},
        },
        "required": ["title", "kind", "tags", "sure", "weight"],
    }
    requests_by_protocol: dict[str, dict[str, Any]] = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}},
        "responses": {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}},
        "gemini": {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}},
    }
    for protocol, fields in requests_by_protocol.items():
        answer = ask(server, protocol, question(protocol, "A title?", tools=False, **fields)).json()

        assert json.loads(said(protocol, answer)) == {
            "title": "Noted.",
            "kind": "task",
            "tags": ["Noted."],
            "sure": False,
            "weight": 3,
        }


def test_a_script_of_words_only_needs_no_tools() -> None:
    with ModelServer(Script(turn=[Turn(text="Hello.")])) as server:
        ask(server, "chat", question("chat", "Hi.", tools=False))

    assert rules(server) == ["turn[0]"]


@pytest.mark.parametrize(
    ("when", "claims"),
    [
        (When(model="m*"), True),
        (When(model="n*"), False),
        (When(contains="6 x 7"), True),
        (When(contains="never said"), False),
        (When(protocol="chat"), True),
        (When(protocol="gemini"), False),
        (When(offers="bash"), True),
        (When(offers="Agent"), False),
        (When(lacks="Agent"), True),
        (When(lacks="bash"), False),
        (When(tools=False), False),
        (When(api_key="key"), True),
        (When(api_key="another"), False),
        (When(model="m", contains="6 x 7", offers="Agent"), False),
    ],
)
def test_the_first_conversation_that_fits_is_taken(when: When, *, claims: bool) -> None:
    mine = Conversation(name="mine", when=when, turn=[Turn(text="Mine.")])
    late = Conversation(turn=[Turn(text="Too late.")])
    with ModelServer(Script(conversation=[mine, late])) as server:
        ask(server, "chat", question("chat", "What is 6 x 7?"), authorization="Bearer key")

    assert rules(server) == ["mine.turn[0]" if claims else "conversation[1].turn[0]"]


def test_what_is_said_later_does_not_move_a_request_to_another_conversation() -> None:
    late = Conversation(name="late", when=When(contains="ok"), turn=[Turn(text="No.")])
    with ModelServer(Script(conversation=[late], turn=SCRIPT.turn)) as server:
        converse(server, "anthropic", "Go.", 2)

    assert rules(server) == ["turn[0]", "turn[1]"]


@each_protocol
def test_a_model_that_the_script_does_not_know_is_unknown(protocol: str) -> None:
    with ModelServer(Script(models=["claude-*", "gpt-5"], turn=SCRIPT.turn)) as server:
        answer = ask(server, protocol, question(protocol, "6 x 7?"))

    assert answer.status == 404
    assert [(entry.rule, entry.tokens) for entry in server.ledger] == [("models", None)]


def test_models_are_listed_as_each_client_expects() -> None:
    with ModelServer(Script(models=["claude-*", "model-1"], turn=SCRIPT.turn)) as server:
        openai = send(f"{server.url}/v1/models").json()
        anthropic = send(f"{server.url}/v1/models", anthropic_version="2023-06-01").json()
        gemini = send(f"{server.url}/v1beta/models").json()
        one = send(f"{server.url}/v1/models/model-1").json()

    assert [model["id"] for model in openai["data"]] == ["model-1"]
    assert [(model["type"], model["id"]) for model in anthropic["data"]] == [("model", "model-1")]
    assert [model["name"] for model in gemini["models"]] == ["models/model-1"]
    assert (one["object"], one["id"]) == ("model", "model-1")


def test_the_example_answers() -> None:
    with ModelServer(parse_script(EXAMPLE_SCRIPT)) as server:
        converse(server, "anthropic", "Write the answer down.", 2)
        ask(server, "chat", question("chat", "Give me a file listing.", tools=False))
        refused = [ask(server, "gemini", question("gemini", "Write greeting.txt.")).status for _ in range(3)]

    assert rules(server)[:3] == ["turn[0]", "turn[1]", "words only.turn[0]"]
    assert refused == [503, 503, 200]


@pytest.mark.parametrize(("shared", "statuses"), [(False, [529, 529, 200, 200]), (True, [529, 200, 200, 200])])
def test_passing_trouble_is_counted_per_conversation_unless_it_is_shared(*, shared: bool, statuses: list[int]) -> None:
    error = ErrorSpec(kind="overloaded", times=1, shared=shared)
    with ModelServer(Script(turn=[Turn(text="At last.", error=error)])) as server:
        for words in ("One.", "Two.", "One.", "Two."):
            ask(server, "anthropic", question("anthropic", words))

    assert [entry.status for entry in server.ledger] == statuses


def test_a_key_of_its_own_makes_a_conversation_of_its_own() -> None:
    with ModelServer(Script(turn=[Turn(text="At last.", error=ErrorSpec(kind="overloaded", times=1))])) as server:
        for key in ("one", "two", "one"):
            ask(server, "anthropic", question("anthropic", "The same."), x_api_key=key)

    assert [entry.status for entry in server.ledger] == [529, 529, 200]
