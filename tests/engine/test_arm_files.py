"""Skills and instructions are laid where the arm's agent looks for them, and nowhere else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.engine.load_suite import LocationFinder
from outweigh.errors import UsageError
from outweigh.model.agent_files import AgentFileLocations, ConfigurationKind, file_locations_of
from outweigh.model.arm import Arm, ArmSpec
from outweigh.ports.workspaces import RevisionFile


def loaded(
    folder: Path,
    agent: str,
    *,
    skills: bool = True,
    instructions: str | None = "Be brief.",
    locations_of: LocationFinder = file_locations_of,
) -> Arm:
    (folder / "skills" / "tidy").mkdir(parents=True, exist_ok=True)
    (folder / "skills" / "tidy" / "SKILL.md").write_text("Be tidy.")
    spec = ArmSpec(agent=agent, skills=["skills/tidy"] if skills else [], instructions=instructions)
    return load_arm("full", {"full": spec}, ArmFiles(folder, locations_of=locations_of), "suite.toml")


@pytest.mark.parametrize(
    ("agent", "places"),
    [
        ("claude-code", [".claude/skills/tidy/SKILL.md", "CLAUDE.md"]),
        ("codex", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("gemini-cli", [".gemini/skills/tidy/SKILL.md", "GEMINI.md"]),
        ("qwen-code", [".qwen/skills/tidy/SKILL.md", "QWEN.md"]),
        ("opencode", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("goose", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("copilot", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("pi", [".agents/skills/tidy/SKILL.md", "AGENTS.md"]),
        ("shell", [".agents/skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md", "AGENTS.md", "CLAUDE.md"]),
        ("somebody-elses", [".agents/skills/tidy/SKILL.md", ".claude/skills/tidy/SKILL.md", "AGENTS.md", "CLAUDE.md"]),
    ],
)
def test_every_agent_has_its_places_and_an_unknown_one_the_usual_two(
    tmp_path: Path, agent: str, places: list[str]
) -> None:
    assert [file.path for file in loaded(tmp_path, agent).overlay] == places


TINY = AgentFileLocations(
    skills=(".tiny/abilities",),
    instructions=("TINY.md",),
    others={".tiny/servers.json": ConfigurationKind.TOOL_SERVERS},
)


def test_an_adapter_of_another_package_says_where_its_files_go(tmp_path: Path) -> None:
    arm = loaded(tmp_path, "tiny", locations_of=lambda _: TINY)

    assert [file.path for file in arm.overlay] == [".tiny/abilities/tidy/SKILL.md", "TINY.md"]
    assert arm.skills == ("tidy",)


def test_an_arm_with_files_for_an_agent_of_another_package_has_the_skills_in_them(tmp_path: Path) -> None:
    (tmp_path / "files" / ".tiny" / "abilities" / "neat").mkdir(parents=True)
    (tmp_path / "files" / ".tiny" / "abilities" / "neat" / "SKILL.md").write_text("Be neat.")
    files = ArmFiles(tmp_path, locations_of=lambda _: TINY)

    assert load_arm("full", {"full": ArmSpec(agent="tiny", files="files")}, files, "suite.toml").skills == ("neat",)


def test_an_arm_from_git_takes_the_places_of_an_agent_of_another_package_and_no_others(tmp_path: Path) -> None:
    paths = ("TINY.md", "more.md", ".tiny/abilities/neat/SKILL.md", ".tiny/servers.json", "CLAUDE.md", ".tiny/cache")

    class OneCommit:
        def commit(self, ref: str) -> str:
            return ref

        def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
            for path in filter(wanted, paths):
                yield RevisionFile(path=path, content=b"See @more.md", executable=False)

    files = ArmFiles(tmp_path, OneCommit(), locations_of=lambda _: TINY)
    arm = load_arm("full", {"full": ArmSpec(agent="tiny", from_git="main")}, files, "suite.toml")

    assert [file.path for file in arm.overlay] == [
        ".tiny/abilities/neat/SKILL.md",
        ".tiny/servers.json",
        "TINY.md",
        "more.md",
    ]


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
