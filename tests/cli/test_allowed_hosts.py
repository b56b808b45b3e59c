"""A suite's `allow_hosts` as its user meets it: refused when it is none, tried by doctor, and kept by run."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.engine.engine_fixtures import shell, write_suite
from tests.engine.test_sandbox_egress import FETCH
from tests.prerequisites import needs, require

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.store.run_store import FolderRunStore


@pytest.fixture
@needs("bubblewrap")
def suite(tmp_path: Path) -> Path:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    arms = {"a": shell(f"{FETCH} fetch http://elsewhere.example/; echo 42 >answer.txt")}
    return write_suite(tmp_path / "suite", arms, sandbox={"kind": "bubblewrap", "allow_hosts": ["hub.test"]}, repeats=1)


def test_a_run_keeps_whom_it_asked_for_in_vain(outweigh: Any, suite: Path, tmp_path: Path) -> None:
    answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "store"), "-y")

    assert answer.code == 0, answer.err
    (record,) = (record for record in records(tmp_path / "store") if record.trial.arm == "a")
    with FolderRunStore.open(tmp_path / "store") as store:
        assert b"403 Not in [sandbox] allow_hosts" in store.artifact(record.artifacts["stdout.txt"])
        assert store.artifact(record.artifacts["refused-hosts.txt"]) == b"elsewhere.example:80\n"


def test_doctor_opens_the_door_that_the_suite_asks_for(outweigh: Any, suite: Path) -> None:
    (part,) = (
        part
        for part in outweigh("doctor", "-c", str(suite), "--format", "json").json()["parts"]
        if part["name"] == "bubblewrap"
    )

    assert part["missing"] is None
    assert part["startup_seconds"] > 0


def test_an_entry_that_is_no_host_is_refused_before_anything_is_written(outweigh: Any, tmp_path: Path) -> None:
    sandbox = {"kind": "local", "allow_hosts": ["https://hub.test/simple"]}
    suite = str(write_suite(tmp_path / "suite", {"a": shell("true")}, sandbox=sandbox))
    run = outweigh("run", "-c", suite, "-o", str(tmp_path / "store"))
    doctor = outweigh("doctor", "-c", suite)

    assert (run.code, doctor.code) == (2, 1)
    assert "https://hub.test/simple" in run.err
    assert "https://hub.test/simple" in doctor.out
    assert not (tmp_path / "store").exists()
