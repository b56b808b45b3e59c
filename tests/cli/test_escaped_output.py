"""Claims about words that stand in other people's files: a terminal shows them, and does not obey them."""

import re
from pathlib import Path
from typing import Any

from tests.interop.skill_creator.skills import a_skill, one_eval

CLEAR = "\x1b[2J"


def test_a_complaint_names_what_the_user_wrote_and_obeys_nothing(outweigh: Any) -> None:
    answer = outweigh("import", f"runs{CLEAR}", "-o", "x")

    assert answer.code == 2
    assert "\\x1b[2J" in answer.err
    assert "\x1b" not in answer.err


def test_notes_on_a_foreign_suite_obey_nothing_either(outweigh: Any, tmp_path: Path) -> None:
    skill = a_skill(tmp_path / "skill", one_eval(**{f"key{CLEAR}": 1}))

    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(skill))

    assert answer.code == 0, answer.err
    for said in (answer.out, (tmp_path / "suite" / "NOTES.md").read_text()):
        assert "key\\x1b[2J" in said
        assert "\x1b" not in said


def test_an_import_shows_names_of_arms_as_they_are_written(outweigh: Any, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv"
    table.write_text(f"task_id,arm,success\none,old{CLEAR},true\n")

    answer = outweigh("import", "table", str(table), "-o", str(tmp_path / "runs"))

    assert answer.code == 0, answer.err
    assert re.search(r"^  old\\x1b\[2J +1 +1 +0 +1 +100 %", answer.out, re.MULTILINE)
    assert "\x1b" not in answer.out + answer.err
