"""A trajectory becomes chat messages with the tool calls and their results."""

from typing import Any

from outweigh.interop.inspect_ai.sample_writer import chat_messages, last_answer
from outweigh.transcript.atif import (
    AtifAgent,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    AtifTrajectory,
)


def a_trajectory(*steps: AtifStep) -> AtifTrajectory:
    return AtifTrajectory(schema_version="ATIF-v1.8", agent=AtifAgent(name="agent", version="1"), steps=steps)


def acting(step_id: int, call: str, answer: str, **result: Any) -> AtifStep:
    return AtifStep(
        step_id=step_id,
        source="agent",
        message="",
        model_name="model",
        tool_calls=(AtifToolCall(tool_call_id=call, function_name="shell", arguments={"command": "ls"}),),
        observation=AtifObservation(results=(AtifResult(source_call_id=call, content=answer, **result),)),
    )


def test_steps_and_answers_of_tools_follow_each_other() -> None:
    messages = chat_messages(
        a_trajectory(
            AtifStep(step_id=1, source="system", message="Be kind."),
            AtifStep(step_id=2, source="user", message="List them."),
            acting(3, "call-1", "a.txt"),
            AtifStep(step_id=4, source="agent", message="There is one.", timestamp="2026-05-01T10:00:00Z"),
        ),
        "mark",
    )

    assert [(each["id"], each["role"], each["content"]) for each in messages] == [
        ("mark-1", "system", "Be kind."),
        ("mark-2", "user", "List them."),
        ("mark-3", "assistant", ""),
        ("mark-3-1", "tool", "a.txt"),
        ("mark-4", "assistant", "There is one."),
    ]
    assert messages[2]["model"] == "model"
    assert messages[2]["tool_calls"] == [
        {"id": "call-1", "function": "shell", "arguments": {"command": "ls"}, "type": "function"}
    ]
    assert (messages[3]["tool_call_id"], messages[3]["function"]) == ("call-1", "shell")
    assert messages[4]["metadata"] == {"timestamp": "2026-05-01T10:00:00Z"}


def test_a_tool_that_failed_is_an_error_of_unknown_kind() -> None:
    *_, message = chat_messages(a_trajectory(acting(1, "call", "no such file", extra={"is_error": True})), "mark")

    assert message["error"] == {"type": "unknown", "message": "no such file"}


def test_thoughts_are_kept_apart_from_words() -> None:
    thinking = AtifStep(step_id=1, source="agent", message="Yes.", reasoning_content="Is it?")

    (message,) = chat_messages(a_trajectory(thinking), "mark")

    assert message["content"] == [{"type": "reasoning", "reasoning": "Is it?"}, {"type": "text", "text": "Yes."}]


def test_what_is_no_text_is_named() -> None:
    picture = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}

    (message,) = chat_messages(a_trajectory(AtifStep(step_id=1, source="user", message=[picture])), "mark")

    assert message["content"] == "[image]"


def test_a_sub_agent_is_marked_and_does_not_have_the_last_word() -> None:
    messages = chat_messages(
        a_trajectory(
            AtifStep(step_id=1, source="agent", message="Help me."),
            AtifStep(step_id=2, source="agent", message="I did.", extra={"sub_agent": "call-1"}),
        ),
        "mark",
    )

    assert messages[1]["metadata"] == {"sub_agent": "call-1"}
    answer = last_answer(messages)
    assert answer is not None
    assert answer["content"] == "Help me."


def test_who_only_listened_has_no_last_word() -> None:
    assert last_answer(chat_messages(a_trajectory(AtifStep(step_id=1, source="user", message="Go.")), "mark")) is None
