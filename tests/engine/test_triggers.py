"""Trigger cases of a suite: how they are loaded, when a run of one ends, and which skills its answer asks for."""

from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.engine.engine_fixtures import toml_lines, write_task
from tests.engine.model_calls import a_call, an_account

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.engine.setup_check import check_setup, expected_setup
from outweigh.engine.trigger_run import EarlyStop, asked_skills
from outweigh.errors import UsageError
from outweigh.model.failure import Status
from outweigh.model.run_record import ObservedSetup
from outweigh.model.trigger_case import TriggerCase, read_trigger, was_listed, was_used
from outweigh.ports.gateways import MeteredCalls, MeteredSteps
from outweigh.store.store import Store
from outweigh.transcript.atif import AtifStep, AtifToolCall
from outweigh.verdict.policy import check_policy

FIRES, IGNORES = "Write the release notes of version 2.", "Fix the typo."
CASES = {"skill": "changelog", "should_fire": [FIRES], "should_not_fire": [IGNORES]}
SKILL = "---\nname: changelog\ndescription: Writes the release notes of a version.\n---\nBe brief.\n"


def write_triggers(folder: Path, *tables: dict[str, Any], **settings: Any) -> Path:
    (folder / "skills/changelog").mkdir(parents=True)
    (folder / "skills/changelog/SKILL.md").write_text(SKILL)
    scripted = {"agent": "scripted", "options": {"default": {"recall": 1.0, "false_triggers": 0.0}}}
    suite = {
        "name": "triggers",
        "baseline": "plain",
        "repeats": 2,
        "sandbox": {"kind": "local"},
        "triggers": list(tables),
        "arms": {"plain": scripted, "skilled": {**scripted, "skills": ["skills/changelog"]}},
        **settings,
    }
    (folder / "suite.toml").write_text(toml_lines(suite))
    return folder


def load(folder: Path) -> LoadedSuite:
    return load_suite(folder, check_policy=check_policy)


class TestTheSuite:
    def test_has_a_task_for_every_prompt_and_needs_no_other(self, tmp_path: Path) -> None:
        tasks = {task.id: task for task in load(write_triggers(tmp_path / "suite", CASES)).tasks}

        assert list(tasks) == ["changelog-fires-01", "changelog-ignores-01"]
        assert tasks["changelog-fires-01"].instruction == FIRES
        assert tasks["changelog-fires-01"].trigger == TriggerCase(skill="changelog", should_fire=True, prompt=FIRES)
        assert not tasks["changelog-ignores-01"].checks

    def test_counts_on_where_a_skill_has_several_tables(self, tmp_path: Path) -> None:
        more = {"skill": "changelog", "should_fire": ["What changed in version 3?"], "answers": 4}
        tasks = load(write_triggers(tmp_path / "suite", CASES, more)).tasks

        assert [task.id for task in tasks] == ["changelog-fires-01", "changelog-ignores-01", "changelog-fires-02"]
        assert tasks[2].trigger is not None
        assert tasks[2].trigger.answers == 4

    def test_changes_the_checksum_of_a_case_with_its_prompt_its_workspace_and_what_it_expects(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "files").mkdir()
        (tmp_path / "files/README.md").write_text("A typpo.\n")
        tables: list[dict[str, Any]] = [
            {"skill": "changelog", "should_fire": [FIRES]},
            {"skill": "changelog", "should_not_fire": [FIRES]},
            {"skill": "changelog", "should_fire": [FIRES], "answers": 2},
            {"skill": "changelog", "should_fire": [FIRES], "workspace": "../files"},
        ]
        suites = [write_triggers(tmp_path / f"suite-{place}", table) for place, table in enumerate(tables)]

        assert len({load(suite).tasks[0].checksum for suite in suites}) == len(tables)

    @pytest.mark.parametrize(
        ("tables", "said"),
        [
            ([{"skill": "changelog"}], "needs prompts"),
            ([CASES, CASES], "is there twice"),
            ([{**CASES, "workspace": "nowhere"}], "there is no folder"),
            ([{**CASES, "answers": 0}], "answers"),
            ([], "names no task"),
        ],
    )
    def test_refuses_what_cannot_be_meant(self, tmp_path: Path, tables: list[dict[str, Any]], said: str) -> None:
        with pytest.raises(UsageError, match=said):
            load(write_triggers(tmp_path / "suite", *tables))

    def test_leaves_completed_runs_that_say_which_skill_was_asked_for(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_triggers(tmp_path / "suite", CASES)
        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"))
        runs = [run for run in Store.open(tmp_path / "runs").runs() if run.trial.arm == "skilled"]

        assert answer.code == 0
        assert {run.status for run in runs} == {Status.COMPLETED}
        assert {(run.trial.task_id, run.loaded and run.loaded.skills_used) for run in runs} == {
            ("changelog-fires-01", ("changelog",)),
            ("changelog-ignores-01", ()),
        }
        assert {run.checks for run in runs} == {()}

    def test_beside_tasks_refuses_to_stop_at_a_decision(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_triggers(tmp_path / "suite", CASES, tasks=["task-*"])
        write_task(suite / "task-1")
        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "-y", "--until-decided")

        assert answer.code == 2
        assert "trigger cases beside others" in answer.err


class TestEarlyStop:
    def test_ends_the_agent_alone(self) -> None:
        everything = Event()
        stop = EarlyStop(everything)
        stop.stop()

        assert (stop.is_set(), stop.was_stopped, everything.is_set()) == (True, True, False)

    def test_is_set_when_everything_ends_and_that_is_no_early_stop(self) -> None:
        everything = Event()
        stop = EarlyStop(everything)
        stop.set()

        assert (stop.is_set(), stop.was_stopped, everything.is_set()) == (True, False, True)


def an_answer(*calls: tuple[str, dict[str, Any]]) -> MeteredCalls:
    step = AtifStep(
        step_id=1,
        source="agent",
        message="",
        tool_calls=tuple(
            AtifToolCall(tool_call_id=str(place), function_name=name, arguments=arguments)
            for place, (name, arguments) in enumerate(calls)
        ),
    )
    steps = MeteredSteps(count=1, tool_calls=len(calls), steps=(step,))
    return replace(an_account(a_call()), conversation=steps)


class TestWhatAnAnswerAsksFor:
    @pytest.mark.parametrize(
        ("call", "asked"),
        [
            (("Skill", {"skill": "changelog"}), ("changelog",)),
            (("activate_skill", {"name": "changelog"}), ("changelog",)),
            (("shell", {"command": ["bash", "-lc", "cat .agents/skills/changelog/SKILL.md"]}), ("changelog",)),
            (("Read", {"file_path": "/ws/.claude/skills/changelog/SKILL.md"}), ("changelog",)),
            (("Edit", {"file_path": "/ws/.claude/skills/changelog/SKILL.md"}), ()),
            (("Grep", {"pattern": "notes", "path": "/ws/.claude/skills/changelog/SKILL.md"}), ()),
            (("shell", {"command": "cat skills/*/SKILL.md"}), ()),
            (("Read", {"file_path": "/ws/changelog.md"}), ()),
        ],
    )
    def test_is_a_skill_that_is_loaded_or_whose_text_is_read(
        self, call: tuple[str, dict[str, Any]], asked: tuple[str, ...]
    ) -> None:
        assert asked_skills(an_answer(call)) == asked

    def test_is_unknown_where_no_answer_was_complete_or_nothing_was_metered(self) -> None:
        assert asked_skills(None) is None
        assert asked_skills(an_account(a_call())) is None

    def test_a_skill_that_the_agent_lists_and_no_request_tells_the_model_about_does_not_count_as_listed(
        self, tmp_path: Path
    ) -> None:
        suite = load(write_triggers(tmp_path / "suite", CASES))
        arm, expected = suite.arms["skilled"], expected_setup(suite.arms, suite.overlays)
        reported = ObservedSetup(
            skills=("changelog", "built-in"),
            skills_used=(),
            mcp_servers=None,
            tools=None,
            memory_files=None,
            seen_by=("init event",),
        )
        shown = frozenset(name for name in expected.markers if name.startswith("skill "))
        found = [
            check_setup(arm, expected, reported, replace(an_answer(), seen=seen), None, ()).loaded
            for seen in (frozenset[str](), shown)
        ]

        assert [loaded and loaded.skills for loaded in found] == [("built-in",), ("changelog", "built-in")]


class TestTheLabel:
    def test_of_a_skill_in_a_plugin_is_the_skill(self) -> None:
        loaded = ObservedSetup(
            skills=("notes:changelog", "other"),
            skills_used=("notes:changelog",),
            mcp_servers=None,
            tools=None,
            memory_files=None,
            seen_by=(),
        )

        assert (was_used(loaded, "changelog"), was_used(loaded, "other"), was_listed(loaded, "third")) == (
            True,
            False,
            False,
        )
        assert (was_used(None, "changelog"), was_listed(None, "changelog")) == (None, None)

    @pytest.mark.parametrize("label", [7, {"skill": "x"}, {"skill": "", "should_fire": True}, None])
    def test_that_cannot_be_read_makes_no_case(self, label: Any) -> None:
        assert read_trigger(label) is None
