"""Claims about what people see of a lead's hosts while a run lasts, and after it."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event

import msgspec
import pytest
from tests.cli.engines import until
from tests.cluster.cluster_in_process import LEASE_SECONDS, Lead, TestHost, in_process
from tests.cluster.dask_cluster import DaskCluster, dask_cluster
from tests.web.page_reader import Reader

from outweigh.cluster.host_overview import describe_hosts, hosts_shown
from outweigh.cluster.lead_state import CANCEL_GRACE_SECONDS, HEARD_SECONDS
from outweigh.cluster.messages import HostState
from outweigh.engine.events import EventKind
from outweigh.engine.executor import DoneFutures
from outweigh.store.hosts_file import HOSTS_FILE, HostCondition, HostsFile, read_hosts
from outweigh.store.store_files import files_to_keep

SILENCE = LEASE_SECONDS + CANCEL_GRACE_SECONDS + 1


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


def seen(lead: Lead) -> HostsFile:
    return lead.executor.seen_hosts(draining=False)


def begin(lead: Lead, host: TestHost) -> None:
    lead.executor.start(lead.plan[0], 1)
    lead.talk_until(host, lambda reply: bool(reply.running))
    lead.talk(host)


def test_an_attempt_is_seen_where_it_runs_with_its_dollars_so_far(tmp_path: Path) -> None:
    with in_process(tmp_path, hosts=2) as (lead, [first, _]):
        trial = lead.plan[0].trial
        begin(lead, first)
        found = seen(lead)

        [attempt] = found.attempts
        assert (attempt.task_id, attempt.arm, attempt.repeat) == (trial.task_id, trial.arm, trial.repeat)
        assert found.hosts[attempt.host].name == first.spool.host
        assert attempt.cost_usd == found.spent_usd == 0.25
        assert [host.condition for host in found.hosts] == [HostCondition.READY, HostCondition.READY]
        assert (found.ready_hosts, found.running, found.slots, found.waiting) == (2, 1, 4, 0)


def test_a_host_is_silent_then_lost_and_ready_again_when_it_is_back(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        begin(lead, host)
        conditions = [seen(lead).hosts[0].condition]
        for seconds in (HEARD_SECONDS + 1, SILENCE):
            lead.clock.now += seconds
            lead.executor.tick()
            conditions.append(seen(lead).hosts[0].condition)
        lost = seen(lead)
        lead.talk(host)

        assert conditions == [HostCondition.READY, HostCondition.SILENT, HostCondition.LOST]
        assert (lost.ready_hosts, lost.slots, lost.hosts[0].silent_seconds) == (0, 0, SILENCE + HEARD_SECONDS + 1)
        assert [each.condition for each in seen(lead).hosts] == [HostCondition.READY]


@pytest.mark.parametrize(
    ("slots", "state", "condition"),
    [
        (0, HostState.READY, HostCondition.NO_SPACE),
        (0, HostState.UNFIT, HostCondition.UNFIT),
        (0, HostState.BUSY, HostCondition.BUSY),
        (0, HostState.NEEDS_PACKAGE, HostCondition.PREPARING),
        (0, HostState.PREPARING, HostCondition.PREPARING),
        (2, HostState.READY, HostCondition.READY),
    ],
)
def test_why_a_host_makes_nothing_is_told_apart(
    slots: int, state: HostState, condition: HostCondition, tmp_path: Path
) -> None:
    with in_process(tmp_path) as (lead, _):
        [known] = lead.state.hosts.values()
        known.slots, known.state = slots, state

        assert seen(lead).hosts[0].condition is condition


def test_what_a_lead_before_this_one_started_is_seen_by_its_id(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        begin(lead, host)
        lead.close()
        later = Lead(lead.suite, tmp_path / "store", session=2)
        later.meet(host)
        [attempt] = seen(later).attempts
        later.close()

    assert attempt.run_id.endswith("#1")
    assert (attempt.task_id, attempt.cost_usd) == (None, 0.25)


def test_people_hear_how_many_hosts_there_are_and_that_one_was_given_up(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        lead.executor.wait(DoneFutures(), 0)
        begin(lead, host)
        for _ in range(2):  # it is said each time
            lead.clock.now += SILENCE
            lead.executor.tick()
            lead.executor.wait(DoneFutures(), 0)
            lead.talk(host)
            lead.executor.wait(DoneFutures(), 0)

        counts = [event.detail for event in lead.events if event.kind is EventKind.HOSTS]
        given_up = [event.detail for event in lead.events if "has not answered for" in event.detail]

    assert counts == ["1 host", "0 hosts", "1 host", "0 hosts", "1 host"]
    assert [words.rpartition(": ")[2] for words in given_up] == ["1", "0"]


def test_the_file_is_there_while_the_run_lasts_and_no_part_of_the_store(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, _):
        folder = lead.store.folder
        with hosts_shown(folder, lambda: seen(lead)):
            until(lambda: read_hosts(folder) is not None)
            kept = {path.name for path in files_to_keep(folder, artifacts=True)}

        assert HOSTS_FILE not in kept
        assert not (folder / HOSTS_FILE).exists()


def test_a_folder_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    described = Event()
    with in_process(tmp_path) as (lead, _):

        def describe() -> HostsFile:
            described.set()
            return seen(lead)

        with hosts_shown(tmp_path / "missing", describe):
            assert described.wait(60)


def test_a_thousand_hosts_and_their_slots_are_counted_where_they_are_not_listed(tmp_path: Path) -> None:
    with in_process(tmp_path) as (lead, [host]):
        begin(lead, host)
        [known], [given] = lead.state.hosts.values(), lead.state.given.values()
        for number in range(2000):
            name = f"host-{number:04}"
            copy = {field: getattr(known, field) for field in known.__slots__}
            lead.state.hosts[name] = type(known)(**copy | {"name": name, "node": f"node-{number:04}"})
            for place in range(4):
                order = msgspec.structs.replace(given.order, run_id=f"{name}-{place}")
                lead.state.given[order.key] = type(given)(order=order, host=name)

        found = describe_hosts(lead.state, lead.clock(), draining=False)

    assert len(found.hosts) + found.more_hosts == found.ready_hosts == 2001
    assert len(found.attempts) + found.more_attempts == found.running == 8001
    assert len(msgspec.json.encode(found)) < 1_000_000


def test_the_viewer_shows_two_hosts_of_a_real_cluster_and_one_that_is_killed(cluster: DaskCluster) -> None:
    trials = cluster.write_suite(tasks=4, repeats=3)
    hosts = [cluster.start_host(slots=2) for _ in range(2)]
    (cluster.folder / "hold-agents").touch()
    lead = cluster.start_lead()
    cluster.hold("agents", attempts=4)
    reader = Reader(cluster.store)

    def page() -> str:
        return reader.ask(reader.store("/hosts")).text

    until(lambda: "2 hosts, 4 of 4 slots" in page() or lead.has_ended)
    assert page().count("✓ ready") == 2
    assert all(f"task-{task}</a>" in page() for task in {name.partition("/")[0][5:] for name in begun(cluster)})
    hosts[0].kill()
    until(lambda: "✗ lost" in page() or lead.has_ended)
    assert "1 host, 2 of 2 slots, 1 lost" in page()
    lead.kill()
    assert "The run that wrote this is not there any more" in page()

    again = cluster.start_lead(log="again")
    cluster.let_go("agents")

    assert again.wait() == 0, cluster.said("again")
    cluster.assert_complete(trials)
    assert "No run on a cluster is at work here" in page()
    assert "has not answered for" in " ".join(cluster.said().split())


def begun(cluster: DaskCluster) -> set[str]:
    """The ids of attempts that have no record yet."""
    file = read_hosts(cluster.store)
    return set() if file is None else {each.run_id for each in file.attempts}
