"""The viewer in a real browser: desktop and phone, light and dark."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from playwright.sync_api import Browser, FloatRect, Page, expect
from tests.browser.accessibility import faults, serious_faults
from tests.browser.chromium import DESKTOP, PHONE, Scheme, visit
from tests.browser.likeness import assert_looks_like
from tests.browser.small_png import reduce_colours
from tests.trajectories import store_of
from tests.web.decided_store import LOST as LOST_TASK
from tests.web.decided_store import decided_store
from tests.web.hosts_of_store import LOST, NO_SPACE, a_host, an_attempt, hosts_file, write_seen_hosts
from tests.web.median_store import FIRST, HOSTILE, SECOND, median_store
from tests.web.viewer_process import viewing

from outweigh.cluster.host_overview import hosts_shown
from outweigh.store.hosts_file import HostCondition, HostsFile
from outweigh.store.label_file import RunLabel, read_run_labels
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run
from outweigh.web.catalogue import StoreCatalogue

PATIENCE_MILLISECONDS = 60_000
PAGES = {
    "experiments": "",
    "experiment": "{night_3}",
    "report": "{night_3}/report",
    "task": "task?task=task-1",
    "runs": "{night_3}/runs",
    "hosts": "{night_4}/hosts",
    "many-runs": "{median}/runs",
    "run": f"{{median}}/run?run={SECOND}",
    "hostile": f"{{median}}/run?run={quote(f'{HOSTILE}/plain/1')}",
    "side-by-side": f"{{median}}/diff?a={FIRST}&b={SECOND}",
    "search": "search?q=median",
    "text": f"{{median}}/text?run={SECOND}&text=patch",
    "missing": "{median}/run?run=nobody",
}
each_page = pytest.mark.parametrize("name", PAGES)
MAX_PICTURE_HEIGHT = 1100
SCHEMES: tuple[Scheme, ...] = ("light", "dark")


class Viewer:
    """A running viewer and the addresses of its pages."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        stores = StoreCatalogue([folder]).stores()
        self._addresses = {store.name.replace("-", "_"): f"e/{store.key}" for store in stores}

    def page(self, name: str) -> str:
        return self.url + PAGES[name].format(**self._addresses)


@pytest.fixture(scope="module")
def viewer(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Three experiments of a suite, the last one judged, a fourth that runs on a cluster, and one without a verdict."""
    base = tmp_path_factory.mktemp("viewer")
    for night in (1, 2, 3):
        store = base / "runs" / f"night-{night}"
        decided_store(store, base / "suite", day=night, better_passes=night, judged=night == 3, planned_runs=72)
    median_store(base / "runs" / "median")
    running = decided_store(base / "runs" / "night-4", base / "suite", day=4, planned_runs=120)
    with (
        FolderRunStore.open(running) as writing,
        hosts_shown(running, seen_hosts),
        viewing(str(base / "runs")) as (url, _),
    ):
        for arm in ("plain", "better"):
            writing.begin(f"task-1/{arm}/4#1", a_run("task-1", arm, 4).trial, 1)
        with visit(browser, url) as seen:
            expect(seen.page.locator("[data-pending]")).to_have_count(0, timeout=PATIENCE_MILLISECONDS)
        yield Viewer(url, base / "runs")


def seen_hosts() -> HostsFile:
    """One host that was lost, one with a full disk, one without what an arm needs, and two at work."""
    unfit = "arm 'better' does not run there: ANTHROPIC_API_KEY is not in the environment of the host"
    lacking = msgspec.structs.replace(a_host(3, HostCondition.UNFIT), detail=unfit)
    hosts = (a_host(1, LOST), a_host(2, NO_SPACE), lacking, a_host(4, running=1), a_host(5, running=1))
    return hosts_file(hosts, (an_attempt(3, 1, "plain", 0.31), an_attempt(4, 1, "better", None)), waiting=2)


@each_page
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_page_opens_without_complaints_or_faults(
    browser: Browser, viewer: Viewer, name: str, width: int, scheme: Scheme
) -> None:
    with visit(browser, viewer.page(name), width=width, scheme=scheme) as seen:
        assert seen.page.locator("h1").count() == 1
        assert all(request.startswith((viewer.url, "data:")) for request in seen.requests)
        assert seen.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        assert faults(seen.page) == []
        assert [words for words in seen.complaints if "404" not in words] == []


def test_a_fault_would_be_found(browser: Browser) -> None:
    with visit(
        browser, "data:text/html,<title>x</title><html lang=en><img src=data:,><p style=color:%23eee>pale"
    ) as seen:
        found = [fault.partition(":")[0] for fault in serious_faults(seen.page)]

    assert found == ["color-contrast", "image-alt"]


def test_a_run_is_found_with_the_keyboard_alone(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("many-runs")) as seen:
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
        expect(seen.page.locator("#parting")).to_contain_text("first difference")


def test_filters_are_in_the_address(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("many-runs")) as seen:
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
    median_store(tmp_path / "night-3", others=0)
    with viewing(str(tmp_path)) as (url, _), visit(browser, Viewer(url, tmp_path).page("experiment")) as seen:
        number = seen.page.locator("[data-live=runs]")
        expect(number).to_have_text("3")

        store_of(tmp_path / "night-3", [(a_run("new", "plain", 1), {})])

        expect(number).to_have_text("4", timeout=PATIENCE_MILLISECONDS)


def test_a_running_experiment_comes_first_with_time_left_and_spending(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("experiments")) as seen:
        first = seen.page.get_by_role("article").first
        expect(first).to_contain_text("night-4")
        expect(first).to_contain_text("72 of 120")
        expect(first).to_contain_text(re.compile(r"about \d+ min"))
        expect(first.locator("[data-live=spent]")).to_have_text(re.compile(r"\$\d+\.\d\d"))


def test_the_page_of_the_hosts_follows_them(browser: Browser, tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "night-3", tmp_path / "suite", planned_runs=90)
    with FolderRunStore.open(store), viewing(str(tmp_path / "runs")) as (url, _):
        write_seen_hosts(store, (a_host(1),))
        address = f"{Viewer(url, tmp_path / 'runs').page('experiment')}/hosts"
        with visit(browser, address) as seen:
            expect(seen.page.get_by_role("row", name="node-1")).to_contain_text("ready")

            write_seen_hosts(store, (a_host(1, LOST), a_host(2)))

            expect(seen.page.get_by_role("row", name="node-2")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
            expect(seen.page.get_by_role("row", name="node-1")).to_contain_text("lost")


def test_the_verdict_follows_when_a_run_ends(browser: Browser, tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "night-3", tmp_path / "suite", planned_runs=72)
    with ExitStack() as open_pages, viewing(str(tmp_path / "runs")) as (url, _):
        with FolderRunStore.open(store):
            seen = open_pages.enter_context(visit(browser, Viewer(url, tmp_path / "runs").page("experiment")))
            expect(seen.page.get_by_text("The verdict comes when the run ends.")).to_be_visible()

        expect(seen.page.get_by_text("▲ improved")).to_be_visible(timeout=PATIENCE_MILLISECONDS)


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


def test_a_lost_task_leads_to_the_pair_side_by_side_in_one_click(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("experiment")) as seen:
        seen.page.get_by_role("link", name=f"night-3, {LOST_TASK}: plain and better side by side").click()

        expect(seen.page.get_by_role("heading", level=1)).to_have_text("Side by side", timeout=PATIENCE_MILLISECONDS)
        outcome = seen.page.get_by_role("row", name="outcome")
        expect(outcome).to_contain_text("passed")
        expect(outcome).to_contain_text("failed")


def test_transcripts_are_searched_with_the_keyboard_alone(browser: Browser, viewer: Viewer) -> None:
    with visit(browser, viewer.page("experiment")) as seen:
        seen.page.get_by_role("searchbox", name="Search transcripts").focus()
        seen.page.keyboard.type("standard library")
        seen.page.keyboard.press("Enter")
        expect(seen.page.locator("mark").first).to_have_text("standard library", timeout=PATIENCE_MILLISECONDS)
        seen.page.wait_for_load_state(timeout=PATIENCE_MILLISECONDS)
        seen.page.keyboard.press("j")
        seen.page.keyboard.press("Enter")

        expect(seen.page.get_by_role("heading", level=1)).to_have_text(SECOND, timeout=PATIENCE_MILLISECONDS)


def test_a_label_is_given_and_changed_in_the_browser(browser: Browser, viewer: Viewer) -> None:
    file = viewer.folder / "median" / "labels.csv"
    with visit(browser, viewer.page("run")) as seen:
        seen.page.get_by_role("button", name="Disagree about the whole run").click()
        expect(seen.page.locator("#label ~ form input[value=fail]")).to_be_checked(timeout=PATIENCE_MILLISECONDS)
        seen.page.get_by_label("pass", exact=True).check()
        seen.page.get_by_label("Note").fill("It uses the library.\nGood.")
        seen.page.get_by_role("button", name="Save").click()
        expect(seen.page.get_by_label("Note")).to_have_value("It uses the library.\nGood.")
        expect(seen.page.get_by_text("--calibrate")).to_be_visible(timeout=PATIENCE_MILLISECONDS)

    labels = read_run_labels(file)
    file.unlink()
    assert labels == {(SECOND, ""): RunLabel(run_id=SECOND, label="pass", note="It uses the library.\nGood.")}


def test_a_page_of_another_site_cannot_label(browser: Browser, viewer: Viewer) -> None:
    run = viewer.page("run")
    address = f"{run.partition('/run?')[0]}/label"
    with visit(browser, run) as seen:
        token = seen.page.locator("input[name=token]").first.get_attribute("value")
    form = (
        f"<title>x</title><form method=post action='{address}'><input name=token value='{token}'>"
        f"<input name=run value='{SECOND}'><input name=label value=fail><button>x</button></form>"
    )
    with visit(browser, f"data:text/html,{quote(form)}") as seen:
        seen.page.get_by_role("button").click()
        expect(seen.page.locator("body")).to_contain_text("pages of this viewer only", timeout=PATIENCE_MILLISECONDS)

    assert not (viewer.folder / "median" / "labels.csv").exists()


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("hostile", "missing", "many-runs")])
@pytest.mark.parametrize(("width", "screen"), [(DESKTOP, "desktop"), (PHONE, "phone")])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_looks_as_in_the_documents(
    browser: Browser, viewer: Viewer, name: str, width: int, screen: str, scheme: Scheme
) -> None:
    with visit(browser, viewer.page(name), width=width, scheme=scheme) as seen:
        taken = photograph(seen.page, width)

    assert_looks_like(browser, taken, f"viewer-{name}-{screen}-{scheme}.png")


def photograph(page: Page, width: int) -> bytes:
    """A screenshot of the top of a page, small enough for the docs."""
    height = page.evaluate("document.documentElement.scrollHeight")
    clip = FloatRect(x=0, y=0, width=width, height=min(MAX_PICTURE_HEIGHT, height))
    return reduce_colours(page.screenshot(full_page=True, clip=clip))
