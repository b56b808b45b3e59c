"""Cutting members and elements out of JSON texts."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.model.json_cut import cut_json

TEXT = """{
  "mcpServers": {
    "docs":   {"command": "docs", "args": ["}", "\\"]"]},
    "search": {"command": "search"},
    "last": {"url": "https://example.org"}
  },
  "other": 1
}
"""

documents = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.dictionaries(st.text(max_size=4), inner, max_size=4) | st.lists(inner, max_size=4),
    max_leaves=12,
)


def paths(value: Any) -> list[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, inner in entries for path in [(key,), *((key, *rest) for rest in paths(inner))]]


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("docs", '{\n    "search": {"command": "search"},\n    "last": {"url": "https://example.org"}\n  },'),
        ("search", ', "\\"]"]},\n    "last": {"url": "https://example.org"}\n  },'),
        ("last", '{"command": "search"}\n  },'),
    ],
)
def test_everything_else_stays_as_it_is_written(name: str, left: str) -> None:
    assert left in cut_json(TEXT, ("mcpServers", name))


def test_the_only_member_leaves_an_empty_object() -> None:
    assert cut_json('{ "a": {\n  "b": 1\n} }', ("a", "b")) == '{ "a": {} }'


@given(documents, st.sampled_from([None, 2]), st.data())
def test_the_rest_is_the_document_without_it(document: Any, indent: int | None, data: st.DataObject) -> None:
    places = paths(document)
    if not places:
        return
    path = data.draw(st.sampled_from(places))
    expected = deepcopy(document)
    holder = expected
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]

    assert json.loads(cut_json(json.dumps(document, indent=indent), path)) == expected


@pytest.mark.parametrize("path", [("nothing",), ("mcpServers", "nothing"), ("other", "x")])
def test_what_is_not_there_is_an_error(path: tuple[str, ...]) -> None:
    with pytest.raises(KeyError):
        cut_json(TEXT, path)
