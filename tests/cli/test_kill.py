"""The fault test: an engine that is killed again and again loses nothing, doubles nothing and leaves nothing behind."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.cli.engines import Ended, Engine, begun, records, until
from tests.run.shops import DONE, write_suite

from outweigh.adapters.sandboxes.leftovers import MARK
from outweigh.adapters.workspaces.overlay import mounts_below
from outweigh.cli.workshop import label_of
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED

KILLS = 50
TASKS, REPEATS = 10, 10
TRIALS = 2 * TASKS * REPEATS
# An engine begins no more trials than this before it is killed, and no more than its share of what is left.
MOST_BEGUN = 8

# Real work in the sandbox, and a process that leaves its group: what a kill interrupts, and what it would leave.
STEPS = [
    {"do": "run", "command": "setsid sleep 60 </dev/null >/dev/null 2>&1 & sleep 0.15"},
    {"do": "write", "path": "answer.txt", "content": "42"},
]
# However fast the machine, a trial takes as long as this.
CHECK = {"type": "command", "name": "slow", "run": "sleep 0.1; test -e answer.txt"}


def scripted(probability: float) -> dict[str, Any]:
    noise = {"median": 10, "spread": 0.2}
    drawn = {"solve_probability": probability, "on_success": STEPS, "duration_seconds": noise, "cost_usd": noise}
    return {"agent": "scripted", "options": {"default": drawn}}


class Experiment:
    """200 trials, and engines that come and go."""

    def __init__(self, folder: Path) -> None:
        self.suite = folder / "suite"
        self.store = folder / "store"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.held = ExitStack()
        arms = {"a": scripted(0.3), "b": scripted(0.9)}
        write_suite(self.suite, arms, tasks=TASKS, repeats=REPEATS, task={"checks": [DONE, CHECK]})

    def engine(self, jobs: int) -> Engine:
        engine = Engine("-c", str(self.suite), "-o", str(self.store), "-j", str(jobs), temporary=self.temporary)
        self.held.callback(engine.close)
        return engine

    def kill_an_engine(self, dice: Random, kills_left: int) -> Ended:
        """At any moment of starting up or of its first few trials: moments are counted in trials, not in seconds."""
        trials_left = TRIALS - len(self.counted())
        before = begun(self.store)
        to_begin = dice.randint(0, min(MOST_BEGUN, trials_left // kills_left))
        engine = self.engine(jobs=2)
        until(lambda: begun(self.store) >= before + to_begin or engine.has_ended)
        return engine.kill_after(dice.uniform(0.0, 0.3))

    def records(self) -> list[RunRecord]:
        return records(self.store) if list(self.store.glob("*.jsonl")) else []

    def counted(self) -> Counter[tuple[str, str, int]]:
        """How many results each trial has."""
        return Counter(
            (run.trial.task_id, run.trial.arm, run.trial.repeat) for run in self.records() if run.status not in EXCLUDED
        )

    def processes(self) -> list[int]:
        """Everything alive that bears the mark of this store."""
        mark = f"{MARK}=local/{label_of(self.store)}:".encode()
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and mark in _variables(entry)
        ]

    def groups(self) -> list[Path]:
        name = label_of(self.store).replace(":", "%3A")
        return [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup") if name in folder]


def _variables(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def experiment(tmp_path: Path) -> Iterator[Experiment]:
    experiment = Experiment(tmp_path)
    with experiment.held:
        yield experiment


def verdict(outweigh: Any, store: Path) -> Any:
    answer = outweigh("verdict", str(store), "--format", "json").json()
    return {name: answer[name] for name in ("decision", "gates", "regressions", "needs", "sensitivity")}


def test_fifty_kills_lose_nothing_double_nothing_and_leave_nothing(
    experiment: Experiment, outweigh: Any, tmp_path: Path
) -> None:
    dice = Random(7)
    acknowledged: list[RunRecord] = []
    left_behind: list[object] = []

    for kill in range(KILLS):
        ended = experiment.kill_an_engine(dice, KILLS - kill)
        assert ended.code == -signal.SIGKILL, ended.err
        left_behind += [*experiment.processes(), *mounts_below(experiment.temporary)]
        found = experiment.records()
        assert found[: len(acknowledged)] == acknowledged
        acknowledged = found
    last = experiment.engine(jobs=8).wait()
    final = experiment.records()

    assert last.code == 0, last.err
    assert len(left_behind) > KILLS, "there was little to clear up"
    assert final[: len(acknowledged)] == acknowledged
    counted = experiment.counted()
    assert len(counted) == TRIALS
    assert set(counted.values()) == {1}
    assert len({(run.run_id, run.attempt) for run in final}) == len(final)

    assert experiment.processes() == []
    assert experiment.groups() == []
    assert mounts_below(experiment.temporary) == []
    assert list(experiment.temporary.iterdir()) == []
    assert not (experiment.store / "scratch").exists()

    (tmp_path / "calm").mkdir()
    calm = Experiment(tmp_path / "calm")
    with calm.held:
        assert calm.engine(jobs=8).wait().code == 0
    assert verdict(outweigh, experiment.store) == verdict(outweigh, calm.store)
