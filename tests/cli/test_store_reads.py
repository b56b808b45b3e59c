"""How often a command opens the files of a store: what says the rules is read once, so that one answer has one rule."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.stores import write_store
from tests.cli.test_run import scripted
from tests.engine.engine_fixtures import write_suite

from outweigh.model.suite import PolicySpec
from outweigh.testing.builders import runs_of_arm

# An audit hook sees every file that the interpreter opens, whoever opens it.
COUNTING = """
import json, sys
opened = []
sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)
from outweigh.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([code, sum(name.endswith("experiment.json") for name in opened)]), file=sys.stderr)
"""


@pytest.fixture
def store(tmp_path: Path) -> str:
    plain = runs_of_arm("plain", [[True, False, True, False]] * 6)
    new = runs_of_arm("new", [[True, True, True, False]] * 6)
    return write_store(tmp_path / "store", plain + new, ("plain", "new"), policy=PolicySpec(gates=["pass_rate"]))


@pytest.mark.parametrize(
    "words",
    [
        ("verdict",),
        ("verdict", "--format", "json"),
        ("verdict", "--policy", "gates"),
        ("compare",),
        ("ladder",),
        ("report",),
        ("report", "-o", "REPORT.html"),
        ("plan",),
        ("suite", "aa", "--splits", "2"),
    ],
    ids=" ".join,
)
def test_a_reading_command_opens_experiment_json_once(store: str, tmp_path: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", COUNTING, *words, store]

    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    code, times = json.loads(done.stderr.splitlines()[-1])
    assert code in (0, 1, 3), done.stderr
    assert times == 1


READING = """
import json, sys
def bytes_read():
    with open("/proc/self/io") as stream:
        return int(stream.read().split()[1])
from outweigh.cli.main import main
before = bytes_read()
code = main(sys.argv[1:])
print(json.dumps([code, bytes_read() - before]), file=sys.stderr)
"""


def test_a_resumed_run_reads_its_records_once_and_once_more_for_the_verdict(tmp_path: Path) -> None:
    arms = {"a": scripted(0.5), "b": scripted(0.9)}
    write_suite(tmp_path / "suite", arms, tasks=2, repeats=1)

    def read_and_size(repeats: int) -> tuple[int, int]:
        store = tmp_path / f"store-{repeats}"
        command = [sys.executable, "-c", READING, "run", "-c", "suite", "-o", str(store), "-k", str(repeats)]
        for _ in range(2):  # the first makes the runs, the second finds that nothing is left to do
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        code, read = json.loads(done.stderr.splitlines()[-1])
        assert code == 0
        return read, (store / "runs-engine.jsonl").stat().st_size

    few, many = read_and_size(1), read_and_size(25)

    # What else is read (modules, the suite, what the scan found) hardly grows with the number of records.
    assert (many[0] - few[0]) / (many[1] - few[1]) < 2.6
