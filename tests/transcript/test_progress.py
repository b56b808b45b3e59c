"""Progress and drift from what an agent did, whichever agent it was; unknown where nobody could tell."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from outweigh.agents.claude_code.stream import read_claude_code
from outweigh.errors import UsageError
from outweigh.model.actions import Action, ActionPattern
from outweigh.model.run_record import AlignedAction, Milestone
from outweigh.model.source_document import convert_options
from outweigh.model.task import ExpectedStep, TaskSettings
from outweigh.score.objective import edit_fail_rate, r_prog, strategic_drift
from outweigh.transcript.atif import AtifObservation, AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.goal_progress import aligned_actions, reached_steps, shown_steps
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.tool_calls import normalized_calls

SAMPLE = Path(__file__).parents[1] / "agents" / "samples" / "claude-code" / "sub-agent.stream.jsonl"


def called(tool: str, failed: bool | None = None, **arguments: Any) -> AtifStep:
    return AtifStep(
        step_id=1,
        source="agent",
        message="",
        tool_calls=(AtifToolCall(tool_call_id="c", function_name=tool, arguments=arguments),),
        observation=AtifObservation(
            results=(AtifResult(source_call_id="c", extra=None if failed is None else {"is_error": failed}),)
        ),
    )


def settings(**table: Any) -> TaskSettings:
    return convert_options(table, TaskSettings, ())


def expected(*steps: dict[str, Any]) -> list[ExpectedStep]:
    return settings(expected_steps=list(steps)).expected_steps


def reaches(step: AtifStep, **pattern: Any) -> bool:
    reached = reached_steps(expected({"name": "it", "reached_by": [pattern]}), [step])
    assert reached is not None
    return "it" in reached


class TestAToolCall:
    @pytest.mark.parametrize(
        ("step", "action"),
        [
            (called("Read"), "read"),
            (called("read_file"), "read"),
            (called("str_replace_editor", command="view"), "read"),
            (called("Grep"), "search"),
            (called("Edit"), "edit"),
            (called("apply_patch"), "edit"),
            (called("str_replace_editor", command="create"), "edit"),
            (called("Bash"), "run"),
            (called("run_shell_command"), "run"),
            (called("Agent"), "delegate"),
        ],
    )
    def test_is_known_by_what_it_does_whatever_it_is_called(self, step: AtifStep, action: str) -> None:
        assert [each for each in Action if reaches(step, action=each)] == [action]

    def test_of_a_tool_that_nobody_knows_does_nothing_in_particular(self) -> None:
        assert not any(reaches(called("mcp__jira__search"), action=each) for each in Action)
        assert reaches(called("mcp__jira__search"), tool="mcp__jira__*")

    @pytest.mark.parametrize(
        ("command", "glob", "fits"),
        [
            ("pytest -q", "pytest*", True),
            ("cd src && pytest -q | tail", "pytest*", True),
            ("cd src\npytest", "pytest", True),
            ("echo pytest", "pytest*", False),
            ("python -m pytest", "*pytest*", True),
            (["bash", "-lc", "make test"], "make test", True),
            (["bash", "-lc", "make test"], "bash -lc*", True),
            (["bash", 3], "bash", True),
            (7, "*", False),
        ],
    )
    def test_is_known_by_its_command(self, command: Any, glob: str, fits: bool) -> None:
        assert reaches(called("Bash", command=command), command=glob) is fits

    def test_of_no_shell_has_no_command(self) -> None:
        assert not reaches(called("str_replace_editor", command="create"), command="create")

    @pytest.mark.parametrize(
        ("arguments", "glob", "fits"),
        [
            ({"file_path": "/workspace/src/a.py"}, "src/*.py", True),
            ({"path": "./src/a.py"}, "src/a.py", True),
            ({"filePath": "src/deep/a.py"}, "src/*", True),
            ({"file_path": "/workspace/tests/a.py"}, "src/*", False),
            ({"file_path": "/workspace/src/a.py.bak"}, "*.py", False),
            ({"paths": ["a", "b"]}, "b", True),
            ({"changes": [{"path": "/w/a.py", "kind": "add"}]}, "a.py", True),
            ({"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n*** End Patch"}, "src/a.py", True),
            ({"content": "*** Update File: src/a.py"}, "src/a.py", False),
            ({"file_path": None, "changes": [3], "paths": "a"}, "*", False),
        ],
    )
    def test_is_known_by_a_file_that_it_names(self, arguments: dict[str, Any], glob: str, fits: bool) -> None:
        assert reaches(called("Edit", **arguments), path=glob) is fits

    def test_must_fit_all_that_is_stated_and_one_of_a_list(self) -> None:
        edit = called("Edit", file_path="src/a.py")

        assert reaches(edit, action="edit", path=["docs/*", "src/*"])
        assert not reaches(edit, action="read", path="src/*")
        assert not reaches(edit, action="edit", path=["docs/*"])

    def test_cannot_be_written_so_that_it_is_looked_at_for_ever(self) -> None:
        hostile = called("Bash", command="a" * 1_000_000)

        assert not reaches(hostile, command="*a*a*a*a*a*a*a*a*a*a*b")


class TestReachedSteps:
    STEPS = (
        {"name": "reproduced", "reached_by": [{"command": "pytest*"}]},
        {"name": "mended", "weight": 3.0, "reached_by": [{"action": "edit", "path": "src/*"}, {"command": "sed -i*"}]},
    )

    def reached(self, *steps: AtifStep) -> frozenset[str] | None:
        return reached_steps(expected(*self.STEPS), steps)

    def test_are_those_that_some_action_shows(self) -> None:
        assert self.reached(called("Bash", command="pytest")) == frozenset({"reproduced"})
        assert self.reached(called("Bash", command="sed -i s/a/b/ x")) == frozenset({"mended"})
        assert self.reached(called("Read", file_path="src/a.py")) == frozenset()

    def test_do_not_count_a_failed_edit_but_a_failed_command(self) -> None:
        assert self.reached(called("Edit", failed=True, file_path="src/a.py")) == frozenset()
        assert self.reached(called("Edit", failed=False, file_path="src/a.py")) == frozenset({"mended"})
        assert self.reached(called("Bash", failed=True, command="pytest")) == frozenset({"reproduced"})

    def test_are_unknown_where_the_task_does_not_say_how_they_are_seen(self) -> None:
        assert reached_steps(expected({"name": "a"}), [called("Bash")]) is None
        assert reached_steps([], [called("Bash")]) is None

    def test_are_unknown_where_the_agent_does_not_show_its_actions(self) -> None:
        shown = read_claude_code(SAMPLE.read_bytes())

        assert shown_steps(shown) == shown.steps
        assert shown_steps(replace(shown, tool_call_count=None)) is None
        assert reached_steps(expected(*self.STEPS), None) is None

    def test_are_none_at_all_for_an_agent_that_did_nothing_and_showed_it(self) -> None:
        assert self.reached() == frozenset()

    def test_leave_out_what_was_copied_for_context(self) -> None:
        copied = AtifStep(
            step_id=1,
            source="agent",
            message="",
            is_copied_context=True,
            tool_calls=called("Bash", command="pytest").tool_calls,
        )

        assert self.reached(copied) == frozenset()

    def test_of_a_real_run_make_its_progress(self) -> None:
        steps = expected(
            {"name": "asked", "reached_by": [{"action": "delegate"}]},
            {"name": "wrote", "weight": 2.0, "reached_by": [{"action": "edit", "path": "hello.txt"}]},
            {"name": "tested", "reached_by": [{"command": "pytest*"}]},
        )

        reached = reached_steps(steps, shown_steps(read_claude_code(SAMPLE.read_bytes())))

        assert reached == frozenset({"asked", "wrote"})
        kept = [Milestone(name=step.name, weight=step.weight, achieved=step.name in reached) for step in steps]
        assert r_prog(kept).value == 0.75


class TestAlignedActions:
    def test_are_equal_calls_with_their_number(self) -> None:
        run = [called("Read"), called("Read"), called("Bash", command="rm x"), called("Bash", command="pytest")]
        goal = [ActionPattern(action=Action.READ)]

        actions = aligned_actions(goal, expected({"name": "t", "reached_by": [{"command": "pytest"}]}), run)

        assert actions == (
            AlignedAction(name="Bash", alignment=0.0, weight=1.0),
            AlignedAction(name="Bash", alignment=1.0, weight=1.0),
            AlignedAction(name="Read", alignment=1.0, weight=2.0),
        )
        assert strategic_drift(actions).value == 0.25

    def test_are_unknown_where_the_task_does_not_describe_its_goal(self) -> None:
        steps = expected({"name": "t", "reached_by": [{"command": "pytest"}]})

        assert aligned_actions([], steps, [called("Read")]) is None

    def test_are_unknown_where_no_action_was_seen(self) -> None:
        goal = [ActionPattern(action=Action.READ)]

        assert aligned_actions(goal, [], None) is None
        assert aligned_actions(goal, [], []) is None


class TestEditFailRate:
    def test_is_the_share_of_edits_that_failed(self) -> None:
        run = [called("Edit", failed=False), called("Write", failed=True), called("Edit"), called("Bash", failed=True)]

        assert edit_fail_rate(record_steps(run)).value == 0.5

    def test_is_unknown_without_an_edit_whose_outcome_is_known(self) -> None:
        assert edit_fail_rate(None).value is None
        assert edit_fail_rate(record_steps([called("Edit"), called("Bash", failed=True)])).value is None

    def test_leaves_out_tools_that_may_only_have_shown_a_file(self) -> None:
        assert edit_fail_rate(record_steps([called("str_replace_editor", failed=True)])).value is None


class TestATaskFile:
    def test_describes_steps_and_the_goal(self) -> None:
        read = settings(
            goal_actions=[{"action": "read"}],
            expected_steps=[{"name": "a", "reached_by": [{"tool": "Bash", "command": ["x*", "y"]}]}],
        )

        assert read.goal_actions == [ActionPattern(action=Action.READ)]
        assert read.expected_steps[0].reached_by == [ActionPattern(tool="Bash", command=["x*", "y"])]

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            ({"goal_actions": [{}]}, "needs at least one of action, tool, command, path"),
            ({"goal_actions": [{"action": "jump"}]}, 'goal_actions[0].action is "jump", which is not one of'),
            ({"goal_actions": [{"comand": "x"}]}, 'did you mean "command"?'),
            ({"goal_actions": [{"path": []}]}, "must be a list of texts, at least one, not an empty list"),
            ({"expected_steps": [{"name": "a"}, {"name": "a"}]}, "have the same name"),
            (
                {"expected_steps": [{"name": "a"}, {"name": "b", "reached_by": [{"tool": "x"}]}]},
                "either all expected_steps say what they are reached_by, or none does",
            ),
        ],
    )
    def test_that_could_not_be_measured_is_refused(self, table: dict[str, Any], words: str) -> None:
        with pytest.raises(UsageError) as refusal:
            settings(**table)

        assert words in str(refusal.value)


def test_every_call_of_a_real_run_is_seen() -> None:
    calls = list(normalized_calls(read_claude_code(SAMPLE.read_bytes()).steps))

    assert [(call.tool, call.action, call.succeeded) for call in calls] == [
        ("Skill", None, True),
        ("Agent", Action.DELEGATE, True),
        ("Bash", Action.RUN, True),
        ("Bash", Action.RUN, False),
        ("Write", Action.EDIT, True),
    ]
