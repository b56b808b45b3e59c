"""What a store was made for: the suite's name, baseline, arms and tasks, so that nobody mixes two experiments."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError, UsageError
from outweigh.task.arm import Arm
from outweigh.task.suite import SuiteSpec
from outweigh.task.task import Task

EXPERIMENT_FILE = "experiment.json"


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The identity of an experiment: same fingerprints, same checksums, same seed."""

    schema: str
    suite: str
    baseline: str
    seed: int
    arms: dict[str, str]
    tasks: dict[str, str]


def remember_suite(folder: Path, spec: SuiteSpec, tasks: Sequence[Task], arms: Mapping[str, Arm]) -> None:
    """Write down what the store is for, or refuse when it is for something else."""
    experiment = Experiment(
        schema="outweigh.experiment/1",
        suite=spec.name,
        baseline=spec.baseline,
        seed=spec.seed,
        arms={name: arm.fingerprint for name, arm in arms.items()},
        tasks={task.id: task.checksum for task in tasks},
    )
    known = recall_suite(folder)
    if known is None:
        write_whole(folder / EXPERIMENT_FILE, [msgspec.json.format(msgspec.json.encode(experiment), indent=2), b"\n"])
    elif changed := _changes(known, experiment):
        raise UsageError(
            f"{folder} holds another experiment: {changed} differ from what was run there. Name another folder by -o, "
            "or change the suite back."
        )


def recall_suite(folder: Path) -> Experiment | None:
    """What the store was made for; None where nobody wrote it down."""
    try:
        return msgspec.json.decode((folder / EXPERIMENT_FILE).read_bytes(), type=Experiment)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as fault:
        raise EvidenceError(f"{folder / EXPERIMENT_FILE} cannot be read: {fault}.") from fault


def _changes(known: Experiment, now: Experiment) -> str:
    fields = ("suite", "baseline", "seed", "arms", "tasks")
    return " and ".join(field for field in fields if getattr(known, field) != getattr(now, field))
