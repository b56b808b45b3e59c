"""What the documents show is what the program prints."""

import re
from itertools import takewhile
from pathlib import Path

import pytest
from scripts.doc_commands import DOCUMENTS, blocks, rerun

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = [(name, number, block) for name in DOCUMENTS for number, block in enumerate(blocks((ROOT / name).read_text()))]


@pytest.mark.parametrize(("name", "number", "block"), BLOCKS, ids=[f"{name}-{number}" for name, number, _ in BLOCKS])
def test_a_documented_command_prints_what_the_document_shows(name: str, number: int, block: str) -> None:
    assert rerun(name, block, ROOT) == block, f"{name}: run `make docs` and read what changed"


def test_every_document_with_commands_is_checked() -> None:
    shown = [path for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")] if "$ outweigh" in path.read_text()]

    assert {str(path.relative_to(ROOT)) for path in shown} <= set(DOCUMENTS)


def test_bringing_results_begins_with_what_people_ran_and_shows_both_commands() -> None:
    sections = re.split(r"^##+ ", (ROOT / "docs/import.md").read_text(), flags=re.MULTILINE)

    ran = list(takewhile(lambda section: section.startswith("You ran "), sections[1:]))

    assert len(ran) == 11  # the heading above them all, and ten
    assert all("$ outweigh import examples/" in section and section.count("$ outweigh") == 2 for section in ran[1:])
