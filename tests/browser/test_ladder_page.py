"""The page of `outweigh ladder -o` in a real browser: 120 arms, two arms and hostile names; desktop and phone."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.accessibility import faults
from tests.browser.chromium import DESKTOP, PHONE, Scheme, visit
from tests.browser.test_report_page import _OUTSIDE, _OVERLAPS, unfold, wider_than_the_screen
from tests.cli.stores import write_store

from outweigh.cli.main import main
from outweigh.model.codec import encode
from outweigh.model.usage import Component, ComponentTokens, reported_cost
from outweigh.testing.builders import a_judgment, a_run

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e\x1b[31m" + "x" * 300
SHOWN: list[tuple[int, Scheme]] = [(DESKTOP, "light"), (PHONE, "dark")]


def write_page(folder: Path, tiers: dict[str, int]) -> Path:
    """Three tasks, two repeats and two judges; costs, passes and components differ by arm."""
    runs = [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=(task * 5 + repeat * 3 + place * place) % 7 > 2 - tier % 2,
            cost=reported_cost(0.05 * (1 + place % 11) * (1 + task / 9)),
            duration_seconds=60.0 + (task * 7 + place) % 50,
            components=tuple(
                ComponentTokens(component=kind, input_tokens=500 + 90 * number + place, output_tokens=number)
                for number, kind in enumerate(Component)
            ),
        )
        for place, (arm, tier) in enumerate(tiers.items())
        for task in range(3)
        for repeat in (1, 2)
    ]
    store = write_store(folder / "store", runs, list(tiers), tiers=tiers)
    answers = [
        a_judgment(run, 0.5 + (place * 7 + number * 3) % 40 / 100, judge=judge)
        for place, run in enumerate(runs)
        for number, judge in enumerate(("opus", "haiku"))
    ]
    Path(store, "judgments-engine.jsonl").write_bytes(b"".join(encode(answer) + b"\n" for answer in answers))
    assert main(["ladder", store, "-o", f"{folder}/ladder/"]) == 0
    return folder / "ladder"


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven tiers with 120 arms."""
    sizes = (24, 10, 15, 41, 14, 15, 1)
    names = {f"T{tier}-a-sub-arm-{number:02}": tier for tier, size in enumerate(sizes) for number in range(size)}
    return write_page(tmp_path_factory.mktemp("many"), names)


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arms on two tiers."""
    return write_page(tmp_path_factory.mktemp("few"), {"plain": 0, "skills": 1})


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names that try to be markup, and are long."""
    return write_page(tmp_path_factory.mktemp("hostile"), {"plain": 0, HOSTILE: 1, f"{HOSTILE}-2": 1})


@pytest.mark.parametrize("study", ["many", "few", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), SHOWN)
def test_the_page_can_be_read_by_everyone_and_nothing_overlaps(
    browser: Browser, request: pytest.FixtureRequest, study: str, width: int, scheme: Scheme
) -> None:
    page = request.getfixturevalue(study) / "ladder.html"

    with visit(browser, page.as_uri(), width=width, scheme=scheme) as seen:
        if study == "many":  # axe takes half a minute for 120 unfolded rows of each kind, which few have, too
            assert faults(seen.page) == []
        unfold(seen.page)
        assert seen.page.evaluate(_OVERLAPS) == []
        assert seen.page.evaluate(_OUTSIDE) == []
        assert wider_than_the_screen(seen.page) == 0
        if study != "many":
            assert faults(seen.page) == []
        assert seen.complaints == []
        assert seen.requests == [page.as_uri()]
        assert seen.page.title() != "taken"


def test_every_drawing_of_a_folder_is_shown_by_a_browser_as_it_is(browser: Browser, many: Path) -> None:
    for drawing in sorted(many.glob("figures/*.svg")):
        with visit(browser, drawing.as_uri(), scheme="dark") as seen:
            box = seen.page.locator("svg").first.bounding_box()
            assert seen.page.evaluate("getComputedStyle(document.documentElement).color") == "rgb(27, 27, 27)"
            assert box is not None
            assert box["width"] == 720
            assert seen.complaints == []


def test_a_page_of_120_arms_is_short_while_it_is_folded(browser: Browser, many: Path) -> None:
    with visit(browser, (many / "ladder.html").as_uri()) as seen:
        assert seen.page.evaluate("document.documentElement.scrollHeight") < 3_000
