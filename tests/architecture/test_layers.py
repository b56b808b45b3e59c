"""The house rules hold, and every way of breaking them that we could think of is caught."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "", "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_every_contract_is_kept() -> None:
    done = lint(ROOT)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("score/grade.py", "import outweigh.score.metrics", "Imports follow the flow"),
        ("stats/describe.py", "from outweigh.model.usage import Usage", "Imports follow the flow"),
        ("verdict/promotion.py", "import outweigh.cli.main", "Imports follow the flow"),
        ("report/wording.py", "import outweigh.report.render_text", "Imports follow the flow"),
        ("adapters/stores/jsonl.py", "import outweigh.testing.builders", "Imports follow the flow"),
        ("utils.py", "X = 1", "Imports follow the flow"),
        ("record/codec.py", "import pathlib", "The core has no clock"),
        ("compare/delta.py", "import time", "The core has no clock"),
        ("verdict/policy.py", "import subprocess", "The core has no clock"),
        ("stats/describe.py", "import random", "The core has no clock"),
        ("score/cost.py", "import genai_prices", "The core has no clock"),
        ("report/payload.py", "import os", "The core has no clock"),
        ("adapters/reporters/text.py", "import outweigh.store.records", "Adapter kinds"),
        ("adapters/prices/file.py", "import outweigh.report.json_output", "Adapter kinds"),
        ("record/usage.py", "import outweigh.model.run_record", "No cycles"),
    ],
)
def test_a_deliberate_violation_is_caught(house: Path, file: str, line: str, contract: str) -> None:
    path = house / "src" / "outweigh" / file
    path.write_text((path.read_text() if path.exists() else "") + f"\n{line}\n")

    done = lint(house)

    assert done.returncode != 0
    broken = [row for row in done.stdout.splitlines() if row.endswith("BROKEN")]
    assert any(row.startswith(contract) for row in broken), done.stdout
