"""A change of code is told from one of comments, layout and moved lines."""

import pytest

from outweigh.mining.code_changes import changed_by_content, changed_by_lines, inline_tests, is_move
from outweigh.mining.history_objects import ChangedLines

SAME = {
    "comment.py": ("a = 1\n", "# the first\na = 1  # one\n"),
    "docstring.py": ("def a():\n    return 1\n", 'def a():\n    """One."""\n    return 1\n'),
    "black.py": ("f('a',b)\n", 'f(\n    "a",\n    b,\n)\n'),
    "comment.js": ("const a = 1;\n", "// one\nconst a = 1; /* first */\n"),
    "prettier.js": ("const a = f('x', y)\n", 'const a = f(\n  "x",\n  y,\n);\n'),
    "comment.go": ("a := 1\n", "// one\na := 1\n"),
    "comment.rb": ("a = 1\n", "# one\na = 1\n"),
}
DIFFERENT = {
    "value.py": ("a = 1\n", "a = 2\n"),
    "text.py": ("print('a  b')\n", "print('a b')\n"),
    "dedent.py": ("for a in b:\n    c()\n    d()\n", "for a in b:\n    c()\nd()\n"),
    "text.js": ("f('a // b')\n", "f('a // c')\n"),
    "url.ts": ('const a = "https://x";\n', 'const a = "https://y";\n'),
    "directive.go": ("//go:embed a\n", "//go:embed b\n"),
    "data.json": ('{"a": 1}', '{"a":  1}'),
}


@pytest.mark.parametrize("name", SAME)
def test_comments_docstrings_and_layout_are_no_change(name: str) -> None:
    before, after = (text.encode() for text in SAME[name])

    assert not changed_by_content(name, before, after)


@pytest.mark.parametrize("name", SAME)
def test_lines_alone_never_make_a_change_of_comments_and_layout(name: str) -> None:
    before, after = (text.splitlines() for text in SAME[name])
    removed, added = [x for x in before if x not in after], [x for x in after if x not in before]

    assert changed_by_lines(name, ChangedLines(removed, added)) is not True


@pytest.mark.parametrize("name", DIFFERENT)
def test_everything_else_is_a_change(name: str) -> None:
    before, after = (text.encode() for text in DIFFERENT[name])

    assert changed_by_content(name, before, after)


def test_most_changes_are_seen_in_their_lines_alone() -> None:
    assert changed_by_lines("a.py", ChangedLines(["    return 1"], ["    return f(1)"]))
    assert changed_by_lines("a.js", ChangedLines([], ["  if (a) {", "    b();", "  }"]))
    assert changed_by_lines("a.md", ChangedLines([], ["words"]))


def test_only_lines_that_go_from_one_file_to_another_are_a_move() -> None:
    imports = ChangedLines([], ["from b import one"])

    assert is_move([ChangedLines(["def one():", "    return 1"], []), ChangedLines([], ["def one():", "    return 1"])])
    assert not is_move([imports])
    assert not is_move([ChangedLines(["one()"], ["one()"])])
    assert not is_move([ChangedLines(["one()"], []), ChangedLines([], ["two()"])])


def test_the_tests_inside_of_a_rust_file_are_told_from_its_code() -> None:
    content = b"fn one() {}\n\n#[cfg(test)]\nmod tests {}\n"

    assert inline_tests("src/lib.rs", content) == (b"fn one() {}\n", b"\n#[cfg(test)]\nmod tests {}\n")
    assert inline_tests("src/code.py", content) == (content, b"")


def test_code_that_cannot_be_parsed_is_compared_all_the_same() -> None:
    deep = b"(" * 5_000

    assert not changed_by_content("a.py", deep, deep)
    assert changed_by_content("a.py", b"a = 1\n\xff", b"a = 2\n\xff")
