"""From `outweigh parts list` to a patch, with the real Claude Code against a scripted model."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.agent_experiment import INSTALLED, require_agent
from tests.cli.test_parts_list import CLAUDE_MD, NAMES, PROGRAMS, SECTIONS, SETUP
from tests.conftest import Outweigh
from tests.prerequisites import require
from tests.repositories import Repository

from outweigh.plugins import load_adapter
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When

TASKS = 30
DROPPED = ["style", "skill-tidy", "server-zoo"]
SCRIPT = Script(
    conversation=[
        Conversation(
            when=When(contains=SECTIONS["Testing"].strip()), turn=[Turn(run="echo 42 >answer.txt"), Turn(text="Done.")]
        )
    ],
    turn=[Turn(text="I do not know how.")],
)
"""A model that solves its task where the set-up has the section about testing, whatever else it has."""
ARMS = f"""
policy = {{ gates = ["pass_rate"], margins = {{ pass_rate = 0.1 }} }}
repeats = 1

[arms.all-parts]
parts = {json.dumps(NAMES)}
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A CLAUDE.md of six sections, two skills and a tool server, and tasks to try them on."""
    found = Repository(tmp_path / "project")
    for number in range(TASKS):
        task = found.folder / "tasks" / f"task-{number}"
        task.mkdir(parents=True)
        (task / "instruction.md").write_text(f"Write 42 to answer.txt. This is number {number}.\n")
        (task / "task.toml").write_text(
            "[metadata.outweigh]\n"
            'checks = [{ type = "file_contains", name = "done", path = "answer.txt", text = "42" }]\n'
        )
    found.commit(SETUP)
    monkeypatch.chdir(found.folder)
    monkeypatch.setenv("PATH", f"{INSTALLED}:{PROGRAMS}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-dummy-key")
    monkeypatch.setenv("ZOO_TOKEN", "for-the-server")
    return found


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_from_the_list_of_parts_to_a_patch(
    repository: Repository, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    suite = repository.folder / "parts-suite" / "suite.toml"
    with ModelServer(SCRIPT) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        listed = outweigh(
            "parts", "list", "--no-tokens", "-t", "tasks", "-o", "parts-suite", "--design", "leave-one-out"
        )
        # Nine parts on thirty tasks take hundreds of runs, so one is left out alone, and three together.
        head, _, written = suite.read_text().partition("\n[arms.bare]\n")
        suite.write_text(head + ARMS + written.replace('arm = "bare"\n', 'arm = "all-parts"\nparts = ["testing"]\n'))
        first = outweigh("run", "-c", "parts-suite", "-o", "runs", "-y")
        assert (listed.code, first.code) == (0, 0), listed.err + first.err
        refused = outweigh("parts", "apply", "runs", "--drop", ",".join(DROPPED))
        suite.write_text(suite.read_text() + refused.err[refused.err.index("[arms.without-") :])
        second = outweigh("run", "-c", "parts-suite", "-o", "runs", "-y")

    assert (refused.code, "effects of parts need not add up" in refused.err) == (3, True), refused.err
    assert second.code == 0, second.err
    answer = outweigh("parts", "verdict", "runs", "--format", "json").json()
    words = {row["part"]: row["verdict"] for row in answer["parts"]}
    assert words == {**dict.fromkeys(NAMES, "not_known"), "testing": "keep"}
    assert [(joint["parts"], joint["decision"], joint["may_drop"]) for joint in answer["joint"]] == [
        (DROPPED, "neutral", True)
    ]
    kept = outweigh("parts", "apply", "runs", "--drop", "testing")
    assert (kept.code, "the arm without them is regressed" in kept.out) == (1, True)
    done = outweigh("parts", "apply", "runs", "--drop", ",".join(DROPPED), "--patch", "smaller.patch")
    assert done.code == 0, done.out + done.err
    subprocess.run(["git", "apply", "smaller.patch"], check=True)
    assert Path("CLAUDE.md").read_text() == CLAUDE_MD.replace(f"## Style\n{SECTIONS['Style']}\n", "")
    assert json.loads(Path(".mcp.json").read_text()) == {"mcpServers": {}}
    assert [path.parent.name for path in Path(".claude/skills").rglob("SKILL.md")] == ["deploy"]
