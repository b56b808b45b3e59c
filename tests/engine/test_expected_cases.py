"""The names of the tests that ran when a task was solved reach every run, from preflight through the store."""

import sys
from pathlib import Path
from typing import Any

from tests.engine.engine_fixtures import shell, write_suite

from outweigh.store.run_store import FolderRunStore

REPORT = "$OUTWEIGH_REPORTS/junit.xml"
RUN_TESTS = f"""\
. ./work.sh
{{ echo "<testsuite>"; for name in one two; do [ "$answer" = 42 ] && echo "<testcase name='$name'/>"; done
echo "</testsuite>"; }} > "{REPORT}"
[ "$answer" = 42 ]
"""
# Without the names, this report would do.
CHEAT = f"""echo 'echo "<testsuite><testcase name=\\"x\\"/></testsuite>" > "{REPORT}"; exit 0' > work.sh"""


def passed(outweigh: Any, suite: Path, store: Path, repeats: int = 1) -> dict[str, list[bool | None]]:
    answer = outweigh("run", "-c", str(suite), "-o", str(store), "-k", str(repeats))
    assert answer.code == 0, answer.err
    with FolderRunStore.open(store) as opened:
        records = [attempts[-1] for attempts in opened.finished().values()]
    results = [(record.trial.arm, record.checks[0].passed) for record in records if record.checks]
    return {arm: [result for name, result in results if name == arm] for arm in ("honest", "cheat")}


def test_a_run_whose_report_lacks_tests_of_the_solved_task_fails(outweigh: Any, tmp_path: Path) -> None:
    arms = {"honest": shell("echo answer=42 > work.sh"), "cheat": shell(CHEAT)}
    check = {"type": "tests", "name": "t", "run": 'sh "$OUTWEIGH_TESTS/run.sh"', "report": REPORT}
    suite = write_suite(tmp_path / "suite", arms, task={"checks": [check]})
    (suite / "task-1/tests").mkdir()
    (suite / "task-1/tests/run.sh").write_text(RUN_TESTS)
    unknown = passed(outweigh, suite, tmp_path / "unknown")
    (suite / "task-1/solution").mkdir()
    (suite / "task-1/solution/solve.sh").write_text("#!/bin/sh\necho answer=42 > work.sh\n")
    known = passed(outweigh, suite, tmp_path / "known")
    # When a run goes on, what preflight found is read from the store.
    continued = passed(outweigh, suite, tmp_path / "known", repeats=2)

    assert unknown == {"honest": [True], "cheat": [True]}
    assert known == {"honest": [True], "cheat": [False]}
    assert continued == {"honest": [True, True], "cheat": [False, False]}


def test_names_that_pytest_reports_in_preflight_are_those_of_a_run(outweigh: Any, tmp_path: Path) -> None:
    arms = {"honest": shell("echo right = True > work.py"), "cheat": shell("echo 'raise SystemExit(0)' > work.py")}
    check = {"type": "command", "name": "c", "run": f'{sys.executable} -m pytest -q "$OUTWEIGH_TESTS"'}
    suite = write_suite(tmp_path / "suite", arms, task={"checks": [check]})
    for folder in ("tests", "solution"):
        (suite / "task-1" / folder).mkdir()
    (suite / "task-1/tests/test_work.py").write_text("import work\ndef test_it():\n    assert work.right\n")
    (suite / "task-1/solution/solve.sh").write_text("#!/bin/sh\necho right = True > work.py\n")

    assert passed(outweigh, suite, tmp_path / "store") == {"honest": [True], "cheat": [False]}
