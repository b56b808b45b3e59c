"""Experiments whose engines are killed again and again, and what must hold afterwards."""

import os
import signal
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from tests.cli.engines import Ended, Engine, begun, records, until
from tests.engine.engine_fixtures import DONE, toml_lines, write_suite

from outweigh.app.build_engine import engine_label
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import RunRecord
from outweigh.sandbox.leftover_processes import SANDBOX_MARK
from outweigh.workspace.overlay_mount import overlay_mounts_below

KILLS_FACTOR = int(os.environ.get("OUTWEIGH_KILLS_FACTOR", "1"))
"""How many times as many kills as in `make test`."""

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
    """Two arms in one kind of sandbox, and engines that come and go."""

    def __init__(self, folder: Path, *, kind: str, tasks: int, repeats: int) -> None:
        self.trials = 2 * tasks * repeats
        self._trials_of_arm = tasks * repeats
        self.suite = folder / "suite"
        self.store = folder / "store"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.held = ExitStack()
        self._kind = kind
        write_suite(
            self.suite,
            {"a": scripted(0.3), "b": scripted(0.9)},
            tasks=tasks,
            repeats=repeats,
            task={"checks": [DONE, CHECK]},
            sandbox={"kind": kind},
        )

    def edit_candidate(self, probability: float) -> None:
        """Change the candidate, as who edits a skill does: one more arm is to be run in the same store."""
        file = self.suite / "suite.toml"
        lines = file.read_text().splitlines()
        arms = toml_lines({"arms": {"a": scripted(0.3), "b": scripted(probability)}})
        file.write_text("\n".join(arms.strip() if line.startswith('"arms"') else line for line in lines) + "\n")
        self.trials += self._trials_of_arm

    def engine(self, jobs: int) -> Engine:
        engine = Engine("-c", str(self.suite), "-o", str(self.store), "-j", str(jobs), temporary=self.temporary)
        self.held.callback(engine.close)
        return engine

    def kill_engines(self, kills: int) -> int:
        """Kill one after the other; says how many had attempts under way. What was acknowledged stays, every time."""
        dice = Random(7)
        acknowledged: list[RunRecord] = []
        interrupted = 0
        for kill in range(kills):
            ended = self._kill_an_engine(dice, kills - kill)
            assert ended.code == -signal.SIGKILL, ended.err
            interrupted += bool([*self.processes(), *overlay_mounts_below(self.temporary)])
            found = self.records()
            assert found[: len(acknowledged)] == acknowledged
            acknowledged = found
        return interrupted

    def _kill_an_engine(self, dice: Random, kills_left: int) -> Ended:
        """At any moment of starting up or of its first few trials: moments are counted in trials, not in seconds."""
        trials_left = self.trials - len(self.counted())
        before = begun(self.store)
        to_begin = dice.randint(0, min(MOST_BEGUN, trials_left // kills_left))
        engine = self.engine(jobs=2)
        until(lambda: begun(self.store) >= before + to_begin or engine.has_ended)
        return engine.kill_after(dice.uniform(0.0, 0.3))

    def finish(self) -> None:
        """Let a last engine end it: every trial has one result then, what earlier ones kept included."""
        acknowledged = self.records()
        last = self.engine(jobs=8).wait()
        final = self.records()

        assert last.code == 0, last.err
        assert final[: len(acknowledged)] == acknowledged
        counted = self.counted()
        assert len(counted) == self.trials
        assert set(counted.values()) == {1}
        assert len({(run.run_id, run.attempt) for run in final}) == len(final)

    def assert_nothing_is_left(self) -> None:
        """Neither processes nor groups, mounts, folders or notes."""
        assert self.processes() == []
        assert self.groups() == []
        assert overlay_mounts_below(self.temporary) == []
        assert list(self.temporary.iterdir()) == []
        assert not (self.store / "scratch").exists()

    def records(self) -> list[RunRecord]:
        """Those on disk; an engine killed before its first record is complete leaves a log without any."""
        logs = (log.read_bytes() for log in self.store.glob("*.jsonl"))
        return records(self.store) if any(b"\n" in content for content in logs) else []

    def counted(self) -> Counter[tuple[str, str, int]]:
        """How many results each trial has."""
        return Counter(
            (run.trial.task_id, run.trial.arm, run.trial.repeat)
            for run in self.records()
            if run.status not in EXCLUDED_STATUSES
        )

    def processes(self) -> list[int]:
        """Everything alive that bears the mark of this store."""
        mark = f"{SANDBOX_MARK}={self._kind}/{engine_label(self.store)}:".encode()
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and mark in _variables(entry)
        ]

    def groups(self) -> list[Path]:
        name = engine_label(self.store).replace(":", "%3A")
        return [Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup") if name in folder]


def verdict(outweigh: Any, store: Path) -> Any:
    """What is decided, without what depends on the moment."""
    answer = outweigh("verdict", str(store), "--format", "json").json()
    return {name: answer[name] for name in ("decision", "gates", "regressions", "needs", "sensitivity")}


def _variables(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
