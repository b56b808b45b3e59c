"""A skill with evals becomes an experiment about the skill, and the agent never sees what is expected of it."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.interop.skill_creator.skills import EVALS, SKILL, a_skill, one_eval

from outweigh.errors import UsageError
from outweigh.interop.skill_creator.suite_reader import SkillCreatorSuiteReader
from outweigh.model.rubric import BinaryCriterion, ScaledCriterion
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader, TaskDraft
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load


class TestContract(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return SkillCreatorSuiteReader()

    def example(self, folder: Path) -> Path:
        checks = [{"type": "file_exists", "path": "report.md"}, {"type": "command", "run": "test -s report.md"}]
        return a_skill(folder / "csv-report", {"evals": [*EVALS, {"prompt": "Go.", "assertions": checks}]})


def read(path: Path, options: SuiteOverrides = SUITE_OVERRIDES) -> SuiteDraft:
    return SkillCreatorSuiteReader().read(path, options)


def only_task(folder: Path, **fields: Any) -> TaskDraft:
    (task,) = read(a_skill(folder, one_eval(**fields))).tasks
    return task


class TestTheExperiment:
    def test_it_is_the_same_agent_without_the_skill_and_with_it(self, tmp_path: Path) -> None:
        suite = write_and_load(
            read(a_skill(tmp_path / "skill"), SuiteOverrides(agent="codex", model="some")), tmp_path / "suite"
        )

        without, with_skill = suite.arms["without_skill"], suite.arms["with_skill"]
        assert suite.spec.baseline == "without_skill"
        assert (without.agent, without.model, without.skills, without.overlay) == ("codex", "some", (), ())
        assert (with_skill.agent, with_skill.model, with_skill.skills) == ("codex", "some", ("csv-report",))
        laid = {file.path: file.executable for file in with_skill.overlay}
        assert laid == {
            ".agents/skills/csv-report/SKILL.md": False,
            ".agents/skills/csv-report/scripts/count.sh": True,
        }

    def test_the_name_in_the_front_matter_is_the_folders(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path / "checkout-of-something"))

        assert draft.spec.name == "csv-report"
        assert "skills/csv-report/SKILL.md" in draft.files

    def test_a_name_that_differs_from_the_evals_is_noted(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path, {"skill_name": "tables", "evals": EVALS}))

        assert any("names the skill 'tables'" in note for note in draft.notes)

    def test_an_agent_without_skills_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="aider does not support skills"):
            read(a_skill(tmp_path), SuiteOverrides(agent="aider", model=None))


class TestWhatTheAgentSees:
    @pytest.mark.parametrize(
        "path",
        [
            "evals/evals.json",
            "evals/notes.md",
            "csv-report-workspace/iteration-1/eval-1/with_skill/outputs/report.md",
            "iteration-2/outputs/report.md",
            "runs/eval-1/outputs/report.md",
            "trigger-evals.json",
            "tests/eval.yaml",
            "references/evals.json",
        ],
    )
    def test_neither_evals_nor_results_are_in_the_copy(self, tmp_path: Path, path: str) -> None:
        skill = a_skill(tmp_path / "skill")
        for name in (path, "runs/eval-1/grading.json"):
            (skill / name).parent.mkdir(parents=True, exist_ok=True)
            (skill / name).write_text("{}") if not (skill / name).exists() else None

        draft = read(skill)

        assert sorted(draft.files) == ["skills/csv-report/SKILL.md", "skills/csv-report/scripts/count.sh"]
        assert any("look up there what is expected" in note and "'runs'" in note for note in draft.notes)

    def test_parts_of_a_skill_that_only_sound_like_evals_stay(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path, scripts__run_eval_dot_py="", references__evaluation_dot_md="", workspace__x_dot_md="")

        kept = {path.removeprefix("skills/csv-report/") for path in read(skill).files}

        assert kept >= {"scripts/run_eval.py", "references/evaluation.md", "workspace/x.md"}

    def test_no_file_of_the_suite_that_an_agent_gets_says_what_is_expected(self, tmp_path: Path) -> None:
        suite = write_and_load(read(a_skill(tmp_path / "skill")), tmp_path / "suite")

        laid = b"".join(suite.overlays.values())
        instructions = "".join(task.instruction for task in suite.tasks)
        workspaces = [
            path.read_text() for path in (tmp_path / "suite").glob("tasks/*/environment/**/*") if path.is_file()
        ]
        for secret in ("names every column", "report of three sentences"):
            assert secret.encode() not in laid
            assert secret not in instructions + "".join(workspaces)


class TestWhatIsExpected:
    def test_each_expectation_is_a_question_to_the_judge(self, tmp_path: Path) -> None:
        rubric = read(a_skill(tmp_path)).tasks[0].settings.rubric

        assert rubric is not None
        assert [(type(each), each.description) for each in rubric.criteria] == [
            (BinaryCriterion, "The report names every column."),
            (BinaryCriterion, "The report says how many rows there are."),
        ]
        assert rubric.notes == "What its author expects as a whole: A report of three sentences."

    def test_an_outcome_that_nobody_took_apart_is_a_scale(self, tmp_path: Path) -> None:
        rubric = read(a_skill(tmp_path)).tasks[1].settings.rubric

        assert rubric is not None
        (criterion,) = rubric.criteria
        assert isinstance(criterion, ScaledCriterion)
        assert "It asks for a file." in criterion.description

    @pytest.mark.parametrize(
        "said",
        [
            {"expectations": ["It is short."]},
            {"assertions": [{"id": "a1", "text": "It is short."}]},
            {"assertions": [{"name": "short", "description": "It is short."}]},
            {"assertions": [{"type": "llm", "text": "It is short."}]},
            {"expected_behavior": ["It is short."]},
            {"scorers": [{"type": "llm_judge", "name": "short", "criterion": "It is short."}]},
            {"evaluation_criteria": {"short": "It is short."}},
            {"rubric": [{"dimension": "length", "pass_if": "It is short."}]},
        ],
    )
    def test_dialects_that_say_the_same_ask_the_same(self, tmp_path: Path, said: dict[str, Any]) -> None:
        rubric = only_task(tmp_path, **said).settings.rubric

        assert rubric is not None
        assert [each.description for each in rubric.criteria] == ["It is short."]

    def test_equal_expectations_are_told_apart(self, tmp_path: Path) -> None:
        rubric = only_task(tmp_path, expectations=["Short.", "Short!", "short"]).settings.rubric

        assert rubric is not None
        assert [each.name for each in rubric.criteria] == ["short", "short-2", "short-3"]

    def test_only_sentences_leave_the_decision_to_a_judge_that_is_there(self, tmp_path: Path) -> None:
        spec = read(a_skill(tmp_path)).spec

        assert spec.policy.gates == ["judge_score"]
        assert [judge.backend for judge in spec.judges] == ["claude-cli"]

    def test_where_every_eval_has_a_check_the_usual_rule_decides(self, tmp_path: Path) -> None:
        check = {"type": "file_exists", "path": "report.md"}
        spec = read(a_skill(tmp_path, one_eval(assertions=[check, "It is short."]))).spec

        assert spec.policy.gates is None
        assert [judge.name for judge in spec.judges] == ["reviewer"]

    def test_where_some_evals_can_only_be_judged_the_others_are_judged_by_their_checks(self, tmp_path: Path) -> None:
        checked = {"id": "checked", "prompt": "Do.", "assertions": [{"type": "file_exists", "path": "report.md"}]}
        spoken = {"id": "spoken", "prompt": "Say.", "expectations": ["It is short."]}
        draft = read(a_skill(tmp_path, [checked, spoken]))

        rubrics = {task.name: task.settings.rubric for task in draft.tasks}

        assert draft.spec.policy.gates == ["judge_score"]
        assert {name: [each.name for each in rubric.criteria] for name, rubric in rubrics.items() if rubric} == {
            "checked": ["checks"],
            "spoken": ["it-is-short"],
        }
        assert any("'checked' had nothing to be judged by" in note for note in draft.notes)

    @pytest.mark.parametrize(
        ("prompt", "calls"),
        [
            ("/csv-report sales.csv", True),
            ("Now use the CSV-Report skill on sales.csv", True),
            ("Use skill `csv-report`.", True),
            ("Write a csv-report of sales.csv", False),
            ("Look at docs/csv-report.md", False),
            ("/csv-reporter sales.csv", False),
        ],
    )
    def test_prompts_that_call_the_skill_are_noted(self, tmp_path: Path, prompt: str, calls: bool) -> None:
        notes = read(a_skill(tmp_path, one_eval(prompt=prompt))).notes

        assert any("call the skill by its name" in note for note in notes) is calls

    def test_blank_places_and_equal_ids_leave_notes_that_can_be_read(self, tmp_path: Path) -> None:
        twins = [{"id": 1, "prompt": "/csv-report x", "expectations": ["", None, "It is short."]}] * 2

        notes = read(a_skill(tmp_path, twins)).notes

        assert notes[:1] == (
            "The prompts of 'eval-1', 'eval-1-2' call the skill by its name, which means nothing to without_skill.",
        )

    def test_where_checks_say_it_all_nobody_judges(self, tmp_path: Path) -> None:
        check = {"type": "file_exists", "path": "report.md"}
        spec = read(a_skill(tmp_path, one_eval(assertions=[check], expected_output=""))).spec

        assert spec.judges == []

    def test_an_outcome_in_words_is_judged_beside_the_checks(self, tmp_path: Path) -> None:
        settings = only_task(tmp_path, assertions=[{"type": "file_exists", "path": "report.md"}]).settings

        assert len(settings.checks) == 1
        assert settings.rubric is not None
        assert [criterion.name for criterion in settings.rubric.criteria] == ["as-expected"]

    def test_what_nobody_understands_is_noted(self, tmp_path: Path) -> None:
        draft = read(
            a_skill(tmp_path, one_eval(assertions=["Short.", {"type": "tool_call", "tool": "Bash"}, 7], tags=[]))
        )

        assert sum("the meaning of this assertion is unknown" in note for note in draft.notes) == 2
        assert any("`tags` of its evals (once)" in note for note in draft.notes)


class TestInputs:
    @pytest.mark.parametrize(
        ("prompt", "place"),
        [
            ("Look at data/sales.csv.", "data/sales.csv"),
            ("Look at `evals/files/sales.csv`.", "evals/files/sales.csv"),
            ("Look at sales.csv.", "sales.csv"),
            ("Look at /tmp/sales.csv.", "sales.csv"),
            ("Look at ../secret/sales.csv.", "sales.csv"),
        ],
    )
    def test_a_file_lies_where_the_prompt_looks_for_it(self, tmp_path: Path, prompt: str, place: str) -> None:
        task = only_task(tmp_path, prompt=prompt, files=["evals/files/sales.csv"])

        assert list(task.files) == [f"environment/workspace/{place}"]
        assert task.instruction == prompt

    def test_a_file_that_the_prompt_does_not_name_is_named_to_the_agent(self, tmp_path: Path) -> None:
        task = only_task(tmp_path, prompt="Sum it up.", files=["evals/files/sales.csv"])

        assert task.instruction == "Sum it up.\n\nInput files, in the current folder: `sales.csv`"

    @pytest.mark.parametrize(
        "stated", ["evals/files/sales.csv", "files/sales.csv", "sales.csv", "evals\\files\\sales.csv"]
    )
    def test_paths_are_meant_from_the_skill_or_from_the_evals(self, tmp_path: Path, stated: str) -> None:
        (file,) = only_task(tmp_path, files=[stated]).files.values()

        assert file.content == b"month,revenue\n1,10\n"

    def test_a_folder_is_taken_whole(self, tmp_path: Path) -> None:
        task = only_task(tmp_path, files=["evals/files"])

        assert [path.rpartition("/")[2] for path in task.files] == ["sales.csv"]

    @pytest.mark.parametrize("raw", [{"a/b.txt": "x"}, [{"path": "a/b.txt", "content": "x"}]])
    def test_a_file_may_come_with_its_content(self, tmp_path: Path, raw: Any) -> None:
        task = only_task(tmp_path, files=raw)

        assert {path: file.content for path, file in task.files.items()} == {"environment/workspace/a/b.txt": b"x"}

    @pytest.mark.parametrize(
        "stated",
        [
            "../outside.txt",
            "/etc/passwd",
            "evals/../../outside.txt",
            "..\\outside.txt",
            {"path": "../x", "content": ""},
        ],
    )
    def test_an_eval_that_reaches_out_of_the_skill_is_left_out(self, tmp_path: Path, stated: Any) -> None:
        skill = a_skill(tmp_path / "skill", {"evals": [*EVALS, {**EVALS[0], "id": 9, "files": [stated]}]})
        (tmp_path / "outside.txt").write_text("secret")

        draft = read(skill)

        assert len(draft.tasks) == 2
        assert any("eval 9 was left out" in note and "leads out" in note for note in draft.notes)

    def test_a_link_out_of_the_skill_is_refused(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path / "skill")
        (skill / "link").symlink_to(tmp_path)

        with pytest.raises(UsageError, match="'link' leads out"):
            read(skill)

    def test_a_file_that_is_not_there_leaves_its_eval_out(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path, {"evals": [*EVALS, {**EVALS[0], "id": 9, "files": ["none.csv"]}]}))

        assert len(draft.tasks) == 2
        assert "eval 9 was left out: its file 'none.csv' is not there." in draft.notes

    @pytest.mark.parametrize("stated", ["evals/evals.json", "evals", "."])
    def test_the_evals_themselves_are_nobodys_input(self, tmp_path: Path, stated: str) -> None:
        draft = read(a_skill(tmp_path, {"evals": [*EVALS, {**EVALS[1], "files": [stated]}]}))

        laid = [path for task in draft.tasks for path in task.files]
        assert not any(path.endswith(("evals.json", "SKILL.md")) for path in laid)

    def test_a_part_of_the_skill_is_an_input_only_where_the_prompt_asks_for_it(self, tmp_path: Path) -> None:
        files = ["SKILL.md", "scripts/count.sh"]
        cases = [
            {"id": "named", "prompt": "Mend scripts/count.sh, see SKILL.md.", "expected_output": "x", "files": files},
            {"id": "unnamed", "prompt": "Mend it.", "expected_output": "x", "files": files},
        ]

        draft = read(a_skill(tmp_path, cases))

        assert [list(task.files) for task in draft.tasks] == [["environment/workspace/scripts/count.sh"], []]
        assert draft.notes[:3] == (
            "named: 'scripts/count.sh', a part of the skill, is input, so without_skill has it too.",
            "named: 'SKILL.md', a part of the skill, comes with the skill only.",
            "unnamed: 'SKILL.md', 'scripts/count.sh', a part of the skill, comes with the skill only.",
        )

    def test_a_part_of_the_skill_is_known_however_it_is_named(self, tmp_path: Path) -> None:
        aside = read(a_skill(tmp_path / "aside", one_eval(files=["evals/../scripts/count.sh"])))
        home = tmp_path / "home"
        a_skill(home / "skills" / "csv-report", evals=False)
        (home / "evals").mkdir()
        stated = {"skill_name": "csv-report", **one_eval(files=["skills/csv-report/scripts/count.sh"])}
        (home / "evals" / "evals.json").write_text(json.dumps(stated))

        for draft in (aside, read(home)):
            assert draft.tasks[0].files == {}
            assert "a part of the skill, comes with the skill only." in draft.notes[0]

    def test_a_file_whose_content_is_stated_is_no_part_of_the_skill(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path, one_eval(files={"scripts/count.sh": "mine\n"})))

        assert draft.tasks[0].files["environment/workspace/scripts/count.sh"].content == b"mine\n"


class TestHostileInput:
    @pytest.mark.parametrize("depth", [100, 900, 5_000])
    @pytest.mark.parametrize(
        "frame",
        [
            '{"evals": [{"prompt": "x", "expected_output": "y", "files": [%s]}]}',
            '{"evals": [{"prompt": "x", "expectations": ["y", %s]}]}',
            '{"evals": [{"prompt": "x", "assertions": [{"type": "json", "path": "a", "at": "b", "equals": %s}, "y"]}]}',
            '{"evals": [{"prompt": "x", "expected_output": "y", "extra": %s}]}',
            '{"evals": %s}',
        ],
    )
    def test_nesting_without_end_is_a_note_or_a_sentence(self, tmp_path: Path, frame: str, depth: int) -> None:
        skill = a_skill(tmp_path / "skill")
        (skill / "evals/evals.json").write_text(frame % ("[" * depth + "]" * depth))

        with suppress(UsageError):
            assert len(write_and_load(read(skill), tmp_path / "suite").tasks) == 1

    def test_words_of_any_kind_survive(self, tmp_path: Path) -> None:
        odd = 'x """ \\ \t \u2028 \x7f \x1b[31m 🙂 \n end\\'
        draft = read(a_skill(tmp_path / "skill", one_eval(prompt=odd, expectations=[odd], name=odd)))

        (task,) = write_and_load(draft, tmp_path / "suite").tasks

        assert task.rubric is not None
        assert task.rubric.criteria[0].description == odd
        assert task.instruction == f"{odd}\n"


class TestNames:
    def test_ids_may_be_numbers_words_repeated_or_missing(self, tmp_path: Path) -> None:
        cases = [{**EVALS[1], "id": known} for known in (1, 1, "Fill the form", "../../etc", None, True)]
        cases.append({**EVALS[1], "id": 4, "name": "By Name"})

        draft = read(a_skill(tmp_path / "skill", {"evals": cases}))

        names = [task.name for task in draft.tasks]
        assert names == ["eval-1", "eval-1-2", "fill-the-form", "etc", "eval-5", "eval-6", "by-name"]
        assert len(write_and_load(draft, tmp_path / "suite").tasks) == 7


class TestPlaces:
    def test_the_evals_file_itself_may_be_named(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path)

        assert SkillCreatorSuiteReader().recognises(skill / "evals/evals.json")
        assert read(skill / "evals/evals.json") == read(skill) == read(skill / "evals")

    @pytest.mark.parametrize("evals", ["evals/evals.json", "evals/csv-report/evals.json"])
    def test_evals_of_a_project_find_the_skill_that_they_name(self, tmp_path: Path, evals: str) -> None:
        for name in ("csv-report", "other"):
            (tmp_path / "skills" / name).mkdir(parents=True)
            (tmp_path / "skills" / name / "SKILL.md").write_text(SKILL)
        (tmp_path / evals).parent.mkdir(parents=True)
        (tmp_path / evals).write_text(json.dumps({"skill_name": "csv-report", "evals": EVALS[1:]}))

        draft = read(tmp_path / evals)

        assert list(draft.files) == ["skills/csv-report/SKILL.md"]

    def test_a_list_at_the_top_is_read(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path, EVALS)

        assert SkillCreatorSuiteReader().recognises(skill)
        assert len(read(skill).tasks) == 2

    @pytest.mark.parametrize("key", ["evals", "test_cases", "cases"])
    def test_the_list_has_several_names(self, tmp_path: Path, key: str) -> None:
        assert len(read(a_skill(tmp_path, {"skill_name": "csv-report", key: EVALS})).tasks) == 2

    def test_a_skill_without_evals_is_told_how_to_come_by_them(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path, False)

        assert not SkillCreatorSuiteReader().recognises(skill)
        with pytest.raises(UsageError, match=r"a skill without evals\. Write .*evals/evals\.json.*`outweigh init DIR`"):
            read(skill)

    def test_evals_without_a_skill_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "evals.json").write_text(json.dumps(EVALS))

        with pytest.raises(UsageError, match="has no skill beside it"):
            read(tmp_path / "evals.json")

    @pytest.mark.parametrize("evals", [{"evals": []}, {"evals": {}}, [], {}, 7, "x", None])
    def test_no_evals_at_all_are_refused(self, tmp_path: Path, evals: Any) -> None:
        skill = a_skill(tmp_path)
        (skill / "evals/evals.json").write_text(json.dumps(evals))

        with pytest.raises(UsageError, match="has no evals"):
            read(skill)

    def test_evals_of_which_none_can_be_run_are_refused_with_reasons(self, tmp_path: Path) -> None:
        cases = [{"id": 1}, {"id": 2, "prompt": "Do it."}, 3, {"query": "x"}]

        with pytest.raises(UsageError, match=r"none of its evals can be run\. eval 1 was left out: it has no prompt\."):
            read(a_skill(tmp_path, cases))


class TestTriggerEvals:
    LIST = (
        {"query": "What is in sales.csv?", "should_trigger": True},
        {"query": "Rename sales.csv.", "should_trigger": False},
    )

    def test_beside_evals_become_trigger_cases_of_the_same_suite(self, tmp_path: Path) -> None:
        skill = a_skill(tmp_path / "skill", **{"evals__trigger-eval_dot_json": json.dumps(self.LIST)})
        suite = write_and_load(read(skill), tmp_path / "suite")

        assert [task.id for task in suite.tasks if task.trigger is not None] == [
            "csv-report-fires-01",
            "csv-report-ignores-01",
        ]
        assert sum(task.trigger is None for task in suite.tasks) == len(EVALS)

    @pytest.mark.parametrize("form", ["list", "evals", "queries"])
    def test_alone_make_a_suite_that_asks_nothing_else(self, tmp_path: Path, form: str) -> None:
        document = list(self.LIST) if form == "list" else {form: self.LIST}
        skill = a_skill(tmp_path / "skill", False, **{"trigger_evals_dot_json": json.dumps(document)})
        suite = write_and_load(read(skill), tmp_path / "suite")

        assert SkillCreatorSuiteReader().recognises(skill)
        assert SkillCreatorSuiteReader().recognises(skill / "trigger_evals.json")
        assert [task.instruction for task in suite.tasks] == ["What is in sales.csv?", "Rename sales.csv."]
        assert not any("trigger_evals" in file.path for file in suite.arms["with_skill"].overlay)

    def test_of_agent_crucible_are_read_and_its_tasks_are_named_as_left_out(self, tmp_path: Path) -> None:
        """`crucible init` writes both files beside a skill; the second form of the first is a bare list."""
        cases = "".join(
            f"  - id: case-{number}\n    prompt: {json.dumps(case['query'])}\n"
            f"    should_trigger: {json.dumps(case['should_trigger'])}\n"
            for number, case in enumerate(self.LIST)
        )
        skill = a_skill(
            tmp_path / "skill",
            False,
            evals__triggers_dot_yaml=f"# Trigger cases\ncases:\n{cases}",
            **{"evals__task-001_dot_yaml": "id: task-001\nprompt: Work.\nassertions: []\n"},
        )
        draft = read(skill)
        suite = write_and_load(draft, tmp_path / "suite")

        assert SkillCreatorSuiteReader().recognises(skill)
        assert [task.instruction for task in suite.tasks] == ["What is in sales.csv?", "Rename sales.csv."]
        assert [task.trigger.should_fire for task in suite.tasks if task.trigger is not None] == [True, False]
        assert any("left out: 'task-001.yaml'" in note for note in draft.notes)

    @pytest.mark.parametrize(
        ("file", "content", "reason"),
        [
            ("evals__triggers_dot_yaml", "cases:\n  - prompt: 'open\n", "triggers.yaml is not valid YAML"),
            ("trigger_evals_dot_json", '[{"query": "x"', "trigger_evals.json is not valid JSON"),
        ],
    )
    @pytest.mark.parametrize("evals", [False, {"evals": EVALS}])
    def test_that_cannot_be_parsed_are_refused_and_not_passed_by(
        self, tmp_path: Path, file: str, content: str, reason: str, evals: Any
    ) -> None:
        skill = a_skill(tmp_path / "skill", evals, **{file: content})

        with pytest.raises(UsageError, match=reason):
            read(skill)

    def test_among_the_evals_are_no_tasks(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path, {"evals": [*EVALS, *self.LIST]}))

        assert len(draft.tasks) == len(EVALS)
        assert [len(each.should_fire) for each in draft.spec.triggers] == [1]

    def test_that_contradict_each_other_are_refused(self, tmp_path: Path) -> None:
        twice = [self.LIST[0], {**self.LIST[0], "should_trigger": False}]

        with pytest.raises(UsageError, match="should and should not"):
            read(a_skill(tmp_path, **{"trigger_evals_dot_json": json.dumps(twice)}))

    def test_of_one_kind_only_are_noted(self, tmp_path: Path) -> None:
        draft = read(a_skill(tmp_path, **{"trigger_evals_dot_json": json.dumps(self.LIST[:1])}))

        assert any("should not make the skill fire" in note for note in draft.notes)
