"""The comparison of screenshots: the same page is alike; another, a blank one and a negative are not."""

import pytest
from playwright.sync_api import Browser
from tests.browser.likeness import ALIKE, PICTURES, likeness


def test_a_picture_is_like_itself(browser: Browser) -> None:
    picture = (PICTURES / "demo-report.jpg").read_bytes()

    assert likeness(browser, picture, picture) == pytest.approx(1)


@pytest.mark.parametrize("other", ["report-desktop-light.jpg", "report-phone-light.jpg", "report-desktop-dark.jpg"])
def test_another_page_is_not_alike(browser: Browser, other: str) -> None:
    picture = (PICTURES / "demo-report.jpg").read_bytes()

    assert likeness(browser, picture, (PICTURES / other).read_bytes()) < ALIKE - 0.1


def test_a_blank_page_is_like_nothing(browser: Browser) -> None:
    page = browser.new_page()
    blank = page.screenshot(type="jpeg")
    page.close()

    assert likeness(browser, blank, (PICTURES / "demo-report.jpg").read_bytes()) == pytest.approx(0)
