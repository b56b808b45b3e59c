"""The first page: every experiment with its verdict, its trend, and what is running now."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import msgspec
import pytest
from tests.trajectories import store_of
from tests.web.decided_store import decided_store
from tests.web.page_reader import Reader

from outweigh.app.decide import DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.model.run_record import AgentKind
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.store.arm_versions import ArmVersion
from outweigh.store.experiment_file import read_experiment
from outweigh.store.run_store import FolderRunStore
from outweigh.store.store_set import StoreSet
from outweigh.testing.builders import a_run
from outweigh.web.progress import format_time_left


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three stores of one suite: no gain, some gain, more gain."""
    base = tmp_path_factory.mktemp("home")
    for day in (1, 2, 3):
        decided_store(base / "runs" / f"day-{day}", base / "suite", day=day, better_passes=day, judged=day == 3)
    return base / "runs"


@pytest.fixture(scope="module")
def reader(folder: Path) -> Reader:
    return Reader(folder)


def article(page: str, store: str) -> str:
    """The part of the first page that is about one store."""
    return next(part for part in page.split("<article")[1:] if f">{store}</a></h2>" in part)


def test_every_experiment_has_its_decision_and_the_sentence_of_the_verdict(reader: Reader, folder: Path) -> None:
    page = reader.decided("/").text

    assert "? inconclusive" in article(page, "day-1")
    assert "▲ improved" in article(page, "day-2")
    result = decide(DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([folder / "day-3"])))).only
    assert effect_sentence(result.verdict, result.comparison) in article(page, "day-3")


def test_the_latest_experiment_comes_first(reader: Reader) -> None:
    names = re.findall(r"<h2><a [^>]*>([^<]+)</a>", reader.ask("/").text)

    assert names == ["day-3", "day-2", "day-1"]


def test_the_trend_has_the_verdicts_up_to_this_one_and_none_after_it(reader: Reader) -> None:
    page = reader.decided("/").text

    assert "Trend" not in article(page, "day-1")
    assert len(re.findall(r"<circle", article(page, "day-2"))) == 2
    assert len(re.findall(r"<circle", article(page, "day-3"))) == 3
    assert re.search(r"</svg> -\d[\d.]*, \+\d[\d.]*, \+\d[\d.]* points", article(page, "day-3"))


def test_a_trend_leaves_out_other_suites(folder: Path, tmp_path: Path) -> None:
    decided_store(tmp_path / "runs" / "one", tmp_path / "suite", day=1)
    suite = tmp_path / "other"
    decided_store(tmp_path / "runs" / "two", suite, day=2)
    file = tmp_path / "runs" / "two" / "experiment.json"
    file.write_text(file.read_text().replace('"suite": "answers"', '"suite": "another"'))

    assert "Trend" not in Reader(tmp_path / "runs").decided("/").text


def test_filters_are_kept_in_the_address(reader: Reader) -> None:
    reader.decided("/")

    improved = reader.ask("/?show=improved").text
    named = reader.ask("/?q=day-1").text

    assert "day-1</a>" not in improved
    assert '<option value="improved" selected>' in improved
    assert "day-2</a>" not in named
    assert "No experiment is like that." in reader.ask("/?q=nothing-like-it").text


def test_a_running_experiment_shows_time_left_and_spending_and_no_decision(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite", planned_runs=90)
    reader = Reader(tmp_path / "runs")
    with FolderRunStore.open(store) as writing:
        writing.begin("task-1/plain/4#1", a_run("task-1", "plain", 4).trial, 1)
        page = reader.decided("/").text
        live = msgspec.json.decode(reader.ask(reader.store("/live")).text)
    afterwards = reader.decided("/").text

    assert "● running" in page
    assert "The verdict comes when the run ends." in page
    assert "improved</span>" not in page
    assert live["results"] == "72 of 90"
    assert re.fullmatch(r"about \d+ min", live["time_left"])
    assert live["spent"].startswith("$")
    assert "▲ improved" in afterwards


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(40, "about 40 s"), (89.6, "about 90 s"), (120, "about 2 min"), (9000, "about 2.5 h")],
)
def test_time_left_has_the_unit_that_people_use(seconds: float, words: str) -> None:
    assert format_time_left(seconds) == words


def test_simulated_agents_spend_no_dollars_on_any_page(tmp_path: Path) -> None:
    decided_store(tmp_path / "runs" / "one", tmp_path / "suite", kind=AgentKind.SCRIPTED)
    reader = Reader(tmp_path / "runs")
    pages = ("/", *map(reader.store, ("", "/runs", "/diff?a=task-1/plain/3&b=task-1/better/3")), "/task?task=task-1")

    for address in pages:
        page = reader.decided(address).text
        assert "simulated" in page
        assert not re.search(r"\$\d", page.replace("$0.01", ""))  # what a step of the transcript says of itself


def test_a_store_that_cannot_be_decided_says_why(tmp_path: Path) -> None:
    store_of(tmp_path / "store", [(a_run("fix", arm), {}) for arm in ("one", "two", "three")])

    page = Reader(tmp_path).decided("/").text

    assert "– no verdict" in page
    assert "which arm is the baseline" in page


def test_a_changed_store_is_decided_again(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite", better_passes=3)
    reader = Reader(tmp_path / "runs")
    before = reader.decided("/").text
    (file,) = store.glob("runs-*.jsonl")
    file.write_text(file.read_text().replace("/better/", "/worse/").replace('"arm":"better"', '"arm":"worse"'))

    after = reader.decided("/").text

    assert "▲ improved" in before
    assert "▲ improved" not in after


def test_the_report_in_the_viewer_is_the_report_of_the_command_line(reader: Reader, folder: Path) -> None:
    (store,) = (each for each in reader.catalogue.stores() if each.name == "day-2")
    answer = reader.ask(f"/e/{store.key}/report")

    assert answer.status == 200
    assert "outweigh report" in answer.text
    assert f'<a href="/e/{store.key}">day-2</a>' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src" not in policy
    assert "default-src 'none'" in policy


def test_a_task_of_the_report_leads_to_the_viewers_page_of_both_runs(reader: Reader) -> None:
    (store,) = (each for each in reader.catalogue.stores() if each.name == "day-2")
    page = reader.ask(f"/e/{store.key}/report").text

    address = unescape(re.findall(r'<a href="(diff\?[^"]+)">', page)[0])
    answer = reader.ask(f"/e/{store.key}/{address}")

    assert answer.status == 200
    assert 'id="pair-1"' not in page


def test_a_report_is_rendered_once_until_the_store_changes(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite")
    reader = Reader(tmp_path / "runs")
    (viewed,) = reader.catalogue.stores()

    first = viewed.report()

    assert viewed.report() is first
    store_of(store, [(a_run("task-1", "better", 4), {})])
    viewed.index.refresh()
    assert viewed.report() is not first


def test_versions_of_an_arm_are_in_the_trend_of_the_latest(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite", better_passes=1)
    runs = [
        a_run(f"task-{number}", "better@2", repeat, passed=True, duration_seconds=50.0 + number + repeat)
        for number in range(1, 13)
        for repeat in (1, 2, 3)
    ]
    store_of(store, [(run, {}) for run in runs])
    known = read_experiment(store)
    assert known is not None
    begun = datetime(2026, 3, 2, tzinfo=UTC)
    changed = msgspec.structs.replace(
        known,
        arms={**known.arms, "better@2": "sha256:" + "2" * 64},
        current={"plain": "plain", "better": "better@2"},
        versions={"better@2": ArmVersion(arm="better", number=2, begun_at=begun)},
    )
    (store / "experiment.json").write_bytes(msgspec.json.encode(changed))

    page = article(Reader(tmp_path / "runs").decided("/").text, "one")

    assert "<b>better@2</b>" in page
    assert "<b>better</b>" not in page
    assert len(re.findall(r"<circle", page)) == 2
    assert re.search(r"</svg> -2\.8, \+\d+ points", page)


def test_the_history_of_all_suites_and_of_each_is_one_step_away(reader: Reader) -> None:
    page = reader.ask("/").text

    addresses = [unescape(found) for found in re.findall(r'href="(/history[^"]*)"', page)]
    assert addresses[0] == "/history"
    assert len(set(addresses)) == 2
    assert all(reader.ask(address).status == 200 for address in addresses)
