"""Skills and instructions are laid where the arm's agent looks for them, and nowhere else."""

from pathlib import Path
from typing import Any

import pytest

from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.errors import UsageError
from outweigh.model.arm import Arm, ArmSpec


def loaded(folder: Path, agent: str, *, skills: bool = True, instructions: str | None = "Be brief.") -> Arm:
    (folder / "skills" / "tidy").mkdir(parents=True, exist_ok=True)
    (folder / "skills" / "tidy" / "SKILL.md").write_text("Be tidy.")
    spec = ArmSpec(agent=agent, skills=["skills/tidy"] if skills else [], instructions=instructions)
    return load_arm("full", {"full": spec}, ArmFiles(folder), "suite.toml")


@pytest.mark.parametrize(
    ("agent", "places"),
    [
        ("claude-code", [".claude/skills/tidy/SKILL.md", "CLAUDE.md"]),
        ("codex", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("gemini-cli", [".gemini/skills/tidy/SKILL.md", "GEMINI.md"]),
        ("qwen-code", [".qwen/skills/tidy/SKILL.md", "QWEN.md"]),
        ("opencode", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("goose", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("shell", [".agents/skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md", "AGENTS.md", "CLAUDE.md"]),
        ("somebody-elses", [".agents/skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md", "AGENTS.md", "CLAUDE.md"]),
    ],
)
def test_every_agent_has_its_places_and_an_unknown_one_the_usual_two(
    tmp_path: Path, agent: str, places: list[str]
) -> None:
    assert [file.path for file in loaded(tmp_path, agent).overlay] == places


def test_an_agent_without_skills_may_still_read_instructions(tmp_path: Path) -> None:
    assert [file.path for file in loaded(tmp_path, "aider", skills=False).overlay] == ["CONVENTIONS.md"]


@pytest.mark.parametrize(
    ("agent", "given", "complaint"),
    [
        ("aider", {"instructions": None}, "arms.full.skills: aider does not support skills"),
        ("mini-swe-agent", {"instructions": None}, "arms.full.skills: mini-swe-agent does not support skills"),
        ("mini-swe-agent", {"skills": False}, "mini-swe-agent reads no instruction file; use extra_prompt"),
    ],
)
def test_what_an_agent_would_never_look_at_is_refused(
    tmp_path: Path, agent: str, given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        loaded(tmp_path, agent, **given)


def test_the_places_count_in_the_fingerprint(tmp_path: Path) -> None:
    assert loaded(tmp_path, "codex").fingerprint != loaded(tmp_path, "codex", instructions="Be long.").fingerprint
