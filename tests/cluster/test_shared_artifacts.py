"""Claims about large artifacts that travel through a folder or a bucket which lead and hosts share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from s3fs import S3FileSystem
from tests.cli.engines import until
from tests.cluster.cluster_in_process import Lead, TestHost, in_process
from tests.cluster.dask_cluster import PRICE, DaskCluster, dask_cluster
from tests.engine.engine_fixtures import shell, write_suite
from tests.loopback_s3 import Bucket, s3_server

from outweigh.cluster.messages import ExchangeReply, OfferedRecord
from outweigh.cluster.shared_artifacts import SharedArtifacts, open_place
from outweigh.errors import OutweighError, UsageError
from outweigh.model.failure import Status
from outweigh.store.run_store import FolderRunStore

LARGE = bytes(range(256)) * 1000
DIGEST = sha256(LARGE).hexdigest()
KEY = ("task-1/a/1#1", 1)
LARGEST_PATCH = "seq 30000 > numbers.txt"


@contextmanager
def offered(folder: Path, place: Path) -> Iterator[tuple[Lead, TestHost, Callable[[], OfferedRecord]]]:
    """A host that has finished an attempt with a large artifact, and what it offers of it when asked to share it."""
    with in_process(folder) as (lead, [host]):
        lead.state.artifacts = str(place)
        lead.executor.start(lead.plan[0], 1)
        lead.talk_until(host, lambda reply: bool(reply.running))
        host.engine.said = LARGE
        host.engine.go.set()

        def offer() -> OfferedRecord:
            for _ in range(2000):
                reply: ExchangeReply = host.ask(lead.executor.request_for(host.address))
                if reply.offers:
                    return reply.offers[0]
            raise AssertionError("nothing was offered")

        yield lead, host, offer


def test_a_large_artifact_is_at_the_shared_place_when_its_record_is_offered(tmp_path: Path) -> None:
    with offered(tmp_path, tmp_path / "shared") as (_, _, offer):
        found = offer()

        assert (found.shared, found.large, found.artifacts) == ({DIGEST: len(LARGE)}, {}, {})
        [file] = (tmp_path / "shared" / "experiment").iterdir()
        assert file.read_bytes() == LARGE


def test_a_record_whose_artifacts_are_on_their_way_is_kept_and_is_no_news(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    with offered(tmp_path, tmp_path / "shared") as (lead, host, offer):
        found = offer()
        held = host.host.read_artifact(found.key, DIGEST, 0, len(LARGE))
        reply = host.ask(lead.executor.request_for(host.address))

    assert held == LARGE
    assert [each.key for each in reply.offers] == [found.key]


def test_what_cannot_be_put_there_travels_over_the_connection_and_the_host_says_why(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("this is no folder")
    with offered(tmp_path, tmp_path / "shared") as (lead, host, offer):
        found = offer()
        reply = host.ask(lead.executor.request_for(host.address))

        assert (found.shared, found.large) == ({}, {DIGEST: len(LARGE)})
        assert reply.detail is not None
        assert "large artifacts go over the connection, because they cannot be put to" in reply.detail


def test_a_host_that_is_free_again_leaves_nothing_that_it_put_meanwhile(tmp_path: Path) -> None:
    with offered(tmp_path, tmp_path / "shared") as (lead, host, _):
        lead.state.released = True
        host.ask(lead.executor.request_for(host.address))
        shared = SharedArtifacts(open_place(str(tmp_path / "shared")), "experiment")
        host.close()
        shared.sweep()

    assert not (tmp_path / "shared" / "experiment").exists()


def test_an_attempt_that_is_removed_takes_nothing_from_another_with_the_same_content(tmp_path: Path) -> None:
    shared = SharedArtifacts(open_place(str(tmp_path / "shared")), "experiment")
    content = tmp_path / "content"
    content.write_bytes(LARGE)
    for key in (KEY, ("task-2/a/1#1", 1)):
        shared.put(key, DIGEST, content)

    shared.remove(KEY, [DIGEST])

    assert shared.fetch(("task-2/a/1#1", 1), DIGEST) == LARGE
    with pytest.raises(OutweighError):
        shared.fetch(KEY, DIGEST)


@pytest.mark.parametrize("content", [LARGE[:-1], b"", LARGE.replace(b"a", b"b")])
def test_a_changed_file_is_refused(content: bytes, tmp_path: Path) -> None:
    shared = SharedArtifacts(open_place(str(tmp_path / "shared")), "experiment")
    (tmp_path / "content").write_bytes(LARGE)
    shared.put(KEY, DIGEST, tmp_path / "content")
    [file] = (tmp_path / "shared" / "experiment").iterdir()
    file.write_bytes(content)

    with pytest.raises(UsageError, match="does not match its hash"):
        shared.fetch(KEY, DIGEST)


def test_sweeping_removes_what_a_killed_host_left_half_written_and_nothing_of_others(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(LARGE)
    shared, other = (SharedArtifacts(open_place(str(tmp_path / "shared")), name) for name in ("mine", "other"))
    for each in (shared, other):
        each.put(KEY, DIGEST, tmp_path / "content")
    (tmp_path / "shared" / "mine" / ".half.123").write_bytes(b"x")

    assert shared.sweep() == 2
    assert not (tmp_path / "shared" / "mine").exists()
    assert other.fetch(KEY, DIGEST) == LARGE


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("shared/artifacts", "by the whole path"),
        ("s3://user:secret@bucket", "has a password in it"),
        ("nothing://bucket/x", "is no scheme that fsspec"),
        ("/nowhere/at/all", "is no folder"),
    ],
)
def test_a_place_that_cannot_be_one_is_refused_before_anything_is_written(
    place: str, words: str, tmp_path: Path, outweigh: Any
) -> None:
    suite = tmp_path / "suite"
    cluster = {"scheduler": "tcp://127.0.0.1:1", "artifacts": place}
    write_suite(suite, {"a": shell("true")}, tasks=1, executor="dask", cluster=cluster)

    refused = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"))

    assert refused.code == 2
    assert words in " ".join(refused.err.split())
    assert "secret" not in refused.err
    assert not (tmp_path / "store").exists()


def patches(store: Path) -> list[bytes]:
    """The patches of all runs that count; reading one checks it."""
    with FolderRunStore.open(store) as kept:
        records = [record for runs in kept.finished().values() for record in runs]
        return [
            kept.artifact(record.artifacts["diff.patch"]) for record in records if record.status is Status.COMPLETED
        ]


def run_with_large_patches(cluster: DaskCluster, place: str, **variables: Any) -> int:
    cluster.output = LARGEST_PATCH
    trials = cluster.write_suite(tasks=2, repeats=2, cluster={"lease_seconds": 5.0, "artifacts": place})
    for _ in range(2):
        cluster.start_host(slots=2, **variables)
    assert cluster.start_lead(**variables).wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0
    return trials


def test_large_artifacts_of_a_run_come_through_a_shared_folder_and_none_is_left_there(tmp_path: Path) -> None:
    place = tmp_path / "shared"
    place.mkdir()
    with dask_cluster(tmp_path) as cluster:
        trials = run_with_large_patches(cluster, str(place))

        found = patches(cluster.store)
        assert len(found) == trials
        assert min(map(len, found)) > 100_000
        assert list(place.iterdir()) == []
        assert "over the connection" not in cluster.said()
        assert "from its host instead" not in cluster.said()


@contextmanager
def run_of_a_killed_lead(folder: Path, place: Path) -> Iterator[tuple[DaskCluster, int]]:
    """A host that has two records with large artifacts at the place, and no lead that takes them."""
    place.mkdir()
    with dask_cluster(folder) as cluster:
        cluster.output = LARGEST_PATCH
        trials = cluster.write_suite(tasks=1, repeats=1, cluster={"lease_seconds": 60.0, "artifacts": str(place)})
        cluster.start_host(slots=2)
        (cluster.folder / "hold-agents").touch()
        lead = cluster.start_lead()
        cluster.hold("agents", attempts=trials)
        lead.kill()
        cluster.let_go("agents")
        until(lambda: len([path for path in place.glob("*/*") if not path.name.startswith(".")]) == trials)
        yield cluster, trials


@pytest.mark.parametrize("change", ["removed", "cut"])
def test_what_somebody_removes_or_changes_there_is_fetched_from_its_host_and_said(change: str, tmp_path: Path) -> None:
    place = tmp_path / "shared"
    with run_of_a_killed_lead(tmp_path, place) as (cluster, trials):
        for file in place.glob("*/*"):
            if change == "cut":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()

        assert cluster.start_lead(log="again").wait() == 0, cluster.said("again")

        cluster.assert_complete(trials)
        assert cluster.paid_twice(trials) == 0
        assert len(patches(cluster.store)) == trials
        assert "is fetched from its host instead" in " ".join(cluster.said("again").split())
        assert list(place.iterdir()) == []


@pytest.mark.parametrize("where", ["spool", "both"])
def test_an_artifact_is_lost_with_its_cost_kept_when_it_is_gone_at_both_places_and_not_before(
    where: str, tmp_path: Path
) -> None:
    place = tmp_path / "shared"
    with run_of_a_killed_lead(tmp_path, place) as (cluster, trials):
        files = list(place.glob("*/*"))
        for file in files:
            for copy in (cluster.folder / "spool").glob(f"*/experiments/*/*/{file.name.rpartition('-')[2]}"):
                copy.unlink()
            if where == "both":
                file.unlink()

        assert cluster.start_lead(log="again").wait() == 0, cluster.said("again")

        cluster.assert_complete(trials)
        lost = [run for run in cluster.records() if run.status is Status.INFRA_ERROR]
        assert len(lost) == cluster.paid_twice(trials) == (trials if where == "both" else 0)
        assert all("was lost or changed on the host" in (run.status_detail or "") for run in lost)
        assert all(run.cost.usd == PRICE for run in lost)


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        yield address
    S3FileSystem.clear_instance_cache()


def test_large_artifacts_of_a_run_come_through_a_bucket_with_the_credentials_of_each_host(
    endpoint: str, tmp_path: Path
) -> None:
    bucket = Bucket(endpoint, "artifacts")
    bucket.make()
    variables: dict[str, Any] = {name: value for name, value in bucket.environment(tmp_path).items() if name != "HOME"}
    with dask_cluster(tmp_path) as cluster:
        trials = run_with_large_patches(cluster, "s3://artifacts/runs", **variables)

        assert len(patches(cluster.store)) == trials
        assert bucket.keys() == []
        assert "over the connection" not in cluster.said()
        assert "from its host instead" not in cluster.said()


def test_a_host_that_reaches_no_bucket_sends_over_the_connection_and_says_so(endpoint: str, tmp_path: Path) -> None:
    bucket = Bucket(endpoint, "lacking")
    bucket.make()
    variables: dict[str, Any] = {name: value for name, value in bucket.environment(tmp_path).items() if name != "HOME"}
    with dask_cluster(tmp_path) as cluster:
        cluster.output = LARGEST_PATCH
        trials = cluster.write_suite(
            tasks=1, repeats=1, cluster={"lease_seconds": 30.0, "artifacts": "s3://no-such-bucket/runs"}
        )
        cluster.start_host(slots=2, **variables)

        assert cluster.start_lead(**variables).wait() == 0, cluster.said()

        assert len(patches(cluster.store)) == trials
        assert "large artifacts go over the connection" in " ".join(cluster.said().split())
