"""Accessibility problems of a page, found by axe-core."""

from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

_LIBRARY = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def faults(page: Page) -> list[str]:
    """All problems, each with its first location."""
    return [_describe(fault) for fault in _violations(page)]


def serious_faults(page: Page) -> list[str]:
    """The serious and critical problems, each with its first location."""
    return [_describe(fault) for fault in _violations(page) if fault["impact"] in ("serious", "critical")]


def _violations(page: Page) -> list[dict[str, Any]]:
    page.evaluate(_LIBRARY)
    found: dict[str, Any] = page.evaluate("axe.run()")
    violations: list[dict[str, Any]] = found["violations"]
    return violations


def _describe(fault: dict[str, Any]) -> str:
    return f"{fault['id']}: {fault['help']} ({fault['nodes'][0]['html'][:200]})"
