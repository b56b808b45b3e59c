"""Stores as a team shares them: two arms, artifacts, judgments, and the rules that their runs name."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from outweigh.model.codec import encode
from outweigh.model.line_seal import seal
from outweigh.model.run_record import RULES_LABEL
from outweigh.model.suite import PolicySpec
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, rules_sha256
from outweigh.testing.builders import a_judgment, a_run

BEGUN = datetime(2026, 9, 30, 12, tzinfo=UTC)


def an_experiment(**fields: Any) -> ExperimentFile:
    said: dict[str, Any] = {
        "schema": "outweigh.experiment/1",
        "suite": "team suite",
        "baseline": "plain",
        "seed": 1,
        "profile": "objective_first",
        "policy": PolicySpec(),
        "arms": {"plain": "0", "better": "1"},
        "tiers": {},
        "tasks": {},
        "looked_at": None,
    }
    return ExperimentFile(**(said | fields))


def write_team_store(
    folder: Path, *, tasks: int = 8, artifacts: int = 3, begun: datetime = BEGUN, **fields: Any
) -> Path:
    """A store of sealed lines, whose runs name their rules and some of the artifacts beside them."""
    experiment = an_experiment(**fields)
    folder.mkdir(parents=True)
    kept = [ArtifactFolder.of_store(folder).keep(b"artifact %d" % number) for number in range(artifacts)]
    lines = []
    for task in range(tasks):
        for arm in ("plain", "better"):
            run = a_run(
                f"task-{task}",
                arm,
                passed=arm == "better" or task % 3 == 0,
                started_at=begun,
                extra={RULES_LABEL: rules_sha256(experiment)},
                artifacts={"diff.patch": kept[task % artifacts]} if artifacts else {},
            )
            lines += [seal(encode(run)), seal(encode(a_judgment(run, judged_at=begun)))]
    (folder / "runs-engine.jsonl").write_bytes(b"".join(lines))
    (folder / EXPERIMENT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(experiment), indent=2))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but locks, by its name."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name != "lock")
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
