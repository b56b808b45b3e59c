"""Edit a candidate and run again: one command, the same store, the baseline's runs are reused, every version counts."""

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest
from tests.cli.agent_experiment import END, AgentDesk, require_agent
from tests.cli.engines import records
from tests.cli.test_pasted_next_command import next_command
from tests.engine.engine_fixtures import DONE, shell, write_suite
from tests.prerequisites import needs

from outweigh.model.run_record import RunRecord
from outweigh.store.experiment_file import ExperimentFile, read_experiment
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.model_server import ModelServer, Script, Turn

CENT = (
    """printf '{"cost_usd": 0.01, "input_tokens": 10, "output_tokens": 5, "version": "%s"}' "$V" >"$OUTWEIGH_USAGE"; """
)
SOLVED, FAILED = f"V=1; {CENT} echo 42 >answer.txt", f"V=1; {CENT} :"
TASKS, REPEATS = 3, 2


class Loop:
    """A suite with a baseline `none` and a candidate `skill`, its store, and a user who edits and runs again."""

    def __init__(self, folder: Path, outweigh: Any) -> None:
        self.suite, self.store = folder / "suite", folder / "store"
        self.outweigh = outweigh

    def edit(self, line: str = SOLVED, *, baseline: str = FAILED, tasks: int = TASKS, **settings: Any) -> None:
        shutil.rmtree(self.suite, ignore_errors=True)
        known = {"repeats": REPEATS, **settings}
        write_suite(self.suite, {"none": shell(baseline), "skill": shell(line)}, tasks=tasks, **known)

    def run(self, *more: str) -> Any:
        return self.outweigh("run", "-c", str(self.suite), "-o", str(self.store), *more)

    def edit_and_run(self, line: str, **settings: Any) -> Any:
        self.edit(line, **settings)
        ended = self.run()
        assert ended.code == 0, ended.err
        return ended

    def runs(self) -> Counter[str]:
        return Counter(record.trial.arm for record in records(self.store))

    def verdict(self, *more: str) -> Any:
        return self.outweigh("verdict", str(self.store), "--format", "json", *more).json()

    @property
    def experiment(self) -> ExperimentFile:
        found = read_experiment(self.store)
        assert found is not None
        return found

    def rewrite(self, change: Callable[[RunRecord], RunRecord]) -> None:
        """Every record as if it had been another, such as an older one."""
        old = records(self.store)
        (self.store / "runs-engine.jsonl").unlink()
        with FolderRunStore.open(self.store) as store:
            for record in old:
                store.append(change(record))

    def age(self, days: float) -> None:
        def older(record: RunRecord) -> RunRecord:
            assert record.started_at is not None
            return msgspec.structs.replace(record, started_at=record.started_at - timedelta(days=days))

        self.rewrite(older)


@pytest.fixture
def loop(tmp_path: Path, outweigh: Any) -> Loop:
    return Loop(tmp_path, outweigh)


def edited(number: int) -> str:
    return f": edit {number}; {SOLVED}"


FIRST_SKILL = """---
name: answers
description: Knows the answers.
---
The answer is a number.
"""


@pytest.fixture
@needs("agent", "bubblewrap")
def desk(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    return AgentDesk(tmp_path, "claude-sonnet-4-5")


def test_a_skill_of_the_real_agent_is_edited_and_compared_again_in_one_step(desk: AgentDesk, outweigh: Any) -> None:
    """The model copies the skill into its answer, so that what is in the skill decides."""
    plain = {"agent": "claude-code", "model": desk.model}
    arms = {"without-skill": plain, "with-skill": {**plain, "skills": ["skills/answers"]}}
    skill = desk.suite / "skills" / "answers" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(FIRST_SKILL)
    copied = Turn(run="cat .claude/skills/answers/SKILL.md >answer.txt 2>/dev/null || true")
    with ModelServer(Script(turn=[copied, END])) as server:
        desk.write(server, arms, tasks=2)
        assert desk.run("-j", "2").code == 0
        skill.write_text(FIRST_SKILL.replace("a number", "42"))
        dry, ended = desk.run("--dry-run"), desk.run("-j", "2")

    assert "reused: 2 of 4 runs are in the store (without-skill 2). That saves 2 runs, about $" in dry.out
    assert ended.code == 0, ended.err
    passes = {(run.trial.arm, run.checks[0].passed) for run in desk.records() if run.checks}
    assert passes == {("without-skill", False), ("with-skill", False), ("with-skill@2", True)}
    assert len(desk.records()) == 6
    answer = outweigh("verdict", str(desk.store), "--format", "json").json()
    assert (answer["candidate"], answer["baseline"]) == ("with-skill@2", "without-skill")
    assert [each["candidate"] for each in answer["versions"]["earlier"]] == ["with-skill"]
    assert not any("were made by claude-code" in each for each in answer["warnings"]), "it is the same agent"


class TestVersions:
    def test_an_edited_candidate_is_a_new_arm_and_the_baseline_is_not_run_again(self, loop: Loop) -> None:
        loop.edit_and_run(FAILED + " true")
        before = records(loop.store)

        said = loop.edit_and_run(SOLVED).err

        assert loop.runs() == {"none": 6, "skill": 6, "skill@2": 6}
        assert records(loop.store)[: len(before)] == before
        assert "skill has changed: version 2 is kept as skill@2, beside 'skill'." in said
        assert "reused: 6 of 12 runs (none 6); new: skill@2, 6 runs\n" in said

    def test_a_run_of_a_version_says_what_it_spent_and_what_all_versions_cost(self, loop: Loop) -> None:
        first = loop.edit_and_run(edited(1)).err
        second = loop.edit_and_run(edited(2)).err
        third = loop.edit_and_run(edited(3).replace(CENT, "")).err

        assert "result, $0.12 spent\n" in first
        assert "result, $0.06 spent now, $0.18 in this store\n" in second
        unknown = "and 6 attempts have an unknown cost\n"
        assert f"result, an unknown amount spent now, $0.18 in this store, {unknown}" in third

    def test_each_further_edit_is_one_more_version(self, loop: Loop) -> None:
        for number in range(4):
            loop.edit_and_run(edited(number))

        assert loop.runs() == dict.fromkeys(("none", "skill", "skill@2", "skill@3", "skill@4"), 6)
        assert [version.number for version in loop.experiment.versions.values()] == [2, 3, 4]
        assert loop.experiment.candidates == ("skill@4",)

    def test_an_edit_that_is_taken_back_finds_its_runs_again(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))
        before = records(loop.store)

        said = loop.edit_and_run(edited(1)).err

        assert records(loop.store) == before
        assert "12 of 12 trials have a result already" in said
        assert (loop.experiment.candidates, loop.experiment.earlier_candidates) == (("skill",), ("skill@2",))
        assert loop.verdict()["candidate"] == "skill"

    def test_runs_name_the_files_that_they_were_made_with(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        fingerprints = {(run.trial.arm, run.arm_fingerprint) for run in records(loop.store)}
        assert fingerprints == set(loop.experiment.arms.items())
        assert len({fingerprint for _, fingerprint in fingerprints}) == 3

    def test_the_same_suite_again_runs_nothing_and_writes_nothing(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))
        kept = (loop.store / "experiment.json").read_bytes()

        loop.run()

        assert (loop.store / "experiment.json").read_bytes() == kept
        assert sum(loop.runs().values()) == 18

    def test_a_further_arm_is_a_further_candidate(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        arms = {"none": shell(FAILED), "skill": shell(edited(1)), "other": shell(edited(2))}
        shutil.rmtree(loop.suite)
        write_suite(loop.suite, arms, tasks=TASKS, repeats=REPEATS)

        assert loop.run().code == 0
        assert loop.runs() == {"none": 6, "skill": 6, "other": 6}
        assert loop.experiment.candidates == ("skill", "other")

    def test_more_repeats_are_made_of_the_current_version_and_the_baseline(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        assert loop.run("-k", "3").code == 0
        assert loop.runs() == {"none": 9, "skill": 6, "skill@2": 9}

    def test_what_earlier_versions_cost_does_not_use_up_the_budget(self, loop: Loop) -> None:
        """12 runs at a cent each fit; with those of the earlier version they would not."""
        for number in range(3):
            loop.edit(edited(number), limits={"budget_usd": 0.01})
            assert loop.run("--budget", "0.125").code == 0

        assert sum(loop.runs().values()) == 24

    def test_a_version_of_which_nothing_was_run_yet_leaves_no_trace(self, loop: Loop) -> None:
        """Nothing is run in a new store where a task is at fault, so the first arm that runs is the first version."""
        loop.edit(edited(1), task={"checks": [{"type": "file_exists", "name": "there", "path": "question.txt"}]})
        assert loop.run().code != 0
        loop.edit_and_run(edited(2))

        assert loop.runs() == {"none": 6, "skill": 6}
        assert loop.experiment.versions == {}


class TestDryRun:
    def test_it_says_what_is_reused_and_saved_and_writes_nothing(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        kept = (loop.store / "experiment.json").read_bytes()
        loop.edit(edited(2))

        shown = loop.run("--dry-run").out

        assert "skill has changed: version 2 is kept as skill@2, beside 'skill'." in shown
        assert "reused: 6 of 12 runs are in the store (none 6). That saves 6 runs, about $0.06." in shown
        assert "to run: 6" in shown
        assert (loop.store / "experiment.json").read_bytes() == kept

    def test_a_suite_that_the_store_refuses_is_refused_before_it_costs(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit(edited(1), baseline=edited(9))

        refused = loop.run("--dry-run")

        assert refused.code == 2
        assert "arms differ (the baseline 'none' has changed" in refused.err

    def test_a_new_store_reuses_nothing(self, loop: Loop) -> None:
        loop.edit()

        shown = loop.run("--dry-run").out

        assert "12 runs" in shown
        assert "reused" not in shown


class TestOtherExperiments:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"baseline": edited(9)}, "arms differ (the baseline 'none' has changed"),
            (
                {"task": {"checks": [{**DONE, "text": "43"}]}},
                "tasks differ (changed since they were run there: 'task-1', ",
            ),
            ({"tasks": 2}, "tasks differ (run there, and no longer in the suite: 'task-3')"),
            ({"seed": 3}, "seed differ"),
            ({"limits": {"timeout_seconds": 77}}, "sandbox, limits or gateway differ"),
        ],
        ids=["baseline", "task", "fewer tasks", "seed", "limits"],
    )
    def test_what_its_runs_cannot_be_compared_with_is_refused_with_a_way_on(
        self, loop: Loop, change: dict[str, Any], words: str
    ) -> None:
        loop.edit_and_run(edited(1))
        kept = (loop.store / "experiment.json").read_bytes(), records(loop.store)
        loop.edit(edited(2), **change)

        refused = loop.run()

        assert refused.code == 2
        assert "holds another experiment" in refused.err
        assert words in refused.err
        assert f"Name another folder with -o, where --reuse {loop.store} takes over" in refused.err
        assert ((loop.store / "experiment.json").read_bytes(), records(loop.store)) == kept

    def test_the_way_on_reuses_the_baseline_of_unchanged_tasks(self, loop: Loop, tmp_path: Path) -> None:
        loop.edit_and_run(edited(1))
        loop.edit(edited(2))
        (loop.suite / "task-2" / "instruction.md").write_text("Write 42 to answer.txt, and hurry.\n")
        assert "changed since they were run there: 'task-2'" in loop.run().err

        old, loop.store = loop.store, tmp_path / "new"
        ended = loop.run("--reuse", str(old))

        assert ended.code == 0
        assert "4 of 6 runs of none are reused" in ended.err

    def test_of_tasks_that_are_added_only_the_missing_runs_are_made(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))

        said = loop.edit_and_run(edited(1), tasks=4).err

        assert "new tasks: 'task-4'. Only their runs are missing." in said
        assert loop.runs() == {"none": 8, "skill": 8}
        assert loop.verdict()["candidate"] == "skill"

    def test_settings_may_change_as_long_as_the_baseline_has_no_result(self, loop: Loop) -> None:
        loop.edit(edited(1), baseline="exec ./nothing")
        missing = {"none": {"agent": "shell", "options": {"command": ["./nothing"]}}, "skill": shell(edited(1))}
        shutil.rmtree(loop.suite)
        write_suite(loop.suite, missing, tasks=1, repeats=1, limits={"retries": 0})
        assert loop.run().code == 3
        shutil.rmtree(loop.suite)
        missing["skill"] = shell(edited(2))
        write_suite(loop.suite, missing, tasks=1, repeats=1, limits={"retries": 0, "timeout_seconds": 9})

        assert "holds another experiment" not in loop.run().err

    def test_looks_are_planned_before_the_first_version_is_run(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit(edited(2))

        refused = loop.run("--until-decided")

        assert refused.code == 2
        assert "--until-decided plans its looks before the first run" in refused.err


class TestLooks:
    SETTINGS: ClassVar[dict[str, Any]] = {"tasks": 14, "policy": {"gates": ["pass_rate"]}}

    def test_each_version_ends_when_it_is_decided_and_needs_only_its_own_runs(self, loop: Loop) -> None:
        loop.edit(SOLVED, **self.SETTINGS)
        first = loop.run("--until-decided", "-j", "1")
        made = loop.runs()
        loop.edit(edited(2), **self.SETTINGS)

        second = loop.run("--until-decided", "-j", "1")

        assert "decided: " in first.err
        assert "decided: " in second.err
        # A decision may come while the next run is under way, so that one arm has a run more than the other.
        assert abs(made["none"] - made["skill"]) <= 1
        assert made["skill"] < 28
        assert made["skill"] < loop.runs()["skill@2"] < 28, "the second needs clearer evidence than the first"
        assert abs(loop.runs()["none"] - loop.runs()["skill@2"]) <= 1
        assert loop.verdict()["decision"] == "improved"

    def test_a_task_cannot_be_added_to_planned_looks(self, loop: Loop) -> None:
        loop.edit(SOLVED, **self.SETTINGS)
        loop.run("--until-decided")
        loop.edit(SOLVED, **{**self.SETTINGS, "tasks": 15})

        assert "tasks differ (not planned there: 'task-15')" in loop.run().err


class TestReading:
    def test_the_newest_version_is_compared_and_the_others_are_named(self, loop: Loop) -> None:
        loop.edit_and_run(FAILED + " true")
        loop.edit_and_run(SOLVED)

        shown = loop.outweigh("verdict", str(loop.store)).out
        answer = loop.verdict()

        assert "skill@2 against none" in shown
        assert "this is skill@2. Other versions: skill (" in " ".join(shown.split())
        assert (answer["candidate"], answer["baseline"]) == ("skill@2", "none")
        assert answer["versions"]["tried"] == 2
        assert [each["candidate"] for each in answer["versions"]["earlier"]] == ["skill"]

    def test_the_command_that_shows_versions_side_by_side_works_when_it_is_pasted(self, loop: Loop) -> None:
        loop.edit_and_run(FAILED + " true")
        loop.edit_and_run(SOLVED)

        shown = " ".join(loop.outweigh("verdict", str(loop.store)).out.replace("\\\n", " ").split())
        command = f"outweigh verdict {loop.store} --candidate skill --candidate skill@2"
        beside = loop.outweigh(*command.split()[1:], "--format", "json")

        assert command in shown
        assert [each["candidate"] for each in beside.json()["verdicts"]] == ["skill", "skill@2"]

    def test_the_next_command_about_a_second_version_works_when_it_is_pasted(self, loop: Loop) -> None:
        loop.edit_and_run(FAILED + " true")
        loop.edit_and_run(SOLVED)

        command = next_command(loop.outweigh("verdict", str(loop.store)).out)

        assert str(loop.store) in command
        assert loop.outweigh(*command[1:]).code == 0

    def test_the_report_has_all_versions_in_one_table(self, loop: Loop, tmp_path: Path) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))
        page = tmp_path / "report.md"

        loop.outweigh("report", str(loop.store), "-o", str(page))

        text = page.read_text()
        assert "Versions (each of the 2 that were tried counts as a candidate)" in text
        assert "skill@2" in text

    def test_an_earlier_version_can_be_asked_for_by_its_name(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        answer = loop.verdict("--candidate", "skill")

        assert answer["candidate"] == "skill"
        assert "versions" not in answer

    def test_two_versions_can_be_compared_with_each_other(self, loop: Loop) -> None:
        loop.edit_and_run(FAILED + " true")
        loop.edit_and_run(SOLVED)

        answer = loop.verdict("--baseline", "skill", "--candidate", "skill@2")

        assert (answer["baseline"], answer["candidate"]) == ("skill", "skill@2")

    def test_an_improved_earlier_version_does_not_meet_what_is_required_of_the_newest(self, loop: Loop) -> None:
        gates = {"gates": ["pass_rate"]}
        loop.edit_and_run(SOLVED, tasks=8, policy=gates)
        assert loop.outweigh("verdict", str(loop.store), "--require", "improved").code == 0
        loop.edit_and_run(FAILED + " true", tasks=8, policy=gates)

        assert loop.verdict()["versions"]["earlier"][0]["decision"] == "improved"
        assert loop.outweigh("verdict", str(loop.store), "--require", "improved").code != 0

    def test_what_is_enough_for_a_first_version_is_not_enough_for_a_second(self, loop: Loop) -> None:
        """The same outcomes, once as the first candidate that was tried and once as the second."""
        settings = {"tasks": 8, "policy": {"gates": ["pass_rate"]}}
        loop.edit_and_run(SOLVED, **settings)
        first = loop.verdict()["decision"]
        loop.store = loop.store.parent / "other"
        loop.edit_and_run(FAILED + " true", **settings)
        loop.edit_and_run(SOLVED, **settings)

        assert (first, loop.verdict()["decision"]) == ("improved", "inconclusive")
        assert loop.verdict("--candidate", "skill@2")["decision"] == "inconclusive", "naming it alone changes nothing"

    def test_a_verdict_about_a_version_stays_when_others_are_tried(self, loop: Loop) -> None:
        settings: dict[str, Any] = {"tasks": 8, "policy": {"gates": ["pass_rate"]}}
        loop.edit_and_run(SOLVED, **settings)
        before = loop.verdict()
        loop.edit_and_run(edited(2), **settings)
        loop.edit(edited(3), **settings)
        assert loop.run("--fresh-baseline").code == 0
        assert loop.runs()["none"] == 2 * loop.runs()["skill"]

        named = loop.verdict("--candidate", "skill")
        loop.edit_and_run(SOLVED, **settings)
        current = loop.verdict()

        for after in (named, current):
            assert after["candidate"] == "skill"
            parts = ("decision", "gates", "sensitivity")
            assert [after[part] for part in parts] == [before[part] for part in parts]

    def test_an_earlier_version_is_not_promoted(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        refused = loop.outweigh("promote", str(loop.store), "--candidate", "skill")

        assert refused.code == 2
        assert "'skill' is an earlier version; the suite now has 'skill@2'" in refused.err


class TestAge:
    def test_a_baseline_within_its_age_limit_is_reused_with_a_warning(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.age(3)
        loop.edit_and_run(edited(2))

        warnings = " ".join(loop.verdict()["warnings"])
        assert loop.runs()["none"] == 6
        assert "6 runs of none are reused, up to 3.0 days old" in warnings
        assert "`outweigh run --fresh-baseline`" in warnings

    def test_of_a_baseline_beyond_it_half_is_run_anew_and_the_newest_is_compared_with_that(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.age(30)
        loop.edit_and_run(edited(2))

        answer = loop.verdict()
        assert loop.runs() == {"none": 9, "skill": 6, "skill@2": 6}
        assert any(
            "6 reused runs of none are older than 7 days and are left out" in each for each in answer["warnings"]
        )
        loop.run()
        assert loop.runs()["none"] == 9, "the same anchor runs are found again"

    def test_a_dry_run_says_how_old_the_baseline_is_and_what_is_made_anew(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.age(3)
        loop.edit(edited(2))
        young = loop.run("--dry-run").out
        loop.age(27)
        old = loop.run("--dry-run").out

        assert "the runs of none in the store are up to 3.0 days old." in young
        assert "are up to 30.0 days old; 3 are repeated among those of 'skill@2'." in old
        assert "to run: 9" in old

    def test_fresh_runs_are_made_among_those_of_the_new_version(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1), tasks=6)
        loop.age(30)
        loop.edit_and_run(edited(2), tasks=6)

        order = [run.trial.arm for run in records(loop.store)[24:]]
        first, last = order.index("none"), len(order) - 1 - order[::-1].index("none")
        assert "skill@2" in order[first:last]

    def test_without_fresh_runs_an_old_baseline_decides_nothing(self, loop: Loop) -> None:
        gates = {"gates": ["pass_rate"]}
        loop.edit_and_run(FAILED + " true", tasks=14, policy=gates)
        loop.edit_and_run(SOLVED, tasks=14, policy=gates)
        assert loop.verdict()["decision"] == "improved"

        def older(record: RunRecord) -> RunRecord:
            assert record.started_at is not None
            days = 30 if record.trial.arm != "skill@2" else 0
            return msgspec.structs.replace(record, started_at=record.started_at - timedelta(days=days))

        loop.rewrite(older)

        answer = loop.verdict()
        assert answer["decision"] == "inconclusive"
        assert answer["may_promote"] is False

    def test_the_baseline_can_be_run_again_beside_a_new_version(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit(edited(2))
        assert loop.run("--fresh-baseline").code == 0

        warnings = " ".join(loop.verdict()["warnings"])
        assert loop.runs() == {"none": 12, "skill": 6, "skill@2": 6}
        assert "6 reused runs of none are older than 0 days and are left out" in warnings
        assert loop.run("--fresh-baseline").code == 0
        assert loop.runs()["none"] == 12

    @pytest.mark.parametrize("how", ["old", "fresh"])
    def test_a_gain_is_found_over_a_baseline_that_was_run_anew_and_no_run_counts_as_lost(
        self, loop: Loop, how: str
    ) -> None:
        settings: dict[str, Any] = {"tasks": 14, "policy": {"gates": ["pass_rate"]}}
        loop.edit_and_run(FAILED + " true", **settings)
        if how == "old":
            loop.age(30)
        loop.edit(SOLVED, **settings)
        loop.run(*(("--fresh-baseline",) if how == "fresh" else ()))

        answer = loop.verdict()

        assert answer["decision"] == "improved"
        assert not any("lost" in each for each in answer["blockers"])
        assert answer["sensitivity"]["missing_runs"] == 0

    def test_a_version_that_has_runs_cannot_get_a_fresh_baseline_afterwards(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        refused = loop.run("--fresh-baseline")

        assert refused.code == 2
        assert "would not be made beside them" in refused.err

    def test_another_version_of_the_agent_is_told_and_blocks_a_promotion(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2).replace("V=1", "V=2"))

        answer = loop.verdict()

        told = "reused runs of none were made by shell 1, and runs of skill@2 by shell 2"
        assert any(told in each for each in answer["warnings"])
        assert any(told in each for each in answer["blockers"])

    def test_another_model_behind_the_same_name_is_told_and_blocks_a_promotion(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        def other_model(record: RunRecord) -> RunRecord:
            name = "model-2" if record.trial.arm == "skill@2" else "model-1"
            return msgspec.structs.replace(record, agent=msgspec.structs.replace(record.agent, model=name))

        loop.rewrite(other_model)

        told = "reused runs of none were made by shell model-1, and runs of skill@2 by shell model-2"
        assert any(told in each for each in loop.verdict()["blockers"])

    def test_the_same_version_of_the_agent_is_no_reason(self, loop: Loop) -> None:
        loop.edit_and_run(edited(1))
        loop.edit_and_run(edited(2))

        assert not any("were made by shell" in each for each in loop.verdict()["blockers"])
