from pathlib import Path
from threading import Event

import msgspec
import pytest
from tests.engine.fake_sandboxes import BrokenSandboxes, Copies, RecordedSandboxes

from outweigh.engine.load_suite import load_suite
from outweigh.engine.preflight import PreflightContext, preflight
from outweigh.model.preflight_result import (
    FindingKind,
    PreflightResult,
    findings_after_solution,
    findings_before_work,
)
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.testing.builders import a_check
from outweigh.testing.sandbox_fixtures import COMMAND_TIMEOUT_SECONDS
from outweigh.verdict.policy import check_policy

SUITE = 'name = "s"\ntasks = ["task"]\nbaseline = "a"\n[arms.a]\nagent = "noop"\n[arms.b]\nagent = "oracle"\n'
DONE = '{ type = "file_contains", name = "done", path = "answer.txt", text = "42" }'


class Trial:
    """A task to be tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sandboxes = RecordedSandboxes()
        self.write("suite.toml", SUITE)
        self.write("task/instruction.md", "Answer.")
        self.write("task/environment/question.txt", "6 x 7")
        (folder / "scratch").mkdir()

    def write(self, path: str, content: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def load(self, checks: str, rubric: str = "") -> Task:
        self.write("task/task.toml", f"[metadata.outweigh]\nchecks = [{checks}]\n{rubric}")
        (task,) = load_suite(self.folder, check_policy=check_policy).tasks
        return task

    def run(
        self,
        checks: str,
        solution: str | None = None,
        sandboxes: SandboxProvider | None = None,
        solution_timeout_seconds: float = COMMAND_TIMEOUT_SECONDS,
        *,
        rubric: str = "",
        judged: bool = False,
    ) -> PreflightResult:
        if solution is not None:
            self.write("task/solution/solve.sh", solution)
        premises = PreflightContext(
            sandboxes=sandboxes or self.sandboxes,
            workspaces=Copies(),
            scratch=self.folder / "scratch",
            sandbox=SandboxSpec(),
            label="engine",
            solution_timeout_seconds=solution_timeout_seconds,
            cancel=Event(),
            judged=judged,
        )
        return preflight(self.load(checks, rubric), premises)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def kinds(result: PreflightResult) -> list[FindingKind]:
    return [finding.kind for finding in result.findings]


def test_a_task_that_fails_untouched_and_passes_when_solved_is_fit(trial: Trial) -> None:
    result = trial.run(DONE, solution="#!/bin/sh\necho 42 > answer.txt\n")

    assert result.findings == ()
    assert result.fit
    assert result.untouched is not None
    assert result.oracle is not None
    assert [check.passed for check in (*result.untouched, *result.oracle)] == [False, True]


def test_a_task_that_passes_with_no_work_is_vacuous(trial: Trial) -> None:
    result = trial.run('{ type = "command", name = "runs", run = "true" }', solution="true\n")

    assert kinds(result) == [FindingKind.PASSES_UNTOUCHED]
    assert result.vacuous
    assert not result.fit
    assert "'runs'" in result.findings[0].message


@pytest.mark.parametrize("checks", ["", '{ type = "command", name = "c", run = "false", required = false }'])
def test_a_task_without_a_required_check_is_vacuous(trial: Trial, checks: str) -> None:
    result = trial.run(checks, solution="true\n")

    assert kinds(result) == [FindingKind.NO_REQUIRED_CHECK]
    assert result.vacuous


RUBRIC = '[[metadata.outweigh.rubric.criteria]]\ntype = "binary"\nname = "right"\ndescription = "It is 42."\n'


def test_a_task_with_a_rubric_needs_no_checks_in_a_suite_with_judges(trial: Trial) -> None:
    result = trial.run("", rubric=RUBRIC, judged=True)

    assert kinds(result) == [FindingKind.ONLY_JUDGED, FindingKind.NO_SOLUTION]
    assert result.fit


def test_a_rubric_without_judges_does_not_make_up_for_missing_checks(trial: Trial) -> None:
    result = trial.run("", rubric=RUBRIC, judged=False)

    assert not result.fit
    assert "name [[judges]] in the suite" in result.findings[0].message


def test_a_check_that_passes_early_is_noted_but_a_guard_is_not(trial: Trial) -> None:
    guard = '{ type = "unchanged", name = "guard", paths = ["question.txt"] }'
    builds = '{ type = "command", name = "builds", run = "true" }'

    result = trial.run(f"{DONE}, {guard}, {builds}", solution="echo 42 > answer.txt\n")

    assert kinds(result) == [FindingKind.CHECK_PASSES_UNTOUCHED]
    assert "'builds'" in result.findings[0].message
    assert "guard" not in result.findings[0].message
    assert result.fit


def test_a_solution_that_does_not_pass_blocks_the_task(trial: Trial) -> None:
    result = trial.run(DONE, solution="echo 41 > answer.txt\n")

    assert kinds(result) == [FindingKind.SOLUTION_FAILS]
    assert not result.fit
    assert "does not contain the text '42'" in result.findings[0].message


@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        (
            "echo first >&2; echo the file is missing >&2; echo done",
            "The last line that check 'verifier' printed: the file is missing",
        ),
        ("echo only this", "The last line that check 'verifier' printed: only this"),
        ('echo \\"curl: (6) Could not resolve host: example.org\\"', "there is no network while a task runs"),
        ("echo \\\"wget: bad address 'example.org'\\\" >&2", "there is no network while a task runs"),
    ],
)
def test_a_check_that_fails_after_the_solution_is_quoted(trial: Trial, printed: str, advice: str) -> None:
    verifier = f'{{ type = "reward", name = "verifier", run = "{printed}; exit 4" }}'

    result = trial.run(verifier, solution="true\n")

    assert advice in " ".join(finding.message for finding in result.findings)
    assert not result.fit


def test_output_of_checks_that_pass_is_not_quoted(trial: Trial) -> None:
    loud = '{ type = "command", name = "loud", run = "echo Could not resolve host; grep -q 42 answer.txt" }'

    result = trial.run(loud, solution="echo 42 > answer.txt\n")

    assert result.findings == ()


def test_a_solution_whose_script_fails_blocks_the_task(trial: Trial) -> None:
    result = trial.run(DONE, solution="echo 42 > answer.txt; echo oops >&2; exit 3\n")

    assert kinds(result)[0] is FindingKind.SOLUTION_FAILS
    assert "exit code 3 and said: oops" in result.findings[0].message


def test_a_solution_that_does_not_end_blocks_the_task(trial: Trial) -> None:
    result = trial.run(DONE, solution="sleep 600\n", solution_timeout_seconds=0.5)

    assert kinds(result)[0] is FindingKind.SOLUTION_FAILS
    assert "was timed out" in result.findings[0].message


def test_a_task_without_a_solution_can_run_and_is_noted_as_not_shown_solvable(trial: Trial) -> None:
    result = trial.run(DONE)

    assert (kinds(result), result.oracle, result.fit) == ([FindingKind.NO_SOLUTION], None, True)


def test_a_flaky_check_blocks_the_task(trial: Trial) -> None:
    count = trial.folder / "count"
    flaky = f'{{ type = "command", name = "flaky", run = "echo x >> {count}; test $(wc -l < {count}) -gt 1" }}'

    result = trial.run(f"{flaky}, {DONE}", solution="echo 42 > answer.txt\n")

    assert FindingKind.UNSTABLE in kinds(result)
    assert not result.fit


def test_a_reward_that_only_the_solution_earns_is_no_finding(trial: Trial) -> None:
    reward = '{ type = "reward", name = "r", run = "cat answer.txt && echo 1 > $OUTWEIGH_REWARD" }'

    result = trial.run(reward, solution="echo 42 > answer.txt\n")

    assert kinds(result) == []


def test_a_check_that_cannot_be_evaluated_yet_is_noted(trial: Trial) -> None:
    task, unknown = trial.load(DONE), (a_check("done", passed=None),)

    (found,) = findings_before_work(task, unknown, unknown, judged=False)

    assert (found.kind, found.blocking) == (FindingKind.NOT_EVALUATED, False)


REPORT_SCRIPT = """
{ echo "<testsuite>"; sed "s:.*:<testcase name='&'/>:" "$1"; echo "</testsuite>"; } > report.xml
test -e answer.txt
"""


def report_check(trial: Trial, cases: str) -> str:
    """A test suite that reports the cases which a file of the workspace lists."""
    trial.write("task/tests/run.sh", REPORT_SCRIPT)
    return f'{{ type = "tests", name = "t", report = "report.xml", run = "sh $OUTWEIGH_TESTS/run.sh {cases}" }}'


def test_the_cases_that_the_solved_task_reports_are_kept(trial: Trial) -> None:
    trial.write("task/environment/cases.txt", "a\nb\nb\n")

    result = trial.run(report_check(trial, "cases.txt"), solution="echo 42 > answer.txt\n")

    assert result.case_names == {"t": ("a", "b", "b")}
    assert result.findings == ()


def test_cases_that_differ_from_run_to_run_are_not_expected(trial: Trial) -> None:
    trial.write("task/environment/cases.txt", "a\n")

    result = trial.run(
        f"{report_check(trial, 'cases.txt')}, {{ type = 'command', name = 'more', run = 'echo b >> cases.txt' }}",
        solution="echo 42 > answer.txt\n",
    )

    assert result.case_names == {"t": ("a",)}


def test_tests_that_the_solution_wrote_are_not_expected_of_others(trial: Trial) -> None:
    trial.write("task/environment/test_cases.txt", "a\n")

    result = trial.run(
        report_check(trial, "test_cases.txt"), solution="echo 42 > answer.txt; echo b >> test_cases.txt\n"
    )

    assert result.case_names == {"t": ("a",)}


def test_without_a_solution_the_names_of_the_tests_are_unknown_and_that_is_said(trial: Trial) -> None:
    trial.write("task/environment/cases.txt", "a\n")

    result = trial.run(report_check(trial, "cases.txt"))

    assert FindingKind.NAMES_UNKNOWN in kinds(result)
    assert result.fit
    assert result.case_names == {}


def test_no_other_names_are_expected_of_a_check_that_names_the_tests_that_must_pass(trial: Trial) -> None:
    report = "<testsuite><testcase name='a'/></testsuite>"
    run = f'run = ["sh", "-c", "test ! -e answer.txt || echo \\"{report}\\" > out.xml"]'
    named = f'{{ type = "tests", name = "t", {run}, report = "out.xml", must_pass = ["a"] }}'

    unsolved = trial.run(named)
    solved = trial.run(named, solution="#!/bin/sh\necho 42 > answer.txt\n")

    assert kinds(unsolved) == [FindingKind.NO_SOLUTION]
    assert kinds(solved) == []
    assert solved.case_names == {}


def test_a_check_that_could_not_be_evaluated_is_noted(trial: Trial) -> None:
    solved = trial.run(DONE, solution="echo 42 > answer.txt\n").oracle
    assert solved is not None

    optional = tuple(msgspec.structs.replace(check, required=False, passed=None) for check in solved)

    assert [finding.kind for finding in findings_after_solution(optional, None)] == [FindingKind.NOT_EVALUATED]


def test_a_sandbox_that_cannot_start_is_a_finding(trial: Trial) -> None:
    result = trial.run(DONE, sandboxes=BrokenSandboxes())

    assert kinds(result) == [FindingKind.SANDBOX_FAILED]
    assert (result.untouched, result.noop, result.oracle, result.fit) == (None, None, None, False)
    assert "no sandbox today" in result.findings[0].message


def test_the_solution_finds_its_own_files_and_they_are_gone_when_checks_come(trial: Trial) -> None:
    trial.write("task/solution/answer", "42")
    hidden = '{ type = "command", name = "hidden", run = "! ls -A | grep -q solution" }'

    result = trial.run(f"{DONE}, {hidden}", solution='cp "$OUTWEIGH_SOLUTION/answer" answer.txt\n')

    assert result.oracle is not None
    assert [check.passed for check in result.oracle] == [True, True]


def test_every_try_has_a_new_sandbox_and_leaves_nothing_behind(trial: Trial) -> None:
    trial.run(DONE, solution="echo 42 > answer.txt; touch ~/left\n")

    requests = trial.sandboxes.requests
    assert [request.label for request in requests] == [
        f"engine:preflight/task/{name}" for name in ("untouched", "noop", "oracle", "oracle")
    ]
    assert len({request.home for request in requests}) == 4
    assert list((trial.folder / "scratch").iterdir()) == []
    assert [path.name for path in (trial.folder / "task/environment").iterdir()] == ["question.txt"]


def test_the_evidence_can_be_stored_and_read_again(trial: Trial) -> None:
    result = trial.run(DONE)

    assert msgspec.json.decode(msgspec.json.encode(result), type=PreflightResult) == result
