"""From a skill with evals to an answer: written, looked at, run with the real agent, judged, decided."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import END, INSTALLED, PatientEngine, require_agent
from tests.cli.engines import Ended, records
from tests.interop.skill_creator.skills import a_skill
from tests.prerequisites import needs, require

from outweigh.model.failure import Status
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

QUESTIONS = ("rows", "columns", "dates", "gaps", "totals", "names", "units")
EXPECTED = "The report gives the number of rows."
CRITERION = "the-report-gives-the-number-of-rows"
SPOKEN = [{"type": "contains", "name": "says-so", "value": "Done."}]
COUNT = "if [ -e .claude/skills/csv-report/SKILL.md ]; then wc -l <sales.csv; else echo no idea; fi >report.md"
"""The same words of the model in both arms: what comes of them depends on the skill being there."""


def answer(score: int) -> Turn:
    return Turn(text=json.dumps({"answers": [{"id": CRITERION, "evidence": "report.md", "score": score}]}))


SCRIPT = Script(
    conversation=[
        Conversation(name="convinced", when=When(tools=False, contains="+2"), turn=[answer(1)]),
        Conversation(name="unconvinced", when=When(tools=False, contains="+no idea"), turn=[answer(0)]),
        Conversation(name="agent", turn=[Turn(run=COUNT), END]),
    ]
)


def a_skill_with_evals(folder: Path) -> Path:
    evals = [
        {
            "id": number,
            "name": name,
            "prompt": f"Look at the {name} of sales.csv, and write report.md.",
            "files": ["evals/files/sales.csv"],
            "expectations": [EXPECTED],
            "assertions": SPOKEN if name == "rows" else [],
        }
        for number, name in enumerate(QUESTIONS)
    ]
    return a_skill(folder, {"skill_name": "csv-report", "evals": evals})


class Machine:
    """Commands as a user types them, with the agent on the path and nothing else of the caller's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tmp").mkdir()

    def __call__(self, verb: str, *arguments: str) -> Ended:
        engine = PatientEngine(
            *arguments,
            verb=verb,
            temporary=self.folder / "tmp",
            folder=self.folder,
            PATH=f"{INSTALLED}:{os.environ['PATH']}",
            HOME=str(self.folder),
            ANTHROPIC_API_KEY="sk-nothing",
        )
        try:
            return engine.wait()
        finally:
            engine.close()


@pytest.fixture
@needs("agent", "bubblewrap")
def machine(tmp_path: Path) -> Machine:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    return Machine(tmp_path)


def lead_to(server: ModelServer, suite: Path) -> None:
    """Agents and the judge ask the scripted model; all else stays as it was written."""
    with suite.open("a") as file:
        file.write(f'options = {{ base_url = "{server.url}" }}\n[gateway.anthropic]\nurl = "{server.url}"\nkey = ""\n')


def test_a_skill_that_helps_is_found_to_help_and_does_not_ship_by_a_judge_alone(machine: Machine) -> None:
    skill = a_skill_with_evals(machine.folder / "csv-report")

    written = machine("init", "suite", "--from-skill", str(skill), "-m", "claude-sonnet-4-5")
    assert written.code == 0, written.err
    with ModelServer(SCRIPT) as server:
        lead_to(server, machine.folder / "suite/suite.toml")
        looked = machine("doctor", "-c", "suite", "--format", "json")
        ran = machine("run", "-c", "suite", "-k", "1", "-j", "2")
        rules = {entry.rule for entry in server.ledger}
    answered = machine("verdict", "outweigh-runs/csv-report", "--format", "json")

    assert looked.code == 0, looked.out
    assert {remark["kind"] for task in json.loads(looked.out)["tasks"] for remark in task["findings"]} == {
        "only_judged",
        "no_solution",
    }
    assert ran.code == 0, ran.err
    runs = records(machine.folder / "outweigh-runs/csv-report")
    assert [run.status for run in runs] == [Status.COMPLETED] * 14
    checks = [check for run in runs for check in run.checks or ()]
    assert [(check.name, check.passed) for check in checks] == [("says-so", True)] * 2, "the real agent's last words"
    assert {"convinced.turn[0]", "unconvinced.turn[0]"} <= rules
    verdict: dict[str, Any] = json.loads(answered.out)
    assert (verdict["baseline"], verdict["candidate"]) == ("without_skill", "with_skill")
    assert verdict["decision"] == "improved"
    assert [(gate["name"], gate["baseline"], gate["candidate"]) for gate in verdict["gates"]] == [("judge_score", 0, 1)]
    assert verdict["may_promote"] is False
    assert any("cannot promote by themselves" in reason for reason in verdict["blockers"])
