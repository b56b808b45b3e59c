"""Claims about hosts of a real Dask cluster that try the arms for free before any run on them is paid for."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.engines import until
from tests.cluster.dask_cluster import ClusterProcess, DaskCluster, dask_cluster
from tests.engine.engine_fixtures import write_suite

from outweigh.model.failure import Status
from outweigh.testing.model_server import ModelServer, Script, Turn

LISTED = 'name = "mine"\n[models."house-model"]\ninput_usd_per_million = 1\noutput_usd_per_million = 2\n'
ASKING = """
import json, os, time, urllib.request
place = os.environ["OUTWEIGH_MODEL_URL"] + "/v1/messages"
model = "another-model" if "version-1" in os.getcwd() else os.environ["OUTWEIGH_MODEL"]
body = {"model": model, "max_tokens": 9, "messages": [{"role": "user", "content": "What?"}]}
headers = {"x-api-key": os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"}
urllib.request.urlopen(urllib.request.Request(place, json.dumps(body).encode(), headers)).read()
time.sleep(1)
open("answer.txt", "w").write("42")
"""
TRIALS = 16
OLD, NEW = "version-1", "version-2"
"""Versions of the program by a part of the path of their host: the old one does not ask for the model of its arm."""

WRONG = "would ask for the model 'another-model', but no price list has that name"
KEY = "sk-0123456789abcdef"


@pytest.fixture
def asked() -> set[str | None]:
    """The models that the provider was asked for, which costs money."""
    return set()


@pytest.fixture
def model(asked: set[str | None]) -> Iterator[ModelServer]:
    with ModelServer(Script(turn=[Turn(text="42")]), on_entry=lambda entry: asked.add(entry.model)) as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


def write(cluster: DaskCluster, server: ModelServer) -> None:
    """A suite whose arm is a program that each host has a version of."""
    options = {"command": [sys.executable, "-Ic", ASKING], "model_access": True}
    arm = {"agent": "shell", "model": "house-model", "options": options}
    gateway = {"anthropic": {"url": server.url, "key": "MODEL_KEY"}, "prices": "prices.toml"}
    folder = write_suite(
        cluster.folder / "suite",
        {"plain": arm, "other": arm | {"environment": {"OTHER": "1"}}},
        tasks=2,
        repeats=TRIALS // 4,
        gateway=gateway,
        cluster={"lease_seconds": 30},
    )
    (folder / "prices.toml").write_text(LISTED)


def start_host(cluster: DaskCluster, version: str) -> ClusterProcess:
    """A host with this version of the program."""
    (cluster.folder / version).mkdir()
    place = str(cluster.folder / version)
    return cluster.start_host(slots=2, spool=cluster.folder / f"spool-{version}", TMPDIR=place, MODEL_KEY=KEY)


def run_here(cluster: DaskCluster, version: str) -> tuple[int, str]:
    """The same suite on one machine with this version of the program."""
    (cluster.folder / f"here-{version}").mkdir()
    lead = cluster.run_here(TMPDIR=str(cluster.folder / f"here-{version}"), MODEL_KEY=KEY)
    return lead.wait(), cluster.said("here")


def fault_of(said: str) -> str:
    """What a refused run says, up to the advice."""
    [line] = [line for line in said.splitlines() if "nothing was run or paid for" in line]
    return line.removeprefix("outweigh: ").partition(". ")[0]


def test_an_arm_that_is_not_what_it_declares_is_refused_before_anything_is_paid_in_the_words_of_one_machine(
    cluster: DaskCluster, model: ModelServer, asked: set[str | None]
) -> None:
    write(cluster, model)
    here = run_here(cluster, OLD)
    host = start_host(cluster, OLD)
    lead = cluster.start_lead()

    assert (lead.wait(), here[0]) == (2, 2), cluster.said()

    said = cluster.said()
    assert fault_of(said) == fault_of(here[1])
    assert fault_of(said).startswith("nothing was run or paid for: arms 'plain', 'other' would ask for the model")
    assert said.count("would ask for the model") == 1
    assert said.rstrip().endswith("To run it as it is, add -y.")
    assert (asked, cluster.records()) == (set(), [])
    assert not host.has_ended


def test_a_host_with_another_version_of_an_agent_gets_no_run_of_its_arm_and_the_others_go_on(
    cluster: DaskCluster, model: ModelServer, asked: set[str | None]
) -> None:
    write(cluster, model)
    start_host(cluster, NEW)
    lead = cluster.start_lead()
    until(lambda: lead.has_ended or cluster.records() != [])
    start_host(cluster, OLD)
    until(lambda: lead.has_ended or WRONG in cluster.said())

    assert lead.wait() == 0, cluster.said()

    assert WRONG in cluster.said()
    assert [run.status for run in cluster.records()] == [Status.COMPLETED] * TRIALS
    assert all(check.passed for run in cluster.records() for check in run.checks or ())
    assert asked == {"house-model"}


def test_whoever_insists_runs_an_arm_as_it_is(cluster: DaskCluster, model: ModelServer) -> None:
    write(cluster, model)
    start_host(cluster, OLD)

    assert cluster.start_lead("-y").wait() == 0, cluster.said()

    assert WRONG in cluster.said()
    assert len(cluster.records()) == TRIALS
    assert not any(check.passed for run in cluster.records() for check in run.checks or ())
