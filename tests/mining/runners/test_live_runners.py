"""Each runner, started for real on a small project: what it reports, and which tests belong to which file."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.prerequisites import require

from outweigh.mining.runners.compiled_runners import CargoRunner, GoRunner
from outweigh.mining.runners.detect import detect_runner, runner_for_command
from outweigh.mining.runners.runner import Runner
from outweigh.mining.test_results import TestOutcome
from outweigh.sandbox.base_sandbox import WORKSPACE

PROJECT = Path(__file__).parents[3]
PASSED, FAILED, ERROR, SKIPPED = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED


class Project:
    """A small project that is written file by file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.reports = folder / "reports"
        self.reports.mkdir()
        self.programs = [str(Path(sys.executable).parent)]

    def write(self, path: str, content: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def files(self) -> list[str]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.folder)) for path in found)

    def read(self, path: str) -> bytes | None:
        file = self.folder / path
        return file.read_bytes() if file.is_file() else None

    def runner(self) -> Runner:
        runner = detect_runner(self.files(), self.read)
        assert runner is not None
        return runner

    def run(self, runner: Runner, *files: str) -> dict[str, TestOutcome]:
        """What a run of these files reports; the paths in it become those of a sandbox."""
        report = self.reports / "report"
        done = subprocess.run(
            ["sh", "-c", runner.command(files, "$OUTWEIGH_REPORTS/report")],
            cwd=self.folder,
            env={
                "PATH": ":".join((*self.programs, os.environ["PATH"])),
                "HOME": str(self.reports),
                "OUTWEIGH_REPORTS": str(self.reports),
                "GOFLAGS": "-mod=mod",
                "GOPROXY": "off",
                "GOCACHE": str(self.reports / "go"),
                "CARGO_NET_OFFLINE": "true",
                "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
                "CI": "true",
            },
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert report.exists(), done.stderr.decode()
        content = report.read_bytes().replace(str(self.folder).encode(), WORKSPACE.encode())
        report.unlink()
        return dict(runner.read_report(content))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


PYTHON_TESTS = """
import pytest
from work import double
def test_two(): assert double(2) == 4
@pytest.mark.parametrize("n", [1, 2])
def test_each(n): assert double(n) == 2
@pytest.mark.skip
def test_later(): pass
class TestGroup:
    def test_inner(self): assert double(0) == 0
"""


def test_pytest_names_are_below_the_project_and_a_broken_file_does_not_stop_the_rest(project: Project) -> None:
    project.write("work.py", "def double(n): return 2 * n")
    project.write("tests/test_a.py", PYTHON_TESTS)
    project.write("tests/test_b.py", "from work import missing\ndef test_it(): pass\n")
    runner = project.runner()

    found = project.run(runner, "tests/test_a.py", "tests/test_b.py", "tests/conftest.py")

    assert found == {
        "tests.test_a::test_two": PASSED,
        "tests.test_a::test_each[1]": PASSED,
        "tests.test_a::test_each[2]": FAILED,
        "tests.test_a::test_later": SKIPPED,
        "tests.test_a.TestGroup::test_inner": PASSED,
        "tests.test_b": ERROR,
    }
    assert project.run(runner, "tests/test_a.py").keys() == found.keys() - {"tests.test_b"}
    assert runner.covers("tests/test_a.py", "test_each", "tests.test_a::test_each[2]")
    assert runner.covers("tests/test_a.py", "TestGroup.test_inner", "tests.test_a.TestGroup::test_inner")
    assert runner.covers("tests/test_b.py", None, "tests.test_b")
    assert not runner.covers("tests/test_a.py", "test_inner", "tests.test_a.TestGroup::test_inner")
    assert not runner.covers("tests/test_b.py", None, "tests.test_a::test_two")


def test_options_for_coverage_and_processes_are_left_out_of_pytest(project: Project) -> None:
    options = 'addopts = ["--strict-markers", "--cov", "work", "--cov-report=term", "-n", "auto", "-ra"]'
    project.write("pyproject.toml", f"[tool.pytest.ini_options]\n{options}\n")
    project.write("test_a.py", "def test_one(): pass\n")

    assert "addopts=--strict-markers -ra" in project.runner().command([], "$OUTWEIGH_REPORTS/report")
    assert project.run(project.runner()) == {"test_a::test_one": PASSED}


UNITTESTS = """
import unittest
class WorkTest(unittest.TestCase):
    def test_two(self): self.assertEqual(2, 2)
    def test_case(self): pass
    def test_fails(self): self.assertEqual(2, 3)
    def test_parts(self):
        for n in (1, 2):
            with self.subTest(n=n): self.assertEqual(n, 1)
    @unittest.skip("later")
    def test_later(self): pass
"""


def test_unittest_reports_every_method_without_further_packages(project: Project) -> None:
    project.write("tests/__init__.py", "")
    project.write("tests/test_a.py", UNITTESTS)
    project.write("tests/test_b.py", "import unittest, missing_module\n")
    runner = project.runner()

    found = project.run(runner, "tests/test_a.py", "tests/test_b.py")

    assert (runner.name, len(found)) == ("unittest", 6)
    assert found["tests.test_a.WorkTest.test_two"] is PASSED
    assert found["tests.test_a.WorkTest.test_case"] is PASSED, "unittest has an attribute of that name, too"
    assert found["tests.test_a.WorkTest.test_fails"] is FAILED
    assert found["tests.test_a.WorkTest.test_parts"] is FAILED
    assert found["tests.test_a.WorkTest.test_later"] is SKIPPED
    assert runner.covers("tests/test_a.py", "WorkTest.test_two", "tests.test_a.WorkTest.test_two")
    assert not runner.covers("tests/test_b.py", None, "tests.test_a.WorkTest.test_two")
    assert [name for name in found if runner.covers("tests/test_b.py", None, name)] == [
        "unittest.loader._FailedTest.tests.test_b"
    ]


def require_program(name: str) -> None:
    require("runner", None if shutil.which(name) else f"{name} is not installed")


NODE_TESTS = """
const { test, describe, it } = require('node:test');
const assert = require('node:assert');
test('top # one', () => {});
test('fails', () => { assert.equal(1, 2); });
describe('group', () => {
  it('inner', () => {});
  it('left out', { skip: true }, () => {});
});
"""


@pytest.mark.needs_runner
def test_node_reports_the_file_of_every_test(project: Project) -> None:
    require_program("node")
    project.write("package.json", '{"scripts": {"test": "node --test && npm run lint"}}')
    project.write("tests/a.test.js", NODE_TESTS)
    project.write("tests/b.test.js", "require('./missing')")
    runner = project.runner()

    found = project.run(runner, "tests/a.test.js", "tests/b.test.js")

    assert found == {
        "tests/a.test.js::top # one": PASSED,
        "tests/a.test.js::fails": FAILED,
        "tests/a.test.js::group::inner": PASSED,
        "tests/a.test.js::group::left out": SKIPPED,
        "tests/b.test.js": FAILED,
    }
    assert runner.covers("tests/a.test.js", "group::inner", "tests/a.test.js::group::inner")
    assert not runner.covers("tests/b.test.js", None, "tests/a.test.js::fails")


@pytest.mark.needs_runner
def test_plain_scripts_pass_by_their_exit_codes(project: Project) -> None:
    require_program("node")
    project.write("Makefile", "TESTS = $(shell find test/test.*.js)\n\ntest:\n\t@NODE_ENV=test ./test/run $(TESTS)\n")
    project.write("package.json", '{"scripts": {"test": "make test"}}')
    project.write("test/test.one.js", "require('assert')(true)")
    project.write("test/test.two.js", "require('assert')(false)")
    project.write("test/fixtures/pm.js", "throw 1")
    runner = project.runner()

    assert project.run(runner, "test/test.one.js", "test/test.two.js", "test/fixtures/pm.js") == {
        "test/test.one.js": PASSED,
        "test/test.two.js": FAILED,
    }
    assert project.run(runner).keys() == {"test/test.one.js", "test/test.two.js"}
    assert runner.covers("test/test.one.js", None, "test/test.one.js")


SCRIPT_TESTS = """
{imports}
describe('group', () => {{
  it('adds', () => {{}});
  it('fails', () => {{ throw new Error('no'); }});
  it.skip('left out', () => {{}});
}});
"""


@pytest.mark.needs_runner
@pytest.mark.parametrize("name", ["jest", "vitest", "mocha"])
def test_javascript_runners_report_the_file_of_every_test(project: Project, name: str) -> None:
    programs = Path(PROJECT, ".agents", name, "node_modules")
    require("runner", None if programs.is_dir() else f"{name} is not installed")
    (project.folder / "test").mkdir(parents=True)
    (project.folder / "node_modules").symlink_to(programs)
    project.programs += [str(programs / ".bin"), str(PROJECT / ".agents/bin")]
    imports = "import { describe, it } from 'vitest';" if name == "vitest" else ""
    module = '"type": "module", ' if name == "vitest" else ""
    project.write("package.json", f'{{{module}"scripts": {{"test": "{name}"}}}}')
    project.write("test/a.test.js", SCRIPT_TESTS.format(imports=imports))
    runner = detect_runner(["package.json", "test/a.test.js"], project.read)
    assert runner is not None

    found = project.run(runner, "test/a.test.js")

    between = " " if name == "mocha" else "::"
    assert (runner.name, found) == (
        name,
        {
            f"test/a.test.js::group{between}adds": PASSED,
            f"test/a.test.js::group{between}fails": FAILED,
            f"test/a.test.js::group{between}left out": SKIPPED,
        },
    )
    first, *others = sorted(found)
    assert runner.covers("test/a.test.js", "group::adds", first)
    assert not any(runner.covers("test/a.test.js", "group::adds", other) for other in others)
    assert not runner.covers("test/b.test.js", None, first)


# As AVA 6 prints it for one file; names have no file, and one that cannot be loaded is a test that failed.
AVA_STAND_IN = """#!/bin/sh
[ "$1" = --tap ] || exit 9
echo 'TAP version 13'
case $2 in
  test/a.js) printf 'ok 1 - adds two numbers\\nnot ok 2 - fails\\n  ---\\n    name: AssertionError\\n  ...\\nok 3 - later # SKIP\\n'; exit 1;;
  *) printf 'not ok 1 - Error [ERR_MODULE_NOT_FOUND]: Cannot find module\\nnot ok 2 - %s exited with a non-zero exit code: 1\\n' "$2"; exit 1;;
esac
"""  # noqa: E501 - a line of a program


def test_ava_is_started_for_every_file_and_files_that_cannot_be_loaded_have_no_tests(project: Project) -> None:
    project.write("bin/ava", AVA_STAND_IN)
    (project.folder / "bin/ava").chmod(0o755)
    project.programs.append(str(project.folder / "bin"))
    project.write("package.json", '{"scripts": {"test": "xo && c8 ava"}}')
    for path in ("test/a.js", "test/broken.js", "test/helpers/b.js"):
        project.write(path, "")
    runner = project.runner()

    found = project.run(runner, "test/a.js", "test/broken.js", "test/helpers/b.js")

    assert (runner.name, found) == (
        "ava",
        {
            "test/a.js::adds two numbers": PASSED,
            "test/a.js::fails": FAILED,
            "test/a.js::later": SKIPPED,
        },
    )
    assert runner.covers("test/a.js", "fails", "test/a.js::fails")


GO_TESTS = """package shop

import "testing"

func TestDouble(t *testing.T) {
	t.Run("two", func(t *testing.T) {
		if Double(2) != 4 {
			t.Fatal("no")
		}
	})
}

func TestFails(t *testing.T) { t.Fatal("no") }
"""


@pytest.mark.needs_runner
def test_go_runs_the_packages_of_files_and_reports_one_that_does_not_build(project: Project) -> None:
    require_program("go")
    project.write("go.mod", "module example.com/shop\n\ngo 1.19\n")
    project.write("shop.go", "package shop\n\nfunc Double(n int) int { return 2 * n }\n")
    project.write("shop_test.go", GO_TESTS)
    project.write("deep/deep_test.go", "package deep\n\nvar x = missing\n")
    runner = project.runner()

    found = project.run(runner, "shop_test.go", "deep/deep_test.go")

    assert isinstance(runner, GoRunner)
    assert found == {
        "example.com/shop::TestDouble": PASSED,
        "example.com/shop::TestDouble/two": PASSED,
        "example.com/shop::TestFails": FAILED,
        "example.com/shop/deep": ERROR,
    }
    assert runner.covers("shop_test.go", "TestDouble", "example.com/shop::TestDouble/two")
    assert runner.covers("deep/deep_test.go", None, "example.com/shop/deep")
    assert not runner.covers("deep/deep_test.go", None, "example.com/shop::TestFails")


RUST_LIBRARY = """pub fn double(n: i32) -> i32 { 2 * n }
#[cfg(test)]
mod tests {
    #[test]
    fn doubles() { assert_eq!(super::double(2), 4); }
    #[test]
    #[ignore]
    fn later() {}
}
"""


@pytest.mark.needs_runner
def test_cargo_names_the_file_of_every_test(project: Project) -> None:
    require_program("cargo")
    project.write("Cargo.toml", '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n')
    project.write("src/lib.rs", RUST_LIBRARY)
    project.write("tests/buy.rs", "#[test]\nfn fails() { assert_eq!(shop::double(2), 5); }\n")
    runner = project.runner()

    found = project.run(runner, "tests/buy.rs")

    assert isinstance(runner, CargoRunner)
    assert found == {
        "shop::src/lib.rs::tests::doubles": PASSED,
        "shop::src/lib.rs::tests::later": SKIPPED,
        "buy::tests/buy.rs::fails": FAILED,
    }
    assert runner.covers("tests/buy.rs", "fails", "buy::tests/buy.rs::fails")
    assert runner.covers("src/lib.rs", "doubles", "shop::src/lib.rs::tests::doubles")
    assert not runner.covers("src/lib.rs", None, "buy::tests/buy.rs::fails")


def test_a_stated_command_with_a_known_runner_reports_single_tests(project: Project) -> None:
    project.write("test_a.py", "import os\ndef test_one(): assert os.environ['MODE'] == 'x'\ndef test_two(): pass\n")

    runner = runner_for_command("MODE=x pytest -q tests/ -k 'one or three'", project.files(), project.read)

    assert project.run(runner, "test_a.py") == {"test_a::test_one": PASSED}
