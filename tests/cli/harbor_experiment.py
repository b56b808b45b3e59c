"""A desk for suites that the real Harbor runs, in rooms on this machine."""

import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.cli.agent_experiment import INSTALLED, PatientEngine
from tests.cli.engines import Ended, records
from tests.engine.engine_fixtures import toml_lines
from tests.prerequisites import require

from outweigh.interop.harbor.harbor_command import stop_job
from outweigh.model.run_record import RunRecord
from outweigh.plugins import load_adapter

ENVIRONMENTS = Path(__file__).parent / "harbor_environment"
ENVIRONMENT = "local_environment:LocalEnvironment"
TELLING = {"agent": "local_environment:TellingAgent"}
IDLE = {"agent": "noop"}
SOLVER = {"agent": "oracle"}
WAIT = "touch /flags/begun; while [ ! -e /flags/go ]; do sleep 0.05; done\n"


class HarborExperiment:
    """One suite of Harbor's tasks, its store, and a folder of flags that its rooms see."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.suite, self.store, self.flags = folder / "suite", folder / "store", folder / "flags"
        self.events = folder / "events.ndjson"
        self._temporary = folder / "tmp"
        self._held = ExitStack()
        for made in (self.suite, self.flags, self._temporary):
            made.mkdir()

    def write(self, arms: dict[str, Any], *, tasks: int = 1, solution: str = "", **settings: Any) -> None:
        for number in range(1, tasks + 1):
            write_task(self.suite / f"task-{number}", solution=solution)
        suite = {
            "name": "rooms",
            "tasks": ["task-*"],
            "baseline": next(iter(arms)),
            "executor": "harbor",
            "repeats": 1,
            "harbor": {
                "pass_environment": ["PYTHONPATH"],
                "environment": {"import_path": ENVIRONMENT, "kwargs": {"flags": str(self.flags)}},
            },
            "arms": arms,
            **settings,
        }
        (self.suite / "suite.toml").write_text(toml_lines(suite))

    def write_checks(self, checks: list[dict[str, Any]]) -> None:
        """Give the first task checks of outweigh's own."""
        (self.suite / "task-1" / "task.toml").write_text(toml_lines({"metadata": {"outweigh": {"checks": checks}}}))

    def start(self, *arguments: str, **variables: str) -> PatientEngine:
        """A process with nothing of the caller's environment but the way to programs."""
        engine = PatientEngine(
            *("-c", str(self.suite), "-o", str(self.store), *arguments),
            temporary=self._temporary,
            folder=self.folder,
            **{
                "PATH": f"{INSTALLED}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "PYTHONPATH": str(ENVIRONMENTS),
                "HARBOR_TELEMETRY": "0",
                **variables,
            },
        )
        self._held.callback(engine.close)
        return engine

    def run(self, *arguments: str, **variables: str) -> Ended:
        return self.start(*arguments, **variables).wait()

    def records(self) -> list[RunRecord]:
        return records(self.store) if any(self.store.glob("*.jsonl")) else []

    def has_a_result(self) -> bool:
        """Whether an engine that was told to write its events there has kept a first record."""
        return self.events.exists() and b'"kind":"finished"' in self.events.read_bytes()

    def close(self) -> None:
        """Leave no job behind, however a test ended."""
        for job in self.store.glob("harbor/*.json"):
            stop_job(job, at_once=True)
        self._held.close()

    def jobs(self) -> list[str]:
        """The jobs that were started."""
        return sorted(path.stem for path in self.store.glob("harbor/*.ticket"))


def require_harbor() -> None:
    """Skip, or fail where everything must be there."""
    require("agent", None if (INSTALLED / "harbor").exists() else "harbor is not installed; run `make agents`")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())


def write_task(folder: Path, *, solution: str = "", **document: Any) -> None:
    """A task of Harbor's that asks for a file."""
    for part in ("environment/given", "tests", "solution"):
        (folder / part).mkdir(parents=True)
    (folder / "instruction.md").write_text("Write 42 to answer.txt.\n")
    (folder / "environment" / "Dockerfile").write_text("FROM scratch\nWORKDIR /app\nCOPY given/ ./")
    (folder / "environment" / "given" / "question.txt").write_text("6 x 7\n")
    (folder / "tests" / "test.sh").write_text(
        '#!/bin/sh\nif [ "$(cat /app/answer.txt)" = 42 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt\n'
    )
    (folder / "solution" / "solve.sh").write_text(f"#!/bin/sh\n{solution}echo 42 >/app/answer.txt\n")
    (folder / "task.toml").write_text(toml_lines({"agent": {"timeout_sec": 300.0}, **document}))
