"""Claims about `outweigh run --executor dask` with a real scheduler and hosts as processes."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import until
from tests.cli.killed_experiment import verdict
from tests.cluster.certificates import write_certificates
from tests.cluster.dask_cluster import DaskCluster, dask_cluster
from tests.cluster.small_disks import fill, mounted_small_disk
from tests.prerequisites import needs

from outweigh.app.build_engine import SCRATCH_NOTE
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import HOST_LABEL


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
@needs("privileges")
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_small_disk(tmp_path) as place:
        yield place


def test_a_cluster_gives_the_trials_and_the_verdict_of_one_machine(cluster: DaskCluster, outweigh: Any) -> None:
    trials = cluster.write_suite(tasks=4, repeats=3)
    for _ in range(2):
        cluster.start_host(slots=2)

    assert cluster.start_lead().wait() == 0, cluster.said()

    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0
    assert {run.extra[HOST_LABEL]["node"] for run in cluster.records()} != set()
    here = cluster.folder / "here"
    assert outweigh("run", "-c", str(cluster.folder / "suite"), "-o", str(here)).code == 0
    assert verdict(outweigh, cluster.store) == verdict(outweigh, here)


def test_a_second_interrupt_leaves_nothing_running_on_any_host_and_hosts_stay(cluster: DaskCluster) -> None:
    cluster.write_suite(tasks=4, repeats=3, seconds=60)
    for _ in range(2):
        cluster.start_host(slots=2)
    lead = cluster.start_lead()
    until(lambda: len(cluster.agents()) >= 4)

    lead.signal(signal.SIGINT)
    until(lambda: "interrupted" in cluster.said())
    assert cluster.agents() != []
    lead.signal(signal.SIGINT)

    assert lead.wait() == 130, cluster.said()
    until(lambda: cluster.agents() == [])
    assert not any(host.has_ended for host in cluster.hosts)


def test_one_interrupt_lets_what_runs_end_and_the_next_run_goes_on_from_there(cluster: DaskCluster) -> None:
    trials = cluster.write_suite(tasks=4, repeats=3)
    hosts = [cluster.start_host(slots=2) for _ in range(2)]
    (cluster.folder / "hold-agents").touch()
    lead = cluster.start_lead()
    cluster.hold("agents", attempts=4)

    lead.signal(signal.SIGINT)
    until(lambda: "interrupted" in cluster.said())
    cluster.let_go("agents")

    assert lead.wait() == 130, cluster.said()
    assert sum(cluster.counted().values()) == len(cluster.records()) == 4
    assert cluster.agents() == []
    assert not any(host.has_ended for host in hosts)
    assert cluster.start_lead().wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0


def test_two_leads_at_once_each_get_their_own_results_and_a_copy_of_a_store_is_a_lead_of_its_own(
    cluster: DaskCluster,
) -> None:
    trials = cluster.write_suite(tasks=4, repeats=3)
    for _ in range(2):
        cluster.start_host(slots=2)
    first = cluster.start_lead()
    cluster.hold("agents", attempts=4)
    begun = {run.run_id for run in cluster.records()}
    copy = cluster.folder / "copy"
    shutil.copytree(cluster.store, copy)
    refused = cluster.start_lead(log="refused")
    assert refused.wait() == 2
    assert "is in use by process" in cluster.said("refused")

    second = cluster.start_lead(log="second", store=copy)
    until(lambda: "works for another experiment" in cluster.said("second"))
    cluster.let_go("agents")

    assert first.wait() == 0, cluster.said()
    assert second.wait() == 0, cluster.said("second")
    cluster.assert_complete(trials)
    made = {run.trial.key: run for run in cluster.records(copy) if run.status not in EXCLUDED_STATUSES}
    assert len(made) == trials
    assert cluster.paid_twice(2 * trials) == -len(begun)


def test_what_a_killed_lead_left_behind_is_removed_by_the_next(cluster: DaskCluster) -> None:
    cluster.write_suite(tasks=1, repeats=1)
    cluster.start_host(slots=2)
    assert cluster.start_lead().wait() == 0, cluster.said()
    left = cluster.folder / "outweigh-0123456789abcdef"
    (left / "pristine").mkdir(parents=True)
    (cluster.store / SCRATCH_NOTE).write_text(f"{left}\n")

    assert cluster.start_lead(log="second").wait() == 0, cluster.said("second")

    assert f"removed what an earlier engine left behind: {left}" in cluster.said("second")
    assert not left.exists()


def test_a_host_without_space_for_the_suite_says_so_and_works_when_there_is_some(
    cluster: DaskCluster, small_disk: Path
) -> None:
    trials = cluster.write_suite(tasks=2, repeats=1)
    cluster.start_host(slots=2, spool=small_disk)
    until(lambda: "attempts at a time" in cluster.said("host-1"))
    fill(small_disk / "filler")
    lead = cluster.start_lead()

    until(lambda: "the suite could not be kept" in " ".join(cluster.said().split()) or lead.has_ended)
    (small_disk / "filler").unlink()

    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(trials)


def test_an_arm_goes_only_to_hosts_that_have_its_tags_and_the_lead_says_so(cluster: DaskCluster) -> None:
    trials = cluster.write_suite(tasks=2, repeats=2, cluster={"lease_seconds": 5.0, "tags": {"better": ["gpu"]}})
    cluster.start_host("--name", "plain", slots=2, spool=cluster.folder / "without")
    tagged = cluster.start_host("--tags", "docker,gpu", slots=2, spool=cluster.folder / "with")

    assert cluster.start_lead().wait() == 0, cluster.said()

    cluster.assert_complete(trials)
    assert "'better' does not run there: it needs a host with the tag gpu" in " ".join(cluster.said().split())
    assert tagged.end() == 0


def test_lead_hosts_and_scheduler_talk_over_tls_with_certificates_of_one_authority(tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    with dask_cluster(tmp_path, tls=files) as cluster:
        named = {name.replace("-", "_"): path for name, path in files.items()}
        trials = cluster.write_suite(tasks=2, repeats=1, cluster={"lease_seconds": 5.0, **named})
        cluster.start_host(slots=2)

        assert cluster.start_lead().wait() == 0, cluster.said()

        cluster.assert_complete(trials)


@pytest.mark.parametrize("shown", ["none", "another authority"])
def test_a_host_without_a_certificate_of_the_authority_is_refused_and_says_so(shown: str, tmp_path: Path) -> None:
    files = write_certificates(tmp_path)
    with dask_cluster(tmp_path, tls=files) as cluster:
        stranger = tmp_path / "stranger"
        stranger.mkdir()
        others = write_certificates(stranger)
        mine = {"tls-ca-file": files["tls-ca-file"]}
        if shown == "another authority":
            mine |= {name: others[name] for name in ("tls-cert", "tls-key")}
        cluster.tls = mine
        host = cluster.start_host(slots=2)
        log = host.log.stem

        until(lambda: "does not answer" in cluster.said(log) or host.has_ended)

        assert "makes 2 attempts" in cluster.said(log)
        assert "does not answer" in cluster.said(log)
        assert host.end() == 0


@pytest.mark.parametrize("verb", [("run", "--executor", "dask", "--scheduler"), ("dev", "host")])
def test_a_scheduler_elsewhere_without_tls_is_refused(verb: tuple[str, ...], outweigh: Any, tmp_path: Path) -> None:
    suite = ("-c", "examples/demo", "-o", str(tmp_path / "store")) if verb[0] == "run" else ()

    answer = outweigh(*verb, "tcp://203.0.113.7:8786", *suite)

    assert answer.code == 2
    assert "tls://" in answer.err
    assert not (tmp_path / "store").exists()


def test_a_cluster_without_an_address_is_one_sentence(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("run", "-c", "examples/demo", "-o", str(tmp_path / "store"), "--executor", "dask")

    assert answer.code == 2
    assert "--scheduler tcp://127.0.0.1:8786" in answer.err


def test_a_scheduler_without_the_executor_that_uses_it_is_refused(outweigh: Any) -> None:
    answer = outweigh("run", "-c", "examples/demo", "--scheduler", "tcp://127.0.0.1:8786")

    assert answer.code == 2
    assert "--executor dask" in answer.err
