"""Claims about `outweigh run --executor harbor` before Harbor is started: what is shown, and what is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.harbor_experiment import IDLE, SOLVER, HarborExperiment
from tests.engine.engine_fixtures import DONE

from outweigh.app.suite_selection import read_suite
from outweigh.cli.main import main
from outweigh.store.write_experiment import write_experiment

NO_VARIABLES: dict[str, Any] = {"harbor": {"environment": {"type": "daytona"}}}


@pytest.fixture
def desk(tmp_path: Path) -> HarborExperiment:
    return HarborExperiment(tmp_path)


def run(desk: HarborExperiment, *arguments: str) -> int:
    return main(["run", "-c", str(desk.suite), "-o", str(desk.store), *arguments])


def test_a_dry_run_shows_the_job_of_every_arm_and_writes_nothing(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, tasks=2, repeats=3, executor="engine", **NO_VARIABLES)

    assert run(desk, "--executor", "harbor", "--dry-run", "-j", "32") == 0

    first, _, rest = capsys.readouterr().out.partition("\n")
    assert first == f"rooms: 2 tasks × 2 arms, 12 runs through Harbor, to be kept in {desk.store}"
    jobs = dict(_shown(rest))
    assert jobs.keys() == {"idle", "solver"}
    for job in jobs.values():
        assert job["n_concurrent_trials"] == 16
        assert sorted(task["path"] for task in job["tasks"]) == [
            str(desk.suite / f"task-{number}") for number in (1, 1, 1, 2, 2, 2)
        ]
    assert not desk.store.exists()


def _shown(text: str) -> list[tuple[str, dict[str, Any]]]:
    decoder, found = json.JSONDecoder(), []
    while "{" in text:
        words, _, _ = text.partition("{")
        job, end = decoder.raw_decode(text, len(words))
        found.append((words.strip().splitlines()[-1].rstrip(":"), job))
        text = text[end:]
    return found


@pytest.mark.parametrize(
    ("settings", "arguments", "reason"),
    [
        ({}, ["--budget", "5"], "--budget: Harbor runs a job to its end"),
        ({}, ["--until-decided"], "--until-decided: Harbor runs whole jobs"),
        ({"budget_usd": 5}, [], "`budget_usd` cannot be kept to"),
        ({"limits": {"budget_usd": 1}}, [], "`budget_usd` under [limits]"),
        ({"limits": {"tokens": 1000}}, [], "`tokens` under [limits]"),
        ({"sandbox": {"memory_mb": 512}}, [], "`memory_mb` under [sandbox]"),
        ({"sandbox": {"allow_hosts": ["example.org"]}}, [], "`allow_hosts` under [sandbox]"),
        ({"gateway": {"keep_bodies": True}}, [], "`keep_bodies` under [gateway]"),
        ({"workspaces": {"without": ["CLAUDE.md"]}}, [], "`without` under [workspaces]"),
        ({"harbor": {"program": "harbor-that-nobody-has"}}, [], "uv tool install harbor"),
        ({"harbor": {"pass_environment": ["NOBODY_HAS_THIS"]}}, [], "the suite names NOBODY_HAS_THIS"),
    ],
)
def test_what_harbor_could_not_keep_to_is_refused_before_anything_is_written(
    desk: HarborExperiment,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, Any],
    arguments: list[str],
    reason: str,
) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, **(NO_VARIABLES | settings))

    assert run(desk, *arguments) == 2

    assert reason in capsys.readouterr().err
    assert not desk.store.exists()


def test_an_arm_and_a_task_that_are_not_for_harbor_are_refused(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write({"idle": IDLE, "mine": {"agent": "shell", "options": {"command": "true"}}}, **NO_VARIABLES)
    assert run(desk) == 2
    assert "arms.mine cannot be run through Harbor: Harbor has no agent 'shell'" in capsys.readouterr().err

    desk.write_checks([DONE])
    assert run(desk, "--dry-run") == 2
    assert "task-1: Harbor runs no checks but tests/test.sh" in capsys.readouterr().err


def test_an_executor_that_does_not_exist_is_refused_with_those_that_do(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, **NO_VARIABLES)

    assert run(desk, "--executor", "docker") == 2

    assert "'engine', 'dask', 'harbor'" in capsys.readouterr().err


def test_a_store_of_one_executor_is_refused_to_the_other(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, **NO_VARIABLES)
    suite = read_suite(str(desk.suite))
    (desk.store / "harbor").mkdir(parents=True)
    (desk.store / "harbor" / "0001-idle.ticket").touch()
    write_experiment(desk.store, suite.spec, suite.tasks, suite.arms)

    assert run(desk, "--executor", "engine") == 2

    assert "holds another experiment: executor differ" in capsys.readouterr().err


def test_a_store_of_another_experiment_is_left_as_it_was(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.write({"idle": IDLE, "solver": SOLVER}, **NO_VARIABLES)
    suite = read_suite(str(desk.suite))
    (desk.store / "harbor").mkdir(parents=True)
    (desk.store / "harbor" / "0001-idle.ticket").touch()
    write_experiment(desk.store, suite.spec, suite.tasks, suite.arms)
    judge = {"name": "reviewer", "backend": "command", "options": {"command": ["true"]}}
    harbor = {"program": sys.executable, **NO_VARIABLES["harbor"]}
    (desk.suite / "task-1").rename(desk.folder / "task-1")
    desk.write({"idle": IDLE, "solver": SOLVER}, name="other", judges=[judge], harbor=harbor)

    assert run(desk) == 2

    assert "holds another experiment: suite differ" in capsys.readouterr().err
    assert not (desk.store / "judging.json").exists()


def test_doctor_says_what_stands_between_a_suite_and_harbor(
    desk: HarborExperiment, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = {"idle": IDLE, "odd": {"agent": "oracle", "flags": ["-v"], "secrets": ["NOBODY_HAS_THIS"]}}
    desk.write(arms, harbor={"program": "harbor-that-nobody-has"})

    assert main(["doctor", "-c", str(desk.suite)]) == 1

    said = capsys.readouterr().out
    assert "1 tasks fit for Harbor" in said
    for fault in ("uv tool install harbor", "takes no `flags`", "variable NOBODY_HAS_THIS"):
        assert fault in said
    assert main(["doctor", "-c", str(desk.suite), "--try-agents"]) == 2
    assert "the suite is run through Harbor" in capsys.readouterr().err
