"""Harbor's program is found, gets a minimal environment, is known to be running, and can be stopped."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.engines import until
from tests.cli.harbor_experiment import write_task
from tests.interop.harbor.arms import arm

from outweigh.engine.load_task import load_task
from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.harbor.harbor_command import (
    HarborProgram,
    find_harbor,
    is_job_running,
    log_tail,
    select_environment,
    stop_job,
)
from outweigh.interop.harbor.job_spec import supported_tasks
from outweigh.interop.harbor.jobs import HarborJobs, HarborJobSettings
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord, Trial
from outweigh.model.suite import HarborSpec
from outweigh.testing.builders import a_run

HOST = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "TOKEN": "sesame", "OTHER": "x"}
TRIALS = [Trial(task_id="one", arm="plain", repeat=repeat, seed=None) for repeat in (1, 2)]
STAND_IN = """#!/bin/sh
case "$*" in
  *--dry-run) [ ! -e "$0.refuses" ] || { echo "Dry run failed:"; echo "no such cloud for $TOKEN"; exit 1; } ;;
  *) echo "working on $3 with $TOKEN"; touch "$0.begun"; while [ ! -e "$0.go" ]; do sleep 0.02; done ;;
esac
"""
"""A program that accepts Harbor's arguments and runs until it is stopped."""


def read(file: Path) -> RunRecord:
    if "half" in file.read_text():
        raise EvidenceError(f"{file} is cut off.")
    return a_run(task="one", run_id=file.read_text())


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "stand-in"
    path.write_text(STAND_IN)
    path.chmod(0o755)
    return path


@pytest.fixture
def jobs(tmp_path: Path, program: Path) -> Iterator[HarborJobs]:
    write_task(tmp_path / "one")
    task = load_task(tmp_path / "one")
    setting = HarborJobSettings(
        spec=HarborSpec(),
        arms={"plain": arm()},
        tasks={"one": supported_tasks([task], scored=["one"], force_build=False)[0]},
        overlays={},
        at_once=1,
        timeout_seconds=None,
    )
    environments = {"plain": select_environment(["TOKEN"], HOST)}
    harbor = HarborProgram(str(program), assume_yes=False, secrets=[HOST["TOKEN"]])
    made = HarborJobs(tmp_path / "store", setting, harbor, environments, read)
    with closing(made):
        yield made
    for job in (tmp_path / "store" / "harbor").glob("*.json"):
        stop_job(job, at_once=True)


def test_a_program_is_found_on_the_path_or_from_the_suites_folder(tmp_path: Path, program: Path) -> None:
    assert find_harbor("./stand-in", tmp_path) == str(program)
    assert find_harbor(sys.executable, tmp_path) == sys.executable
    with pytest.raises(UsageError, match=r"uv tool install harbor.*pip install harbor.*\[harbor\]"):
        find_harbor("harbor-that-nobody-has", tmp_path)


def test_only_what_is_named_is_handed_on(tmp_path: Path) -> None:
    given = select_environment(["TOKEN"], HOST)

    assert given["TOKEN"] == "sesame"
    assert given["HOME"] == "/nowhere"
    assert "OTHER" not in given
    with pytest.raises(UsageError, match="the suite names MISSING, which is not in the environment"):
        select_environment(["MISSING"], HOST)


def test_a_program_says_its_version(program: Path) -> None:
    environment = select_environment((), HOST)
    program.write_text("#!/bin/sh\necho 1.2.3\n")
    assert HarborProgram(str(program), assume_yes=False).version(environment) == "1.2.3"

    program.write_text("#!/bin/sh\necho broken >&2; exit 1\n")
    with pytest.raises(UsageError, match="does not work: broken"):
        HarborProgram(str(program), assume_yes=False).version(environment)


def test_the_end_of_what_was_said_is_one_line() -> None:
    assert log_tail(b"one\n\n  two \nthree\n") == "one two three"
    assert log_tail(b"x" * 5_000).startswith("… xxx")
    assert log_tail(b"") == ""


def test_a_job_that_harbor_refuses_is_not_started(jobs: HarborJobs, program: Path, tmp_path: Path) -> None:
    program.with_name("stand-in.refuses").touch()

    with pytest.raises(UsageError, match=r"Harbor refuses .*0001-plain\.json: Dry .* no such cloud for \[secret\]"):
        jobs.prepare(TRIALS)

    assert jobs.earlier() == []


def test_a_job_is_alive_as_long_as_its_process_and_tells_each_result_once(
    jobs: HarborJobs, program: Path, tmp_path: Path
) -> None:
    job = jobs.prepare(TRIALS)
    assert not job.is_running

    job.start()
    until(program.with_name("stand-in.begun").exists)
    assert job.is_running
    trial = tmp_path / "store" / "harbor" / "jobs" / job.name / "one__1"
    trial.mkdir(parents=True)
    assert job.new_results() == []
    (trial / "result.json").write_text("half")
    assert job.new_results() == []
    (trial / "result.json").write_text("first")
    assert [run.run_id for run in job.new_results()] == ["first"]
    assert job.new_results() == []

    program.with_name("stand-in.go").touch()
    until(lambda: not job.is_running)
    said = f"working on {tmp_path / 'store' / 'harbor' / job.name}.json with [secret]"
    assert said in job.last_output()
    (found,) = jobs.earlier()
    assert said in found.last_output()


def test_of_a_log_without_end_only_the_end_is_told(jobs: HarborJobs, tmp_path: Path) -> None:
    job = jobs.prepare(TRIALS)
    log = tmp_path / "store" / "harbor" / f"{job.name}.log"
    assert job.last_output() == f"(All of it is in {log}.)"

    log.write_text("begun\n" + "noise\n" * 100_000 + "the end\n")

    assert job.last_output() == f"{'noise ' * 5}the end (All of it is in {log}.)"


def test_a_result_that_stays_unreadable_is_told_when_the_job_has_ended(jobs: HarborJobs, tmp_path: Path) -> None:
    job = jobs.prepare(TRIALS)
    trial = tmp_path / "store" / "harbor" / "jobs" / job.name / "one__1"
    trial.mkdir(parents=True)
    (trial / "result.json").write_text("half")

    assert job.new_results() == []
    assert "result.json is cut off." in job.last_output()


def test_a_later_engine_finds_jobs_by_their_tickets_and_can_end_them(
    jobs: HarborJobs, program: Path, tmp_path: Path
) -> None:
    jobs.prepare(TRIALS).start()
    until(program.with_name("stand-in.begun").exists)

    (found,) = jobs.earlier()
    assert (found.name, list(found.trials), found.is_running) == ("0001-plain", TRIALS, True)
    found.stop(at_once=False)
    until(lambda: not found.is_running)

    assert jobs.prepare(TRIALS).name == "0002-plain"
    assert [job.name for job in jobs.earlier()] == ["0001-plain"]


def test_a_job_that_has_only_just_begun_says_that_it_was_not_reached(
    jobs: HarborJobs, program: Path, tmp_path: Path
) -> None:
    job = jobs.prepare(TRIALS)
    job.start()
    until(program.with_name("stand-in.begun").exists)
    number = tmp_path / "store" / "harbor" / f"{job.name}.pid"
    written = number.read_text()

    number.unlink()
    assert not job.stop(at_once=False)
    number.write_text("")
    assert not job.stop(at_once=True)
    assert job.is_running
    number.write_text(written)
    assert job.stop(at_once=False)
    until(lambda: not job.is_running)
    assert not job.stop(at_once=False)


@pytest.mark.parametrize(
    ("detail", "may"),
    [
        ("AgentAuthenticationError: no such key", False),
        ("SandboxBuildFailedError: no such base image", False),
        ("EnvironmentStartTimeoutError: the cloud is slow", True),
        ("ApiOverloadedError: AgentAuthenticationError: said the model", True),
        (None, True),
    ],
)
def test_what_harbor_calls_final_is_not_tried_again(jobs: HarborJobs, detail: str | None, may: bool) -> None:
    assert jobs.may_retry(a_run(status=Status.INFRA_ERROR, status_detail=detail)) is may


def test_a_number_that_may_be_anybodys_by_now_is_left_alone(tmp_path: Path) -> None:
    job = tmp_path / "0001-plain.json"
    job.with_suffix(".pid").write_text(f"{os.getpid()}\n")
    job.with_suffix(".lock").touch()

    assert not is_job_running(job)
    stop_job(job, at_once=True)  # or this test would be its own end


def test_a_damaged_ticket_is_named(jobs: HarborJobs, tmp_path: Path) -> None:
    (tmp_path / "store" / "harbor").mkdir(parents=True)
    (tmp_path / "store" / "harbor" / "0001-plain.ticket").write_text("{")

    with pytest.raises(EvidenceError, match=r"0001-plain\.ticket cannot be read"):
        jobs.earlier()
