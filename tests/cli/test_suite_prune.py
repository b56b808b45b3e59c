"""`outweigh suite prune` chooses tasks by runs that do not judge them, and the other verbs take the choice on."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.stores import write_store
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.model.run_record import RunRecord
from outweigh.model.usage import reported_cost
from outweigh.store.store import Store
from outweigh.testing.builders import a_run

TASKS = 30
ARMS = {name: shell(f"echo {said} > answer.txt") for name, said in {"plain": 40, "new": 42, "old": 41}.items()}
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def simulated(arms: tuple[str, ...], repeats: int, seed: int = 1, **fields: Any) -> list[RunRecord]:
    """Arms of different strength on tasks that are mostly nearly always or nearly never solved."""
    draw = np.random.default_rng(seed)
    difficulty = draw.normal(0.4, 3, TASKS)
    return [
        a_run(
            f"task-{task:02}",
            arm,
            repeat,
            passed=bool(draw.random() < 1 / (1 + np.exp(-level - 0.8 * place))),
            **fields,
        )
        for place, arm in enumerate(arms)
        for task, level in enumerate(difficulty)
        for repeat in range(1, repeats + 1)
    ]


@pytest.fixture
def store(tmp_path: Path) -> str:
    arms = ("a", "b", "c", "d", "e")
    return write_store(tmp_path / "store", simulated(arms, 4, started_at=LONG_AGO), arms)


def passed(run: RunRecord) -> bool:
    return bool(run.checks and run.checks[0].passed)


def prune(outweigh: Any, *arguments: str) -> dict[str, Any]:
    answer = outweigh("suite", "prune", *arguments, "--format", "json")
    assert answer.code == 0, answer.err
    found: dict[str, Any] = answer.json()
    return found


class TestTheChoice:
    def test_leaves_out_the_arms_to_be_judged(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        """Whatever the judged arms did, the same tasks are chosen."""
        other = [
            run if run.trial.arm not in ("a", "e") else a_run(run.trial.task_id, run.trial.arm, run.trial.repeat)
            for run in Store.open(store).runs()
        ]
        changed = write_store(tmp_path / "changed", other, ("a", "b", "c", "d", "e"))
        judged = ("--judge", "a", "--judge", "e", "--tasks", "15")

        one = prune(outweigh, store, *judged, "-o", str(tmp_path / "one"))
        two = prune(outweigh, changed, *judged, "-o", str(tmp_path / "two"))

        assert one["chosen_by"] == {"arms": ["b", "c", "d"], "repeats": "all"}
        assert one["tasks"] == two["tasks"]
        assert len(one["tasks"]) == 15

    def test_of_two_arms_is_made_by_every_other_repeat(self, outweigh: Any, tmp_path: Path) -> None:
        runs = simulated(("a", "b"), 4)
        even = [run for run in runs if run.trial.repeat % 2 == 0]
        failed = [a_run(run.trial.task_id, run.trial.arm, run.trial.repeat, passed=False) for run in even]
        odd = [run for run in runs if run.trial.repeat % 2 == 1]
        stores = [
            write_store(tmp_path / name, [*odd, *rest], ("a", "b")) for name, rest in (("x", even), ("y", failed))
        ]

        one, two = (prune(outweigh, each, "--tasks", "15", "-o", f"{each}-smaller") for each in stores)

        assert one["chosen_by"] == {"arms": ["a", "b"], "repeats": "odd"}
        assert one["tasks"] == two["tasks"]
        assert one["judged"] == ["a", "b"]

    def test_keeps_as_much_as_is_asked_for_with_fewer_tasks(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        found = prune(outweigh, store, "--keep-power", "0.9", "-o", str(tmp_path / "smaller"))

        assert found["expected_share"] >= 0.9
        assert found["measured_share"] >= 0.9
        assert found["random_share"] < found["expected_share"]
        assert len(found["tasks"]) < TASKS
        assert sorted(found["tasks"] + found["dropped"]) == [f"task-{task:02}" for task in range(TASKS)]

    def test_is_advised_against_where_tasks_tell_alike(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        """Every task is passed half the time by every arm: no choice is better than a random one."""
        draw = np.random.default_rng(3)
        alike = [
            a_run(f"task-{task:02}", arm, repeat, passed=bool(draw.random() < 0.5), started_at=LONG_AGO)
            for arm in "abcde"
            for task in range(TASKS)
            for repeat in range(1, 5)
        ]
        tossed = write_store(tmp_path / "tossed", alike, tuple("abcde"))

        differ = outweigh("suite", "prune", store, "--tasks", "15", "-o", str(tmp_path / "one"))
        same = outweigh("suite", "prune", tossed, "--tasks", "15", "-o", str(tmp_path / "two"))

        assert "hardly more than at random" not in differ.out
        assert "hardly more than at random: as far as these runs show, the tasks tell about equally much" in same.out
        assert "Keep the whole suite: on these tasks an effect must be" in same.out

    def test_prefers_what_is_cheap(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        dear = {f"task-{task:02}" for task in range(0, TASKS, 2)}
        priced = [
            a_run(run.trial.task_id, run.trial.arm, run.trial.repeat, passed=passed(run), cost=cost)
            for run in Store.open(store).runs()
            for cost in [reported_cost(1.0 if run.trial.task_id in dear else 0.1)]
        ]
        other = write_store(tmp_path / "priced", priced, ("a", "b", "c", "d", "e"))

        found = prune(outweigh, other, "--keep-power", "0.8", "-o", str(tmp_path / "smaller"))

        assert found["cost_share"] < 0.75 * len(found["tasks"]) / TASKS

    def test_keeps_a_task_of_every_family(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        with_families = [
            a_run(
                run.trial.task_id,
                run.trial.arm,
                run.trial.repeat,
                passed=passed(run),
                family=f"family-{int(run.trial.task_id[-2:]) % 5}",
            )
            for run in Store.open(store).runs()
        ]
        other = write_store(tmp_path / "families", with_families, ("a", "b", "c", "d", "e"))

        found = prune(outweigh, other, "--tasks", "10", "-o", str(tmp_path / "smaller"))

        assert set(found["families"]) == {f"family-{number}" for number in range(5)}
        assert all(family["kept"] >= 1 and family["of"] == 6 for family in found["families"].values())

    def test_says_how_and_why(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        text = outweigh("suite", "prune", store, "--judge", "a", "--tasks", "15", "-o", str(tmp_path / "s")).out

        assert text.startswith("15 of 30 tasks kept")
        assert "No run of 'a' was looked at" in text
        assert "as many tasks drawn at random keep 71 %" in text


class TestTheList:
    def test_is_taken_on_by_a_verdict_and_a_report(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        folder = str(tmp_path / "smaller")
        prune(outweigh, store, "--judge", "a", "--judge", "e", "--tasks", "15", "-o", folder)
        arms = ("--baseline", "a", "--candidate", "e", "--task-list", folder)

        verdict = outweigh("verdict", store, *arms, "--format", "json").json()
        outweigh("report", store, *arms, "-o", str(tmp_path / "report.html"))

        assert {gate["tasks"] for gate in verdict["gates"] if gate["name"] == "pass_rate"} == {15}
        assert any("15 tasks were chosen of 30" in warning for warning in verdict["warnings"])
        assert any("--task-list" in blocker for blocker in verdict["blockers"])
        assert "15 tasks were chosen of 30" in (tmp_path / "report.html").read_text()

    def test_is_not_judged_by_the_runs_that_it_was_chosen_by(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        folder = str(tmp_path / "smaller")
        prune(outweigh, store, "--judge", "a", "--judge", "e", "--tasks", "15", "-o", folder)

        answer = outweigh("verdict", store, "--baseline", "a", "--candidate", "c", "--task-list", folder)

        assert answer.code == 3
        assert "the tasks were chosen by the runs of 'c', so these runs cannot judge it" in answer.err

    def test_of_two_arms_is_judged_by_the_other_repeats(self, outweigh: Any, tmp_path: Path) -> None:
        store, folder = write_store(tmp_path / "s", simulated(("a", "b"), 4), ("a", "b")), str(tmp_path / "smaller")
        prune(outweigh, store, "--tasks", "15", "-o", folder)

        assert "15 tasks × 2 repeats" in outweigh("verdict", store, "--task-list", folder).out

    def test_is_judged_by_runs_that_were_made_later(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        folder = str(tmp_path / "smaller")
        prune(outweigh, store, "--tasks", "15", "-o", folder)
        later = datetime.now(UTC) + timedelta(days=1)
        new = write_store(tmp_path / "new", simulated(("a", "b"), 2, seed=2, started_at=later), ("a", "b"))

        assert outweigh("verdict", store, "--task-list", folder).code == 3
        assert "15 tasks × 2 repeats" in outweigh("verdict", new, "--task-list", folder).out


class TestTheSuite:
    def test_can_be_run(self, outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        write_suite(tmp_path / "suite", ARMS, tasks=8)
        runs = simulated(("plain", "new", "old"), 2)
        names = {f"task-{number:02}": f"task-{number + 1}" for number in range(8)}
        renamed = [
            a_run(names[run.trial.task_id], run.trial.arm, run.trial.repeat, passed=passed(run))
            for run in runs
            if run.trial.task_id in names
        ]
        write_store(tmp_path / "store", renamed, tuple(ARMS), suite="suite")

        found = prune(outweigh, "store", "--tasks", "6", "-o", "smaller")
        written = tomllib.loads((tmp_path / "smaller" / "suite.toml").read_text())
        ran = outweigh("run", "-c", "smaller", "--repeats", "1", "-o", "runs")

        assert (written["folder"], written["chosen"]["arms"]) == ("../suite", ["plain", "new", "old"])
        assert ran.code == 0
        assert {run.trial.task_id for run in Store.open("runs").runs()} == set(found["tasks"])
        assert "6 tasks were chosen of 8" in outweigh("verdict", "runs", "--candidate", "new", "--verbose").out

    def test_does_not_reuse_the_runs_that_it_was_chosen_by(
        self, outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write_suite(tmp_path / "suite", ARMS, tasks=7)
        outweigh("run", "-c", "suite", "--repeats", "1", "-o", "store")
        prune(outweigh, "store", "--tasks", "6", "-o", "smaller")

        answer = outweigh("run", "-c", "smaller", "--repeats", "1", "-o", "runs", "--reuse", "store")

        assert "0 of 6 runs of plain are reused" in answer.err


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (("--judge", "z"), "there is no arm 'z'"),
            (("--judge", "a", "--judge", "a"), "--judge names an arm twice"),
            (("--tasks", "31"), "--tasks 31 is more than the 30 tasks"),
            (("--tasks", "0"), "'0' is not a number of tasks"),
            (("--keep-power", "1.5"), "'1.5' is not a share"),
            (("--keep-power", "0.9", "--tasks", "5"), "use one of them"),
            (("-c", "nowhere"), "There is no suite at nowhere"),
        ],
    )
    def test_is_explained(
        self, outweigh: Any, store: str, tmp_path: Path, arguments: tuple[str, ...], complaint: str
    ) -> None:
        answer = outweigh("suite", "prune", store, *arguments, "-o", str(tmp_path / "smaller"))

        assert answer.code == 2
        assert complaint in answer.err
        assert not (tmp_path / "smaller").exists()

    def test_nothing_is_overwritten(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        command = ("suite", "prune", store, "--tasks", "15", "-o", str(tmp_path / "smaller"))
        outweigh(*command)

        answer = outweigh(*command)

        assert answer.code == 2
        assert "already there" in answer.err

    def test_one_arm_is_not_enough(self, outweigh: Any, tmp_path: Path) -> None:
        store = write_store(tmp_path / "s", simulated(("a",), 2), ("a",))

        answer = outweigh("suite", "prune", store, "-o", str(tmp_path / "smaller"))

        assert answer.code == 3
        assert "the records hold only 'a'" in answer.err

    def test_no_run_is_left_to_choose_by(self, outweigh: Any, tmp_path: Path) -> None:
        store = write_store(tmp_path / "s", simulated(("a", "b"), 1), ("a", "b"))

        answer = outweigh("suite", "prune", store, "--judge", "a", "--judge", "b", "-o", str(tmp_path / "smaller"))

        assert answer.code == 3
        assert "no run is left to choose tasks by" in answer.err

    @pytest.mark.parametrize(("passed", "complaint"), [(True, "passed, so no task"), (None, "says whether it passed")])
    def test_no_outcome_to_choose_by(self, outweigh: Any, tmp_path: Path, passed: bool | None, complaint: str) -> None:
        runs = [a_run(f"task-{task}", arm, 1, passed=passed) for task in range(8) for arm in ("a", "b", "c")]

        answer = outweigh("suite", "prune", write_store(tmp_path / "s", runs, "abc"), "-o", str(tmp_path / "smaller"))

        assert answer.code == 3
        assert complaint in answer.err

    def test_a_list_that_is_none(self, outweigh: Any, store: str, tmp_path: Path) -> None:
        (tmp_path / "list.toml").write_text('tasks = ["task-01"]\n')

        missing = outweigh("verdict", store, "--task-list", str(tmp_path / "nowhere.toml"))
        incomplete = outweigh("verdict", store, "--task-list", str(tmp_path / "list.toml"))

        assert (missing.code, incomplete.code) == (2, 2)
        assert "cannot be read" in missing.err
        assert 'needs the key "chosen"' in incomplete.err
