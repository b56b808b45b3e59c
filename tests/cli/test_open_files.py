"""Claims about `outweigh run` on systems that allow few open files."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.cli.engines import PATIENCE, Ended, records
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.model.failure import Status

# All runs of a batch are at work before the first one ends.
SLOW = shell("sleep 1; echo 42 >answer.txt; ulimit -S -n >files.txt")
WRITES_LIMIT = {"type": "file_contains", "name": "limit", "path": "files.txt", "text": "64"}


def run_with(limit: str, folder: Path, *arguments: str) -> Ended:
    line = f'{limit}; exec "$@"'
    command = [sys.executable, "-m", "outweigh", "run", "-c", str(folder / "suite"), "-o", str(folder / "store")]
    ended = subprocess.run(
        ["/bin/sh", "-c", line, "sh", *command, *arguments],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_more_runs_at_a_time_than_files_allow_are_refused_before_the_first_with_the_number_that_works(
    tmp_path: Path,
) -> None:
    write_suite(tmp_path / "suite", {"a": SLOW, "b": {**SLOW, "same_as": "a"}}, repeats=25)

    refused = run_with("ulimit -n 256", tmp_path, "-j", "100")

    assert refused.code == 2
    assert not (tmp_path / "store").exists()
    most = re.search(r"with -j (\d+), or raise the limit first, for example with `ulimit -n (\d+)`", refused.err)
    assert most is not None
    assert int(most[1]) >= 20

    ended = run_with("ulimit -n 256", tmp_path, "-j", most[1])

    assert ended.code == 0
    assert {record.status for record in records(tmp_path / "store")} == {Status.COMPLETED}


def test_a_soft_limit_is_raised_and_programs_in_sandboxes_keep_it(tmp_path: Path) -> None:
    write_suite(
        tmp_path / "suite", {"a": SLOW, "b": {**SLOW, "same_as": "a"}}, task={"checks": [WRITES_LIMIT]}, repeats=15
    )

    ended = run_with("ulimit -S -n 64", tmp_path, "-j", "30")

    assert ended.code == 0
    found = records(tmp_path / "store")
    assert len(found) == 30
    assert all(check.passed for record in found for check in record.checks or ())
