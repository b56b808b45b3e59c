"""The suite with parts and designs of docs/suite.md loads as it is written there, and has the arms that it names."""

import re
from pathlib import Path

import pytest

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.verdict.policy import check_policy

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "suite.md").read_text()
FILES = {found[1]: found[2] for found in re.finditer(r'^```\w+ title="parts/([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S)}


@pytest.fixture
def suite(tmp_path: Path) -> LoadedSuite:
    others = {"agents/reviewer.md": "Review.", "tasks/one/task.toml": "", "tasks/one/instruction.md": "Do it."}
    for name, content in {**FILES, **others}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return load_suite(tmp_path, check_policy=check_policy)


def instructions(suite: LoadedSuite, arm: str) -> str:
    (file,) = (file for file in suite.arms[arm].overlay if file.path == "CLAUDE.md")
    return suite.overlays[file.sha256].decode()


def test_the_arms_are_those_that_the_page_names(suite: LoadedSuite) -> None:
    left_out, fraction = suite.designs
    assert left_out.arms == ("current", *(f"without-{part}" for part in ("testing", "style", "review", "ostrich")))
    assert left_out.full == suite.spec.baseline == "current"
    assert len(fraction.arms) == 8
    assert {suite.arms[arm].model for arm in fraction.arms} == {"claude-haiku-4-5"}
    assert set(suite.arm_repeats.values()) == {2}


def test_the_note_is_the_one_that_the_page_shows(suite: LoadedSuite) -> None:
    assert suite.notes == (FILES["note.txt"].strip(),)


def test_a_bullet_that_is_a_part_is_cut_out_of_its_section(suite: LoadedSuite) -> None:
    assert instructions(suite, "current") == FILES["CLAUDE.md"]
    assert instructions(suite, "without-ostrich") == FILES["CLAUDE.md"].replace("- Never mention ostriches.\n", "")
    assert instructions(suite, "without-style").endswith("finish.\n\n- Never mention ostriches.\n")
    overlay = {file.path for file in suite.arms["current"].overlay}
    assert {".claude/agents/reviewer.md", ".claude/settings.json"} <= overlay
    assert {file.path for file in suite.arms["without-review"].overlay} == {"CLAUDE.md"}
