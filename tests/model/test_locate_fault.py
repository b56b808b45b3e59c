"""An error about what a file means is told with the line and column of the key or value that it names."""

import pytest

from outweigh.errors import UsageError
from outweigh.model.source_document import SourceDocument

TEXT = """\
name = "x"
tasks = ["tasks/*", "more/*"]
[arms.new]
skills = [
  "skills/a",
  "skills/b",
]
[policy]
gates = ["pass_rate", "pass_rat"]
margins = { cost = 9 }
"""


def located(message: str, text: str = TEXT) -> str:
    with pytest.raises(UsageError) as told, SourceDocument(text.encode(), "suite.toml").locating_errors():
        raise UsageError(message)
    return str(told.value)


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("tasks: 'more/*' matches no task.", "2:21"),
        ("arms.new.skills: there is no folder 'skills/b'.", "6:3"),
        ("arms.new.skills: something else.", "4:10"),
        ("arms.new.files: there is no such folder.", "3:1"),
        ("arms.new says it is the same as 'old'.", "3:1"),
        ("[policy] policy evidence has no gate 'pass_rat'; it has 'pass_rate'.", "9:23"),
        ("[policy] margin cost must lie between 0 and 1, not 9.", "8:1"),
    ],
)
def test_the_key_or_the_value_that_is_named_is_found(message: str, place: str) -> None:
    assert located(f"suite.toml: {message}") == f"suite.toml:{place}: {message}"
    assert located(f"suite.toml: {message}", TEXT.replace("\n", "\r\n")) == f"suite.toml:{place}: {message}"


@pytest.mark.parametrize(
    "message", ["other.toml: tasks: no.", "suite.toml: nothing of it is named here.", "suite.toml:2:1: tasks: no."]
)
def test_an_error_that_names_no_place_of_this_file_stays_as_it_is(message: str) -> None:
    assert located(message) == message
