"""From a task to the pair of runs that shows what changed, tasks over all experiments, and search in transcripts."""

import re
from html import unescape
from pathlib import Path

import pytest
from tests.trajectories import a_step, a_trajectory, store_of
from tests.web.decided_store import LOST, decided_store
from tests.web.page_reader import Reader

from outweigh.testing.builders import a_run
from outweigh.web import transcript_search
from outweigh.web.transcript_search import MAX_FOUND_RUNS, search_transcripts


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    decided_store(tmp_path / "runs" / "one", tmp_path / "suite", judged=True)
    return Reader(tmp_path / "runs")


def rows_of(page: str) -> list[str]:
    return page.partition('aria-label="Tasks"')[2].partition("</table>")[0].split("<tr")[2:]


def test_a_lost_task_comes_first_and_leads_to_the_losing_pair_in_one_click(reader: Reader) -> None:
    first, *_ = rows_of(reader.ask(reader.store()).text.replace('role="search" aria-label="Tasks"', ""))

    assert f">{LOST}</a>" in first
    found = re.search(r'<a href="([^"]+)" class="compare"', first)
    assert found is not None
    pair = reader.ask(unescape(found[1]))
    assert pair.status == 200
    assert "<h1>Side by side</h1>" in pair.text
    assert re.search(r"outcome</th><td><span[^>]*>✓ passed</span></td><td><span[^>]*>✗ failed", pair.text)


def test_tasks_are_filtered_by_how_they_changed(reader: Reader) -> None:
    fewer = reader.ask(reader.store("?change=fewer+passes")).text
    more = reader.ask(reader.store("?change=more+passes")).text

    assert f">{LOST}</a>" in fewer
    assert ">task-2</a>" not in fewer
    assert ">task-2</a>" in more
    assert f">{LOST}</a>" not in more


def test_judge_scores_stand_where_passes_stand(reader: Reader) -> None:
    experiment, runs = reader.ask(reader.store()).text, reader.ask(reader.store("/runs")).text
    run = reader.ask(reader.store("/run?run=task-2/better/1")).text
    diff = reader.ask(reader.store("/diff?a=task-2/plain/1&b=task-2/better/1")).text
    task, found = reader.ask("/task?task=task-2").text, reader.ask("/search?q=exactly").text

    assert "judge 0.90" in experiment
    assert "<td>0.40</td>" in experiment
    assert "<td>0.90</td>" in runs
    assert "<dt>judge score</dt><dd>0.90</dd>" in run
    assert "judge 0.40" in run
    assert '<th scope="row">judge score</th><td>0.40</td><td>0.90</td><td>+0.50</td>' in diff
    assert "<td>0.90</td>" in task
    assert "judge 0.90" in found


def test_runs_are_sorted_by_judge_score(reader: Reader) -> None:
    page = reader.ask(reader.store("/runs?sort=judge&falling=1")).text

    assert page.index("/better/") < page.index("/plain/")


def test_a_task_has_a_page_over_all_experiments(reader: Reader, tmp_path: Path) -> None:
    decided_store(tmp_path / "runs" / "two", tmp_path / "suite", day=2, better_passes=2)

    page = reader.ask("/task?task=task-3").text

    assert "2 experiments have runs of this task" in page
    assert page.index(">two</a>") < page.index(">one</a>")
    assert "2/3" in page
    assert "3/3" in page


def test_a_task_that_was_changed_says_so(reader: Reader, tmp_path: Path) -> None:
    decided_store(tmp_path / "runs" / "two", tmp_path / "suite", day=2)
    before = reader.ask("/task?task=task-3").text
    file = tmp_path / "runs" / "two" / "experiment.json"
    file.write_text(re.sub(r'"task-3": "[^"]+"', f'"task-3": "sha256:{"0" * 64}"', file.read_text()))

    assert "The task was changed" not in before
    assert "The task was changed: these experiments ran 2 versions of it." in reader.ask("/task?task=task-3").text


def test_a_task_that_no_experiment_has_is_not_found(reader: Reader) -> None:
    assert reader.ask("/task?task=nowhere").status == 404


def test_a_search_finds_words_in_any_case_and_leads_to_the_step(reader: Reader) -> None:
    page = reader.ask("/search?q=ANSWER+OF+TASK+7").text

    assert "Found in 3 of 72 runs searched." in page
    assert "<mark>answer of task 7</mark>" in page
    assert re.search(r'href="/e/[0-9a-f]+/run\?run=task-7%2Fbetter%2F1#step-2"', page)


def test_a_search_stops_after_enough_finds_and_goes_on_from_there(reader: Reader) -> None:
    (store,) = reader.catalogue.stores()
    store.index.refresh()

    first = search_transcripts([store], "exactly", 0)
    assert first.next_place is not None
    second = search_transcripts([store], "exactly", first.next_place)

    assert len(first.found) == MAX_FOUND_RUNS
    assert second.next_place is None
    names = [found.row.run_id for found in (*first.found, *second.found)]
    assert len(names) == len(set(names)) == 36
    page = reader.ask("/search?q=exactly").text
    assert "The search stopped here to keep the page fast." in page
    assert f"from={first.next_place}" in page


def test_a_search_stops_after_so_much_text(tmp_path: Path) -> None:
    long = a_trajectory(a_step("bash", {"command": "x"}, output="y" * (transcript_search.MAX_SEARCHED_CHARACTERS // 3)))
    runs = [(a_run(f"task-{number}"), {"trajectory.json": long}) for number in range(6)]
    reader = Reader(store_of(tmp_path / "store", runs))
    (store,) = reader.catalogue.stores()
    store.index.refresh()

    result = search_transcripts([store], "nowhere", 0)

    assert (result.searched_runs, result.next_place) == (3, 3)


def test_a_search_goes_on_in_the_next_store(tmp_path: Path) -> None:
    for name in ("a", "b"):
        kept = {"trajectory.json": a_trajectory(a_step(said=f"hello from {name}"))}
        store_of(tmp_path / name, [(a_run("fix", "plain", repeat), kept) for repeat in (1, 2)])
    reader = Reader(tmp_path)
    stores = reader.catalogue.stores()
    for store in stores:
        store.index.refresh()

    found = search_transcripts(stores, "hello", 3).found

    assert [(each.store.name, each.row.repeat) for each in found] == [("b", 2)]


def test_one_character_is_too_little_to_search_for(reader: Reader) -> None:
    assert "Write at least 2 characters." in reader.ask("/search?q=x").text


def test_the_history_of_a_suite_is_a_page(reader: Reader) -> None:
    page = reader.ask("/history")

    assert page.status == 200
    assert "the change is against the line above, on shared tasks only" in page.text
    assert 'aria-label="Breadcrumb"' in page.text
