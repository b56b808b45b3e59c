"""Accessibility problems of a page, found by axe-core."""

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

_LIBRARY = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def serious_faults(page: Page) -> list[str]:
    """The serious and critical problems, each with its first location."""
    page.evaluate(_LIBRARY)
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [
        f"{fault['id']}: {fault['help']} ({fault['nodes'][0]['html'][:200]})"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
