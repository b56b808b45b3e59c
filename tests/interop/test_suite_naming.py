"""Tasks have folder names, and no two have the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.interop.suite_drafting import make_unique, slug


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Fill the form!", "fill-the-form"),
        ("  a/b\\c  ", "a-b-c"),
        ("..", "eval-1"),
        ("", "eval-1"),
        ("日本語 の 名前", "日本語-の-名前"),
        ("v1.2_final", "v1.2_final"),
    ],
)
def test_what_people_call_things_becomes_a_folder(text: str, name: str) -> None:
    assert slug(text, "eval-1") == name


@given(st.text())
def test_no_name_leads_anywhere_or_is_a_pattern(text: str) -> None:
    name = slug(text, "x")

    assert name
    assert not name.startswith(".")
    assert not set(name) & set('/\\*?[]{}"\0\n\t ')
    assert len(name.encode()) < 250


@given(st.lists(st.sampled_from(["a", "a-2", "a-2-2", "b"])))
def test_names_are_told_apart(names: list[str]) -> None:
    found = make_unique(names)

    assert len(set(found)) == len(found) == len(names)
    assert all(mine.startswith(theirs) for mine, theirs in zip(found, names, strict=True))
