"""One browser for all tests of a file: while it is open, no other event loop can run in its thread."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.browser.chromium import chromium, missing_chromium
from tests.prerequisites import require


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, or a reason to skip."""
    require("browser", missing_chromium())
    with chromium() as started:
        yield started
