"""A made-up dataset of columns, of any size: arms that differ, tasks of different length, one run in a hundred lost."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow

from outweigh.compare.evidence_part import ArmPart, EvidencePart
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.store.dataset_manifest import (
    DATASET_SCHEMA,
    DatasetManifest,
    DatasetPart,
    DatasetSource,
    describe_file,
    write_manifest,
)
from outweigh.store.dataset_rows import COUNTED, EXCLUDED, rows_schema
from outweigh.store.dataset_writer import write_rows
from outweigh.version import __version__

REPEATS = 5
PART_TASKS = 50_000
LOST = 0.01

_SEED = 21
_AGENT = AgentIdentity(kind=AgentKind.REAL, name="agent", version="1.0", model="model")


def write_dataset(folder: Path, tasks: int, arms: int) -> Path:
    """Write a dataset of so many tasks and arms without records; the same numbers give the same columns."""
    folder.mkdir()
    names = ["baseline", *(f"candidate-{number}" for number in range(1, arms))]
    parts = [
        _write_part(folder, number, range(first, min(first + PART_TASKS, tasks)), names)
        for number, first in enumerate(range(0, tasks, PART_TASKS))
    ]
    write_manifest(
        folder,
        DatasetManifest(
            schema=DATASET_SCHEMA,
            outweigh_version=__version__,
            rows=sum(part.rows for part in parts),
            tasks=tasks,
            arms=dict.fromkeys(names, tasks * REPEATS),
            prices=None,
            evidence_sha256=EvidenceHash(0, 0).hexdigest(),
            sources=(DatasetSource(name="synthetic", folder=None, warnings=(), unread=()),),
            corrections=(),
            files=(),
            parts=tuple(parts),
        ),
    )
    return folder


def _write_part(folder: Path, number: int, tasks: range, arms: list[str]) -> DatasetPart:
    random, stem = np.random.default_rng([_SEED, number]), f"part-{number:05d}"
    lengths, ease = random.lognormal(0.0, 0.5, len(tasks)), random.uniform(0.2, 0.9, len(tasks))
    tables, found = [], {}
    for place, arm in enumerate(arms):
        table = _runs(random, tasks, arm, place, lengths, ease)
        lost = random.random(table.num_rows) < LOST
        counted, excluded = table.filter(~lost), table.filter(lost)
        tables += [_of_role(counted, COUNTED, Status.COMPLETED), _of_role(excluded, EXCLUDED, Status.INFRA_ERROR)]
        found[arm] = _arm_part(random, place, counted.num_rows, excluded.num_rows)
    write_rows(folder / f"{stem}.parquet", tables)
    summary = EvidencePart(arms=found, policy_versions=(), arbitrary_repeats=False, unused_judgments=(0, 0))
    (folder / f"{stem}.json").write_bytes(msgspec.json.encode(summary))
    return DatasetPart(
        rows=sum(table.num_rows for table in tables),
        tasks=len(tasks),
        first_task=_name(tasks[0]),
        last_task=_name(tasks[-1]),
        runs=describe_file(folder, f"{stem}.parquet"),
        summary=describe_file(folder, f"{stem}.json"),
        records=None,
    )


def _name(task: int) -> str:
    return f"task-{task:08d}"


def _runs(random: Any, tasks: range, arm: str, place: int, lengths: Any, ease: Any) -> Any:
    rows = len(tasks) * REPEATS
    owners = np.repeat(np.arange(len(tasks)), REPEATS)
    effort = lengths[owners] * random.lognormal(-0.1 * place, 0.25, rows)
    passed = (random.random(rows) < np.minimum(0.97, ease + 0.05 * place)[owners]).astype(np.float64)
    tokens = np.floor(2_000 * effort)
    order = random.permuted(np.arange(rows))
    numbers = {
        "passed": passed,
        "objective": passed,
        "checks_passed": passed,
        "cost_usd": np.round(0.35 * effort, 6),
        "paid_usd": np.round(0.35 * effort, 6),
        "duration_seconds": np.round(180 * effort, 3),
        "total_tokens": np.floor(440_000 * effort),
        "non_cache_tokens": np.floor(11_000 * effort),
        "cache_read_tokens": 200 * tokens,
        "cache_write_tokens": 15 * tokens,
        "cache_read_share": np.full(rows, 0.9),
        "steps": np.floor(1 + 20 * effort),
        "tool_calls": np.floor(1 + 25 * effort),
    }
    names = pyarrow.DictionaryArray.from_arrays(pyarrow.array(owners, pyarrow.int32()), [_name(task) for task in tasks])
    columns = {
        **{name: pyarrow.array(values) for name, values in numbers.items()},
        "task_id": names.cast(pyarrow.string()),
        "repeat": pyarrow.array(np.tile(np.arange(1, REPEATS + 1), len(tasks))),
        "started_at": pyarrow.array(1_700_000_000_000_000 + 1_000_000 * order, pyarrow.timestamp("us", tz="UTC")),
        "position": pyarrow.array(order),
        "line": pyarrow.array(np.arange(rows)),
        "run_id": names.cast(pyarrow.string()),
    }
    same = {"arm": arm, "attempt": 1, "reused": False, "vacuous": False, "arm_fingerprint": f"sha256:{arm:0>64}"}
    same |= {"agent_kind": "real", "cost_provenance": "reported", "reasons": "{}", "source": "synthetic"}
    return pyarrow.table(
        [
            columns.get(field.name, pyarrow.nulls(rows, field.type))
            if field.name not in same
            else pyarrow.repeat(pyarrow.scalar(same[field.name], field.type), rows)
            for field in rows_schema()
        ],
        schema=rows_schema(),
    )


def _of_role(table: Any, role: str, status: Status) -> Any:
    """The same runs with their role and status; one that was lost has no result."""
    fixed = {"role": role, "status": status.value}
    if role == EXCLUDED:
        fixed |= dict.fromkeys(("passed", "objective", "checks_passed"))  # type: ignore[arg-type]
    for name, value in fixed.items():
        place, kind = table.schema.get_field_index(name), table.schema.field(name).type
        table = table.set_column(place, name, pyarrow.repeat(pyarrow.scalar(value, kind), table.num_rows))
    return table


def _arm_part(random: Any, place: int, counted: int, excluded: int) -> ArmPart:
    return ArmPart(
        first=place,
        runs=counted,
        excluded=excluded,
        superseded=0,
        unusual=0,
        records=counted + excluded,
        evidence_sum=random.bytes(504),
        agents=((_AGENT, counted),),
        with_setup=0,
        items=(),
        warnings={},
        warned=0,
        past_gateway=0,
        excluded_attempts=(),
        known=(),
        seen=(),
        models={},
        ledger=None,
        judging=(),
        named_tiers=(),
        selected=(),
    )
