"""How Claude Code's session files are read."""

import pytest
from tests.agents.claude_lines import Event, answer, assistant, call, lines, model_usage, said, usage, user

from outweigh.agents.claude_code.session import read_claude_session
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage

END = {"stop_reason": "end_turn"}


def finished() -> Event:
    return assistant("m9", said("Done."), tokens=usage(1, 2), message=END)


def tokens(input_tokens: int, output: int, read: int = 0, write: int = 0) -> Usage:
    return Usage(input_tokens=input_tokens, output_tokens=output, cache_read_tokens=read, cache_write_tokens=write)


def test_a_message_counts_once_with_the_usage_that_was_written_last() -> None:
    session = lines(
        assistant("m1", said("Which?"), tokens=usage(1, 8, 30, 7), requestId="r1", version="2.1.38", sessionId="s"),
        assistant("m1", call("c1", "AskUserQuestion"), tokens=usage(1, 472, 30, 7), requestId="r1"),
        user(answer("c1")),
        assistant("m2", said("Thanks."), tokens=usage(2, 5, 40, 1), requestId="r2"),
    )

    report = read_claude_session(session)

    assert report.usage == tokens(3, 477, 70, 8)
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert (report.version, report.model, report.session_id) == ("2.1.38", "claude-x", "s")
    assert report.cost_usd is report.duration_seconds is None
    assert (report.finished, report.final_text) == (True, "Thanks.")


def test_messages_that_were_written_before_they_ended_make_the_output_too_low() -> None:
    session = lines(assistant("m1", said("a"), tokens=usage(1, 1)), finished())

    assert read_claude_session(session).warnings == (
        "output tokens are too low: 1 of 2 messages were written before they had ended",
    )


def test_messages_without_usage_leave_it_unknown() -> None:
    report = read_claude_session(lines(assistant("m1", said("Hi."))))

    assert (report.usage, report.request_count, report.warnings) == (NO_USAGE, 0, ())


def test_totals_at_the_end_of_a_file_cover_everything() -> None:
    state = {
        "type": "cost-state",
        "totalCostUSD": 0.5,
        "modelUsage": {"claude-x": model_usage(10, 20, costUSD=0.4), "claude-small": model_usage(1, 2)},
        "hasUnknownModelCost": True,
    }

    report = read_claude_session(lines(finished(), state))

    assert (report.usage, report.cost_usd) == (tokens(11, 22), 0.5)
    assert report.usage_by_model["claude-small"] == tokens(1, 2)
    assert report.request_count is None
    assert report.warnings == ("the dollar figure is a guess: Claude Code does not know the price of every model",)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        ([], FailureKind.NO_RESULT),
        ([user(said("[Request interrupted by user]"))], FailureKind.NO_RESULT),
        ([assistant("m2", call("c1", "Bash"))], FailureKind.NO_RESULT),
        ([user(said("A skill's text."), isMeta=True)], FailureKind.NO_RESULT),
        (
            [assistant("m2", said("API Error: 529 x"), message={"model": "<synthetic>"}, isApiErrorMessage=True)],
            FailureKind.OVERLOADED,
        ),
    ],
)
def test_a_session_has_finished_when_the_agent_had_the_last_word(ending: list[Event], kind: FailureKind) -> None:
    begun = [user(said("Go.")), finished()] if ending else []

    report = read_claude_session(lines(*begun, *ending))

    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is kind
    assert read_claude_session(lines(user(said("Go.")), finished())).finished


class TestSubAgents:
    def test_in_files_of_their_own_are_put_in_order_under_the_call_that_started_them(self) -> None:
        main = lines(
            assistant("m1", call("c1", "Agent"), tokens=usage(1, 1), message=END, timestamp="2026-01-01T00:00:01Z"),
            user(answer("c1"), toolUseResult={"agentId": "a7"}, timestamp="2026-01-01T00:00:04Z"),
            assistant("m3", said("Done."), tokens=usage(3, 3), message=END, timestamp="2026-01-01T00:00:05Z"),
        )
        side = {"isSidechain": True, "agentId": "a7"}
        own = lines(
            user(said("Look."), **side, timestamp="2026-01-01T00:00:02Z"),
            assistant("m2", said("Seen."), tokens=usage(2, 2), message=END, **side, timestamp="2026-01-01T00:00:03Z"),
        )

        report = read_claude_session(main, own)

        assert [(step.message, (step.extra or {}).get("sub_agent")) for step in report.steps] == [
            ("", None),
            ("Look.", "c1"),
            ("Seen.", "c1"),
            ("Done.", None),
        ]
        assert report.usage == tokens(6, 6)
        assert report.finished

    def test_wrapped_in_progress_events_are_found_there(self) -> None:
        inner = assistant("m2", said("Seen."), tokens=usage(2, 2), message=END)
        wrapped = {
            "type": "progress",
            "parentToolUseID": "c1",
            "data": {"type": "agent_progress", "message": inner},
        }
        session = lines(
            assistant("m1", call("c1", "Task"), tokens=usage(1, 1), message=END),
            wrapped,
            user(answer("c1")),
            finished(),
        )

        report = read_claude_session(session)

        assert report.steps[1].extra == {"sub_agent": "c1"}
        assert report.usage == tokens(4, 5)

    def test_of_unknown_origin_keep_a_name_of_their_own(self) -> None:
        (step,) = read_claude_session(lines(assistant("m1", said("?"), isSidechain=True))).steps

        assert step.extra == {"sub_agent": "sidechain"}


def test_skills_that_were_used_are_seen_in_the_calls() -> None:
    loaded = read_claude_session(
        lines(assistant("m1", call("c1", "Skill", skill="testing")), user(answer("c1")), finished())
    ).loaded

    assert loaded is not None
    assert (loaded.skills, loaded.skills_used, loaded.seen_by) == (None, ("testing",), ("tool calls",))
    assert read_claude_session(lines(finished())).loaded is None


def test_a_torn_or_foreign_line_is_told() -> None:
    report = read_claude_session(b"not json\n" + lines(finished()) + b'{"type": "assis')

    assert report.warnings == (
        "1 line of the agent's output could not be read as a JSON object",
        "the agent's output breaks off in the middle of a line",
    )
