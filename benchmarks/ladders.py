"""`outweigh ladder` with every figure, table and page to `outweigh compare` on the same store of judged runs."""

import subprocess
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from benchmarks.measure import OUTWEIGH, median_seconds, processor_seconds_of_processes
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.model.codec import encode
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import PolicySpec
from outweigh.model.usage import Component, ComponentTokens, reported_cost
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile
from outweigh.testing.builders import a_judgment, a_run

_SUB_ARMS = (24, 10, 15, 41, 14, 15, 1)
"""Arms of each tier: 120 on 7 tiers."""
_TASKS, _REPEATS, _JUDGES = 3, 3, ("opus", "sonnet", "haiku")
_TARGET = 8
_ROUNDS = 5


def measure(setting: Setting) -> list[Ratio]:
    """Whole processes, by the processor's clock; the ladder writes its folder each time."""
    store = write_study(setting.folder / "study")
    arms = ("--baseline", "T0-00", "--candidate", "T1-00")
    commands = {
        "compare": (*OUTWEIGH, "compare", str(store), *arms),
        "ladder": (*OUTWEIGH, "ladder", str(store), "-o", f"{setting.folder}/ladder/"),
    }
    seconds = median_seconds(
        {name: partial(subprocess.run, command, check=True, capture_output=True) for name, command in commands.items()},
        _ROUNDS,
        processor_seconds_of_processes,
    )
    runs = sum(_SUB_ARMS) * _TASKS * _REPEATS
    return [
        Ratio(
            name=f"ladder with all figures, tables and the page, {runs:,} runs × {len(_JUDGES)} judges : compare",
            measured=seconds["ladder"] / seconds["compare"],
            target=_TARGET,
            better="lower",
            note=f"{1000 * seconds['ladder']:.0f} ms : {1000 * seconds['compare']:.0f} ms of processor time",
        )
    ]


def write_study(folder: Path, judgments_lost: float = 0.01) -> Path:
    """A store of 7 tiers, 120 arms, 3 tasks and 3 repeats, judged by 3 judges; a few judgments are missing."""
    draw = Random(7)
    tiers = {f"T{tier}-{number:02}": tier for tier, arms in enumerate(_SUB_ARMS) for number in range(arms)}
    runs = [
        _run(draw, arm, tier, task, repeat)
        for arm, tier in tiers.items()
        for task in range(_TASKS)
        for repeat in range(1, _REPEATS + 1)
    ]
    judgments = [
        a_judgment(run, min(1.0, max(0.0, draw.gauss(0.75 + place / 50, 0.1))), judge=judge)
        for run in runs
        for place, judge in enumerate(_JUDGES)
        if draw.random() >= judgments_lost
    ]
    experiment = ExperimentFile(
        schema="outweigh.experiment/1",
        suite="a study of tiers",
        baseline="T0-00",
        seed=1,
        profile="even",
        policy=PolicySpec(),
        arms=dict.fromkeys(tiers, "0"),
        tiers=tiers,
        tasks={},
        looked_at=None,
    )
    folder.mkdir()
    (folder / EXPERIMENT_FILE).write_bytes(msgspec.json.encode(experiment))
    (folder / "runs-engine.jsonl").write_bytes(b"".join(encode(run) + b"\n" for run in runs))
    (folder / "judgments-engine.jsonl").write_bytes(b"".join(encode(each) + b"\n" for each in judgments))
    return folder


def _run(draw: Random, arm: str, tier: int, task: int, repeat: int) -> RunRecord:
    components = tuple(
        ComponentTokens(component=kind, input_tokens=draw.randrange(200, 4000), output_tokens=draw.randrange(400))
        for kind in Component
    )
    return a_run(
        f"task-{task}",
        arm,
        repeat,
        passed=draw.random() < 0.5 + tier / 20 - task / 10,
        duration_seconds=60 * draw.lognormvariate(0, 0.3),
        cost=reported_cost(0.1 * (1 + tier / 4) * draw.lognormvariate(0, 0.3)),
        components=components,
        arm_fingerprint=arm.encode().hex().ljust(64, "0"),
    )
