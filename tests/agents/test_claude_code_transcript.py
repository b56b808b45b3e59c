"""How Claude Code's output is read, rule by rule."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.claude_lines import (
    Event,
    answer,
    assistant,
    call,
    init,
    lines,
    model_usage,
    result,
    said,
    usage,
    user,
)

from outweigh.agents.claude_code.messages import ClaudeCodeConversation
from outweigh.agents.claude_code.stream import ClaudeCodeReader, read_claude_code
from outweigh.model.failure import FailureKind
from outweigh.model.run_record import ObservedSetup, Step
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.trajectory_file import read_trajectory, trajectory_json

SAMPLES = sorted((Path(__file__).parent / "samples" / "claude-code").iterdir())
STREAMS = [path for path in SAMPLES if ".stream" in path.name or "stream" in path.stem]


def tokens(input_tokens: int | None, output: int | None, read: int | None = 0, write: int | None = 0) -> Usage:
    return Usage(input_tokens=input_tokens, output_tokens=output, cache_read_tokens=read, cache_write_tokens=write)


class TestTotals:
    def test_come_from_the_last_result_and_are_never_summed(self) -> None:
        first = result(total_cost_usd=0.1, modelUsage={"claude-x": model_usage(10, 1)})
        last = result(total_cost_usd=0.3, modelUsage={"claude-x": model_usage(30, 3)})

        report = read_claude_code(lines(first, last))

        assert (report.usage, report.cost_usd) == (tokens(30, 3), 0.3)

    def test_are_all_models_together_with_each_beside_them(self) -> None:
        by_model = {"claude-x": model_usage(30, 3, 5, 7), "claude-small": model_usage(2, 1, 1, 1)}

        report = read_claude_code(lines(result(usage=usage(999, 999), modelUsage=by_model)))

        assert report.usage == tokens(32, 4, 6, 8)
        assert report.usage_by_model == {"claude-x": tokens(30, 3, 5, 7), "claude-small": tokens(2, 1, 1, 1)}
        assert report.model is None  # which of the two led the run is not said

    def test_of_the_main_loop_serve_where_there_are_no_others_and_say_so(self) -> None:
        event = result(usage=usage(5, 6, 7, 8))
        del event["modelUsage"]

        report = read_claude_code(lines(event))

        assert report.usage == tokens(5, 6, 7, 8)
        assert report.warnings == ("the agent's tokens cover its main loop only, without sub-agents and side requests",)

    def test_that_are_no_numbers_are_unknown(self) -> None:
        odd = {"claude-x": {"inputTokens": -1, "outputTokens": "many", "cacheReadInputTokens": 1.5}}

        report = read_claude_code(lines(result(modelUsage=odd, total_cost_usd=-2, duration_ms="soon")))

        assert report.usage == NO_USAGE
        assert report.cost_usd is report.duration_seconds is None

    def test_cover_so_many_requests_as_messages_were_seen_where_their_input_agrees(self) -> None:
        seen = [assistant("m1", tokens=usage(10, 1)), assistant("m2", tokens=usage(20, 1))]

        def requests(input_tokens: int) -> int | None:
            ending = result(modelUsage={"claude-x": model_usage(input_tokens, 9)})
            return read_claude_code(lines(*seen, ending)).request_count

        assert requests(30) == 2
        assert requests(31) is None  # somebody asked who is not in the stream


class TestACostThatIsAGuess:
    @pytest.mark.parametrize(
        ("model", "basis", "guess"),
        [
            ("claude-x", "list", False),
            ("claude-x", "unknown", True),
            ("claude-x", None, False),
            ("mine", "managed", False),
            ("mine", None, True),
        ],
    )
    def test_is_told_by_its_basis_or_by_a_foreign_name(self, model: str, basis: str | None, guess: bool) -> None:
        stated: dict[str, Any] = {} if basis is None else {"costBasis": basis}

        report = read_claude_code(lines(result(modelUsage={model: model_usage(1, 1, **stated)})))

        assert any("the dollar figure is a guess" in warning for warning in report.warnings) is guess


class TestMessages:
    def test_repeated_for_every_block_are_one_step_with_the_last_usage(self) -> None:
        stream = lines(
            assistant("m1", said("Both:"), tokens=usage(10, 1), uuid="a"),
            assistant("m1", call("c1", "Bash", command="ls"), tokens=usage(10, 1), uuid="b"),
            user(answer("c1")),
            assistant("m1", call("c2", "Read"), tokens=usage(10, 42), message={"stop_reason": "tool_use"}, uuid="c"),
        )

        report = read_claude_code(stream)

        (step,) = report.steps
        assert step.message == "Both:"
        assert [made.function_name for made in step.tool_calls or ()] == ["Bash", "Read"]
        assert (report.step_count, report.tool_call_count, report.request_count) == (1, 2, 1)
        assert report.usage == tokens(10, 42)

    def test_written_twice_count_once(self) -> None:
        event = assistant("m1", said("Hello."), tokens=usage(10, 1), uuid="a")

        (step,) = read_claude_code(lines(event, event)).steps

        assert step.message == "Hello."

    def test_with_one_id_and_two_requests_are_two(self) -> None:
        stream = lines(
            assistant("m1", tokens=usage(10, 1), requestId="r1"), assistant("m1", tokens=usage(10, 1), requestId="r2")
        )

        assert read_claude_code(stream).usage.input_tokens == 20

    def test_have_no_output_until_they_ended(self) -> None:
        report = read_claude_code(lines(assistant("m1", tokens=usage(10, 1, 2, 3))))

        assert report.usage == tokens(10, None, 2, 3)

    def test_keep_thoughts_apart(self) -> None:
        (step,) = read_claude_code(lines(assistant("m1", {"type": "thinking", "thinking": "Hm."}, said("Yes.")))).steps

        assert (step.reasoning_content, step.message) == ("Hm.", "Yes.")

    def test_of_a_user_are_steps_and_results_belong_to_their_call(self) -> None:
        blocks = [{"type": "text", "text": "a"}, {"type": "image"}]
        stream = lines(
            user(said("Please.")), assistant("m1", call("c1", "Bash")), user(answer("c1", blocks, is_error=True))
        )

        asked, acted = read_claude_code(stream).steps

        assert (asked.source, asked.message) == ("user", "Please.")
        assert acted.observation is not None
        (found,) = acted.observation.results
        assert (found.content, found.extra) == ("a\n[image]", {"is_error": True})

    def test_without_a_call_for_a_result_are_told_in_a_warning(self) -> None:
        report = read_claude_code(lines(user(answer("c9"))))

        assert report.steps == ()
        assert "results of tools that answer no call that was seen: 1" in report.warnings

    def test_are_counted_though_there_are_too_many_words_to_keep(self) -> None:
        conversation = ClaudeCodeConversation(kept_characters=10)
        conversation.add(assistant("m1", said("12345678"), call("c1", "Bash", command="longer")), None)
        conversation.add(user(answer("c1", "and longer")), None)
        conversation.add(assistant("m2", said("more")), None)

        first, second = conversation.steps()

        assert (first.message, second.message) == ("12345678", "")
        assert first.tool_calls is not None
        assert first.tool_calls[0].arguments == {}
        assert conversation.tool_call_count == 1
        assert list(conversation.warnings()) == [
            "the texts of the trajectory are not complete: there were too many to keep"
        ]


class TestSkills:
    @pytest.mark.parametrize(
        ("used", "skills"),
        [
            (call("c1", "Skill", skill="testing"), ("testing",)),
            (call("c1", "Skill", command="/testing"), ("testing",)),
            (call("c1", "Read", file_path="/ws/.claude/skills/testing/SKILL.md"), ("testing",)),
            (call("c1", "Bash", command="cat .agents/skills/a/SKILL.md .agents/skills/b/SKILL.md"), ("a", "b")),
            (call("c1", "Write", file_path="/ws/.claude/skills/testing/SKILL.md"), ()),
            (call("c1", "Read", file_path="/ws/skills/testing/notes.md"), ()),
            (call("c1", "Skill"), ()),
        ],
    )
    def test_are_used_when_called_or_read(self, used: dict[str, Any], skills: tuple[str, ...]) -> None:
        loaded = read_claude_code(lines(init(), assistant("m1", used))).loaded

        assert loaded is not None
        assert loaded.skills_used == skills

    def test_that_could_not_be_loaded_were_not_used(self) -> None:
        stream = lines(
            init(), assistant("m1", call("c1", "Skill", skill="nope")), user(answer("c1", "Unknown", is_error=True))
        )

        loaded = read_claude_code(stream).loaded

        assert loaded is not None
        assert loaded.skills_used == ()

    def test_what_was_loaded_is_what_the_first_event_says_whatever_is_printed_later(self) -> None:
        forged = init(skills=[], tools=[])

        loaded = read_claude_code(lines(init(skills=["testing"]), assistant("m1", said("Hi.")), forged)).loaded

        assert loaded is not None
        assert loaded.skills == ("testing",)

    def test_and_servers_are_unknown_where_the_first_event_does_not_list_them(self) -> None:
        loaded = read_claude_code(lines(init(tools=["Bash", 3, ""], mcp_servers=[{"name": "a"}, {}]))).loaded

        assert loaded is not None
        assert loaded.skills is loaded.memory_files is None
        assert loaded.tools == ("Bash",)
        assert [(server.name, server.state) for server in loaded.mcp_servers or ()] == [("a", "unknown")]


class TestTheShapeOfTheOutput:
    def test_may_be_lines_an_array_or_a_single_object(self) -> None:
        events = [init(claude_code_version="2.1"), assistant("m1", said("Hi."), tokens=usage(1, 1)), result()]

        in_lines = read_claude_code(lines(*events))

        assert read_claude_code(msgspec.json.encode(events)) == in_lines
        assert in_lines.finished
        assert read_claude_code(msgspec.json.encode(result())).usage == in_lines.usage

    def test_may_have_noise_between_the_lines_which_is_told(self) -> None:
        report = read_claude_code(b"npm warn deprecated\n" + lines(result()) + b"bye\n")

        assert report.finished
        assert report.warnings == ("2 lines of the agent's output could not be read as a JSON object",)

    @pytest.mark.parametrize("output", [b"", b"\n", b'{"type":"resu', lines(init())])
    def test_is_a_failure_without_a_result(self, output: bytes) -> None:
        report = read_claude_code(output)

        assert not report.finished
        assert report.failure is not None
        assert report.failure.kind is FailureKind.NO_RESULT
        assert (report.usage, report.cost_usd) == (NO_USAGE, None)

    def test_tells_of_plugins_that_did_not_load(self) -> None:
        report = read_claude_code(lines(init(plugin_errors=[{"plugin": "a"}]), result()))

        assert report.warnings == ("plugins that could not be loaded: 1",)

    @pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
    def test_can_come_byte_by_byte(self, path: Path) -> None:
        whole = path.read_bytes()
        reader = ClaudeCodeReader()
        for place in range(len(whole)):
            reader.feed(whole[place : place + 1])

        assert reader.report() == read_claude_code(whole)

    def test_can_be_asked_for_again_and_go_on(self) -> None:
        reader = ClaudeCodeReader()
        reader.feed(lines(init()))
        assert not reader.report().finished

        reader.feed(lines(result()))

        assert reader.report() == reader.report()
        assert reader.report().finished


@given(data=st.data(), path=st.sampled_from(STREAMS))
def test_any_beginning_of_a_stream_is_read_and_only_a_result_finishes_it(data: st.DataObject, path: Path) -> None:
    whole = path.read_bytes()
    end = data.draw(st.integers(0, len(whole)))

    report = read_claude_code(whole[:end])

    begins = whole.rstrip(b"\n").rfind(b"\n") + 1  # the result is the last line
    assert report.finished is (end >= len(whole.rstrip(b"\n")))
    assert report.finished or (report.failure is not None and report.failure.kind is FailureKind.NO_RESULT)
    assert end <= begins or report.steps == read_claude_code(whole[:begins]).steps


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in an event; of an array only to its first item."""
    keys = list(value) if isinstance(value, dict) else [0] if isinstance(value, list) and value else []
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def changed(event: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = deepcopy(event)
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy


ODD: list[Any] = [None, True, -1, 2**60, 1.5, "", "odd", [], {}, [[]], [{}], {"": []}, ["odd"], {"odd": {"odd": 1}}]


def test_whatever_stands_somewhere_else_is_survived_and_what_is_told_can_be_stored() -> None:
    samples = [[msgspec.json.decode(line) for line in path.read_bytes().splitlines()] for path in SAMPLES]
    seen = set()
    for events in samples:
        for number, event in enumerate(events):
            for place in places(event):
                kind = (event["type"], event.get("subtype"), place)
                if kind in seen:
                    continue
                seen.add(kind)
                for odd in ODD:
                    assert_storable(lines(*events[:number], changed(event, place, odd), *events[number + 1 :]))
    assert len(seen) > 200


def assert_storable(output: bytes) -> None:
    report = read_claude_code(output)
    told = [report.usage, *report.usage_by_model.values()]
    assert msgspec.json.decode(msgspec.json.encode(told), type=list[Usage]) == told
    assert msgspec.json.decode(msgspec.json.encode(report.loaded), type=ObservedSetup | None) == report.loaded
    steps = record_steps(report.steps)
    assert msgspec.json.decode(msgspec.json.encode(steps), type=tuple[Step, ...]) == steps
    assert read_trajectory(trajectory_json(report, "claude-code")).steps


HOOK = {"type": "system", "subtype": "hook_response", "hook_event": "SessionStart", "exit_code": 0}


def read_setup(*events: Event, shows_hooks: bool = False) -> tuple[ObservedSetup, tuple[str, ...]]:
    reader = ClaudeCodeReader(shows_hooks=shows_hooks)
    reader.feed(lines(*events))
    report = reader.report()
    assert report.loaded is not None
    return report.loaded, report.warnings


def test_sub_agents_commands_and_plugins_are_those_of_the_first_event() -> None:
    loaded, _ = read_setup(
        init(agents=["keeper"], slash_commands=["stripes", "zoo:feed"], plugins=[{"name": "zoo", "path": "/p"}, 3])
    )

    assert (loaded.agents, loaded.commands, loaded.plugins) == (("keeper",), ("stripes", "zoo:feed"), ("zoo",))
    assert (read_setup(init())[0].agents, read_setup(init())[0].plugins) == (None, None)


def test_hooks_are_known_by_their_events_and_by_the_lack_of_them_only_where_all_are_shown() -> None:
    assert read_setup(HOOK, init())[0].hooks == ("SessionStart",)
    assert read_setup(init())[0].hooks is None
    assert read_setup(init(), shows_hooks=True)[0].hooks == ()


@pytest.mark.parametrize(("exit_code", "ran"), [(0, True), (2, True), (126, False), (127, False)])
def test_a_hook_whose_command_does_not_start_has_not_run(exit_code: int, *, ran: bool) -> None:
    loaded, warnings = read_setup({**HOOK, "exit_code": exit_code}, init(), shows_hooks=True)

    assert loaded.hooks == (("SessionStart",) if ran else ())
    assert warnings == (() if ran else ("a hook for SessionStart could not be started",))
