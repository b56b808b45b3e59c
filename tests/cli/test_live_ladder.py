"""A ladder of three tiers with the real Claude Code on the scripted model, and a scripted judge that chooses."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.agent_experiment import END, AgentDesk, require_agent
from tests.cli.engines import records
from tests.engine.engine_fixtures import DONE
from tests.prerequisites import needs

from outweigh.model.choice import ChoiceRecord
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.choice_file import read_choices
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

MODEL = "claude-sonnet-4-5"
NOTES = "Keep notes about every answer."
BRIEF = "Answer in as few words as you can."
CHECKED = "Check every answer twice."
RUBRIC = {"criteria": [{"type": "binary", "name": "noted", "description": "There are notes about the answer."}]}
JUDGE = """
import json, sys
noted = "notes.txt" in sys.stdin.read()
entries = [{"id": "noted", "evidence": "notes.txt" if noted else "no notes", "score": int(noted)}]
print(json.dumps({"answer": {"answers": entries, "confidence": 1.0}}))
"""


def script() -> Script:
    """Whoever is told to keep notes keeps them; all solve the task."""
    noted = Conversation(when=When(contains=NOTES), turn=[Turn(run="echo 42 >answer.txt; echo 6x7 >notes.txt"), END])
    return Script(conversation=[noted], turn=[Turn(run="echo 42 >answer.txt"), END])


@pytest.fixture
@needs("agent", "bubblewrap")
def desk(tmp_path: Path) -> AgentDesk:
    require_agent("claude")
    return AgentDesk(tmp_path, MODEL)


def test_the_arm_that_the_judge_prefers_is_what_the_next_tier_is_built_on(desk: AgentDesk) -> None:
    claude = {"agent": "claude-code", "model": MODEL}
    arms = {
        "plain": {**claude, "tier": 0},
        "brief": {**claude, "tier": 1, "instructions": BRIEF},
        "noted": {**claude, "tier": 1, "instructions": NOTES},
        "checked": {"tier": 2, "inherit": {"best_of": [0, 1], "by": "median-judge"}, "extra_prompt": CHECKED},
    }
    judge = {"name": "judge", "backend": "command", "options": {"command": [sys.executable, "-c", JUDGE]}}
    with ModelServer(script()) as server:
        desk.write(server, arms, judges=[judge], task={"checks": [DONE], "rubric": RUBRIC})
        ended = desk.run()
    assert ended.code == 0, ended.err
    (choice,) = read_choices(desk.store)
    assert {each.arm: each.value for each in choice.candidates} == {"plain": 0.0, "brief": 0.0, "noted": 1.0}
    assert choice.chosen == "noted"
    assert Counter(run.trial.arm for run in desk.records()) == {"plain": 2, "brief": 2, "noted": 2, "checked": 1}
    check_what_was_built(desk.store, choice)


def check_what_was_built(store: Path, choice: ChoiceRecord) -> None:
    """The inheriting arm has the winner's instructions and its own prompt, and its run says that it had them."""
    assert choice.fingerprint is not None
    built = json.loads(ArtifactFolder.of_store(store).read(choice.fingerprint))
    assert [file["path"] for file in built["overlay"]] == ["CLAUDE.md"]
    assert ArtifactFolder.of_store(store).read(built["overlay"][0]["sha256"]).decode() == NOTES
    assert built["extra_prompt"] == CHECKED
    (run,) = [each for each in records(store) if each.trial.arm == "checked"]
    assert run.arm_fingerprint == choice.fingerprint
    assert b"notes.txt" in ArtifactFolder.of_store(store).read(run.artifacts["diff.patch"])
