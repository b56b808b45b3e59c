"""No page adds up outcomes of different arms."""

import re
from pathlib import Path

import pytest
from tests.trajectories import Runs, store_of
from tests.web.page_reader import Reader

from outweigh.testing.builders import a_run
from outweigh.web.store_summary import RunTotals

PASSED_PLAIN, FAILED_PLAIN = 37, 4
PASSED_BETTER, FAILED_BETTER = 27, 14
POOLED = PASSED_PLAIN + PASSED_BETTER
KNOWN = POOLED + FAILED_PLAIN + FAILED_BETTER


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Two arms whose counts, added up, are numbers that no single arm has; two experiments of one task."""
    for name in ("first", "second"):
        runs: Runs = [
            (a_run("fix", arm, repeat, passed=repeat <= passed), {})
            for arm, passed, failed in (
                ("plain", PASSED_PLAIN, FAILED_PLAIN),
                ("better", PASSED_BETTER, FAILED_BETTER),
            )
            for repeat in range(1, passed + failed + 1)
        ]
        store_of(tmp_path / "runs" / name, runs)
    return Reader(tmp_path / "runs")


def test_no_page_shows_the_passes_of_several_arms_or_experiments_together(reader: Reader) -> None:
    first, _ = reader.catalogue.stores()
    addresses = ["/", "/task?task=fix", "/search?q=nothing"]
    addresses += [f"/e/{first.key}{path}" for path in ("", "/runs", "/live", "/run?run=fix/plain/1")]
    addresses.append(f"/e/{first.key}/diff?a=fix/plain/1&b=fix/better/1")

    for address in addresses:
        answer = reader.decided(address)
        assert answer.status == 200
        text = re.sub(r"<[^>]+>", " ", answer.text)
        numbers = {number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)}
        for pooled in (POOLED, 2 * POOLED, 2 * PASSED_PLAIN, 2 * PASSED_BETTER):
            assert str(pooled) not in numbers, f"{address} adds up passes"
        for share in (POOLED / KNOWN, 1 - POOLED / KNOWN):
            assert f"{100 * share:.0f} %" not in text, f"{address} shows a pooled pass rate"
            assert f"{100 * share:.1f} %" not in text, f"{address} shows a pooled pass rate"


def test_the_pages_do_show_the_passes_of_each_arm(reader: Reader) -> None:
    first, _ = reader.catalogue.stores()

    for address in (f"/e/{first.key}", "/task?task=fix"):
        page = reader.ask(address).text
        assert f"{PASSED_PLAIN}/{PASSED_PLAIN + FAILED_PLAIN}" in page
        assert f"{PASSED_BETTER}/{PASSED_BETTER + FAILED_BETTER}" in page


def test_totals_over_arms_have_no_outcomes_to_pool() -> None:
    assert not [name for name in dir(RunTotals()) if "pass" in name or "fail" in name]
