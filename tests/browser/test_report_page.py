"""The page of `outweigh report` in a real browser: desktop and phone, light and dark."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FloatRect, Page
from tests.browser.accessibility import faults
from tests.browser.chromium import DESKTOP, PHONE, Scheme, visit
from tests.browser.likeness import assert_looks_like
from tests.cli.stores import write_store

from outweigh.cli.main import main
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run

RECORDED = str(Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl")
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e\x1b[31m" + "x" * 300

NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)

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


FIRST_SCREEN, FOLDED = 1_200, 4_000
"""The page budget in pixels: what is above the first fold at desktop width, and the whole page while all is folded."""


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the recorded example."""
    target = tmp_path_factory.mktemp("report") / "report.html"
    arms = ("--baseline", "T0-plain", "--candidate", "T1-skill")
    assert main(["report", RECORDED, *arms, "-o", str(target)]) == 0
    return target.as_uri()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the demo, which has three candidates."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    assert main(["demo", "-o", str(folder)]) == 0
    return (folder / "report.html").as_uri()


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a real agent with 60 tasks, three candidates, long names, families, costs and dates."""
    folder = tmp_path_factory.mktemp("many")
    arms = ["the-baseline-of-the-year", *(f"candidate-with-a-rather-long-name-{number}" for number in range(3))]
    runs = [
        a_run(
            f"a-repository/a-task-with-a-long-name-{task}",
            arm,
            repeat,
            passed=(task * 7 + repeat * 3 + place * place) % 5 > 1,
            duration_seconds=60.0 + (task * 7 + repeat * 3) % 50 * (1 + place / 9),
            cost=reported_cost(0.1 + (task + repeat) % 7 / 50 * (1 + place / 5)),
            started_at=NOON + timedelta(minutes=task),
        )
        for place, arm in enumerate(arms)
        for task in range(60)
        for repeat in (1, 2)
    ]
    store = write_store(folder / "store", runs, arms)
    assert main(["report", store, "-o", str(folder / "report.html")]) == 0
    return (folder / "report.html").as_uri()


@pytest.fixture(params=["recorded", "demo", "many"])
def report(request: pytest.FixtureRequest) -> str:
    """One candidate, several, and very many tasks."""
    page: str = request.getfixturevalue(request.param)
    return page


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
    return page.screenshot(type="jpeg", quality=70, full_page=True, clip=clip)


def unfold(page: Page) -> None:
    """Open every fold."""
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")


def wider_than_the_screen(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return found


def test_the_answer_fits_the_first_screen_and_the_page_is_short_while_it_is_folded(
    browser: Browser, report: str
) -> None:
    with visit(browser, report) as seen:
        first = seen.page.locator(".first-screen").bounding_box()
        whole = seen.page.evaluate("document.documentElement.scrollHeight")

    assert first is not None
    assert first["y"] + first["height"] <= FIRST_SCREEN
    assert whole <= FOLDED


def test_a_phone_shows_it_within_three_screens_of_the_desktop(browser: Browser, report: str) -> None:
    with visit(browser, report, width=PHONE) as seen:
        first = seen.page.locator(".first-screen").bounding_box()
        whole = seen.page.evaluate("document.documentElement.scrollHeight")

    assert first is not None
    assert first["y"] + first["height"] <= 2 * FIRST_SCREEN
    assert whole <= FOLDED


@widths
@schemes
def test_it_opens_without_complaints_or_faults_and_asks_nobody(
    browser: Browser, report: str, width: int, scheme: Scheme
) -> None:
    with visit(browser, report, width=width, scheme=scheme) as seen:
        assert seen.page.locator("svg.ow-chart").count() >= 10
        assert seen.complaints == []
        assert seen.requests == [report]
        assert faults(seen.page) == []


@widths
def test_what_is_folded_has_no_faults_either(browser: Browser, recorded: str, width: int) -> None:
    with visit(browser, recorded, width=width) as seen:
        unfold(seen.page)
        assert faults(seen.page) == []


@widths
def test_nothing_is_wider_than_the_screen(browser: Browser, report: str, width: int) -> None:
    with visit(browser, report, width=width) as seen:
        unfold(seen.page)
        assert wider_than_the_screen(seen.page) == 0
        assert seen.page.evaluate(_OUTSIDE) == []


@widths
def test_no_words_of_a_chart_lie_on_others(browser: Browser, report: str, width: int) -> None:
    with visit(browser, report, width=width) as seen:
        unfold(seen.page)
        assert seen.page.evaluate(_OVERLAPS) == []


def test_a_task_that_decided_shows_two_of_its_runs_side_by_side_in_one_click(browser: Browser, report: str) -> None:
    with visit(browser, report) as seen:
        link = seen.page.locator(".first-screen table a").first
        pair = seen.page.locator(link.get_attribute("href") or "")
        assert not pair.is_visible()

        link.click()

        assert pair.is_visible()
        assert (link.text_content() or "") in (pair.locator("h3").text_content() or "")
        assert "outweigh diff" in (pair.locator("pre").text_content() or "")


def shown_tip(page: Page) -> str:
    """What the explained word that the reader is on says."""
    script = """() => {
      const word = document.querySelector("dfn.term:hover") ?? document.activeElement;
      return getComputedStyle(word, "::after").content;
    }"""
    found: str = page.evaluate(script)
    return found


@widths
def test_a_word_of_ours_is_explained_by_pointing_and_by_keyboard(browser: Browser, recorded: str, width: int) -> None:
    with visit(browser, recorded, width=width) as seen:
        word = seen.page.locator("dfn.term", has_text="margin").first
        assert shown_tip(seen.page) == "none"

        word.hover()
        assert "how much worse a candidate may be" in shown_tip(seen.page).lower()
        assert wider_than_the_screen(seen.page) == 0
        seen.page.mouse.move(0, 0)

        word.focus()
        assert "how much worse a candidate may be" in shown_tip(seen.page).lower()
        assert wider_than_the_screen(seen.page) == 0


def test_paper_has_the_folds_open_but_for_long_lists_and_is_light(browser: Browser, recorded: str) -> None:
    with visit(browser, recorded, scheme="dark") as seen:
        why = seen.page.get_by_text("How firm is it?", exact=True).first
        runs = seen.page.get_by_text("Runs of add-retry", exact=True).first
        assert not why.is_visible()

        seen.page.emulate_media(media="print", color_scheme="dark")

        assert why.is_visible()
        assert not runs.is_visible()
        assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


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

        seen.page.locator("summary", has_text=re.compile("^Tasks$")).click()
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


@pytest.mark.parametrize(("name", "width", "height"), [("desktop", DESKTOP, 1180), ("phone", PHONE, 1640)])
@schemes
def test_it_looks_as_in_the_documents(
    browser: Browser, recorded: str, name: str, width: int, height: int, scheme: Scheme
) -> None:
    with visit(browser, recorded, width=width, scheme=scheme) as seen:
        taken = photograph(seen.page, width, height)

    assert_looks_like(browser, taken, f"report-{name}-{scheme}.jpg")


def test_the_readme_shows_the_report_of_the_demo(browser: Browser, demo: str) -> None:
    with visit(browser, demo) as seen:
        assert_looks_like(browser, photograph(seen.page, DESKTOP, 1180), "demo-report.jpg")
