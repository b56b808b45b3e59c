"""Turns of one session, joined into one outcome."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from outweigh.agents.exchanges import LEAST_TURN_SECONDS, Exchange, ReportScope, hold_conversation, join_commands
from outweigh.agents.exchanges import join_reports as joined
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.run_record import ObservedSetup
from outweigh.model.usage import Usage
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep


def tokens(number: int) -> Usage:
    return Usage(input_tokens=number, output_tokens=number, cache_read_tokens=0, cache_write_tokens=0)


def a_report(number: int, **known: object) -> AgentReport:
    report = AgentReport(
        version="1",
        model="m",
        session_id="s",
        usage=tokens(number),
        usage_by_model={"m": tokens(number)},
        cost_usd=float(number),
        duration_seconds=1.0,
        step_count=number,
        tool_call_count=1,
        request_count=2,
        finished=True,
        failure=None,
        final_text=f"answer {number}",
        steps=(AtifStep(step_id=1, source="agent", message=f"answer {number}"),),
        loaded=None,
        warnings=("the same",),
    )
    return replace(report, **known)  # type: ignore[arg-type]


def ended(seconds: float = 2.0, code: int = 0, ending: CommandEnding = CommandEnding.EXITED) -> CompletedCommand:
    return CompletedCommand(
        ending=ending, exit_code=code, stdout=b"out\n", stderr=b"err\n", truncated=False, duration_seconds=seconds
    )


def a_turn(number: int, said: str | None = None, done: CompletedCommand | None = None, **known: object) -> Exchange:
    return Exchange(said=said, done=done or ended(), read=lambda _: a_report(number, **known))


class Says:
    """A user who says these words, whatever the answer."""

    def __init__(self, *words: str) -> None:
        self.words = list(words)
        self.heard: list[str | None] = []

    def next_message(self, answer: str | None) -> str | None:
        self.heard.append(answer)
        return self.words.pop(0) if self.words else None


def recorder(calls: list[tuple[str, str, float]]) -> Callable[[str, str, float], Exchange]:
    def start(session: str, said: str, seconds: float) -> Exchange:
        calls.append((session, said, seconds))
        return a_turn(2, said)

    return start


def test_the_user_speaks_as_long_as_there_is_something_to_say() -> None:
    calls: list[tuple[str, str, float]] = []
    user = Says("more", "and more")

    turns = hold_conversation(a_turn(1), user, recorder(calls), 10.0)

    assert [turn.said for turn in turns] == [None, "more", "and more"]
    assert user.heard == ["answer 1", "answer 2", "answer 2"]
    assert calls == [("s", "more", 8.0), ("s", "and more", 6.0)]


def test_without_time_left_a_turn_is_started_and_stopped_at_once() -> None:
    calls: list[tuple[str, str, float]] = []

    hold_conversation(a_turn(1, done=ended(10.5)), Says("more"), recorder(calls), 10.0)

    assert calls == [("s", "more", LEAST_TURN_SECONDS)]


def test_without_a_user_the_program_is_started_once() -> None:
    calls: list[tuple[str, str, float]] = []

    assert len(hold_conversation(a_turn(1), None, recorder(calls), 10.0)) == 1
    assert calls == []


@pytest.mark.parametrize(
    "failed",
    [
        a_turn(1, done=ended(code=1)),
        a_turn(1, done=ended(ending=CommandEnding.TIMED_OUT)),
        a_turn(1, finished=False),
        a_turn(1, failure=make_failure(FailureKind.REFUSAL, "no")),
        a_turn(1, session_id=None),
    ],
)
def test_a_program_that_failed_is_asked_nothing_more(failed: Exchange) -> None:
    calls: list[tuple[str, str, float]] = []
    user = Says("more")

    assert hold_conversation(failed, user, recorder(calls), 10.0) == [failed]
    assert calls == []
    assert user.heard == []


def test_the_starts_of_a_program_are_one_command_that_ended_as_the_last() -> None:
    done = join_commands([a_turn(1), a_turn(2, done=replace(ended(3.0, code=7), truncated=True))])

    assert (done.stdout, done.stderr) == (b"out\nout\n", b"err\nerr\n")
    assert (done.exit_code, done.duration_seconds, done.truncated) == (7, 5.0, True)


def test_reports_of_single_turns_are_added_up() -> None:
    report = joined([a_turn(1), a_turn(2, "more")], {}, ReportScope.TURN)

    assert report.usage == tokens(3)
    assert report.usage_by_model == {"m": tokens(3)}
    assert (report.cost_usd, report.step_count, report.tool_call_count, report.request_count) == (3.0, 3, 2, 4)
    assert report.duration_seconds == 2.0
    assert report.warnings == ("the same",)
    assert report.final_text == "answer 2"
    assert [(step.step_id, step.source, step.message) for step in report.steps] == [
        (1, "agent", "answer 1"),
        (2, "user", "more"),
        (3, "agent", "answer 2"),
    ]


def test_what_the_user_says_is_one_step_also_where_the_program_prints_it() -> None:
    printed = AtifStep(step_id=1, source="user", message="more")

    report = joined([a_turn(1, steps=()), a_turn(2, "more", steps=(printed,))], {}, ReportScope.TURN)

    assert [(step.source, step.message) for step in report.steps] == [("user", "more")]


def test_totals_of_the_session_are_not_counted_twice() -> None:
    report = joined([a_turn(1), a_turn(2, "more")], {}, ReportScope.TOTALS)

    assert (report.usage, report.cost_usd, report.step_count) == (tokens(2), 2.0, 3)


def test_a_report_on_the_whole_session_stands_alone() -> None:
    report = joined([a_turn(1), a_turn(2, "more")], {}, ReportScope.SESSION)

    assert report == a_report(2)


def test_what_one_turn_does_not_know_is_unknown_in_the_sum() -> None:
    report = joined([a_turn(1, cost_usd=None, step_count=None), a_turn(2, "more")], {}, ReportScope.TURN)

    assert (report.cost_usd, report.step_count) == (None, None)


def test_a_skill_that_any_turn_used_was_used() -> None:
    def loaded(*used: str) -> ObservedSetup:
        return ObservedSetup(
            skills=("a", "b"), skills_used=used, mcp_servers=None, tools=None, memory_files=None, seen_by=()
        )

    report = joined([a_turn(1, loaded=loaded("a")), a_turn(2, "more", loaded=loaded("b"))], {}, ReportScope.TURN)

    assert report.loaded == loaded("a", "b")


def test_files_of_the_home_are_read_with_the_last_turn_alone() -> None:
    seen: list[dict[str, bytes]] = []

    def read(files: Mapping[str, bytes]) -> AgentReport:
        seen.append(dict(files))
        return a_report(1)

    turn = Exchange(said=None, done=ended(), read=read)
    joined([turn, turn], {"session.jsonl": b"x"}, ReportScope.TURN)

    assert seen == [{"session.jsonl": b"x"}, {}]
