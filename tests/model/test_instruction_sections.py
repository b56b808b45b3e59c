"""An instruction file is cut at its headings and bullets: nothing is lost, and code is never a heading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.errors import UsageError
from outweigh.model.instruction_sections import (
    InstructionSection,
    outline,
    section_text,
    split_bullets,
    split_sections,
    take_sections,
)

FILE = """# CLAUDE.md

What this file is for.

## Testing
Before every commit:
- Use pytest
  with the markers
  - of this project
- Run ruff

A closing word.

```bash
# not a heading
- not a bullet
```
## Style
Short functions.

### Python
Types everywhere.
"""
LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "### C",
        "- one",
        "  - two",
        "* three",
        "1. four",
        "text",
        "",
        "  more",
        "```",
        "~~~",
        "====",
        "---",
    ]
)


def titles(sections: tuple[InstructionSection, ...]) -> list[tuple[str, int]]:
    return [(section.title, section.level) for section in sections]


def test_a_file_is_cut_at_the_highest_level_that_has_several_headings() -> None:
    sections = split_sections(FILE)

    assert titles(sections) == [("CLAUDE.md", 0), ("Testing", 2), ("Style", 2)]
    assert section_text(FILE, sections[2]) == "## Style\nShort functions.\n\n### Python\nTypes everywhere.\n"


def test_a_file_without_headings_is_one_section() -> None:
    assert titles(split_sections("Be kind.\n\n- Be short.\n")) == [("", 0)]
    assert split_sections("") == ()


def test_a_comment_in_code_is_no_heading_and_a_dash_in_code_no_bullet() -> None:
    found = [title for title, _ in titles(outline(FILE))]

    assert found == ["CLAUDE.md", "Testing", "Use pytest", "Run ruff", "Style", "Python"]


def test_underlined_headings_count() -> None:
    assert titles(split_sections("Tests\n=====\nRun them.\n\nStyle\n=====\nShort.\n")) == [("Tests", 1), ("Style", 1)]


def test_a_section_is_cut_at_its_bullets_and_what_is_around_them_stays() -> None:
    testing = split_sections(FILE)[1]

    pieces = split_bullets(FILE, testing)

    assert titles(pieces) == [("Testing", 0), ("Use pytest", 7), ("Run ruff", 7), ("Testing", 0)]
    assert section_text(FILE, pieces[1]) == "- Use pytest\n  with the markers\n  - of this project\n"
    assert section_text(FILE, pieces[3]).startswith("A closing word.\n")


def test_sections_are_taken_by_heading_with_what_is_below_them_and_bullets_by_their_start() -> None:
    taken = take_sections(FILE, ["## Style", "Run ru"], "parts.x")

    assert taken == "- Run ruff\n\n## Style\nShort functions.\n\n### Python\nTypes everywhere.\n"


@pytest.mark.parametrize(("title", "said"), [("Deploying", "no heading 'Deploying'"), ("Same", "is 2 sections")])
def test_a_title_that_names_nothing_or_two_sections_is_refused(title: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        take_sections(f"{FILE}## Same\n1\n## Same\n2\n", [title], "parts.x")


@given(st.lists(LINES, max_size=25).map("\n".join))
def test_cutting_loses_and_doubles_nothing(text: str) -> None:
    sections = split_sections(text)
    pieces = [piece for section in sections for piece in split_bullets(text, section)]

    assert "".join(section_text(text, section) for section in sections) == text
    assert "".join(section_text(text, piece) for piece in pieces) == text
