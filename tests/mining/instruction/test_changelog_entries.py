"""An entry of a changelog is read as a whole, and only what is new about it is told."""

import pytest

from outweigh.mining.instruction.changelog_entries import added_entries

BEFORE = """\
# Changes

- Tables have rows. They are printed with
  spaces between columns.
- Rows can be sorted.
"""


@pytest.mark.parametrize(
    ("after", "added", "entries"),
    [
        pytest.param(
            BEFORE.replace("- Rows", "- Tables can be framed,\n  by `frame=True`.\n- Rows"),
            {5, 6},
            ["- Tables can be framed, by `frame=True`."],
            id="a new entry of two lines",
        ),
        pytest.param(
            BEFORE.replace("between columns.", "between columns. A frame\n  is drawn with `frame=True`."),
            {4, 5},
            ["- A frame is drawn with `frame=True`."],
            id="a new sentence of an entry that was there",
        ),
        pytest.param(
            BEFORE.replace("printed with\n  spaces", "printed\n  with spaces"), {3, 4}, [], id="other line breaks"
        ),
        pytest.param(
            BEFORE.replace("Rows can be sorted", "Rows can be sorted by column"),
            {5},
            ["- Rows can be sorted by column."],
            id="another sentence in place of one",
        ),
        pytest.param(
            BEFORE.replace("Rows can be sorted.", "The rows can be sorted!"), {5}, [], id="a correction of an old entry"
        ),
        pytest.param(
            f"{BEFORE}\n1. Frames\n\n```\n+--+\n+--+\n```\n",
            {6, 7, 8, 9, 10, 11, 12},
            ["", "1. Frames", ""],
            id="blank lines as they are, and no code",
        ),
        pytest.param(
            f"{BEFORE}| `frame` | draws a frame |\n| `sort` | sorts rows |\n",
            {7},
            ["| `sort` | sorts rows |"],
            id="one row of a table",
        ),
    ],
)
def test_what_is_new_about_a_changelog_is_told_in_whole_sentences(
    after: str, added: set[int], entries: list[str]
) -> None:
    assert list(added_entries(BEFORE, after, added)) == entries
