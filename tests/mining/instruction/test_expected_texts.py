"""Short texts that failing tests compare with are shown, because no title says how a result is written."""

import pytest
from tests.mining.instruction.changes import change, instruction

from outweigh.mining.instruction.stated_examples import is_telling

OLD = "def name(project, binary):\n    return project\n"
NEW = "def name(project, binary):\n    parts = [project, binary]\n    return '/'.join(parts)\n"
HEADING = "## Expected texts\n\nThe hidden tests pass these texts in or compare results with them, among others:\n\n"


def text_of(test: str, *, before: str | None = None, fails: str = "test_names.test_a_name_has_its_parts") -> str:
    return instruction(
        change(
            "Name the parts of a function",
            source={"names.py": (OLD, NEW)},
            tests={"test_names.py": (before, test)},
            fail_to_pass=(fails,),
        )
    ).text


def test_a_text_of_an_assertion_that_no_title_tells_is_shown() -> None:
    test = (
        "import pytest\nfrom names import name\n\n\ndef test_a_name_has_its_parts():\n"
        "    given = 'not/an/expectation'\n    assert name('zoo', 'cat') == 'zoo/cat'\n    assert name(given, 'b')\n"
        "    with pytest.raises(ValueError, match='there is no part'):\n        name('x/y', '')\n"
    )

    assert HEADING + '- `"zoo/cat"`\n- `"there is no part"`\n' in text_of(test)
    assert "not/an/expectation" not in text_of(test)


def test_texts_of_cases_are_shown() -> None:
    test = (
        "import pytest\nfrom names import name\n\n\n@pytest.mark.parametrize(('a', 'whole'), [('zoo', 'zoo/cat')])\n"
        "def test_a_name_has_its_parts(a, whole):\n    assert name(a, 'cat') == whole\n"
    )

    assert HEADING + '- `"zoo/cat"`\n' in text_of(test)


def test_texts_of_tests_that_need_not_pass_are_not_shown() -> None:
    other = "\n\ndef test_another_thing():\n    assert name('a', 'b') == 'a/b'\n"
    test = f"from names import name\n\n\ndef test_a_name_has_its_parts():\n    assert name('zoo', 'cat')\n{other}"

    assert "a/b" not in text_of(test, before=f"from names import name\n{other}")


def test_what_the_tests_had_before_is_not_shown_again() -> None:
    before = "from names import name\n\n\ndef test_it():\n    assert name('a', 'b') != 'zoo/cat'\n"
    test = "from names import name\n\n\ndef test_a_name_has_its_parts():\n    assert name('zoo', 'cat') == 'zoo/cat'\n"

    assert "Expected texts" not in text_of(test, before=before)


def test_a_line_of_the_patch_is_not_shown() -> None:
    test = (
        "from names import name\n\n\ndef test_a_name_has_its_parts():\n"
        '    assert name("zoo", "cat") != "return \'/\'.join(parts)"\n'
    )

    assert "Expected texts" not in text_of(test)


def test_a_text_that_is_stated_already_is_not_shown_again() -> None:
    written = instruction(
        change(
            "Refuse names without a part",
            source={"names.py": (OLD, f"{NEW}\n\ndef refuse():\n    raise ValueError('there is no part')\n")},
            tests={
                "test_names.py": (
                    None,
                    "import pytest\nimport names\n\n\ndef test_a_name_is_refused():\n"
                    "    with pytest.raises(ValueError, match='there is no part'):\n        names.refuse()\n",
                )
            },
        )
    )

    assert written.text.count("there is no part") == 1


def test_in_other_languages_lines_that_compare_count() -> None:
    test = "it('names its parts', () => {\n  const given = 'not/this';\n  expect(name('a')).toBe('zoo/cat');\n});\n"

    written = instruction(
        change(
            "Name its parts",
            source={"names.js": ("exports.name = (a) => a;\n", "exports.name = (a) => a + '/';\n")},
            tests={"names.test.js": (None, test)},
        )
    )

    assert '- `"zoo/cat"`' in written.text
    assert "not/this" not in written.text


def test_only_the_first_texts_are_shown_where_there_are_many() -> None:
    checks = "".join(f"    assert name('a', 'b') != 'text/{number}'\n" for number in range(60))

    shown = text_of(f"from names import name\n\n\ndef test_a_name_has_its_parts():\n{checks}")

    assert shown.count('- `"text/') == 25


@pytest.mark.parametrize("text", ["zoo/cat", "… deciding", "data-pending", "9.2", "one two", "● running"])
def test_several_words_or_a_word_with_signs_tell_something(text: str) -> None:
    assert is_telling(text)


@pytest.mark.parametrize("text", ["tool", "", "\n", "a", "--", "x " * 75, "a\nb"])
def test_a_single_word_or_a_long_text_tells_nothing(text: str) -> None:
    assert not is_telling(text)
