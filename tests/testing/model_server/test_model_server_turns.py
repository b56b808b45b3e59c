"""A scripted model finds the position of a request in its conversation, whatever the agent did to the history."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.model_server.model_clients import PROTOCOLS, ask, continued, converse, question, rules

from outweigh.testing.model_server import ModelServer, Script, Turn

SCRIPT = Script(turn=[Turn(run="echo 42 >answer.txt"), Turn(text="It is done.")])
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=60)
A_TURN = st.builds(
    Turn,
    text=st.none() | WORDS,
    thinking=st.none() | WORDS,
    run=st.none() | WORDS | st.lists(WORDS, min_size=1, max_size=3),
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


@each_protocol
@settings(deadline=None, max_examples=20)
@given(turns=st.lists(A_TURN, min_size=1, max_size=5))
def test_a_conversation_goes_through_its_turns_in_order(protocol: str, turns: list[Turn]) -> None:
    with ModelServer(Script(turn=turns)) as server:
        converse(server, protocol, "What is 6 x 7?", len(turns))

        assert rules(server) == [f"turn[{step}]" for step in range(len(turns))]
        assert len({entry.conversation for entry in server.ledger}) == 1


@each_protocol
def test_conversations_that_go_on_side_by_side_do_not_disturb_each_other(server: ModelServer, protocol: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: converse(server, protocol, f"Question {number}", 2), range(40)))

    by_conversation: dict[str | None, list[str | None]] = {}
    for entry in server.ledger:
        by_conversation.setdefault(entry.conversation, []).append(entry.rule)
    assert list(by_conversation.values()) == [["turn[0]", "turn[1]"]] * 40
    assert server.totals().billed == 80


@each_protocol
def test_the_same_requests_get_the_same_answers(protocol: str) -> None:
    answers = []
    for _ in range(2):
        with ModelServer(SCRIPT) as server:
            answers.append(ask(server, protocol, question(protocol, "What is 6 x 7?")).json())

    for moment in ("created", "created_at", "completed_at"):
        assert answers[0].pop(moment, None) is None or answers[1].pop(moment) is not None
    assert answers[0] == answers[1] | {key: answers[1][key] for key in answers[0]}


def test_after_the_last_turn_its_words_are_said_again(server: ModelServer) -> None:
    converse(server, "chat", "What is 6 x 7?", 4)

    assert rules(server) == ["turn[0]", "turn[1]", "after the last turn", "after the last turn"]


def test_a_script_that_ends_in_a_call_ends_in_done_and_does_not_call_for_ever() -> None:
    with ModelServer(Script(turn=[Turn(run="true")])) as server:
        body = question("chat", "Go.")
        continued["chat"](body, ask(server, "chat", body).json())
        message = ask(server, "chat", body).json()["choices"][0]["message"]

    assert (message["content"], message.get("tool_calls")) == ("Done.", None)


def test_words_that_an_agent_puts_into_the_models_mouth_are_no_turn(server: ModelServer) -> None:
    body = question("chat", "Context: none.")
    body["messages"] += [{"role": "assistant", "content": "Got it."}, {"role": "user", "content": "What is 6 x 7?"}]

    ask(server, "chat", body)

    assert rules(server) == ["turn[0]"]


def test_an_agent_may_forget_the_beginning_as_long_as_it_keeps_one_call() -> None:
    with ModelServer(Script(turn=[Turn(run="true")] * 5)) as server:
        converse(server, "anthropic", "Go.", 3)
        body = question("anthropic", "A summary of what was.")
        call = {"type": "tool_use", "id": "toolu_0123_ow2x0", "name": "Bash", "input": {}}
        body["messages"] += [{"role": "assistant", "content": [call]}, {"role": "user", "content": "ok"}]
        ask(server, "anthropic", body)

    assert rules(server)[-1] == "turn[3]"


def test_an_answer_that_an_agent_cuts_in_two_is_one_turn() -> None:
    with ModelServer(Script(turn=[Turn(text="I will.", run="true"), Turn(text="Done it.")])) as server:
        body = question("chat", "Go.")
        message = ask(server, "chat", body).json()["choices"][0]["message"]
        body["messages"] += [
            {"role": "assistant", "content": message["content"]},
            {"role": "user", "content": "<info-msg>a note</info-msg>"},
            {"role": "assistant", "content": None, "tool_calls": message["tool_calls"]},
            {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": ""},
        ]
        ask(server, "chat", body)

    assert rules(server) == ["turn[0]", "turn[1]"]


def test_a_response_may_be_continued_by_its_id(server: ModelServer) -> None:
    first = ask(server, "responses", question("responses", "What is 6 x 7?")).json()
    output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": ""}

    ask(server, "responses", {"model": "m", "input": [output], "previous_response_id": first["id"]})

    assert [entry.step for entry in server.ledger] == [0, 1]
