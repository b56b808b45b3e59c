"""One page about all stores of a team: by suite, with verdict, date, runs and spend, and spend by month."""

import re
from html import unescape
from pathlib import Path

import pytest
from tests.team_stores import BEGUN, write_team_store
from tests.web.page_reader import Reader

from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.usage import UNKNOWN_COST, reported_cost
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run
from outweigh.web.catalogue import StoreCatalogue


@pytest.fixture
def team(tmp_path: Path) -> Path:
    write_team_store(tmp_path / "team" / "one", suite="alpha")
    write_team_store(tmp_path / "team" / "two", suite="beta <b>2</b>", tasks=3)
    failed = a_run(
        "task-9", "plain", status=Status.INFRA_ERROR, cost=reported_cost(2.0), started_at=BEGUN, setup_seconds=1.0
    )
    unknown = a_run("task-9", "plain", 2, cost=UNKNOWN_COST, started_at=BEGUN)
    lines = b"".join(encode(run) + b"\n" for run in (failed, unknown))
    (tmp_path / "team" / "two" / "runs-retries.jsonl").write_bytes(lines)
    return tmp_path / "team"


def text(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_stores_are_listed_by_suite_with_what_their_runs_and_judges_cost(team: Path) -> None:
    page = Reader(team).decided("/stores")

    assert page.status == 200
    found = text(page.text)
    assert found.index("alpha") < found.index("beta <b>2</b>")
    assert "<b>2" not in page.text
    assert re.search(r"one .*better 2026-09-30 12:00 UTC 16 \$1\.60 and 16 unknown", found)
    assert re.search(r"two .* 8 \$2\.60 and 7 unknown", found)


def test_the_spend_of_a_month_has_attempts_that_do_not_count_and_copies_once(team: Path) -> None:
    found = text(Reader(team).ask("/stores").text)

    # The runs of both stores on the first three tasks are the same records.
    assert "2026-09 18 $3.60 22 unknown" not in found
    assert re.search(r"2026-09 18 \$3\.60 16 unknown \$3\.60 and 17 unknown", found)
    assert "17 costs of runs or judges' answers are unknown." in found


def test_a_store_that_is_being_decided_says_so_and_one_that_runs_is_named_as_running(team: Path) -> None:
    reader = Reader(team)
    with FolderRunStore.open(team / "one"):
        found = reader.ask("/stores").text
    reader.catalogue.verdicts.stop()

    assert re.search(r"one .*● running 2026-09-30", text(found))
    assert "… deciding" in text(found)
    assert found.count("data-pending") == 1


def test_the_first_page_leads_to_it(team: Path) -> None:
    assert 'href="/stores"' in Reader(team).ask("/").text


def test_a_hundred_stores_are_on_one_page(tmp_path: Path) -> None:
    for number in range(100):
        write_team_store(
            tmp_path / f"store-{number:03}", tasks=1, artifacts=0, suite=f"suite-{number % 4}", seed=number
        )
    reader = Reader(tmp_path)

    page = reader.ask("/stores").text
    reader.catalogue.verdicts.stop()

    assert len(re.findall(r'href="/e/[0-9a-f]{12}"', page)) == 100
    assert "100 stores of 4 suites" in page


def test_a_catalogue_of_paths_knows_no_faults(team: Path) -> None:
    assert StoreCatalogue([team]).faults == {}
