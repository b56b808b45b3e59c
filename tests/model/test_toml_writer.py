"""What is written as TOML is read again as it was."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.errors import UsageError
from outweigh.model.toml_writer import write_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


@given(st.dictionaries(TEXT, VALUES, max_size=6))
def test_every_table_comes_back_as_it_was(table: dict[str, Any]) -> None:
    assert tomllib.loads(write_toml(table)) == table


@given(TEXT, st.dictionaries(st.sampled_from(["", "a", "b", "b.c", "d"]), TEXT))
def test_comments_change_nothing(text: str, comments: dict[str, str]) -> None:
    table = {"a": text, "b": {"c": {"x": [1, {"y": text}]}, "e": 1}, "d": [{"f": text}, {"g": {}}]}

    assert tomllib.loads(write_toml(table, comments)) == table


def test_it_reads_as_a_person_would_write_it() -> None:
    table = {
        "name": "suite",
        "arms": {"plain": {"agent": "shell", "options": {"command": "run"}}, "new": {"extends": "plain"}},
        "judges": [{"name": "reviewer"}],
        "text": 'first "line"\nsecond\n',
    }

    assert write_toml(table, {"": "What it is.", "judges": "Who judges."}) == (
        "# What it is.\n"
        'name = "suite"\n'
        'text = """\nfirst "line"\nsecond\n"""\n'
        "\n"
        "[arms.plain]\n"
        'agent = "shell"\n'
        'options = { command = "run" }\n'
        "\n"
        "[arms.new]\n"
        'extends = "plain"\n'
        "\n"
        "# Who judges.\n"
        "[[judges]]\n"
        'name = "reviewer"\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        'ends with "',
        'a\nb"',
        'a\nb""',
        'a\n"""',
        'a\n""""""',
        'a\n\\"""',
        'a\n"""b',
        "a\r\nb",
        "\na\n",
        "a\n\\",
        "\x7f\n\x00a\nb",
    ],
)
def test_texts_over_several_lines_keep_every_character(text: str) -> None:
    assert tomllib.loads(write_toml({"text": text})) == {"text": text}


def test_half_a_character_is_written_as_a_question_mark() -> None:
    assert tomllib.loads(write_toml({"text": "a\ud800b"})) == {"text": "a?b"}


def test_what_toml_cannot_say_is_refused_by_its_place() -> None:
    with pytest.raises(UsageError, match=r"checks\.equals is None"):
        write_toml({"checks": [{"equals": None}]})
