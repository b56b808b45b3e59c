"""The viewer in a real browser: desktop and phone, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect
from tests.browser.accessibility import serious_faults
from tests.browser.chromium import DESKTOP, PHONE, Scheme, visit
from tests.browser.likeness import assert_looks_like
from tests.trajectories import store_of
from tests.web.median_store import FIRST, HOSTILE, SECOND, median_store
from tests.web.viewer_process import viewing

from outweigh.testing.builders import a_run
from outweigh.web.catalogue import StoreCatalogue

PATIENCE_MILLISECONDS = 60_000
PAGES = {
    "experiments": "",
    "experiment": "{store}",
    "runs": "{store}/runs",
    "run": f"{{store}}/run?run={SECOND}",
    "hostile": f"{{store}}/run?run={quote(f'{HOSTILE}/plain/1')}",
    "side-by-side": f"{{store}}/diff?a={FIRST}&b={SECOND}",
    "text": f"{{store}}/text?run={SECOND}&text=patch",
}
each_page = pytest.mark.parametrize("name", PAGES)
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


class Viewer:
    """A running viewer and the addresses of its pages."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        (store,) = StoreCatalogue([folder]).stores()
        self._store = f"e/{store.key}"

    def page(self, name: str) -> str:
        return self.url + PAGES[name].format(store=self._store)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("runs")
    median_store(folder / "median")
    with viewing(str(folder)) as (url, _):
        yield Viewer(url, folder)


@each_page
@pytest.mark.parametrize(("width", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_a_page_opens_without_complaints_or_faults(
    browser: Browser, viewer: Viewer, name: str, width: int, scheme: Scheme
) -> None:
    with visit(browser, viewer.page(name), width=width, scheme=scheme) as seen:
        assert seen.page.locator("h1").count() == 1
        assert all(request.startswith((viewer.url, "data:")) for request in seen.requests)
        assert seen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert serious_faults(seen.page) == []
        assert seen.complaints == []


def test_a_fault_would_be_found(browser: Browser) -> None:
    with visit(
        browser, "data:text/html,<title>x</title><html lang=en><img src=data:,><p style=color:%23eee>pale"
    ) as seen:
        found = [fault.partition(":")[0] for fault in serious_faults(seen.page)]

    assert found == ["color-contrast", "image-alt"]


def test_a_run_is_found_with_the_keyboard_alone(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("runs")) as seen:
        seen.page.keyboard.press("/")
        seen.page.keyboard.type("median careful")
        seen.page.keyboard.press("Enter")
        expect(seen.page.get_by_role("status")).to_have_text("1 of 183 runs", timeout=PATIENCE_MILLISECONDS)
        seen.page.wait_for_load_state(timeout=PATIENCE_MILLISECONDS)
        seen.page.keyboard.press("j")
        seen.page.keyboard.press("Enter")

        expect(seen.page.get_by_role("heading", level=1)).to_have_text(SECOND, timeout=PATIENCE_MILLISECONDS)


def test_two_runs_are_put_side_by_side_from_one_of_them(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("run")) as seen:
        seen.page.get_by_role("link", name="plain, repeat 1").click()
        seen.page.locator("#parting").wait_for(timeout=PATIENCE_MILLISECONDS)
        seen.page.wait_for_load_state(timeout=PATIENCE_MILLISECONDS)  # keys are heard when the script is there
        seen.page.keyboard.press("d")

        expect(seen.page.locator("#parting")).to_have_class(re.compile("current"), timeout=PATIENCE_MILLISECONDS)
        expect(seen.page.locator("#parting")).to_contain_text("here they part")


def test_filters_are_in_the_address(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("runs")) as seen:
        seen.page.get_by_label("outcome").select_option("failed")
        seen.page.get_by_role("button", name="Show").click()
        seen.page.wait_for_url("**outcome=failed**", timeout=PATIENCE_MILLISECONDS)
        shown = seen.page.get_by_role("status").inner_text()
        address = seen.page.url

    with visit(browser, address) as again:
        assert again.page.get_by_role("status").inner_text() == shown


def test_the_keys_are_explained_and_go_away(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("experiments")) as seen:
        keys = seen.page.get_by_role("dialog", name="Keys")
        seen.page.keyboard.press("?")
        expect(keys).to_be_visible(timeout=PATIENCE_MILLISECONDS)
        seen.page.keyboard.press("Escape")
        expect(keys).to_be_hidden(timeout=PATIENCE_MILLISECONDS)


def test_numbers_grow_on_an_open_page(browser: Browser, tmp_path: Path) -> None:
    median_store(tmp_path / "store", others=0)
    with viewing(str(tmp_path)) as (url, _), visit(browser, Viewer(url, tmp_path).page("experiment")) as seen:
        number = seen.page.locator("[data-live=runs]")
        expect(number).to_have_text("3")

        store_of(tmp_path / "store", [(a_run("new", "plain", 1), {})])

        expect(number).to_have_text("4", timeout=PATIENCE_MILLISECONDS)


def test_hostile_words_are_shown_and_never_obeyed(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("hostile")) as seen:
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("script").count() == 1
        assert seen.page.title() != "taken"
        assert "\\x202e\\x1b[31m" in seen.page.locator("h1").inner_text()


def test_it_follows_the_readers_light(browser: Browser, viewer: Viewer) -> None:
    colours = []
    for scheme in SCHEMES:
        with visit(browser, viewer.page("runs"), scheme=scheme) as seen:
            colours.append(seen.page.evaluate("getComputedStyle(document.body).backgroundColor"))

    assert colours[0] != colours[1]


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("experiment", DESKTOP, "light"),
        ("run", DESKTOP, "light"),
        ("side-by-side", DESKTOP, "dark"),
        ("runs", PHONE, "light"),
        ("side-by-side", PHONE, "dark"),
    ],
)
def test_it_looks_as_in_the_documents(browser: Browser, viewer: Viewer, name: str, width: int, scheme: Scheme) -> None:
    with visit(browser, viewer.page(name), width=width, scheme=scheme) as seen:
        taken = photograph(seen.page, width)

    assert_looks_like(browser, taken, f"viewer-{name}-{'phone' if width == PHONE else 'desktop'}.jpg")


def photograph(page: Page, width: int) -> bytes:
    """A screenshot of the top of a page, small enough for the docs."""
    clip = FloatRect(x=0, y=0, width=width, height=1100)
    return page.screenshot(type="jpeg", quality=50, full_page=True, clip=clip)
