"""Claims about hosts of a real Dask cluster that ask one provider: its limit, its pauses, dollars of what is lost."""

import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

import msgspec
import pytest
from tests.cli.engines import until
from tests.cluster.dask_cluster import ClusterProcess, DaskCluster, dask_cluster
from tests.engine.engine_fixtures import write_suite

from outweigh.model.failure import Status
from outweigh.model.run_record import amount_paid
from outweigh.store.hosts_file import HOSTS_FILE, HostsFile
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec
from outweigh.testing.model_server.ledger import Ending, LedgerEntry

PROMPT, OUTPUT = 900, 100
USAGE = UsageSpec(input_tokens=PROMPT, output_tokens=OUTPUT)
PRICE_USD = (PROMPT * 1 + OUTPUT * 2) / 1e6
LIMIT = 4_000
PAUSE_SECONDS = 20
LISTED = 'name = "mine"\n[models."house-model"]\ninput_usd_per_million = 1\noutput_usd_per_million = 2\n'
ASKING = """
import json, os, sys, time, urllib.request
place = os.environ["OUTWEIGH_MODEL_URL"] + "/v1/messages"
text = "word" * 900
body = {"model": os.environ["OUTWEIGH_MODEL"], "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
headers = {"x-api-key": os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"}
for _ in range(int(sys.argv[1])):
    urllib.request.urlopen(urllib.request.Request(place, json.dumps(body).encode(), headers), timeout=300).read()
    time.sleep(1)
while os.path.exists(os.environ["HOLD"]):
    time.sleep(0.1)
open("answer.txt", "w").write("42")
"""


class AskedModel:
    """A scripted model that notes when it was asked, and by whose key."""

    def __init__(self, turn: Turn) -> None:
        self._lock = Lock()
        self.requests: list[tuple[float, LedgerEntry]] = []
        self.server = ModelServer(Script(turn=[turn]), on_entry=self._note)

    def _note(self, entry: LedgerEntry) -> None:
        with self._lock:
            self.requests.append((monotonic(), entry))

    def tokens_in_any(self, seconds: float) -> int:
        """The most tokens that were handed out in so many seconds."""
        sums = [
            sum(each.tokens.total_tokens for at, each in self.requests if each.tokens and end - seconds < at <= end)
            for end, _ in self.requests
        ]
        return max(sums)

    @property
    def keys(self) -> set[str | None]:
        return {entry.api_key for _, entry in self.requests}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


def write(cluster: DaskCluster, server: ModelServer, *, tasks: int, requests: int, **limits: Any) -> None:
    """A suite of two arms that ask the model a few times, each on a host with a key of its own."""
    options = {"command": [sys.executable, "-Ic", ASKING, str(requests)], "model_access": True}
    arm = {"agent": "shell", "model": "house-model", "options": options}
    hold = str(cluster.folder / "hold")
    gateway = {"anthropic": {"url": server.url, "key": "MODEL_KEY"}, "prices": "prices.toml"}
    folder = write_suite(
        cluster.folder / "suite",
        {"plain": arm | {"environment": {"HOLD": hold}}, "other": arm | {"environment": {"HOLD": hold, "OTHER": "1"}}},
        tasks=tasks,
        repeats=1,
        gateway=gateway,
        limits=limits,
        cluster={"lease_seconds": 30, "tags": {"plain": ["first"], "other": ["second"]}},
    )
    (folder / "prices.toml").write_text(LISTED)
    start_hosts(cluster)


def start_hosts(cluster: DaskCluster) -> list[ClusterProcess]:
    keys = {tag: f"sk-{tag}-0123456789abcdef" for tag in ("first", "second")}
    return [
        cluster.start_host("--tags", tag, slots=2, spool=cluster.folder / tag, MODEL_KEY=key)
        for tag, key in keys.items()
    ]


def test_two_hosts_together_keep_to_the_tokens_of_the_minute_and_what_waits_is_not_timed(cluster: DaskCluster) -> None:
    model = AskedModel(Turn(text="Done.", usage=USAGE))
    with model.server as server:
        write(cluster, server, tasks=3, requests=1, tokens_per_minute=LIMIT, timeout_seconds=30)

        assert cluster.start_lead().wait() == 0, cluster.said()

    assert [run.status for run in cluster.records()] == [Status.COMPLETED] * 6
    assert len(model.requests) == 6
    assert len(model.keys) == 2
    # The model notes a request a moment after the gateway has sent it.
    assert model.tokens_in_any(55.0) <= LIMIT


def test_a_refusal_that_the_gateway_of_one_host_sees_pauses_the_provider_for_all(cluster: DaskCluster) -> None:
    refusal = ErrorSpec(kind="rate_limited", retry_after_seconds=PAUSE_SECONDS, times=1, shared=True)
    model = AskedModel(Turn(text="Done.", usage=USAGE, error=refusal))
    with model.server as server:
        write(cluster, server, tasks=1, requests=15)

        assert cluster.start_lead().wait() == 0, cluster.said()

    (refused,) = [at for at, entry in model.requests if entry.ending is Ending.REFUSED]
    asked = [at - refused for at, entry in model.requests if entry.ending is Ending.ANSWERED]
    assert len(model.keys) == 2
    assert len(asked) == 2 * 15
    # A host that had not heard of it would go on to ask once a second.
    assert [at for at in asked if PAUSE_SECONDS / 2 < at < PAUSE_SECONDS - 1] == []


def spent_now(cluster: DaskCluster) -> float:
    """What the lead knows of the attempts under way."""
    file = cluster.store / HOSTS_FILE
    seen = msgspec.json.decode(file.read_bytes(), type=HostsFile) if file.exists() else None
    return 0.0 if seen is None else seen.spent_usd or 0.0


def test_attempts_that_are_lost_with_their_hosts_cost_what_the_gateway_metered(cluster: DaskCluster) -> None:
    model = AskedModel(Turn(text="Done.", usage=USAGE))
    with model.server as server:
        write(cluster, server, tasks=1, requests=1)
        (cluster.folder / "hold").touch()
        lead = cluster.start_lead()
        until(lambda: round(spent_now(cluster), 9) == round(2 * PRICE_USD, 9) or lead.has_ended)

        for host in cluster.hosts:
            host.kill()
        (cluster.folder / "hold").unlink()
        start_hosts(cluster)

        assert lead.wait() == 0, cluster.said()

    paid = [(run.attempt, run.status, round(amount_paid(run) or 0.0, 9)) for run in cluster.records()]
    price = round(PRICE_USD, 9)
    assert sorted(paid) == [(1, Status.INFRA_ERROR, price)] * 2 + [(2, Status.COMPLETED, price)] * 2
    assert len(model.requests) == 4
