"""Texts of several lines, documentation and the names of cases say what no message of a commit describes."""

from dataclasses import replace

import pytest
from tests.mining.instruction.changes import change, instruction

from outweigh.mining.fairness import ChangedCode

OLD = "def table(rows):\n    return str(rows)\n"
NEW = "def table(rows, frame=False):\n    lines = [' | '.join(row) for row in rows]\n    return '\\n'.join(lines)\n"
TEST = '''
from tables import table


def test_a_table_has_a_frame():
    assert table([["a"]], frame=True) == """
    +---+
    | a |
    +---+
    """
'''


def framed_table(test: str = TEST, *, before: str | None = None) -> ChangedCode:
    return change(
        "Draw a frame around a table", source={"tables.py": (OLD, NEW)}, tests={"test_tables.py": (before, test)}
    )


def test_a_text_of_several_lines_that_a_failing_test_has_is_an_example() -> None:
    assert instruction(framed_table()).text.endswith(
        "## Examples\n\nTexts that the hidden tests pass to the program, or expect from it:\n\n"
        "```\n+---+\n| a |\n+---+\n```\n"
    )


def test_a_text_that_the_tests_had_before_is_no_example() -> None:
    before = TEST.replace("frame=True", "frame=False")

    assert "Examples" not in instruction(framed_table(before=before)).text


def test_a_text_that_quotes_the_patch_is_no_example() -> None:
    quoting = TEST.replace("| a |", "return '\\\\n'.join(lines)")
    assert "return '\\\\n'.join(lines)" in quoting

    assert "Examples" not in instruction(framed_table(quoting)).text


@pytest.mark.parametrize(("lines", "is_shown"), [(25, True), (26, False)])
def test_an_example_is_short(lines: int, is_shown: bool) -> None:
    long = TEST.replace("    | a |\n", "    | a |\n" * (lines - 2))

    assert ("Examples" in instruction(framed_table(long)).text) is is_shown


def test_examples_are_few() -> None:
    box = "\n".join(["+---+", *["| {} |"] * 18, "+---+"])
    expected = "".join(f'    assert table([["{each}"]]) == """{box.replace("{}", each)}"""\n' for each in "abcd")

    text = instruction(framed_table(f"def test_a_table_has_a_frame():\n{expected}")).text

    assert [f"| {each} |" in text for each in "abcd"] == [True, True, True, False]


def test_an_example_with_a_code_fence_stays_in_its_own() -> None:
    fenced = TEST.replace("| a |", "```")

    assert "````\n+---+\n```\n+---+\n````\n" in instruction(framed_table(fenced)).text


DOCUMENTED = "Tables have a frame:\n\n- `frame=True` draws a frame around the table."


def test_what_the_documentation_says_about_the_change_is_quoted() -> None:
    documented = replace(framed_table(), documentation=(DOCUMENTED,))

    assert (
        "## Documentation\n\nAfter the change, the documentation says:\n\n"
        "> Tables have a frame:\n>\n> - `frame=True` draws a frame around the table.\n\n## Expected behaviour"
    ) in instruction(documented).text


@pytest.mark.parametrize(
    "other",
    ["Releases are made\nevery second Tuesday.", "A table with a frame:\n`lines = [' | '.join(row) for row in rows]`"],
)
def test_documentation_of_something_else_or_with_the_patch_in_it_is_not_quoted(other: str) -> None:
    assert "Documentation" not in instruction(replace(framed_table(), documentation=(other,))).text


def test_of_a_long_part_of_the_documentation_the_paragraphs_about_the_change_are_quoted() -> None:
    others = "\n\n".join(f"Paragraph {number} is about installing." for number in range(20))
    code = "```python\ntable(rows)\n\ntable(rows, frame=True)  # a table with a frame\n```"
    documented = replace(framed_table(), documentation=(f"{others}\n\n{DOCUMENTED}\n\n{code}",))

    text = instruction(documented).text
    assert (
        "the documentation says:\n\n> Tables have a frame:\n\n> - `frame=True` draws a frame around the table.\n\n"
        "> ```python\n> table(rows)\n>\n> table(rows, frame=True)  # a table with a frame\n> ```\n"
    ) in text
    assert "installing" not in text


@pytest.mark.parametrize(
    ("reported", "title"),
    [
        (("test_tables::test_a_table_has_a_frame[MARKDOWN]",), "a table has a frame (MARKDOWN)"),
        (("t::test_a_table_has_a_frame[b]", "t::test_a_table_has_a_frame[a cell]"), "a table has a frame (a cell)"),
        (("test_tables::test_a_table_has_a_frame[0-1]",), "a table has a frame"),
        (tuple(f"t::test_a_table_has_a_frame[case {n}]" for n in range(7)), "a table has a frame"),
    ],
)
def test_few_cases_of_a_test_are_named(reported: tuple[str, ...], title: str) -> None:
    assert f"- {title}\n" in instruction(replace(framed_table(), fail_to_pass=reported)).text


FLAGS = """
describe('Option flags', () => {
  test.each([{ flags: '-ws' }, { flags: 'ws' }])('when flags are %p then throw', ({ flags }) => {
    expect(() => parse(flags)).toThrow();
  });
});
"""


@pytest.mark.parametrize(
    ("reported", "titles"),
    [
        (
            tuple(f'a.test.js::Option flags::when flags are {{"flags": "{flag}"}} then throw' for flag in ("-w", "w")),
            '- Option flags: when flags are {"flags": "-w"} then throw\n'
            '- Option flags: when flags are {"flags": "w"} then throw\n',
        ),
        (
            tuple(f"a.test.js::Option flags::when flags are {each} then throw" for each in range(13)),
            "- Option flags: when flags are %p then throw\n",
        ),
    ],
)
def test_few_cases_with_titles_of_their_own_are_named_by_them(reported: tuple[str, ...], titles: str) -> None:
    changed = change(
        "Refuse flags with one dash and several letters",
        source={"parse.js": (None, "export function parse(flags) { throw new Error('flags'); }\n")},
        tests={"a.test.js": (None, FLAGS)},
        fail_to_pass=reported,
    )

    assert f"are:\n\n{titles}\n" in instruction(changed).text


def test_only_tests_that_a_report_names_are_expected() -> None:
    test = (
        "class TestFrames:\n    def test_table(self):\n        assert table([], frame=True) == ''\n\n"
        "    def test_table_width(self):\n        assert table([], frame=True) == ''\n\n\n"
        "class TestOther:\n    def test_table(self):\n        assert table([]) == ''\n"
    )

    text = instruction(replace(framed_table(test), fail_to_pass=("tests.test_tables.TestFrames::test_table",))).text

    assert "are:\n\n- Frames: table\n" in text
    assert "table width" not in text
    assert "Other" not in text


def test_a_module_that_tests_reach_by_another_name_is_stated() -> None:
    changed = change(
        "Draw a frame around a table",
        source={"tables.py": ("import textwrap\n", "import textwrap as _wrapping\n\n_wrapping.dedent('')\n")},
        tests={
            "test_tables.py": (
                "import tables\n",
                "import tables\n\n\ndef test_the_frame_of_a_table(patch):\n    patch(tables._wrapping, 'dedent')\n",
            )
        },
    )

    assert "- The name `_wrapping`, used in `tables.py`.\n" in instruction(changed).text


def test_a_text_with_fields_is_shown_as_a_test_has_it() -> None:
    test = (
        "from tables import describe\n\n\ndef test_the_frame_of_a_table_is_described():\n"
        "    assert describe({'b': 1, 'a': 2}) == '<frame of a=2, b=1>'\n"
    )
    changed = change(
        "Describe the frame of a table",
        source={"tables.py": (OLD, f"{OLD}\ndef describe(options):\n    return f'<frame of {{options}}>'\n")},
        tests={"test_tables.py": (None, test)},
    )

    stated = '- The text `"<frame of {options}>"`, as in `"<frame of a=2, b=1>"`, in `tables.py`.\n'
    assert stated in instruction(changed).text
