"""Engines that are killed at many moments of a run, one after another, until the run is done.

Run as a program, so that everything is imported once and every engine is a fork of it: a new interpreter for each of
a hundred engines would take minutes.
"""

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from outweigh.cli.main import main as outweigh

LOGS = ("attempts-engine.log", "runs-engine.jsonl", "choices.jsonl")
PATIENCE = 300.0


def lines(store: Path, name: str) -> list[bytes]:
    """The whole lines of a log."""
    try:
        found = (store / name).read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [line for line in found if line.endswith(b"\n")]


def written(store: Path) -> int:
    return sum(len(lines(store, name)) for name in LOGS)


def start(suite: Path, store: Path) -> int:
    """Fork an engine, and return its process."""
    child = os.fork()
    if child:
        return child
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    code = 70
    with suppress(BaseException):
        code = outweigh(["run", "-c", str(suite), "-o", str(store)])
    os._exit(code)


def ended(child: int) -> int | None:
    """The exit code of an engine that has ended by itself."""
    done, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if done else None


def kill_after(child: int, store: Path, more: int, moment: float) -> int | None:
    """Kill an engine a moment after so many more lines are written; its exit code where it ended before."""
    goal, deadline = written(store) + more, time.monotonic() + PATIENCE
    while written(store) < goal:
        if (code := ended(child)) is not None:
            return code
        assert time.monotonic() < deadline, "the engine hangs"
        time.sleep(0.001)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def arms_with_runs(store: Path) -> set[str]:
    """The arms of all attempts and runs in the logs."""
    return {json.loads(line.partition(b"\t")[0])["trial"]["arm"] for name in LOGS[:2] for line in lines(store, name)}


def kill_often(suite: Path, store: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill engines until the run is done or enough were killed, then let the last one end; what was seen on the way."""
    rng = random.Random(seed)
    moments: list[int] = []
    early: list[str] = []
    rewritten = 0
    choices = b""
    code = None
    while len(moments) < kills and code is None:
        killed = kill_after(start(suite, store), store, rng.randrange(3), rng.uniform(0, 0.01))
        if killed == -signal.SIGKILL:
            moments.append(written(store))
        else:
            code = killed
        chosen = {json.loads(line)["arm"] for line in lines(store, "choices.jsonl")}
        early += [arm for arm in arms_with_runs(store) if arm.startswith("inheriting") and arm not in chosen]
        now = b"".join(lines(store, "choices.jsonl"))
        rewritten += not now.startswith(choices)
        choices = now
    if code is None:
        child = start(suite, store)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"code": code, "moments": moments, "runs_before_choice": early, "rewritten": rewritten}


def main(suite: str, folder: str, kills: str, seed: str) -> None:
    """Kill so many engines, in as many stores as that takes, and print what was seen in each."""
    import_module("outweigh.cli.run")  # once for all forks
    left, number = int(kills), 0
    while left > 0:
        store = Path(folder) / f"store-{number}"
        seen = kill_often(Path(suite), store, left, int(seed) + number)
        print(json.dumps({"store": str(store), **seen}), flush=True)
        left -= len(seen["moments"])
        number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
