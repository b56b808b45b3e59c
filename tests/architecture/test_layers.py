"""The import contracts hold, and every way of breaking them that we could think of is caught."""

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
def codebase(tmp_path: Path) -> Path:
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
        ("score/composite.py", "import outweigh.compare.comparison", "Imports follow the flow"),
        ("stats/estimate.py", "from outweigh.model.usage import Usage", "Imports follow the flow"),
        ("verdict/promotion.py", "import outweigh.cli.main", "Imports follow the flow"),
        ("report/document.py", "import outweigh.store.records", "Imports follow the flow"),
        ("store/records.py", "import outweigh.testing.builders", "Imports follow the flow"),
        ("store/records.py", "import outweigh.engine.attempt", "Imports follow the flow"),
        ("app/decide.py", "import outweigh.cli.verdict", "Imports follow the flow"),
        ("gateway/egress_proxy.py", "import outweigh.sandbox.local", "Imports follow the flow"),
        ("utils.py", "X = 1", "Imports follow the flow"),
        ("model/codec.py", "import pathlib", "The core has no clock"),
        ("compare/deltas.py", "import time", "The core has no clock"),
        ("verdict/policy.py", "import subprocess", "The core has no clock"),
        ("stats/estimate.py", "import random", "The core has no clock"),
        ("score/composite.py", "import genai_prices", "The core has no clock"),
        ("report/document.py", "import os", "The core has no clock"),
        ("agents/goose.py", "import outweigh.agents.codex.stream", "Agents do not know each other"),
        ("interop/promptfoo.py", "import outweigh.interop.harbor.importer", "Harnesses do not know each other"),
        ("model/usage.py", "import outweigh.model.run_record", "No cycles"),
    ],
)
def test_a_deliberate_violation_is_caught(codebase: Path, file: str, line: str, contract: str) -> None:
    path = codebase / "src" / "outweigh" / file
    assert path.exists() or file == "utils.py"
    path.write_text((path.read_text() if path.exists() else "") + f"\n{line}\n")

    done = lint(codebase)

    assert done.returncode != 0
    broken = [row for row in done.stdout.splitlines() if " BROKEN" in row]
    assert any(row.startswith(contract) for row in broken), done.stdout
