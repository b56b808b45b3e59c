"""What an agent may take of the disk, and what becomes of a run that takes more."""

import os
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.engine.engine_fixtures import DONE, artifact, loaded, open_engine, plan_of, shell, write_suite
from tests.prerequisites import require

from outweigh.app.preflight_suite import preflight_tasks
from outweigh.engine.attempt import run_attempt
from outweigh.engine.load_suite import load_suite
from outweigh.engine.run_agent import EngineDeps
from outweigh.engine.sandbox_request import occupied_bytes, watch_disk_quota
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.score.objective import passed
from outweigh.testing.launder_tricks import TRICKS
from outweigh.verdict.policy import check_policy
from outweigh.workspace.cache import WorkspaceCache

MEBIBYTE = 2**20
PATIENCE_SECONDS = 60.0
FILL = "head -c 3145728 /dev/urandom >{}"
"""Three mebibytes."""


def fill(path: Path, mebibytes: int) -> None:
    with path.open("wb") as stream:
        stream.write(os.urandom(mebibytes * MEBIBYTE))
        os.fsync(stream.fileno())


class TestMeasuring:
    def test_counts_what_is_allocated(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        before = occupied_bytes(tmp_path)
        fill(tmp_path / "a" / "b" / "file", 2)

        assert 2 * MEBIBYTE <= occupied_bytes(tmp_path) - before < 3 * MEBIBYTE

    def test_a_hole_takes_nothing(self, tmp_path: Path) -> None:
        with (tmp_path / "sparse").open("wb") as stream:
            stream.truncate(10**12)

        assert occupied_bytes(tmp_path) < MEBIBYTE

    def test_a_file_with_two_names_counts_once(self, tmp_path: Path) -> None:
        fill(tmp_path / "file", 2)
        (tmp_path / "again").hardlink_to(tmp_path / "file")

        assert occupied_bytes(tmp_path) < 3 * MEBIBYTE

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "own").mkdir()
        fill(tmp_path / "elsewhere", 2)
        (tmp_path / "own" / "link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "own" / "up").symlink_to(tmp_path)

        assert occupied_bytes(tmp_path / "own") < MEBIBYTE


class TestWatching:
    def test_too_much_ends_what_runs(self, tmp_path: Path) -> None:
        with watch_disk_quota(tmp_path, 1, Event()) as quota:
            fill(tmp_path / "file", 2)

            assert quota.cancel.wait(PATIENCE_SECONDS)
            assert quota.exceeded() == "disk quota: it took 2 MiB in workspace and home, and 1 MiB is the limit"

    def test_what_was_there_before_does_not_count(self, tmp_path: Path) -> None:
        fill(tmp_path / "given", 2)

        with watch_disk_quota(tmp_path, 1, Event()) as quota:
            assert quota.exceeded() is None

    def test_what_was_left_is_found_by_the_last_measurement(self, tmp_path: Path) -> None:
        with watch_disk_quota(tmp_path, 1, Event()) as quota:
            fill(tmp_path / "file", 2)

            assert quota.exceeded() is not None

    @pytest.mark.parametrize("limit_mb", [None, 1])
    def test_cancelling_the_engine_cancels_the_run_too(self, tmp_path: Path, limit_mb: int | None) -> None:
        engine_cancel = Event()
        with watch_disk_quota(tmp_path, limit_mb, engine_cancel) as quota:
            engine_cancel.set()

            assert quota.cancel.wait(PATIENCE_SECONDS)
            assert quota.exceeded() is None


def attempt(
    folder: Path, line: str, *, kind: str = "local", overlays: bool = True, **settings: Any
) -> tuple[RunRecord, bytes]:
    """One run of an agent that is a line of shell, with a quota of two mebibytes; and its patch."""
    suite = loaded(folder, {"a": shell(line)}, sandbox={"kind": kind, "disk_mb": 2}, **settings)
    with open_engine(suite, folder / "store") as (deps, store):
        run = next(run for run in plan_of(suite) if run.trial.arm == "a")
        record = run_attempt(with_overlays(deps, folder, overlays=overlays), run, 1).record
        return record, artifact(store, record, "diff.patch") if "diff.patch" in record.artifacts else b""


def with_overlays(deps: EngineDeps, folder: Path, *, overlays: bool) -> EngineDeps:
    return deps if overlays else replace(deps, workspaces=WorkspaceCache(folder / "copies", overlays=False))


class TestARun:
    @pytest.mark.parametrize("overlays", [True, False], ids=["overlay", "copy"])
    @pytest.mark.parametrize("place", ["file", '"$HOME/file"'], ids=["workspace", "home"])
    def test_that_fills_its_disk_is_ended_and_counts_as_failed(
        self, tmp_path: Path, place: str, *, overlays: bool
    ) -> None:
        line = f"echo 42 >answer.txt; {FILL.format(place)}; sleep 600"

        record, _ = attempt(tmp_path, line, overlays=overlays)

        assert record.status is Status.AGENT_ERROR
        assert (record.status_detail or "").startswith("disk quota: it took ")
        assert passed(record).value == 0

    @pytest.mark.needs_bubblewrap
    @pytest.mark.parametrize("place", ["file", '"$HOME/file"'], ids=["workspace", "home"])
    def test_in_an_isolated_sandbox_is_watched_as_well(self, tmp_path: Path, place: str) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())

        record, _ = attempt(tmp_path, f"{FILL.format(place)}; sleep 600", kind="bubblewrap")

        assert record.status is Status.AGENT_ERROR
        assert (record.status_detail or "").startswith("disk quota: it took ")

    def test_that_hides_what_it_took_below_paths_too_long_to_read_is_ended(self, tmp_path: Path) -> None:
        nest = next(trick.script for trick in TRICKS if trick.name == "nest-long-names")

        record, _ = attempt(tmp_path, f"echo 42 >answer.txt; {nest}; sleep 600")

        assert record.status is Status.AGENT_ERROR
        assert record.status_detail == ("disk quota: it nested folders so deep that what is in them cannot be measured")

    def test_that_fills_the_disk_between_two_measurements_is_found_out(self, tmp_path: Path) -> None:
        record, _ = attempt(tmp_path, f"echo 42 >answer.txt; {FILL.format('file')}")

        assert record.status is Status.AGENT_ERROR

    @pytest.mark.parametrize("overlays", [True, False], ids=["overlay", "copy"])
    def test_within_its_share_is_not_disturbed(self, tmp_path: Path, *, overlays: bool) -> None:
        record, patch = attempt(tmp_path, "echo 42 >answer.txt", overlays=overlays)

        assert (record.status, passed(record).value) == (Status.COMPLETED, 1)
        assert b"answer.txt" in patch

    def test_whose_checks_fill_the_disk_counts_as_failed(self, tmp_path: Path) -> None:
        check = {"type": "command", "name": "greedy", "run": f"{FILL.format('file')}; sleep 600"}

        record, _ = attempt(tmp_path, "echo 42 >answer.txt", task={"checks": [DONE, check]})

        assert record.status is Status.AGENT_ERROR
        assert (record.status_detail or "").endswith("while its checks ran")
        assert passed(record).value == 0
        assert [check.passed for check in record.checks or ()] == [False, False]


def test_a_solution_that_does_not_fit_is_found_by_preflight(tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "suite", {"a": shell("true")}, sandbox={"kind": "local", "disk_mb": 2})
    solution = folder / "task-1" / "solution" / "solve.sh"
    solution.parent.mkdir()
    solution.write_text(f"#!/bin/sh\necho 42 >answer.txt\n{FILL.format('file')}\n")

    [result] = preflight_tasks(load_suite(folder, check_policy=check_policy))

    assert not result.fit
    assert "disk quota: it took " in result.findings[0].message
