"""The pictures are what their script draws from the measurements as they are now."""

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
DRAWN: dict[str, Callable[[], str]] = runpy.run_path(str(FOLDER / "make.py"))["PICTURES"]


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_what_its_script_draws(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text() == DRAWN[name](), "run `python docs/pictures/make.py`"


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_has_a_title_and_a_background_of_its_own(name: str) -> None:
    tree = ET.fromstring((FOLDER / f"{name}.svg").read_text())
    first, second = list(tree)[:2]

    assert first.tag.endswith("title")
    assert first.text
    assert second.tag.endswith("rect")
    assert float(second.attrib["width"]) >= float(tree.attrib["width"]) - 1


def test_every_picture_is_shown_with_words_for_those_who_cannot_see_it() -> None:
    pages = [(ROOT / page).read_text() for page in ("docs/statistics.md", "ARCHITECTURE.md")]
    shown = dict(re.findall(r"!\[([^\]]{20,})\]\((?:docs/)?pictures/([^)]+)\.svg\)", "\n".join(pages)))

    assert set(shown.values()) == set(DRAWN)


def test_every_screen_of_the_viewer_is_shown_on_its_page() -> None:
    page = (ROOT / "docs" / "viewer.md").read_text()
    shown = set(re.findall(r"!\[[^\]]{8,}\]\(pictures/(viewer-[^)]+\.png)\)", page))

    assert shown == {path.name for path in FOLDER.glob("viewer-*.png")}
    assert len(shown) == 40
