"""ARCHITECTURE.md says what is true: every path on it exists, and it stays short enough to read."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATHS = sorted(
    {
        path
        for path in re.findall(r"`([\w./-]+(?:/|\.py|\.md|\.svg))`", PAGE)
        if "NAME" not in path and "VERB" not in path
    }
)
MOST_ROWS = 30


@pytest.mark.parametrize("path", PATHS)
def test_a_path_on_the_page_exists(path: str) -> None:
    assert (ROOT / path).exists() or (ROOT / "src" / "outweigh" / path).exists()


def test_the_page_lists_the_packages_in_the_order_of_the_contract() -> None:
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:layers"]["layers"].replace("|", "\n").split()
    listed = re.findall(r"^([a-z]+(?:, [a-z]+)*)(?:  |$)", PAGE.split("```")[1], flags=re.MULTILINE)

    assert ", ".join(listed).split(", ") == [layer for layer in layers if layer != "__main__"]


def test_the_table_fits_on_a_screen() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]

    assert len(rows) - 1 <= MOST_ROWS
