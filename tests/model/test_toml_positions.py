"""Every key and value of a TOML text is found where it stands; tomllib says what the values are."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from outweigh.model.toml_positions import KeyPath, TomlPositions


def paths_of(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths_of(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths_of(inner, (*path, index))


def check_against_tomllib(text: str) -> None:
    """Every path of the document is known and no other; a plain value stands where the position says."""
    document = dict(paths_of(tomllib.loads(text)))
    positions = TomlPositions(text)
    assert positions.entries.keys() == document.keys()
    for path, value in document.items():
        entry = positions.entries[path]
        if not isinstance(value, dict | list):
            written = text[entry.value : entry.end]
            assert repr(tomllib.loads(f"x = {written}")["x"]) == repr(value)
        if isinstance(path[-1], str):
            assert starts_with_key(text[entry.key :], path[-1])


def starts_with_key(text: str, key: str) -> bool:
    """Whether the text starts with this key, bare or in either kind of quotes."""
    if text[0] not in "\"'":
        return text.startswith(key)
    end = 1
    while text[end] != text[0] or (text[0] == '"' and text[end - 1] == "\\" and text[end - 2] != "\\"):
        end += 1
    return tomllib.loads(f"{text[: end + 1]} = 1") == {key: 1}


PLACES = """\
# a comment with = and [brackets] and "quotes"
title = "x"   # another
'quoted key' = 1
"with.dot" = 2
a.b . "c d" = [ 1, # one
  [2, 3], { x = 1, y.z = 'é' } ,
]
text = \"\"\"
[not a table]
key = 1 \\"\"\" still \"\"\"\"\"
literal = '''
'' x = 2'''
empty = {}
grün = "no"
when = 1979-05-27 07:32:00
[table.inner]
é = "ß"
[[list]]
n = 1
[list.sub]
k = true
[[list]]
n = 2
[[list.deep]]
v = "x"
[table]
late = 1
""".replace("grün = ", '"grün" = ').replace("é = ", '"é" = ')


def test_dotted_keys_inline_tables_arrays_of_tables_and_quoted_keys_are_found() -> None:
    check_against_tomllib(PLACES)


def test_a_file_with_carriage_returns_has_the_same_lines_and_columns() -> None:
    there, here = TomlPositions(PLACES), TomlPositions(PLACES.replace("\n", "\r\n"))

    check_against_tomllib(here.text)
    for path in there.entries:
        assert here.of_key(path) == there.of_key(path)
        assert here.of_value(path) == there.of_value(path)


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("title",), (2, 1), (2, 9)),
        (("quoted key",), (3, 1), (3, 16)),
        (("a", "b", "c d"), (5, 7), (5, 15)),
        (("a", "b", "c d", 1, 0), (6, 4), (6, 4)),
        (("a", "b", "c d", 2, "y", "z"), (6, 22), (6, 26)),
        (("table", "inner", "é"), (17, 1), (17, 7)),
        (("list", 0, "sub", "k"), (21, 1), (21, 5)),
        (("list", 1, "n"), (23, 1), (23, 5)),
        (("list", 1), (22, 1), (22, 1)),
        (("list", 1, "deep"), (24, 8), (24, 1)),
        (("table",), (26, 2), (26, 1)),
        (("table", "missing"), (26, 2), (26, 1)),
        (("nothing",), (1, 1), (1, 1)),
    ],
)
def test_lines_and_columns_count_characters_from_one(path: KeyPath, key: object, value: object) -> None:
    positions = TomlPositions(PLACES)

    assert (positions.of_key(path), positions.of_value(path)) == (key, value)


def test_every_toml_file_of_this_repository_is_read_as_tomllib_reads_it() -> None:
    root = Path(__file__).parents[2]
    files = [file for folder in ("examples", "src", "tests") for file in (root / folder).rglob("*.toml")]
    assert files
    for file in (root / "pyproject.toml", *files):
        text = file.read_text(encoding="utf-8")
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            continue
        check_against_tomllib(text)


BARE = st.text("abz09_-", min_size=1, max_size=4)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6)


def basic(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in escaped) + '"'


def literal(text: str) -> str:
    return "'" + "".join(c for c in text if c >= " " and c not in "'\x7f") + "'"


def multi_line(text: str) -> str:
    return '"""' + basic(text)[1:-1].replace("\\u000a", "\n") + '"""'


SCALARS = st.one_of(
    ANY_TEXT.map(basic),
    ANY_TEXT.map(literal),
    ANY_TEXT.map(multi_line),
    st.integers(-99, 99).map(str),
    st.sampled_from(["1.5", "inf", "true", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0xF", "1_000"]),
)
BLANK = st.sampled_from(["", " ", "\t", "  "])
BREAK = st.sampled_from(["", " ", "\n", " # [x] = 'y' \"\n ", "\r\n"])
KEYS = st.one_of(BARE, ANY_TEXT.map(basic), ANY_TEXT.map(literal))


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = [f"{draw(BREAK)}{item}{draw(BREAK)}" for item in draw(st.lists(inner, max_size=3))]
    end = draw(st.sampled_from(["", ","])) if items else ""
    return f"[{','.join(items)}{end}{draw(BREAK)}]"


@st.composite
def inline_tables(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    pairs = draw(st.lists(st.tuples(KEYS, inner), max_size=3))
    return (
        "{"
        + ",".join(f"{draw(BLANK)}{key}{draw(BLANK)}={draw(BLANK)}{value}{draw(BLANK)}" for key, value in pairs)
        + "}"
    )


VALUES = st.recursive(SCALARS, lambda inner: st.one_of(arrays(inner), inline_tables(inner)), max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 6))):
        keys = f"{draw(BLANK)}.{draw(BLANK)}".join(draw(st.lists(KEYS, min_size=1, max_size=3)))
        kind = draw(st.sampled_from(["pair", "pair", "table", "array"]))
        if kind == "pair":
            lines.append(f"{draw(BLANK)}{keys}{draw(BLANK)}={draw(BLANK)}{draw(VALUES)}{draw(BLANK)}")
        else:
            opening, closing = ("[", "]") if kind == "table" else ("[[", "]]")
            lines.append(f"{draw(BLANK)}{opening}{draw(BLANK)}{keys}{draw(BLANK)}{closing} # end")
    return draw(st.sampled_from(["\n", "\r\n", "\n\n# [no]\n"])).join(lines)


@given(documents())
def test_whatever_tomllib_accepts_is_found_where_it_stands(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        reject()
    check_against_tomllib(text)
