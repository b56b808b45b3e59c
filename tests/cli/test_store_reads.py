"""How often a command opens the files of a store: what says the rules is read once, so that one answer has one rule."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.stores import write_store

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
