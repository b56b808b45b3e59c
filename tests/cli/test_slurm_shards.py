"""Claims about shards that a real Slurm runs as the tasks of an array job."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_shards import ARMS, Divided, keys
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import needs, require
from tests.slurm_machine import PATH, SlurmMachine, missing_part, slurm_machine

KEPT_KEY = "a-key-that-slurm-keeps"
WITHHELD_KEY = "a-key-that-slurm-never-sees"


@pytest.fixture
@needs("slurm")
def slurm(tmp_path: Path) -> Iterator[SlurmMachine]:
    require("slurm", missing_part())
    folder = tmp_path / "slurm"
    folder.mkdir()
    with slurm_machine(folder) as machine:
        yield machine


def test_the_tasks_of_an_array_job_give_the_trials_and_the_verdict_of_the_whole(
    slurm: SlurmMachine, tmp_path: Path, outweigh: Any
) -> None:
    write_suite(tmp_path / "suite", ARMS, tasks=4, repeats=2, seed=5)
    whole = Divided(tmp_path)
    assert whole.run("-o", str(whole.whole)).code == 0
    script = tmp_path / "job.sh"
    script.write_text(
        f"#!/bin/sh\nexport PATH={PATH} HOME={tmp_path}\n"
        f"exec {sys.executable} -m outweigh run -c {tmp_path}/suite --shard auto "
        f"-o {tmp_path}/part-$SLURM_ARRAY_TASK_ID\n"
    )

    slurm.call(
        *("sbatch", "--wait", "--export=NIL", "--array=0-1", f"--output={tmp_path}/out-%a", str(script)),
        extra={"ANTHROPIC_API_KEY": WITHHELD_KEY},
    )

    parts = [tmp_path / "part-0", tmp_path / "part-1"]
    assert keys(*parts) == keys(whole.whole)
    undivided, divided = (
        outweigh("verdict", *map(str, stores), "--format", "json").json() for stores in ([whole.whole], parts)
    )
    assert divided["verdict_sha256"] == undivided["verdict_sha256"]
    assert divided["warnings"] == undivided["warnings"]
    assert slurm.files_with(WITHHELD_KEY) == []


def test_slurm_keeps_the_keys_that_a_job_is_submitted_with_unless_nothing_is_exported(slurm: SlurmMachine) -> None:
    slurm.call("sbatch", "--hold", "--wrap", "true", extra={"ANTHROPIC_API_KEY": KEPT_KEY})
    slurm.call("sbatch", "--hold", "--export=NIL", "--wrap", "true", extra={"ANTHROPIC_API_KEY": WITHHELD_KEY})

    assert slurm.files_with(KEPT_KEY) == ["environment"]
    assert slurm.files_with(WITHHELD_KEY) == []
