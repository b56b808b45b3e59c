"""The page of `outweigh report` in a real browser: desktop and phone, light and dark."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Page
from tests.browser.chromium import DESKTOP, PHONE, Scheme, visit
from tests.browser.likeness import assert_looks_like
from tests.cli.stores import write_store

from outweigh.cli.main import main
from outweigh.testing.builders import a_run

RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e\x1b[31m" + "x" * 300

widths = pytest.mark.parametrize("width", [DESKTOP, PHONE])
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
schemes = pytest.mark.parametrize("scheme", SCHEMES)

# Pairs of texts in one chart whose letters lie on each other by more than a hair.
_OVERLAPS = """() => [...document.querySelectorAll("svg.ow-chart")].flatMap((chart) => {
  const texts = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return texts.flatMap(([words, box], place) => texts.slice(place + 1).filter(([, other]) =>
    Math.min(box.right, other.right) - Math.max(box.left, other.left) > 3 &&
    Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 6
  ).map(([others]) => `${chart.getAttribute("aria-label")}: ${words} / ${others}`));
})"""
_OUTSIDE = """() => [...document.querySelectorAll("svg.ow-chart *")].filter((element) => {
  const box = element.getBoundingClientRect();
  return box.width > 0 && (box.left < -1 || box.right > document.documentElement.clientWidth + 1);
}).map((element) => element.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the recorded example."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    arms = ("--baseline", "T0-plain", "--candidate", "T1-skill")
    assert main(["report", RECORDED, *arms, "-o", str(target)]) == 0
    return target.as_uri()


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """The page of arms and tasks whose names try to be markup."""
    runs = [
        a_run(f"{HOSTILE}-{task}", arm, repeat, passed=(task + repeat) % 3 > 0, duration_seconds=60.0 + task)
        for arm in ("base", HOSTILE)
        for task in range(8)
        for repeat in range(1, 6)
    ]
    store = write_store(tmp_path / "store", runs, ["base", HOSTILE])
    assert main(["report", store, "-o", str(tmp_path / "report.html")]) == 0
    return (tmp_path / "report.html").as_uri()


def photograph(page: Page, width: int, height: int) -> bytes:
    """A screenshot of the top of a page, small enough for the docs."""
    clip = FloatRect(x=0, y=0, width=width, height=height)
    return page.screenshot(type="jpeg", quality=50, full_page=True, clip=clip)


def wider_than_the_screen(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found


@widths
@schemes
def test_it_opens_without_complaints_and_asks_nobody(
    browser: Browser, recorded: str, width: int, scheme: Scheme
) -> None:
    with visit(browser, recorded, width=width, scheme=scheme) as seen:
        assert seen.page.locator("svg.ow-chart").count() >= 12
        assert seen.complaints == []
        assert seen.requests == [recorded]


@widths
def test_nothing_is_wider_than_the_screen(browser: Browser, recorded: str, width: int) -> None:
    with visit(browser, recorded, width=width) as seen:
        assert wider_than_the_screen(seen.page) == 0
        assert seen.page.evaluate(_OUTSIDE) == []


@widths
def test_no_words_of_a_chart_lie_on_others(browser: Browser, recorded: str, width: int) -> None:
    with visit(browser, recorded, width=width) as seen:
        assert seen.page.evaluate(_OVERLAPS) == []


def test_it_follows_the_readers_light(browser: Browser, recorded: str) -> None:
    colours: dict[str, Any] = {}
    for scheme in SCHEMES:
        with visit(browser, recorded, scheme=scheme) as seen:
            colours[scheme] = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert colours["light"] != colours["dark"]


def test_the_runs_of_a_task_are_two_clicks_away(browser: Browser, recorded: str) -> None:
    with visit(browser, recorded) as seen:
        runs = seen.page.get_by_role("region", name="Runs of add-retry")
        assert not runs.is_visible()

        seen.page.locator("summary", has_text="Task by task").click()
        seen.page.locator("summary", has_text="add-retry").click()

        assert runs.is_visible()
        assert runs.get_by_role("row").count() == 11


@widths
def test_hostile_names_are_shown_and_never_obeyed(browser: Browser, hostile: str, width: int) -> None:
    with visit(browser, hostile, width=width) as seen:
        assert seen.complaints == []
        assert seen.requests == [hostile]
        assert seen.page.locator("script, img").count() == 0
        assert seen.page.title() != "taken"
        assert wider_than_the_screen(seen.page) == 0


@pytest.mark.parametrize(("name", "width", "height"), [("desktop", DESKTOP, 1180), ("phone", PHONE, 1180)])
@schemes
def test_it_looks_as_in_the_documents(
    browser: Browser, recorded: str, name: str, width: int, height: int, scheme: Scheme
) -> None:
    with visit(browser, recorded, width=width, scheme=scheme) as seen:
        taken = photograph(seen.page, width, height)

    assert_looks_like(browser, taken, f"report-{name}-{scheme}.jpg")


def test_the_readme_shows_the_report_of_the_demo(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "-o", str(tmp_path / "demo")]) == 0
    capsys.readouterr()

    with visit(browser, (tmp_path / "demo" / "report.html").as_uri()) as seen:
        assert seen.complaints == []
        assert seen.page.evaluate(_OVERLAPS) == []
        assert_looks_like(browser, photograph(seen.page, DESKTOP, 860), "demo-report.jpg")
