"""An instruction says enough and not too much, or the task is not fair and the reason is named."""

import keyword

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mining.instruction.changes import change, instruction

from outweigh.mining.fairness import TaskInstruction, Unfairness, UnfairTask
from outweigh.mining.instruction.write import leaks, patch_lines, write_instruction

OLD = "def area(width, height):\n    return width * height\n"
NEW = "def area(width, height):\n    return abs(width * height)\n"
TEST = "from shapes import area\n\n\ndef test_an_area_is_never_negative():\n    assert area(-1, 2) == 2\n"


def test_an_instruction_is_a_request_with_what_is_expected() -> None:
    changed = change(
        "fix: negative areas (#12)\n\nShapes that are drawn backwards had an area below zero.\n\nCloses #11",
        source={"shapes.py": (OLD, NEW)},
        tests={"test_shapes.py": (None, TEST)},
    )

    assert instruction(changed).text == (
        "# Fix negative areas\n\nShapes that are drawn backwards had an area below zero.\n\n"
        "## Expected behaviour\n\nHidden tests check the change. Their titles are:\n\n- an area is never negative\n"
    )


def unfair(
    message: str, source: dict[str, tuple[str | None, str | None]], test: str, **more: tuple[str, ...]
) -> UnfairTask:
    written = write_instruction(change(message, source=source, tests={"test_shapes.py": (None, test)}, **more))
    assert isinstance(written, UnfairTask), written
    return written


def test_what_a_test_says_about_itself_is_expected_too() -> None:
    test = (
        "class TestAreas:\n    def test_backwards(self):\n"
        '        """\n        A shape drawn backwards has the same area.\n\n        See the guide.\n        """\n'
        "        assert area(-1, 2) == 2\n"
    )
    changed = change(
        "Never return a negative area of a shape",
        source={"shapes.py": (OLD, NEW)},
        tests={"test_shapes.py": (None, test)},
    )

    assert "- Areas: backwards: A shape drawn backwards has the same area.\n" in instruction(changed).text


def test_a_message_that_says_nothing_is_not_enough() -> None:
    assert unfair("wip (#3)", {"shapes.py": (OLD, NEW)}, TEST) == UnfairTask(
        reason=Unfairness.NO_INSTRUCTION, detail="wip (#3)"
    )


@pytest.mark.parametrize(
    "source",
    [
        {"shapes.py": (OLD, None), "geometry/shapes.py": (None, OLD)},
        {"shapes.py": (OLD, "from geometry import area\n"), "geometry.py": (None, '"""Areas."""\n\n' + OLD)},
        {"shapes.py": (OLD, OLD.replace("area", "surface"))},
        {"shapes.js": ("function area(a) {\n  return a;\n}\n", "function surface(a) {\n  return a;\n}\n")},
    ],
    ids=["a file moves", "a function moves", "a function is renamed", "a function of JavaScript is renamed"],
)
def test_code_that_only_moves_or_gets_another_name_is_no_task(source: dict[str, tuple[str | None, str | None]]) -> None:
    test = "from geometry.shapes import area\n\n\ndef test_area():\n    assert area(1, 2) == 2\n"

    assert unfair("Move areas to another module", source, test).reason is Unfairness.PURE_MOVE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("strict = True\n", "strict = False\n"),
        ("def size(a):\n    return math.floor(a)\n", "def size(a):\n    return math.ceil(a)\n"),
        ("def size(a):\n    return a + 1\n", "def size(a):\n    return a - 1\n"),
        (OLD + "\n\ndef unused():\n    pass\n", OLD),
    ],
    ids=["a value", "a function of another module", "an operator", "code is removed"],
)
def test_a_change_of_what_code_does_is_no_move(before: str, after: str) -> None:
    test = "import shapes\n\n\ndef test_sizes_are_rounded_up():\n    assert shapes.size(1.5) == 2\n"
    changed = change("Round sizes up", source={"shapes.py": (before, after)}, tests={"test_shapes.py": (None, test)})

    assert isinstance(write_instruction(changed), TaskInstruction)


def test_a_name_without_which_tests_are_not_collected_must_be_stated() -> None:
    after = NEW + "\n\nglobals()['vol' + 'ume'] = area\n"
    test = "from shapes import volume\n\n\ndef test_area_of_shapes():\n    assert volume(1, 2) == 2\n"

    assert unfair(
        "Make areas of shapes positive", {"shapes.py": (OLD, after)}, test, missing_names=("shapes.volume",)
    ) == UnfairTask(reason=Unfairness.UNSTATED_NAME, detail="shapes.volume")


def test_a_name_that_is_stated_may_be_missing_at_the_base() -> None:
    after = NEW + "\n\ndef volume(width, height, depth):\n    return abs(width * height * depth)\n"
    test = "from shapes import volume\n\n\ndef test_volumes():\n    assert volume(1, 2, 3) == 6\n"
    changed = change(
        "Add volumes",
        source={"shapes.py": (OLD, after)},
        tests={"test_shapes.py": (None, test)},
        missing_names=["volume"],
    )

    assert instruction(changed).interface == ("`def volume(width, height, depth)` in `shapes.py`",)


@pytest.mark.parametrize("missing", ["geometry", "src.geometry", "../src/geometry.py", "src/geometry"])
def test_a_new_module_that_tests_could_not_import_is_named(missing: str) -> None:
    test = "import importlib\n\n\ndef test_areas_of_shapes():\n    importlib.import_module('geometry')\n"
    changed = change(
        "Compute areas of shapes",
        source={"src/geometry.py": (None, "AREA = 3\n")},
        tests={"test_shapes.py": (None, test)},
        missing_names=[missing],
    )

    assert instruction(changed).interface == ("The file `src/geometry.py`, which the tests import.",)


def test_a_text_that_would_be_most_of_the_solution_is_not_stated() -> None:
    page = "A shape is drawn by its corners, one after the other.\n" * 12
    test = f"import shapes\n\n\ndef test_the_help_of_shapes():\n    assert shapes.HELP == {page!r}\n"

    found = unfair("Explain shapes", {"shapes.py": (OLD, OLD + f"\nHELP = {page!r}\n")}, test)

    assert found.reason is Unfairness.UNSTATED_TEXT
    assert found.detail == "A shape is drawn by its corners, one after the other."


def test_of_a_long_text_the_pieces_that_tests_look_for_are_stated() -> None:
    page = "A shape is drawn by its corners, one after the other.\n" * 12
    test = "import shapes\n\n\ndef test_the_help():\n    assert 'drawn by its corners' in shapes.explain()\n"
    changed = change(
        "Explain shapes",
        source={"shapes.py": (OLD, OLD + f"\nHELP = {page!r}\n")},
        tests={"test_shapes.py": (None, test)},
    )

    assert instruction(changed).interface == ('A text with `"drawn by its corners"` in it in `shapes.py`.',)


def test_the_commit_that_is_about_the_tests_gives_the_title_of_a_merge() -> None:
    changed = change(
        "Reword the guide for painters\n\nNever return a negative area\n\nUse shorter lines in the guide",
        source={"shapes.py": (OLD, NEW)},
        tests={"test_shapes.py": (None, TEST)},
    )

    assert instruction(changed).text.startswith("# Never return a negative area\n")


def test_one_word_in_common_is_not_enough_without_an_interface() -> None:
    found = unfair("Areas again", {"shapes.py": (OLD, NEW)}, TEST.replace("negative", "odd"))

    assert found == UnfairTask(reason=Unfairness.NO_INSTRUCTION, detail="Areas again")


def test_tests_that_share_no_word_with_the_instruction_are_about_something_else() -> None:
    test = "def test_colours_mix():\n    assert mix(1) == 2\n"

    assert unfair("Speed up the installer", {"shapes.py": (OLD, NEW)}, test).reason is Unfairness.UNRELATED_TESTS


def test_a_short_name_relates_an_instruction_to_its_tests() -> None:
    before, after = "def sum(n):\n    return n\n", "def sum(n):\n    return -1 if n > 1000 else n\n"
    test = "from tally import sum\n\n\ndef test_sum_of_too_many():\n    assert sum(1001) == -1\n"
    changed = change(
        "Return -1 from sum for more than 1000 values",
        source={"tally.py": (before, after)},
        tests={"test_tally.py": (None, test)},
    )

    assert instruction(changed).text.startswith("# Return -1 from sum for more than 1000 values\n")


def test_a_line_of_the_patch_in_the_message_is_left_out() -> None:
    changed = change(
        "Never return a negative area\n\nIt now does return abs(width * height) in the end.\n\n"
        "Other shapes stay as they were.",
        source={"shapes.py": (OLD, NEW)},
        tests={"test_shapes.py": (None, TEST)},
    )

    text = instruction(changed).text

    assert "abs(" not in text
    assert "Other shapes stay as they were." in text


names = st.from_regex(r"[a-z]{4,9}", fullmatch=True).filter(lambda name: not keyword.iskeyword(name))


@settings(max_examples=40)
@given(
    function=names, argument=names, steps=st.lists(names, min_size=1, max_size=6, unique=True), quoted=st.integers(0, 5)
)
def test_no_line_of_a_body_stands_in_an_instruction_whatever_the_message_quotes(
    function: str, argument: str, steps: list[str], quoted: int
) -> None:
    body = [f"{step} = {argument}.get({step!r}) or len({argument})" for step in steps]
    after = f"def {function}({argument}):\n" + "".join(f"    {line}\n" for line in body) + f"    return {steps[-1]}\n"
    line = body[quoted % len(body)]
    message = f"Add {function} to shapes\n\nIt begins with {line} and ends.\n\n* {line}\n\n- {line}\n"
    test = f"from shapes import {function}\n\n\ndef test_{function}():\n    assert {function}({{}}) == 0\n"
    changed = change(
        message,
        source={"shapes.py": (OLD, OLD + after)},
        tests={"test_shapes.py": (None, test)},
        changelog=[f"- {line}"],
    )

    written = instruction(changed)
    outside = written.text.partition("## Interface")[0]

    assert not leaks(outside, patch_lines(changed))
    assert not any(each in written.text for each in body)


def test_names_of_tests_in_other_languages_are_read_as_words() -> None:
    test = "package pool\n\nfunc TestSlowReadersAreWaitedFor(t *testing.T) {\n\tpool.Wait()\n}\n"
    changed = change(
        "Wait for slow readers",
        source={"pool.go": ("package pool\n", "package pool\n\nvar x = 1\n")},
        tests={"pool_test.go": (None, test)},
        fail_to_pass=[
            "example.com/pool::TestSlowReadersAreWaitedFor",
            "example.com/pool::TestSlowReadersAreWaitedFor/two_at_once",
        ],
    )

    assert "- Slow Readers Are Waited For (two at once)\n" in instruction(changed).text


def test_a_new_package_of_go_is_stated_by_its_names() -> None:
    changed = change(
        "Add sets of readers",
        source={
            "set/set.go": (None, "package set\n\n// Of makes a set.\nfunc Of(values ...int) Set {\n\treturn nil\n}\n")
        },
        tests={
            "set/set_test.go": (
                None,
                'package set_test\n\nimport (\n\t"testing"\n\n\t"example.com/kit/set"\n)\n\n'
                "func TestSetsOfReaders(t *testing.T) {\n\tset.Of(1)\n}\n",
            )
        },
        missing_names=["set"],
    )

    assert instruction(changed).interface == ("`func Of(values ...int) Set` in `set/set.go`: Of makes a set.",)
