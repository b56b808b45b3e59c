"""A task in quarantine is not run, its runs do not count, and the verdict says so."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.model.run_record import RunRecord
from outweigh.model.suite import PolicySpec, QuarantinedTask
from outweigh.store.store import Store
from outweigh.testing.builders import a_run

ARMS = {"plain": shell("echo 41 > answer.txt"), "new": shell("echo 42 > answer.txt")}
FLAKY = {"task": "task-2", "reason": "fails at random", "since": "2026-11-16"}
GAINED, LOST = [(False, True)] * 12, [(True, False)] * 12
"""A task for each pair: whether the baseline passed it, and whether the candidate did."""


def quarantined(*tasks: str) -> tuple[QuarantinedTask, ...]:
    return tuple(QuarantinedTask(task=task, reason="too slow", since=date(2026, 11, 16)) for task in tasks)


def runs(outcomes: list[tuple[bool, bool]]) -> list[RunRecord]:
    """Three runs of every task and arm; the candidate takes about as long, and no two runs take equally long."""
    return [
        a_run(f"task-{number}", arm, repeat, passed=passed, duration_seconds=60 + (7 * number + 3 * repeat + place) % 5)
        for number, pair in enumerate(outcomes, start=1)
        for place, (arm, passed) in enumerate(zip(("plain", "new"), pair, strict=True))
        for repeat in (1, 2, 3)
    ]


class TestTheSuite:
    def test_does_not_run_the_task(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, tasks=3, quarantine=[FLAKY])

        outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "--repeats", "1")

        assert {run.trial.task_id for run in Store.open(tmp_path / "runs").runs()} == {"task-1", "task-3"}

    def test_may_set_aside_a_task_that_was_run_and_go_on_in_the_same_store(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, tasks=3)
        command = ("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "--repeats", "1")
        outweigh(*command)
        file = suite / "suite.toml"
        file.write_text(file.read_text() + '[[quarantine]]\ntask = "task-2"\nreason = "flaky"\nsince = 2026-11-16\n')

        again = outweigh(*command)
        verdict = outweigh("verdict", str(tmp_path / "runs"), "--format", "json").json()

        assert again.code == 0
        assert verdict["quarantine"] == [{"task": "task-2", "reason": "flaky", "since": "2026-11-16", "runs": 2}]
        assert {gate["tasks"] for gate in verdict["gates"] if gate["name"] == "pass_rate"} == {2}

    def test_may_take_a_task_out_of_quarantine_again(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, tasks=3, quarantine=[FLAKY])
        command = ("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "--repeats", "1")
        outweigh(*command)
        file = suite / "suite.toml"
        file.write_text("\n".join(line for line in file.read_text().splitlines() if "quarantine" not in line))

        assert outweigh(*command).code == 0
        verdict = outweigh("verdict", str(tmp_path / "runs"), "--format", "json").json()
        assert verdict["quarantine"] == []
        assert {gate["tasks"] for gate in verdict["gates"] if gate["name"] == "pass_rate"} == {3}

    def test_refuses_it_where_looks_were_planned_for_the_task(self, outweigh: Any, tmp_path: Path) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, tasks=8)
        command = ("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "--repeats", "1")
        outweigh(*command, "--until-decided")
        file = suite / "suite.toml"
        file.write_text(file.read_text() + '[[quarantine]]\ntask = "task-2"\nreason = "flaky"\nsince = 2026-11-16\n')

        answer = outweigh(*command, "--until-decided")

        assert answer.code == 2
        assert "planned there, and in quarantine now: 'task-2'" in answer.err

    @pytest.mark.parametrize(
        ("quarantine", "complaint"),
        [
            ([FLAKY | {"task": "task-9"}], "quarantine.task is 'task-9', which is no task of the suite; did you mean"),
            ([FLAKY | {"task": "other"}], "the tasks are 'task-1', 'task-2'"),
            ([FLAKY, FLAKY], "is in [[quarantine]] twice"),
            ([FLAKY, FLAKY | {"task": "task-1"}], "quarantine sets all 2 tasks aside"),
            ([{"task": "task-2", "reason": "flaky"}], "since"),
            ([FLAKY | {"reason": ""}], "reason"),
            ([FLAKY | {"since": "yesterday"}], "since"),
            ([FLAKY | {"until": "2027-01-01"}], "until"),
        ],
    )
    def test_explains_what_is_wrong(
        self, outweigh: Any, tmp_path: Path, quarantine: list[dict[str, str]], complaint: str
    ) -> None:
        suite = write_suite(tmp_path / "suite", ARMS, tasks=2, quarantine=quarantine)

        answer = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "--dry-run")

        assert answer.code == 2
        assert complaint in answer.err
        assert f"{suite}/suite.toml:" in answer.err


class TestTheVerdict:
    def test_says_how_many_tasks_are_set_aside(self, outweigh: Any, tmp_path: Path) -> None:
        store = write_store(
            tmp_path / "store", runs(GAINED), ("plain", "new"), quarantine=quarantined("task-2", "task-3")
        )

        text, whole = outweigh("verdict", store).out, outweigh("verdict", store, "--verbose").out
        outweigh("report", store, "-o", str(tmp_path / "report.html"))

        assert "2 tasks are in quarantine and do not count, with 12 runs in the records" in " ".join(text.split())
        assert "10 tasks × 3 repeats" in text
        assert "task-2 (since 2026-11-16, 6 runs set aside): too slow" in whole
        page = (tmp_path / "report.html").read_text()
        assert "2 tasks are in quarantine" in page
        assert "task-3 (since 2026-11-16" in page

    def test_counts_none_where_there_is_none(self, outweigh: Any, tmp_path: Path) -> None:
        store = write_store(tmp_path / "store", runs(GAINED), ("plain", "new"))

        assert "quarantine" not in outweigh("verdict", store).out
        assert outweigh("verdict", store, "--format", "json").json()["quarantine"] == []

    def test_names_the_records_that_it_rests_on(self, outweigh: Any, tmp_path: Path) -> None:
        """With or without runs of a task that does not count, the evidence is the same."""
        ours = [run for run in runs(GAINED) if run.trial.task_id != "task-2"]
        aside = quarantined("task-2")
        with_runs = write_store(tmp_path / "with", runs(GAINED), ("plain", "new"), quarantine=aside)
        without = write_store(tmp_path / "without", ours, ("plain", "new"), quarantine=aside)

        answers = [outweigh("verdict", store, "--format", "json").json() for store in (with_runs, without)]

        assert answers[0]["evidence_sha256"] == answers[1]["evidence_sha256"]
        assert answers[0]["verdict_sha256"] == answers[1]["verdict_sha256"]

    def test_promotes_nothing_that_is_a_gain_only_without_the_tasks_that_were_run(
        self, outweigh: Any, tmp_path: Path
    ) -> None:
        losses = [f"task-{number}" for number in range(13, 25)]
        store = write_store(
            tmp_path / "store",
            runs([*GAINED, *LOST]),
            ("plain", "new"),
            policy=PolicySpec(gates=["pass_rate", "duration"], version=2),
            quarantine=quarantined(*losses),
        )

        answer = outweigh("verdict", store, "--format", "json").json()

        assert (answer["decision"], answer["may_promote"]) == ("improved", False)
        assert any("set aside after they had been run" in blocker for blocker in answer["blockers"])

    def test_may_promote_what_is_a_gain_with_them_too(self, outweigh: Any, tmp_path: Path) -> None:
        aside = quarantined("task-1", "task-2")
        policy = PolicySpec(gates=["pass_rate", "duration"], version=2)
        store = write_store(tmp_path / "store", runs(GAINED), ("plain", "new"), policy=policy, quarantine=aside)

        answer = outweigh("verdict", store, "--format", "json").json()

        assert answer["decision"] == "improved"
        assert not any("set aside" in blocker for blocker in answer["blockers"])

    def test_is_refused_where_every_run_is_set_aside(self, outweigh: Any, tmp_path: Path) -> None:
        names = [f"task-{number}" for number in range(1, 13)]
        store = write_store(tmp_path / "store", runs(GAINED), ("plain", "new"), quarantine=quarantined(*names))

        answer = outweigh("verdict", store)

        assert answer.code == 3
        assert "all runs of the records are of tasks in quarantine" in answer.err
