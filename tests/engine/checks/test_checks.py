import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

import msgspec
import pytest
from tests.engine.fake_sandboxes import plain_sandbox_request

from outweigh.engine.checks.check_outcome import CHECK_OUTPUT_LIMIT
from outweigh.engine.checks.check_sandbox import CheckSandboxRequest, open_check_sandbox
from outweigh.engine.checks.evaluate import CheckEvaluation, CheckSubject, evaluate_checks
from outweigh.engine.checks.text_search import UnfinishedSearchError, bounded_search
from outweigh.model.arm import OverlayFile
from outweigh.model.run_record import CheckResult
from outweigh.model.task import (
    Check,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    RewardCheck,
    Task,
    TestSuiteCheck,
    UnchangedCheck,
)
from outweigh.ports.sandboxes import SandboxError
from outweigh.sandbox.local import LocalSandboxProvider

PASSING = '<testsuite><testcase name="a"/><testcase name="b"/></testsuite>'
HALF = '<testsuite><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>'


class Scene:
    """A pristine workspace, the one an agent left, and the task's tests."""

    def __init__(self, folder: Path) -> None:
        self.untouched, self.workspace, self.tests = (folder / name for name in ("pristine", "workspace", "tests"))
        self.home, self.folder = folder / "home", folder
        for place in (self.untouched, self.workspace, self.tests):
            place.mkdir()

    def both(self, path: str, content: str) -> None:
        for root in (self.untouched, self.workspace):
            write(root / path, content)

    def evaluate(
        self,
        *checks: Check,
        overlay: tuple[OverlayFile, ...] = (),
        tests: bool = True,
        answer: str | None = None,
        expected: Sequence[str] = (),
    ) -> CheckEvaluation:
        task = Task(
            id="task-1",
            instruction="Do it.",
            checks=checks,
            family=None,
            expected_steps=(),
            workspace=None,
            timeout_seconds=None,
            tests_folder=str(self.tests) if tests else None,
            solution_folder=None,
            checksum="0",
        )
        subject = CheckSubject(
            untouched=self.untouched, answer=answer, overlay=overlay, expected_cases={"tests": expected}
        )
        with open_check_sandbox(self.request(task)) as sandbox:
            return evaluate_checks(task, sandbox, subject)

    def request(self, task: Task) -> CheckSandboxRequest:
        return CheckSandboxRequest(
            provider=LocalSandboxProvider(),
            sandbox=plain_sandbox_request(self.workspace, self.home),
            folder=self.folder / f"checks-{token_hex(4)}",
            tests=task.tests_folder,
        )

    def check(self, check: Check, *, overlay: tuple[OverlayFile, ...] = ()) -> CheckResult:
        (result,) = self.evaluate(check, overlay=overlay).results
        return result


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def detail(result: CheckResult) -> str:
    return result.detail or ""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def suite_check(report: str | None, script: str) -> TestSuiteCheck:
    return TestSuiteCheck(name="tests", run=script, report=report)


def echo_report(report: str, exit_code: int) -> str:
    return f"echo '{report}' > report.xml; exit {exit_code}"


# Commands


def test_a_command_passes_with_the_expected_exit_code(scene: Scene) -> None:
    assert scene.check(CommandCheck(name="c", run="exit 3", exit_code=3)).passed is True

    failed = scene.check(CommandCheck(name="c", run="exit 3"))
    assert (failed.passed, failed.exit_code, failed.detail) == (False, 3, "exit code 3, expected 0")


def test_a_list_is_run_without_a_shell_reading_it(scene: Scene) -> None:
    evaluation = scene.evaluate(CommandCheck(name="c", run=["printf", "%s", "$HOME; exit 1"]))

    assert evaluation.results[0].passed is True
    assert evaluation.artifacts == {"checks/c.stdout": b"$HOME; exit 1"}


def test_a_program_that_is_not_there_is_a_failed_check(scene: Scene) -> None:
    assert scene.check(CommandCheck(name="c", run=["./never-built"])).exit_code == 127


def test_commands_see_no_variable_of_the_engine(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush")

    printed = scene.evaluate(CommandCheck(name="c", run="env")).artifacts["checks/c.stdout"]

    assert b"hush" not in printed


def test_python_writes_no_bytecode_and_reads_no_packages_of_a_user(scene: Scene) -> None:
    write(scene.workspace / "work.py", "")
    run = f"{sys.executable} -c 'import sys, work; sys.exit(not sys.flags.no_user_site)'"

    assert scene.check(CommandCheck(name="c", run=run)).passed is True
    assert not (scene.workspace / "__pycache__").exists()


def test_the_end_of_a_long_output_is_kept(scene: Scene) -> None:
    script = "head -c 1000000 /dev/zero | tr '\\0' x; echo the end"

    printed = scene.evaluate(CommandCheck(name="c", run=script)).artifacts["checks/c.stdout"]

    assert printed.endswith(b"the end\n")
    assert printed.startswith(b"[737864 bytes left out]\n")
    assert len(printed) < CHECK_OUTPUT_LIMIT + 100


@pytest.mark.parametrize(
    "check",
    [
        CommandCheck(name="c", run="sleep 30", timeout_seconds=0.2),
        TestSuiteCheck(name="c", run="sleep 30", timeout_seconds=0.2),
        RewardCheck(name="c", run='echo 1 > "$OUTWEIGH_REWARD"; sleep 30', timeout_seconds=0.2),
    ],
)
def test_what_hangs_while_it_runs_the_agents_work_has_failed(scene: Scene, check: Check) -> None:
    result = scene.check(check)

    assert (result.passed, result.exit_code, result.detail) == (False, None, "not done after 0.2 s")


# Test suites


def test_a_test_suite_without_report_goes_by_its_exit_code(scene: Scene) -> None:
    assert scene.check(suite_check(None, "exit 0")).passed is True
    assert scene.check(suite_check(None, "exit 1")).passed is False


def test_a_report_gives_the_share_of_passing_cases(scene: Scene) -> None:
    evaluation = scene.evaluate(suite_check("report.xml", echo_report(HALF, 1)))

    (result,) = evaluation.results
    assert (result.passed, result.cases_passed, result.cases_total) == (False, 1, 2)
    assert evaluation.artifacts["checks/tests.report"].decode().strip() == HALF


@pytest.mark.parametrize(
    ("report", "exit_code", "outcome"),
    [
        (PASSING, 0, (True, 2, 2)),
        (HALF, 0, (False, 1, 2)),
        (PASSING, 1, (False, None, None)),
        ("<testsuite/>", 0, (False, None, None)),
        ("<testsuite><testcase><error/></testcase></testsuite>", 0, (False, 0, 1)),
        ("not a report", 0, (False, None, None)),
    ],
)
def test_report_and_exit_code_must_both_agree_to_pass(
    scene: Scene, report: str, exit_code: int, outcome: tuple[bool, int | None, int | None]
) -> None:
    result = scene.check(suite_check("report.xml", echo_report(report, exit_code)))

    assert (result.passed, result.cases_passed, result.cases_total) == outcome


def test_a_report_that_was_there_before_the_tests_counts_for_nothing(scene: Scene) -> None:
    write(scene.workspace / "report.xml", PASSING)

    result = scene.check(suite_check("report.xml", "exit 0"))

    assert result.passed is False
    assert "no report at 'report.xml'" in detail(result)


def test_a_link_in_the_place_of_the_report_is_removed_and_not_written_through(scene: Scene, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (scene.workspace / "report.xml").symlink_to(victim)

    result = scene.check(suite_check("report.xml", echo_report(PASSING, 0)))

    assert result.passed is True
    assert victim.read_text() == "mine"


def test_tests_that_leave_a_link_for_a_report_have_failed(scene: Scene, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere.xml", PASSING)

    result = scene.check(suite_check("report.xml", f"ln -s {tmp_path}/elsewhere.xml report.xml"))

    assert result.passed is False
    assert "link" in detail(result)


def test_a_real_runner_is_counted(scene: Scene) -> None:
    write(scene.workspace / "work.py", "def double(x):\n    return x + x if x < 3 else 0\n")
    write(
        scene.tests / "test_work.py",
        "from work import double\ndef test_small():\n    assert double(1) == 2\n"
        "def test_large():\n    assert double(5) == 10\n",
    )
    run = [
        "env",
        "PYTHONPATH=.",
        sys.executable,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=out/junit.xml", str(scene.tests)),
    ]

    result = scene.check(TestSuiteCheck(name="tests", run=run, report="out/junit.xml"))

    assert (result.passed, result.cases_passed, result.cases_total) == (False, 1, 2)


@pytest.mark.parametrize(
    ("report", "passed"),
    [
        (PASSING, True),
        ('<testsuite><testcase name="a"/><testcase name="b"/><testcase name="c"/></testsuite>', True),
        ('<testsuite><testcase name="a"/></testsuite>', False),
        ('<testsuite><testcase name="a"/><testcase name="a"/></testsuite>', False),
        ('<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>', False),
        ('<testsuite><testcase name="a"/><testcase classname="other" name="b"/></testsuite>', False),
    ],
)
def test_every_case_that_ran_when_the_task_was_solved_must_have_run(scene: Scene, report: str, passed: bool) -> None:
    (result,) = scene.evaluate(suite_check("report.xml", echo_report(report, 0)), expected=("a", "b")).results

    assert result.passed is passed
    assert passed or "1 of 2 tests that ran when the task was solved are not in the report: 'b'" in detail(result)


def test_a_report_outside_the_workspace_is_read_from_there_alone(scene: Scene) -> None:
    write(scene.workspace / "junit.xml", PASSING)
    place = "$OUTWEIGH_REPORTS/junit.xml"

    written = scene.check(suite_check(place, f"echo '{HALF}' > \"{place}\""))
    missing = scene.check(suite_check(place, f"echo '{PASSING}' > junit.xml"))

    assert (written.passed, written.cases_total) == (False, 2)
    assert (missing.passed, missing.cases_total) == (False, None)


def test_pytest_leaves_a_report_that_commands_and_rewards_are_held_to(scene: Scene) -> None:
    write(scene.workspace / "work.py", "import os\nos._exit(0)\n")
    write(scene.tests / "test_work.py", "import work\ndef test_it():\n    assert work.right\n")
    run = f'{sys.executable} -m pytest -q -p no:xdist "$OUTWEIGH_TESTS" && echo 1 > "${{OUTWEIGH_REWARD:-/dev/null}}"'
    checks = CommandCheck(name="tests", run=run), RewardCheck(name="tests", run=run)

    unknown = [scene.check(check).passed for check in checks]
    known = [scene.evaluate(check, expected=("test_work::test_it",)).results[0].passed for check in checks]

    assert (unknown, known) == ([True, True], [False, False])


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_counts_a_file_that_exits_as_one_passed_test_and_its_name_gives_it_away(scene: Scene) -> None:
    write(
        scene.tests / "work.test.cjs",
        "require('node:test')('doubles', () => { require(`${process.env.PWD}/work.cjs`) })",
    )
    reporter = '--test-reporter=junit --test-reporter-destination="$OUTWEIGH_REPORTS/junit.xml"'
    check = suite_check("$OUTWEIGH_REPORTS/junit.xml", f'node --test {reporter} "$OUTWEIGH_TESTS"/*.test.cjs')

    write(scene.workspace / "work.cjs", "")
    honest = scene.evaluate(check)
    write(scene.workspace / "work.cjs", "process.exit(0)")
    (cheated,) = scene.evaluate(check).results
    (held,) = scene.evaluate(check, expected=honest.case_names["tests"]).results

    assert [name.rpartition("::")[2] for name in honest.case_names["tests"]] == ["doubles"]
    assert (cheated.passed, cheated.cases_total) == (True, 1)
    assert held.passed is False


def test_a_verifier_that_its_own_code_killed_has_failed(scene: Scene) -> None:
    killed = scene.check(RewardCheck(name="r", run='echo 1 > "$OUTWEIGH_REWARD"; kill -9 $$'))

    assert killed.passed is False
    assert "killed by signal 9" in detail(killed)


# Tests that the agent has had its hands on


def test_tests_are_outside_the_workspace_and_nothing_of_the_agents_is_beside_or_above_them(scene: Scene) -> None:
    write(scene.tests / "deep/test.sh", "exit 1\n")
    write(scene.workspace / "conftest.py", "")

    printed = scene.evaluate(
        CommandCheck(
            name="c", run='cd "$OUTWEIGH_TESTS" && find . -type f && while [ "$PWD" != / ]; do cd ..; ls -a; done'
        )
    ).artifacts["checks/c.stdout"]

    assert b"./deep/test.sh\n" in printed
    assert b"conftest.py" not in printed


def test_code_that_edits_the_tests_while_they_run_does_not_reach_the_next_check(scene: Scene) -> None:
    write(scene.tests / "test.sh", "exit 1\n")
    tamper = CommandCheck(name="first", run='echo exit 0 > "$OUTWEIGH_TESTS/test.sh"; touch "$OUTWEIGH_TESTS/more"')

    results = scene.evaluate(
        tamper,
        CommandCheck(name="second", run='sh "$OUTWEIGH_TESTS/test.sh"'),
        CommandCheck(name="third", run='test -e "$OUTWEIGH_TESTS/more"'),
    ).results

    assert [result.passed for result in results] == [True, False, False]
    assert (scene.tests / "test.sh").read_text() == "exit 1\n"


def test_what_a_check_leaves_in_its_home_does_not_reach_the_next(scene: Scene) -> None:
    plant = CommandCheck(name="first", run='mkdir -p "$HOME/deep" && touch "$HOME/deep/.npmrc" && chmod 000 "$HOME"')

    results = scene.evaluate(plant, CommandCheck(name="second", run='test -z "$(ls -A "$HOME")"')).results

    assert [result.passed for result in results] == [True, True]


def test_without_tests_of_the_task_there_are_none(scene: Scene) -> None:
    (result,) = scene.evaluate(CommandCheck(name="c", run='test -z "$OUTWEIGH_TESTS"'), tests=False).results

    assert result.passed is True


def test_scripts_are_executable_and_links_stay_links(scene: Scene) -> None:
    write(scene.tests / "run", "#!/bin/sh\nexit 0\n")
    (scene.tests / "run").chmod(0o700)
    (scene.tests / "alias").symlink_to("run")
    write(scene.tests / "test.sh", "#!/bin/sh\nexit 0\n")

    script = 'cd "$OUTWEIGH_TESTS" && test -L alias && ./alias && ./test.sh && ! test -x data'
    assert scene.check(CommandCheck(name="c", run=script)).passed


def test_nothing_of_ours_is_put_into_the_workspace(scene: Scene) -> None:
    write(scene.tests / "test.sh", 'echo 1 > "$OUTWEIGH_REWARD"; ls -A > listing\n')

    scene.evaluate(RewardCheck(name="r", run='sh "$OUTWEIGH_TESTS/test.sh"'))

    assert (scene.workspace / "listing").read_text() == "listing\n"


def test_a_trap_too_deep_to_be_removed_fails_the_check_and_nothing_else(scene: Scene) -> None:
    trap = 'cd "$OUTWEIGH_REPORTS"; n=0; while [ $n -lt 1100 ]; do mkdir d; cd -P d; n=$((n + 1)); done'
    write(scene.workspace / "a.txt", "a")

    try:
        results = scene.evaluate(
            CommandCheck(name="first", run=trap),
            CommandCheck(name="c", run="true"),
            FileExistsCheck(name="f", path="a.txt"),
        ).results
    finally:
        # Too deep for pytest as well.
        subprocess.run(["rm", "-rf", *scene.folder.glob("checks-*")], check=True)

    assert [result.passed for result in results] == [True, False, True]


# Rewards


@pytest.mark.parametrize(
    ("script", "minimum", "passed"),
    [
        ("echo 1 > $OUTWEIGH_REWARD", 1.0, True),
        ("echo 0.5 > $OUTWEIGH_REWARD", 1.0, False),
        ("echo 0.5 > $OUTWEIGH_REWARD; exit 1", 0.5, True),
        ("""echo '{"reward": 1}' > $(dirname $OUTWEIGH_REWARD)/reward.json""", 1.0, True),
        ("""echo '{"accuracy": 0.2}' > $(dirname $OUTWEIGH_REWARD)/reward.json""", 1.0, False),
        ("""echo '0.9' > $(dirname $OUTWEIGH_REWARD)/reward.json""", 0.9, True),
    ],
)
def test_a_reward_passes_at_its_minimum(scene: Scene, script: str, minimum: float, passed: bool) -> None:
    assert scene.check(RewardCheck(name="r", run=script, minimum=minimum)).passed is passed


@pytest.mark.parametrize(
    "script",
    [
        "exit 0",
        "echo 1.5 > $OUTWEIGH_REWARD",
        "echo -- -1 > $OUTWEIGH_REWARD",
        "echo nan > $OUTWEIGH_REWARD",
        "echo inf > $OUTWEIGH_REWARD",
        "echo yes > $OUTWEIGH_REWARD",
        "printf '\\377\\376' > $OUTWEIGH_REWARD",
        ": > $OUTWEIGH_REWARD",
        'echo \'{"a": 1, "b": 1}\' > $(dirname $OUTWEIGH_REWARD)/reward.json',
        "echo '{\"reward\": true}' > $(dirname $OUTWEIGH_REWARD)/reward.json",
        "printf '1%0400d' 0 > $(dirname $OUTWEIGH_REWARD)/reward.json",
        "echo '{' > $(dirname $OUTWEIGH_REWARD)/reward.json",
    ],
)
def test_a_reward_that_is_missing_or_garbled_fails_and_says_why(scene: Scene, script: str) -> None:
    result = scene.check(RewardCheck(name="r", run=script))

    assert result.passed is False
    assert "reward" in detail(result)
    assert result.exit_code == 0


def test_a_reward_that_the_agent_wrote_beforehand_counts_for_nothing(scene: Scene) -> None:
    for place in ("reward.txt", "logs/verifier/reward.txt", "reward.json"):
        write(scene.workspace / place, "1")

    assert scene.check(RewardCheck(name="r", run="exit 0")).passed is False


def test_the_reward_of_an_earlier_check_is_gone(scene: Scene) -> None:
    first = RewardCheck(name="first", run="echo 1 > $OUTWEIGH_REWARD")

    results = scene.evaluate(first, RewardCheck(name="second", run="exit 0")).results

    assert [result.passed for result in results] == [True, False]


def test_a_link_for_a_reward_is_refused(scene: Scene, tmp_path: Path) -> None:
    write(tmp_path / "one", "1")

    result = scene.check(RewardCheck(name="r", run=f"ln -s {tmp_path}/one $OUTWEIGH_REWARD"))

    assert result.passed is False
    assert "link" in detail(result)


# Files


def test_a_file_exists_when_it_is_a_plain_file(scene: Scene) -> None:
    write(scene.workspace / "a/b.txt", "")
    os.mkfifo(scene.workspace / "pipe")

    assert scene.check(FileExistsCheck(name="f", path="a/b.txt")).passed is True
    for path in ("a", "a/c.txt", "a/b.txt/c", "pipe"):
        assert scene.check(FileExistsCheck(name="f", path=path)).passed is False


Maker = Callable[[str], Check]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: FileExistsCheck(name="f", path=path),
        lambda path: FileContainsCheck(name="f", path=path, text="root"),
        lambda path: FileContainsCheck(name="f", path=path, regex="."),
        lambda path: JsonValueCheck(name="f", path=path, at="", equals=1),
        lambda path: TestSuiteCheck(name="f", run="true", report=path),
    ],
)
def test_paths_that_lead_out_fail_and_are_never_followed(scene: Scene, make: Maker, tmp_path: Path) -> None:
    write(tmp_path / "outside/secret", "1 root")
    (scene.workspace / "folder").symlink_to(tmp_path / "outside")
    (scene.workspace / "file").symlink_to(tmp_path / "outside/secret")

    for path in ("folder/secret", "file", "../outside/secret", str(tmp_path / "outside/secret"), "."):
        assert scene.check(make(path)).passed is False

    assert (tmp_path / "outside/secret").read_text() == "1 root"


def test_a_file_contains_a_text_or_a_match(scene: Scene) -> None:
    write(scene.workspace / "a.txt", "alpha\nbeta é 42\n")

    assert scene.check(FileContainsCheck(name="f", path="a.txt", text="beta é")).passed is True
    assert scene.check(FileContainsCheck(name="f", path="a.txt", regex=r"(?m)^beta . \d+$")).passed is True
    assert scene.check(FileContainsCheck(name="f", path="a.txt", text="gamma")).passed is False
    missed = scene.check(FileContainsCheck(name="f", path="a.txt", regex="^beta"))
    assert (missed.passed, missed.detail) == (False, "'a.txt' does not contain a match of '^beta'")


def test_only_the_first_mebibyte_is_searched(scene: Scene) -> None:
    write(scene.workspace / "a.txt", "x" * 2**20 + "needle")

    missed = scene.check(FileContainsCheck(name="f", path="a.txt", text="needle"))

    assert missed.passed is False
    assert "first 1048576 bytes" in detail(missed)


def test_a_search_that_does_not_end_is_ended_and_unknown() -> None:
    with pytest.raises(UnfinishedSearchError, match="not done"):
        bounded_search("(a+)+$", b"a" * 40 + b"b", seconds=0.5)


def test_a_broken_expression_fails(scene: Scene) -> None:
    write(scene.workspace / "a.txt", "x")

    assert scene.check(FileContainsCheck(name="f", path="a.txt", regex="(")).passed is False


@pytest.mark.parametrize(
    ("at", "equals", "passed"),
    [
        ("results.0.name", "a", True),
        ("results.1.name", "a", False),
        ("count", 1, True),
        ("count", 1.0, True),
        ("count", True, False),
        ("flag", True, True),
        ("flag", 1, False),
        ("results", [{"name": "a"}], True),
        ("results.0", {"name": "a", "b": 1}, False),
        ("results.-1.name", "a", False),
        ("missing", 1, False),
    ],
)
def test_a_json_value_is_found_by_its_dotted_path(scene: Scene, at: str, equals: object, passed: bool) -> None:
    write(scene.workspace / "a.json", '{"results": [{"name": "a"}], "count": 1, "flag": true}')

    assert scene.check(JsonValueCheck(name="j", path="a.json", at=at, equals=equals)).passed is passed


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "9" * 5000, '{"a": "\ud800"}'])
def test_json_that_cannot_be_read_fails(scene: Scene, content: str) -> None:
    (scene.workspace / "a.json").write_bytes(content.encode("utf-8", "surrogatepass"))

    assert scene.check(JsonValueCheck(name="j", path="a.json", at="a", equals=1)).passed is False


# Files that must not change


def test_untouched_files_are_unchanged_and_every_kind_of_change_is_named(scene: Scene) -> None:
    for name in ("kept.py", "edited.py", "removed.py", "other.txt"):
        scene.both(f"src/{name}", "same")
    check = UnchangedCheck(name="u", paths=["*.py"])
    assert scene.check(check).passed is True

    write(scene.workspace / "src/edited.py", "diff")
    write(scene.workspace / "src/added.py", "")
    write(scene.workspace / "src/other.txt", "allowed")
    (scene.workspace / "src/removed.py").unlink()

    result = scene.check(check)
    assert result.passed is False
    assert result.detail == "changed: 'src/edited.py'; added: 'src/added.py'; removed: 'src/removed.py'"


def test_a_changed_mode_or_kind_is_a_change(scene: Scene, tmp_path: Path) -> None:
    for name in ("mode", "link", "folder"):
        scene.both(name, "same")
    (scene.workspace / "mode").chmod(0o755)
    (scene.workspace / "link").unlink()
    (scene.workspace / "link").symlink_to(scene.untouched / "link")
    (scene.workspace / "folder").unlink()
    write(scene.workspace / "folder/inner", "same")

    result = scene.check(UnchangedCheck(name="u", paths=["*"]))

    assert result.detail == "changed: 'link', 'mode'; added: 'folder/inner'; removed: 'folder'"


def test_links_are_compared_by_where_they_point(scene: Scene) -> None:
    for root in (scene.untouched, scene.workspace):
        (root / "link").symlink_to("/etc/passwd")
    assert scene.check(UnchangedCheck(name="u", paths=["link"])).passed is True

    (scene.workspace / "link").unlink()
    (scene.workspace / "link").symlink_to("/etc/group")
    assert scene.check(UnchangedCheck(name="u", paths=["link"])).passed is False


def test_what_commands_leave_behind_does_not_count_as_a_change_by_the_agent(scene: Scene) -> None:
    command = CommandCheck(name="c", run="touch built.py")

    results = scene.evaluate(command, UnchangedCheck(name="u", paths=["*.py"])).results

    assert [(result.name, result.passed) for result in results] == [("c", True), ("u", True)]


def test_files_that_the_arm_laid_must_be_as_they_were_laid(scene: Scene) -> None:
    check = UnchangedCheck(name="u", paths=["*.md"])
    content = "Be kind."
    write(scene.workspace / "CLAUDE.md", content)
    laid = OverlayFile(path="CLAUDE.md", sha256=sha256(content.encode()).hexdigest(), executable=False)
    assert scene.check(check, overlay=(laid,)).passed is True

    write(scene.workspace / "CLAUDE.md", "Be quick.")
    assert scene.check(check, overlay=(laid,)).detail == "changed: 'CLAUDE.md'"
    (scene.workspace / "CLAUDE.md").unlink()
    assert scene.check(check, overlay=(laid,)).detail == "removed: 'CLAUDE.md'"


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/down/a.py", True),
        ("*.py", "a.pyc", False),
        ("/*.py", "deep/a.py", False),
        ("tests/", "tests/a.py", True),
        ("tests/", "src/tests/a.py", True),
        ("tests/", "tests", False),
        ("tests", "tests/deep/a", True),
        ("src/tests", "other/src/tests/a", False),
        ("/tests", "src/tests/a", False),
        ("**/conf", "a/b/conf", True),
        ("**/conf", "conf", True),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/*/z", "a/b/c/z", False),
        ("file?.txt", "file1.txt", True),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", False),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("*", ".git/index", False),
        (".git/hooks/", ".git/hooks/pre-commit", True),
        ("a.b", "axb", False),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(scene: Scene, pattern: str, path: str, meant: bool) -> None:
    write(scene.workspace / path, "new")

    assert scene.check(UnchangedCheck(name="u", paths=[pattern])).passed is not meant


def test_a_pattern_that_cannot_be_read_is_unknown(scene: Scene) -> None:
    assert scene.check(UnchangedCheck(name="u", paths=["!a"])).passed is None


def test_names_that_are_not_text_do_not_spoil_the_record(scene: Scene) -> None:
    (scene.workspace / os.fsdecode(b"bad-\xff")).write_text("")

    result = scene.check(UnchangedCheck(name="u", paths=["*"]))

    assert result.passed is False
    assert msgspec.json.decode(msgspec.json.encode(result), type=CheckResult) == result


# The whole


def test_results_come_in_the_order_of_the_task_with_what_is_required(scene: Scene) -> None:
    checks = (
        FileExistsCheck(name="file", path="none", required=False),
        UnchangedCheck(name="guard", paths=["*"]),
        CommandCheck(name="command", run="true"),
    )

    results = scene.evaluate(*checks).results

    assert [(result.name, result.required, result.passed) for result in results] == [
        ("file", False, False),
        ("guard", True, True),
        ("command", True, True),
    ]


def test_a_workspace_that_is_gone_fails_its_checks(scene: Scene) -> None:
    scene.workspace.rmdir()

    results = scene.evaluate(CommandCheck(name="c", run="true"), FileExistsCheck(name="f", path="a")).results

    assert [(result.passed, result.detail) for result in results] == [(False, "the workspace is gone")] * 2


def test_tests_that_cannot_be_read_are_an_infrastructure_failure(scene: Scene) -> None:
    scene.tests.rmdir()

    with pytest.raises(SandboxError, match="task-1"):
        scene.evaluate(CommandCheck(name="c", run="true"))
