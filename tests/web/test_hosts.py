"""The hosts of a run on a cluster, as the viewer shows what the lead wrote of them."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.web.decided_store import decided_store
from tests.web.hosts_of_store import LOST, NO_SPACE, a_host, an_attempt, write_seen_hosts
from tests.web.page_reader import Reader

from outweigh.model.run_record import AgentKind
from outweigh.store.hosts_file import HOSTS_FILE
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_run


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return decided_store(tmp_path / "runs" / "one", tmp_path / "suite", planned_runs=90)


@pytest.fixture
def reader(store: Path) -> Reader:
    return Reader(store.parent)


@pytest.fixture
def running(store: Path) -> Iterator[FolderRunStore]:
    with FolderRunStore.open(store) as writing:
        for task in (1, 2):
            writing.begin(f"task-{task}/better/4#1", a_run(f"task-{task}", "better", 4).trial, 1)
        yield writing


def text(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_each_host_has_its_state_and_what_it_makes(running: FolderRunStore, reader: Reader) -> None:
    attempts = (an_attempt(2, 1, "better", 0.25), an_attempt(2, 2, "better", None))
    hosts = (a_host(1, LOST), a_host(2, NO_SPACE), a_host(3, running=2))
    write_seen_hosts(running.folder, hosts, attempts, waiting=1)

    page = text(reader.ask(reader.store("/hosts")).text)

    assert "node-1 no answer for 95 s ✗ lost 0 of 8" in page
    assert "node-2 its disk is full, so it starts nothing no space 0 node-3" in page
    assert "node-3 ✓ ready 2 of 8 $0.25 and 1 unknown" in page
    assert re.search(r"task-1 node-3 better 4 1 [\d.]+ s \$0\.25", page)
    assert re.search(r"task-2 node-3 better 4 1 [\d.]+ s unknown", page)
    assert "1 attempt waits for a host." in page
    assert re.search(r"hosts 1 host, 2 of 16 slots, 1 lost, 1 no space", page)


def test_progress_has_the_hosts_and_what_the_attempts_under_way_have_cost(
    running: FolderRunStore, reader: Reader
) -> None:
    write_seen_hosts(running.folder, (a_host(1, running=2),), (an_attempt(0, 1, "better"), an_attempt(0, 2, "better")))

    live = msgspec.json.decode(reader.ask(reader.store("/live")).text)
    home = reader.ask("/").text

    assert (live["hosts"], live["so_far"]) == ("1 host, 2 of 8 slots", "$0.50")
    assert live["time_left"].startswith("about")
    assert f'href="{reader.store("/hosts")}"' in home
    assert f'href="{reader.store("/hosts")}"' in reader.ask(reader.store()).text


def test_agents_that_pretend_spend_nothing_under_way(tmp_path: Path) -> None:
    store = decided_store(tmp_path / "runs" / "one", tmp_path / "suite", planned_runs=90, kind=AgentKind.SCRIPTED)
    reader = Reader(store.parent)
    with FolderRunStore.open(store):
        write_seen_hosts(store, (a_host(1, running=1),), (an_attempt(0, 1, "better", None),))

        live = msgspec.json.decode(reader.ask(reader.store("/live")).text)

    assert live["so_far"] == live["spent"] == "simulated"


def test_two_hosts_of_one_node_are_told_apart(running: FolderRunStore, reader: Reader) -> None:
    write_seen_hosts(running.folder, (a_host(10**18, node="big"), a_host(2, node="big"), a_host(3)))

    page = text(reader.ask(reader.store("/hosts")).text)

    assert "big (0de0b6)" in page
    assert "big (000000)" in page
    assert "node-3 ✓" in page


def test_an_interrupted_run_says_that_nothing_more_is_started(running: FolderRunStore, reader: Reader) -> None:
    write_seen_hosts(running.folder, (a_host(1),), draining=True)

    assert "nothing more is started" in text(reader.ask(reader.store("/hosts")).text)


def test_a_lead_that_writes_no_more_is_said_to_be_silent_and_its_hosts_are_no_progress(
    running: FolderRunStore, reader: Reader
) -> None:
    write_seen_hosts(running.folder, (a_host(1),), seconds_ago=40)

    assert "The run has written nothing for 40 s" in text(reader.ask(reader.store("/hosts")).text)
    assert msgspec.json.decode(reader.ask(reader.store("/live")).text)["hosts"] == ""


def test_what_a_killed_lead_left_is_shown_as_such_with_the_way_out(store: Path, reader: Reader) -> None:
    write_seen_hosts(store, (a_host(1),))

    page = text(reader.ask(reader.store("/hosts")).text)

    assert "The run that wrote this is not there any more" in page
    assert "takes over what still runs" in page
    assert msgspec.json.decode(reader.ask(reader.store("/live")).text)["hosts"] == ""


def test_the_next_engine_removes_what_a_killed_lead_left(store: Path, reader: Reader) -> None:
    write_seen_hosts(store, (a_host(1),))

    with FolderRunStore.open(store):
        pass

    assert not (store / HOSTS_FILE).exists()
    assert "No run on a cluster is at work here" in reader.ask(reader.store("/hosts")).text


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"hosts": 3}'])
def test_a_damaged_file_is_no_file(content: bytes, store: Path, reader: Reader) -> None:
    (store / HOSTS_FILE).write_bytes(content)

    assert "No run on a cluster is at work here" in reader.ask(reader.store("/hosts")).text


def test_thousands_of_slots_are_counted_and_listed_page_by_page(running: FolderRunStore, reader: Reader) -> None:
    attempts = tuple(an_attempt(number % 300, number, "better") for number in range(1000))
    hosts = tuple(a_host(number, running=3) for number in range(300))
    write_seen_hosts(running.folder, hosts, attempts, more_hosts=20, more_attempts=5000)

    first = reader.ask(reader.store("/hosts")).text
    last = reader.ask(reader.store("/hosts?page=10")).text

    assert first.count("✓ ready") == 200
    assert "And 120 more hosts." in first
    assert "And 5,000 more attempts that are not listed." in first
    assert first.count('href="/task?task=') == last.count('href="/task?task=') == 100
    assert len(first) < 200_000


def test_the_version_changes_with_what_is_shown_and_not_with_the_time(running: FolderRunStore, reader: Reader) -> None:
    def version() -> str:
        found: str = msgspec.json.decode(reader.ask(reader.store("/live")).text)["hosts_version"]
        return found

    write_seen_hosts(running.folder, (a_host(1),))
    before = version()
    write_seen_hosts(running.folder, (a_host(1),), seconds_ago=1)

    assert version() == before
    write_seen_hosts(running.folder, (a_host(1),), (an_attempt(0, 1, "better"),))
    assert version() != before


def test_hostile_names_of_nodes_and_their_words_are_escaped(running: FolderRunStore, reader: Reader) -> None:
    host = msgspec.structs.replace(a_host(1, node="<b>x</b>\x1b[31m"), detail="<script>")
    write_seen_hosts(running.folder, (host,))

    page = reader.ask(reader.store("/hosts")).text

    assert "<b>x" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page


def test_the_page_of_a_store_names_its_hosts_in_a_terminal_too(running: FolderRunStore, outweigh: Any) -> None:
    write_seen_hosts(running.folder, (a_host(1, LOST), a_host(2, running=1)), (an_attempt(1, 1, "better"),))

    answer = outweigh("store", "show", str(running.folder))

    assert "running now on 1 host (1 of 16 slots busy, 1 lost)" in answer.out
