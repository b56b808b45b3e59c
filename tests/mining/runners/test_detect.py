"""Which runner the files of a commit use, and what is made of a command that a person states."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.prerequisites import require

from outweigh.mining.runners.base_runner import BaseRunner
from outweigh.mining.runners.compiled_runners import GoRunner
from outweigh.mining.runners.detect import RUNNERS, detect_runner, runner_for_command
from outweigh.mining.runners.javascript_runners import MochaRunner
from outweigh.mining.runners.recognise import KnownCommand, recognise
from outweigh.mining.runners.xml_runners import CtestRunner, DotnetRunner, GradleRunner, MavenRunner, PhpunitRunner
from outweigh.mining.test_results import TestOutcome

REPORT = "$OUTWEIGH_REPORTS/report"
MAKE_MOCHA = "test: lint\n\t@./node_modules/.bin/mocha \\\n\t\t-R dot\n"
MAKE_SCRIPTS = "test:\n\t./test/run $(TESTS)\n"


def found(files: Mapping[str, str], *changed: str) -> str | None:
    runner = detect_runner(list(files), lambda path: files[path].encode() if path in files else None, changed)
    return None if runner is None else runner.name


MODULES = "node --experimental-vm-modules node_modules/jest/bin/jest.js"


def package(script: str = "", **dependencies: str) -> str:
    return json.dumps({"scripts": {"test": script, "lint": "eslint ."}, "devDependencies": dependencies})


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"README.md": ""}, None),
        ({"package.json": "[broken"}, None),
        ({"tests/conftest.py": "", "tests/test_a.py": ""}, "pytest"),
        ({"pyproject.toml": 'tests = ["pytest>=8"]', "tests/test_a.py": "import unittest"}, "pytest"),
        ({"tests/test_a.py": "def test_one(): pass"}, "pytest"),
        ({"setup.py": "", "prettytable_test.py": "import unittest"}, "unittest"),
        ({"setup.py": "", "a/tests/test_a.py": "import unittest\ndef test_suite():\n    ..."}, "unittest"),
        ({"package.json": package("jest && npm run lint"), "tests/a.test.js": ""}, "jest"),
        ({"package.json": package("npm run lint", jest="^29"), "tests/a.test.js": ""}, "jest"),
        ({"package.json": package("vitest run --coverage"), "tests/a.test.ts": ""}, "vitest"),
        ({"package.json": package("nyc mocha -r ts-node/register 'test/**/*.ts'"), "test/a.ts": ""}, "mocha"),
        ({"package.json": package("make test"), "Makefile": MAKE_MOCHA, "test/a.js": ""}, "mocha"),
        ({"package.json": package("istanbul cover _mocha test.js -- -R spec"), "test.js": ""}, "mocha"),
        ({"package.json": package("node --test && npm run check"), "tests/a.test.js": ""}, "node --test"),
        ({"package.json": package(), "tests/a.test.js": "import test from 'node:test'"}, "node --test"),
        ({"package.json": package("make test"), "Makefile": MAKE_SCRIPTS, "test/test.a.js": ""}, "scripts"),
        ({"package.json": package("xo && c8 ava && tsd", ava="^6"), "test/a.js": ""}, "ava"),
        ({"package.json": package("npm run lint", tape="^5"), "test/bool.js": ""}, "scripts"),
        ({"package.json": package("eslint . && jasmine"), "spec/a.js": ""}, "command"),
        ({"package.json": package('echo "Error: no test specified" && exit 1')}, None),
        ({"Makefile": "CFLAGS := -O2\ntest: all\n\t./run-tests\n", "src/a.c": ""}, "command"),
        ({"go.mod": "module x", "a_test.go": ""}, "go test"),
        ({"Cargo.toml": "", "src/lib.rs": ""}, "cargo test"),
        ({"go.mod": "", "a_test.go": "", "testdata/Cargo.toml": "", "tests/a.toml": "", "tests/b.toml": ""}, "go test"),
        (
            {"go.mod": "", "a_test.go": "", "b_test.go": "", "x/Cargo.toml": "", "x/src/a.rs": "", "tests/a.toml": ""},
            "go test",
        ),
        ({"pom.xml": "", "src/test/java/ATest.java": ""}, "Maven"),
        ({"build.gradle.kts": "", "src/test/kotlin/ATest.kt": ""}, "Gradle"),
        ({"Gemfile": "", "spec/a_spec.rb": ""}, "RSpec"),
        ({"composer.json": '{"require-dev": {"phpunit/phpunit": "^9"}}', "tests/ATest.php": ""}, "PHPUnit"),
        ({"a.sln": "", "tests/ATests.cs": ""}, "dotnet"),
        ({"CMakeLists.txt": "enable_testing()", "tests/test_a.cpp": ""}, "ctest"),
    ],
)  # fmt: skip
def test_the_runner_is_found_in_manifests_scripts_and_tests(files: dict[str, str], name: str | None) -> None:
    assert found(files) == name


def test_where_there_are_several_runners_that_of_the_changed_files_is_taken() -> None:
    files = {
        "pyproject.toml": "pytest",
        "tests/test_a.py": "",
        "tests/test_b.py": "",
        "package.json": package("jest"),
        "web/a.test.js": "",
    }

    assert found(files) == "pytest"
    assert found(files, "web/a.test.js", "web/a.js") == "jest"


@pytest.mark.parametrize(
    ("command", "name", "program"),
    [
        ("pytest -q", "pytest", "python -m pytest -q"),
        ("uv run --frozen pytest -q tests -m 'not slow'", "pytest", "python -m pytest -q -m 'not slow'"),
        ("coverage run -m pytest", "pytest", "python -m pytest"),
        ("python3 -m pytest --cov=src tests/unit", "pytest", "python -m pytest"),
        ("npm run build && npx jest --coverage src", "jest", "npm run build && jest"),
        ("NODE_OPTIONS=--a-b jest", "jest", "NODE_OPTIONS=--a-b jest"),
        (f"{MODULES} --watch", "jest", MODULES),
        ("cross-env A=1 mocha -r ./test/x.js -R dot test", "mocha", "cross-env A=1 mocha -r ./test/x.js"),
        ("istanbul cover ./bin/_mocha test.js --report html -- -R spec -t 99", "mocha", "mocha -t 99"),
        ("node ./node_modules/.bin/istanbul cover _mocha", "mocha", "mocha"),
        ("istanbul cover ./_mocha test.js --report html", "mocha", "mocha"),
        ("mocha --bail -- test", "mocha", "mocha"),
        ("node --import tsx --test 'test/**/*.ts'", "node --test", "node --import tsx --test"),
        ("go test -race ./...", "go test", "go test -race"),
        ("cargo test --all-features", "cargo test", "cargo test --all-features"),
        ("./mvnw -Pfast verify", "Maven", "mvn -Pfast"),
        ("bundle exec rspec", "RSpec", "bundle exec rspec"),
        ("python -m unittest discover", "unittest", "python"),
        ("make check", None, ""),
        ("tox -e py311", None, ""),
        ("echo 'open", None, ""),
    ],
)  # fmt: skip
def test_a_known_runner_is_recognised_within_a_command(command: str, name: str | None, program: str) -> None:
    assert recognise(command) == (None if name is None else KnownCommand(name, program))


def test_a_stated_command_of_which_nothing_is_known_runs_as_it_is() -> None:
    runner = runner_for_command("./check.sh --all", ["tests/test_a.py"], lambda _path: b"def test_a(): pass")

    assert (runner.name, runner.report_format) == ("command", None)
    assert runner.command(["tests/test_a.py"], REPORT) == "./check.sh --all"
    assert runner.is_test_file("tests/test_a.py")
    assert runner.changed_tests("tests/test_a.py", b"", b"def test_a(): pass") is None
    assert not runner.is_test_file("src/a.py")


def test_what_a_script_builds_before_its_tests_is_built() -> None:
    scripts = {
        "pretest": "npm run lint && npm run compile",
        "compile": "tsc -p .",
        "lint": "eslint .",
        "test": "mocha lib/test",
    }
    files = {"package.json": json.dumps({"scripts": scripts}), "test/a.ts": ""}
    runner = detect_runner(list(files), lambda path: files[path].encode() if path in files else None)

    assert runner is not None
    assert runner.command([], REPORT).startswith("tsc -p .; mocha --reporter json")


def test_a_stated_script_is_looked_up() -> None:
    files = {"package.json": package("jest --silent"), "a.test.js": ""}
    runner = runner_for_command("npm test", list(files), lambda path: files[path].encode() if path in files else None)

    assert runner.name == "jest"
    assert runner.command(["a.test.js"], REPORT).endswith("--runTestsByPath a.test.js")


@pytest.mark.parametrize("runner", RUNNERS, ids=lambda runner: runner.name)
def test_files_without_tests_are_not_run_and_leave_all_tests(runner: BaseRunner) -> None:
    assert runner.command(["tests/fixtures/data.json", "tests/conftest.py"], REPORT) == runner.command([], REPORT)


def test_a_single_file_of_tests_beside_the_source_is_run_by_mocha() -> None:
    assert " test.js" in MochaRunner().command(["test.js", "index.js"], "report")
    assert "index.js" not in MochaRunner().command(["test.js", "index.js"], "report")


def test_files_cannot_pass_for_options_or_commands() -> None:
    for runner in RUNNERS:
        command = runner.command(["-rf_test.go", "tests/$(id)_test.py", "a b.test.js", "spec/'x_spec.rb"], REPORT)
        assert " -rf_test.go" not in command
        assert "$(id)" not in command.replace("'tests/$(id)_test.py'", "")


def test_go_modules_in_folders_are_entered() -> None:
    files = {
        "go.mod": "module example.com/a\n",
        "tools/go.mod": 'module "example.com/b" // x\n',
        "tools/x/x_test.go": "",
    }
    runner = detect_runner(list(files), lambda path: files[path].encode() if path in files else None)

    assert isinstance(runner, GoRunner)
    assert "(cd tools && go test -json -count=1 -vet=off ./x)" in runner.command(["tools/x/x_test.go"], REPORT)
    assert runner.covers("tools/x/x_test.go", "TestA", "example.com/b/x::TestA")
    assert "./..." in runner.command([], REPORT)


# Runners that are not installed: a program of their name leaves the reports that they leave.


def merged(tmp_path: Path, name: str, script: str, command: str) -> tuple[bytes, int]:
    program = tmp_path / "bin" / name
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\nexit 3\n")
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}:/usr/bin:/bin",
        "OUTWEIGH_REPORTS": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=False, capture_output=True)
    return (tmp_path / "report").read_bytes(), done.returncode


CASE = '<testsuite><testcase classname="a.%sTest" name="one"/></testsuite>'
XML = f"""printf '\\357\\273\\277<?xml version="1.0" encoding="UTF-8"?>\\n{CASE}'"""


def test_the_reports_of_modules_become_one_and_the_exit_code_stays(tmp_path: Path) -> None:
    old = tmp_path / "old/target/surefire-reports/TEST-old.xml"
    old.parent.mkdir(parents=True)
    old.write_text("<testsuite><testcase name='old'/></testsuite>")
    runner = MavenRunner()
    each = "d=$m/target/surefire-reports; mkdir -p $d; " + XML + " $m > $d/TEST-$m.xml"
    script = f"for m in A B; do {each}; done; echo $* > said"

    report, code = merged(tmp_path, "mvn", script, runner.command(["src/test/java/a/ATest.java"], REPORT))

    assert runner.read_report(report) == {"a.ATest::one": TestOutcome.PASSED, "a.BTest::one": TestOutcome.PASSED}
    assert code == 3
    assert "-Dtest=ATest test" in (tmp_path / "said").read_text()


def test_a_build_that_fails_leaves_a_report_without_tests(tmp_path: Path) -> None:
    report, code = merged(tmp_path, "mvn", "", MavenRunner().command([], REPORT))

    assert (MavenRunner().read_report(report), code) == ({}, 3)


def test_gradle_runs_the_tests_of_the_projects_that_files_are_in(tmp_path: Path) -> None:
    files = ["build.gradle", "core/build.gradle", "core/src/test/java/ATest.java"]
    runner = detect_runner(files, lambda _path: b"")
    assert isinstance(runner, GradleRunner)
    script = (
        "mkdir -p core/build/test-results/test; " + XML + " A > core/build/test-results/test/TEST-A.xml; echo $* > said"
    )

    report, _ = merged(tmp_path, "gradle", script, runner.command(files[2:], REPORT))

    assert runner.read_report(report) == {"a.ATest::one": TestOutcome.PASSED}
    assert ":core:test --tests *ATest" in (tmp_path / "said").read_text()


def test_dotnet_results_of_projects_become_one(tmp_path: Path) -> None:
    result = '<TestRun><Results><UnitTestResult testName="A.T.One" outcome="Passed"/></Results></TestRun>'
    script = f"mkdir -p TestResults; echo '{result}' > TestResults/a.trx; echo '{result}' > TestResults/b.trx"

    report, _ = merged(tmp_path, "dotnet", script, DotnetRunner().command(["tests/OneTests.cs"], REPORT))

    assert DotnetRunner().read_report(report) == {"A.T.One": TestOutcome.PASSED}


def test_phpunit_runs_file_by_file(tmp_path: Path) -> None:
    runner = PhpunitRunner("phpunit")
    script = XML + ' "$(basename $3 Test.php)" > $2'

    report, code = merged(tmp_path, "phpunit", script, runner.command(["tests/ATest.php", "tests/BTest.php"], REPORT))

    assert set(runner.read_report(report)) == {"a.ATest::one", "a.BTest::one"}
    assert code == 1


@pytest.mark.needs_runner
def test_ctest_builds_and_reports_programs(tmp_path: Path) -> None:
    require("runner", None if shutil.which("ctest") else "ctest is not installed")
    tests = "add_test(NAME right COMMAND true)\nadd_test(NAME wrong COMMAND false)\n"
    lists = f"cmake_minimum_required(VERSION 3.21)\nproject(p NONE)\nenable_testing()\n{tests}"
    (tmp_path / "CMakeLists.txt").write_text(lists)
    environment = {"PATH": "/usr/bin:/bin", "OUTWEIGH_REPORTS": str(tmp_path), "TMPDIR": str(tmp_path)}
    command = CtestRunner().command(["tests/test_a.cpp"], REPORT)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=False, capture_output=True)

    found = CtestRunner().read_report((tmp_path / "report").read_bytes())

    assert found == {"right::right": TestOutcome.PASSED, "wrong::wrong": TestOutcome.FAILED}
