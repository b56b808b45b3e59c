"""The known cheats against the checks of outweigh, Harbor and Inspect: the same two tasks and workspaces, side by side.

Harbor runs in an environment of bubblewrap on this machine, Inspect in its local sandbox. What is not installed by
`make agents` is left out. A row is valid only where the solved workspace passes and the untouched one fails.
"""

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchmarks.forged_tasks import (
    SOLVED,
    SYSTEM_PYTHON,
    TASKS,
    UNTOUCHED,
    ForgedTask,
    harbor_task,
    make_python,
    our_task,
    scripted_task,
    workspaces,
    write,
)
from benchmarks.measure import OUTWEIGH
from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

HERE = Path(__file__).resolve().parent
HARBOR = HERE.parent / ".agents/bin/harbor"
INSPECT = HERE.parent / ".agents/inspect/bin/python"
ENVIRONMENT = HERE.parent / "tests/cli/harbor_environment"
OWN = "outweigh, its own kinds of check"

Passed = Mapping[str, bool]
"""Whether each workspace of a task passed: the solved and the untouched one, and the cheats that were tried."""
Judged = Mapping[str, Passed]
"""By task."""


def measure(setting: Setting) -> list[Ratio]:
    """One row per checker: the cheats that pass, to those tried. Nothing where no sandbox can be made of bubblewrap."""
    lacking = BubblewrapSandboxProvider().missing()
    if lacking is None and not Path(SYSTEM_PYTHON).exists():
        lacking = f"there is no {SYSTEM_PYTHON}"
    if lacking is not None:
        print(f"checks cannot be compared here: {lacking}", file=sys.stderr)
        return []
    folder = setting.folder / "forged-checks"
    python = make_python(folder / "python")
    scripted = folder / "scripted"
    left = {
        task.name: list(workspaces(folder / "left" / task.name, task, scripted_task(scripted, task, str(python))))
        for task in TASKS
    }
    for task in TASKS:
        our_task(folder / "own", task, python)
    rows = [
        row(OWN, _ours(folder / "own", python)),
        row("outweigh, Harbor's tests/test.sh", _ours(scripted, python)),
    ]
    if _is_installed("Harbor", HARBOR):
        place = folder / "harbor"
        rows.append(row("Harbor, tests/test.sh", {task.name: _harbor(place, task, python, left) for task in TASKS}))
    if _is_installed("Inspect", INSPECT):
        place = folder / "inspect"
        rows.append(row("Inspect, a scorer", {task.name: _inspect(place, task, python, left) for task in TASKS}))
    return rows


def row(checker: str, judged: Judged) -> Ratio:
    """What a checker let pass; not a number where it cannot tell a solved workspace from an untouched one."""
    tried = {(task, name): passes for task, passed in judged.items() for name, passes in _cheats(passed).items()}
    wrong = [task for task, passed in judged.items() if not passed[SOLVED] or passed[UNTOUCHED]]
    passing = [found for found, passes in tried.items() if passes]
    names = ", ".join(f"{name} ({task})" for task, name in passing) or "none passes"
    return Ratio(
        name=f"{checker} : cheats tried",
        measured=math.nan if wrong else len(passing) / len(tried),
        target=0.0 if checker == OWN else None,
        better="lower",
        note=f"not valid: without a cheat, {' and '.join(wrong)} must fail untouched and pass solved"
        if wrong
        else f"{len(passing)} of {len(tried)} pass: {names}",
    )


def _cheats(passed: Passed) -> Passed:
    return {name: passes for name, passes in passed.items() if name not in (SOLVED, UNTOUCHED)}


def _is_installed(name: str, program: Path) -> bool:
    if not program.exists():
        print(f"{name} is not installed and is left out; `make agents` installs it", file=sys.stderr)
    return program.exists()


def _run(command: Collection[str | Path], exit_codes: Collection[int] = (0,), **variables: str) -> str:
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in exit_codes:
        raise RuntimeError(f"the checker did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


# outweigh


def _ours(suite: Path, python: Path) -> Judged:
    lines = ['name = "forged"', 'tasks = ["*/task.toml"]', 'baseline = "idle"', '[arms.idle]\nagent = "noop"']
    sandbox = f'[sandbox]\nkind = "bubblewrap"\nread_only = ["{python}"]'
    write(suite, {"suite.toml": "\n".join([*lines, '[arms.solver]\nagent = "oracle"', sandbox])})
    said = _run((*OUTWEIGH, "doctor", "-c", suite, "--attack", "--format", "json"), (0, 1), HOME=str(suite))
    return doctor_judged(json.loads(said))


def doctor_judged(answer: Mapping[str, Any]) -> Judged:
    """What `outweigh doctor --attack --format json` says of each task."""
    if not answer["tasks"]:
        raise RuntimeError("outweigh doctor tried no task")
    judged = {}
    for task in answer["tasks"]:
        if faults := [f"{tried['cheat']}: {tried['fault']}" for tried in task["cheats"] if tried["fault"]]:
            raise RuntimeError(f"a cheat could not be tried: {faults[0]}")
        cheats = {tried["cheat"]: tried["passes"] for tried in task["cheats"] if tried["passes"] is not None}
        judged[task["task_id"]] = {SOLVED: _all(task["oracle"]), UNTOUCHED: _all(task["untouched"]), **cheats}
    return judged


def _all(checks: list[dict[str, Any]] | None) -> bool:
    return bool(checks) and all(check["passed"] for check in checks or () if check["required"])


# Harbor


def _harbor(folder: Path, task: ForgedTask, python: Path, left: Mapping[str, list[dict[str, Any]]]) -> Passed:
    agents, flags = folder / "agents", folder / "flags"
    for place in (agents, flags):
        place.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "harbor_cheater.py", agents)
    job = {
        "job_name": task.name,
        "jobs_dir": str(folder / "jobs"),
        "n_concurrent_trials": 2,
        "retry": {"max_retries": 0},
        "environment": {"import_path": "local_environment:LocalEnvironment", "kwargs": {"flags": str(flags)}},
        "agents": [
            {"import_path": "harbor_cheater:Cheater", "kwargs": {"left": one["left"], "script": one["script"]}}
            for one in left[task.name]
        ],
        "tasks": [{"path": str(harbor_task(folder / "tasks", task, python))}],
    }
    write(folder, {f"{task.name}.json": json.dumps(job)})
    _run(
        (HARBOR, "run", "-c", folder / f"{task.name}.json", "--quiet", "--yes"),
        HOME=str(folder),
        TMPDIR=str(folder),
        PYTHONPATH=f"{ENVIRONMENT}:{agents}",
        HARBOR_TELEMETRY="0",
    )
    results = (folder / "jobs" / task.name).glob("*/result.json")
    passed = dict(trial_judged(json.loads(path.read_text())) for path in results)
    if missing := [one["name"] for one in left[task.name] if one["name"] not in passed]:
        raise RuntimeError(f"Harbor did not try {missing[0]}")
    return {one["name"]: passed[one["name"]] for one in left[task.name]}


def trial_judged(result: Mapping[str, Any]) -> tuple[str, bool]:
    """The workspace that an agent left, and whether it got the whole reward. No reward is none, whatever happened."""
    rewards = (result.get("verifier_result") or {}).get("rewards") or {}
    return Path(result["config"]["agent"]["kwargs"]["left"]).name, rewards.get("reward") == 1


# Inspect


def _inspect(folder: Path, task: ForgedTask, python: Path, left: Mapping[str, list[dict[str, Any]]]) -> Passed:
    """In bubblewrap, because Inspect's local sandbox is the machine itself and cheats write to all of it."""
    asked = {
        "inspect": task.inspect,
        "workspaces": left[task.name],
        "pytest": str(python / "bin/pytest"),
        "test": str(folder.parent / "scripted" / task.name / "tests" / task.inspect.get("test", "")),
    }
    for place in ("home", "tmp"):
        (folder / place).mkdir(parents=True, exist_ok=True)
    write(folder, {f"{task.name}.json": json.dumps(asked)})
    said = _run(
        (
            *("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--die-with-parent"),
            *("--bind", folder, folder, INSPECT, HERE / "inspect_checks.py", folder / f"{task.name}.json"),
            folder / "logs",
        ),
        HOME=str(folder / "home"),
        TMPDIR=str(folder / "tmp"),
    )
    passed = json.loads(said.strip().splitlines()[-1])
    return {one["name"]: passed[one["name"]] for one in left[task.name]}
