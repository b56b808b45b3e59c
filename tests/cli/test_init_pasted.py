"""The next steps that `outweigh init` prints work when they are pasted into a shell, for every kind of suite."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import END, INSTALLED, require_agent
from tests.cli.test_skill_suite import SCRIPT, a_skill_with_evals
from tests.interop.foreign_suites import skillci_suite
from tests.prerequisites import needs, require

from outweigh.model.suite import GatewaySpec
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import ModelServer, Script, Turn


class Shell:
    """A real bash in a folder of its own, in which `outweigh` is the program under test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        program = folder / "bin" / "outweigh"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m outweigh "$@"\n')
        program.chmod(0o755)

    def __call__(self, commands: str, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.folder / 'bin'}:{INSTALLED}:{os.environ['PATH']}"
        return subprocess.run(
            ["bash", "-e"],
            input=commands,
            cwd=self.folder,
            env={"PATH": path, "HOME": str(self.folder), **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=540,
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
@needs("agent", "bubblewrap")
def claude(shell: Shell) -> Shell:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    return shell


def next_steps(printed: str) -> str:
    """What somebody copies: everything below "Next:"."""
    return printed.partition("\nNext:\n")[2]


@pytest.mark.parametrize("folder", ["", "my-suite", "with a blank", "-dash"])
def test_the_steps_of_a_starter_suite_work_when_pasted(shell: Shell, folder: str) -> None:
    written = shell(f"outweigh init -- '{folder}'" if folder else "outweigh init")
    assert written.returncode == 0, written.stderr

    # A verdict of two tasks is inconclusive, which its exit code says; bash must go on to the end without it.
    pasted = shell(next_steps(written.stdout).replace("outweigh verdict", "! outweigh verdict"))

    assert pasted.returncode == 0, pasted.stderr
    assert pasted.stdout.startswith("starter is set up: 2 tasks tried\n")
    assert "\nINCONCLUSIVE: candidate passes " in pasted.stdout
    assert (shell.folder / folder / "outweigh-runs" / "starter").is_dir()


def test_from_a_skill_with_evals_to_a_verdict_in_two_steps(claude: Shell) -> None:
    """The real agent and the real judge, on the scripted model; nothing is edited."""
    skill = a_skill_with_evals(claude.folder / "csv-report")
    with ModelServer(SCRIPT) as server:
        access = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-nothing"}
        first = claude(f"outweigh init --from-skill {skill} -m claude-sonnet-4-5", **access)
        second = claude("outweigh run -k 1", **access)
        requests = server.totals().requests

    assert first.returncode == 0, first.stderr
    assert f"ANTHROPIC_BASE_URL is set, so [gateway.anthropic] asks {server.url}." in first.stdout
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith("IMPROVED: with_skill is judged 100 points better")
    assert requests >= 14 * 3


def test_the_steps_of_a_suite_from_a_skill_work_when_pasted(claude: Shell) -> None:
    evals = [{"id": 1, "name": "rows", "prompt": "Count the rows of sales.csv.", "expectations": ["It counts."]}]
    skill = claude.folder / "csv-report"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: csv-report\ndescription: Reports on CSV files.\n---\nCount.\n")
    (skill / "evals" / "evals.json").write_text(json.dumps({"skill_name": "csv-report", "evals": evals}))
    assert_steps_work(claude, f"outweigh init suite --from-skill {skill} -m claude-sonnet-4-5")


def test_the_steps_of_a_suite_of_another_program_work_when_pasted(claude: Shell) -> None:
    source = skillci_suite(claude.folder / "source")
    assert_steps_work(claude, f"outweigh init suite --from {source} -m claude-sonnet-4-5")


def assert_steps_work(shell: Shell, init: str) -> None:
    answer = json.dumps({"answers": [{"id": "it-counts", "evidence": "It did.", "score": 1}]})
    script = Script(turn=[Turn(text=answer), END])
    with ModelServer(script) as server:
        access = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-nothing"}
        written = shell(init, **access)
        assert written.returncode == 0, written.stderr
        steps = next_steps(written.stdout).replace("outweigh verdict", "! outweigh verdict")
        pasted = shell(steps, **access)

    assert pasted.returncode == 0, pasted.stdout + pasted.stderr
    assert " is set up: " in pasted.stdout


@pytest.mark.parametrize("address", ["", "not an address", "https://user:secret@models.example.org", "file:///x"])
def test_an_address_that_is_none_or_holds_a_password_is_not_written_down(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    skill = a_skill_with_evals(tmp_path / "csv-report")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)

    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(skill))

    assert answer.code == 0
    assert "gateway" not in (tmp_path / "suite" / "suite.toml").read_text()
    assert "secret" not in answer.out
    assert GatewaySpec().anthropic.url == "https://api.anthropic.com"
