"""The system's Chromium for tests; none is ever downloaded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
)
DESKTOP, PHONE = 1280, 390

Scheme = Literal["light", "dark"]


def missing_chromium() -> str | None:
    """What a test lacks to start it, or None."""
    return None if shutil.which("chromium") else "chromium is not installed (make parts)"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that makes no requests of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Visit:
    """An opened page, with its console errors and requests."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(browser: Browser, address: str, *, width: int = DESKTOP, scheme: Scheme = "light") -> Iterator[Visit]:
    """Open an address on a screen of this width."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(message.text))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    try:
        seen.page.goto(address)
        yield seen
    finally:
        context.close()
