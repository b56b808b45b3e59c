"""Parts with the real Claude Code: its own requests show every part of an arm, and none that the arm leaves out."""

from pathlib import Path

import pytest
from tests.agents.live_agent import DESCRIPTION, SKILL, TOOL_SERVER
from tests.cli.agent_experiment import SOLVED, AgentDesk, require_agent

from outweigh.model.failure import Status
from outweigh.store.experiment_file import read_experiment
from outweigh.testing.model_server import ModelServer

MODEL = "claude-sonnet-4-5"
GUIDE = (
    "\ufeff---\ntitle: Claude Code sends no front matter\n---\n"
    "# Animals\nGreet every zebra by its full name.\n\n<!-- Claude Code sends no comments. -->\n\n"
    "```sh\n# a comment\n```\n\n## Feeding\nFeed the giraffe at noon sharp.\n"
    "# Gates\nShut the gate behind you, always.\n"
)
KEEPER = "---\nname: keeper\ndescription: Takes care of every ostrich in the field.\n---\nYou keep ostriches.\n"
HOOK_TEXT = "The hook of the zoo says that the flamingo sleeps."
FILES = {
    "CLAUDE.md": GUIDE,
    "skills/tidy/SKILL.md": SKILL,
    "agents/keeper.md": KEEPER,
    "server/tool_server.py": TOOL_SERVER,
}
PARTS = {
    "animals": {"instructions_file": "CLAUDE.md", "sections": ["(before the first heading)", "Animals"]},
    "feeding": {"instructions_file": "CLAUDE.md", "sections": ["Feeding"]},
    "gates": {"instructions_file": "CLAUDE.md", "sections": ["Gates"]},
    "tidy": {"skills": ["skills/tidy"]},
    "keeper": {"agents": ["agents/keeper.md"]},
    "zoo": {"mcp_servers": {"zoo": {"command": ["python3", "tool_server.py"]}}, "files": "server"},
    "flamingo": {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo '{HOOK_TEXT}'"}]}]}},
}
SIGNS = {
    "animals": "Greet every zebra by its full name.",
    "feeding": "Feed the giraffe at noon sharp.",
    "gates": "Shut the gate behind you, always.",
    "tidy": DESCRIPTION,
    "keeper": "Takes care of every ostrich in the field.",
    "zoo": "mcp__zoo__feed_the_zebra",
    "flamingo": HOOK_TEXT,
}
"""What a request holds if the part was applied."""


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_every_part_of_an_arm_is_in_its_requests_and_none_that_it_lacks(tmp_path: Path) -> None:
    require_agent("claude")
    desk = AgentDesk(tmp_path, MODEL)
    for path, content in FILES.items():
        (desk.suite / path).parent.mkdir(parents=True, exist_ok=True)
        (desk.suite / path).write_text(content)
    design = {"kind": "leave-one-out", "parts": ["feeding", "flamingo"]}
    with ModelServer(SOLVED, kept_body_bytes=2_000_000) as server:
        arms = {"full": {"agent": "claude-code", "model": MODEL, "parts": list(PARTS)}}
        desk.write(server, arms, parts=PARTS, designs=[design])
        desk.run("-j", "1")
        bodies = [entry.body for entry in server.ledger if entry.body]

    runs = {run.trial.arm: run for run in desk.records()}
    assert runs.keys() == {"full", "without-feeding", "without-flamingo"}
    assert {(run.status, run.status_detail) for run in runs.values()} == {(Status.COMPLETED, None)}
    seen = {frozenset(part for part, sign in SIGNS.items() if sign.encode() in body) for body in bodies}
    everything = frozenset(PARTS)
    assert {everything, everything - {"feeding"}, everything - {"flamingo"}} == seen
    loaded = runs["full"].loaded
    assert loaded is not None
    assert (loaded.agents, loaded.hooks) == (("keeper",), ("SessionStart",))
    experiment = read_experiment(desk.store)
    assert experiment is not None
    assert experiment.parts["without-feeding"] == ("animals", "gates", "tidy", "keeper", "zoo", "flamingo")
