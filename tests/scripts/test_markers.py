"""Markers say what tests need, and `make check` selects by them."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.prerequisites import NEEDS, PLACES, TESTS, require

ROOT = Path(__file__).resolve().parents[2]
DECLARED = {
    line.partition(":")[0]
    for line in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
}


def test_a_test_that_needs_a_part_without_its_marker_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="mark this test with needs_agent"):
        require("agent", None)


@pytest.mark.needs_privileges
def test_a_missing_part_skips_and_where_everything_must_be_there_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no disk"):
        require("privileges", "no disk")

    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="must not be skipped here: no disk"):
        require("privileges", "no disk")


def test_every_place_that_gives_a_marker_exists() -> None:
    assert [place for place in PLACES if not (TESTS / place).exists()] == []


def test_every_marker_is_declared_and_explained() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()

    assert {f"needs_{name}" for name in NEEDS} | set(PLACES.values()) == DECLARED
    assert [marker for marker in DECLARED if f"| `{marker}` |" not in page] == []


def test_make_check_leaves_out_declared_markers_only() -> None:
    (line,) = re.findall(r"^HEAVY := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    left_out = set(line.split(" or "))

    assert left_out <= DECLARED
    assert left_out == {"needs_agent", "needs_browser", "needs_bubblewrap", "needs_container", "needs_runner", "slow"}
