"""The suites that were run into the stores among RUNS, and what they say where the command line says nothing."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.adapters.stores.experiment_file import EXPERIMENT_FILE, Experiment, recall_suite
from outweigh.adapters.stores.jsonl import STANDARD_INPUT
from outweigh.adapters.stores.judging_file import JUDGING_FILE
from outweigh.errors import UsageError
from outweigh.score.profile import OBJECTIVE_FIRST
from outweigh.task.suite import PolicySpec


def experiments_behind(runs: Sequence[str]) -> list[Experiment]:
    """The experiment of every store among RUNS."""
    known = (recall_suite(Path(path)) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    return [experiment for experiment in known if experiment is not None]


def experiment_behind(runs: Sequence[str]) -> Experiment | None:
    """The experiment of the only store among RUNS; None where there is none, or more than one."""
    found = experiments_behind(runs)
    return found[0] if len(found) == 1 else None


def unheard_suites(runs: Sequence[str]) -> Iterator[str]:
    """Stores whose records are named file by file: whoever does so reads the records alone, and is told."""
    files = (Path(path) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    for folder in dict.fromkeys(path.parent for path in files if path.is_file()):
        rules = [name for name in (EXPERIMENT_FILE, JUDGING_FILE) if (folder / name).is_file()]
        if rules:
            yield (
                f"{folder} says in {' and '.join(rules)} by which rules its runs are compared, and they are not "
                "applied, because its files are named one by one. Name the folder to apply them."
            )


def written_policy(experiments: Sequence[Experiment]) -> PolicySpec | None:
    """What the suites decide by; None where there is none."""
    policies = [experiment.policy for experiment in experiments]
    if any(policy != policies[0] for policy in policies):
        raise UsageError("the stores were made under different policies; choose one by --policy.")
    return policies[0] if policies else None


def profile_for(profile: str | None, runs: Sequence[str]) -> str:
    """The user's, else the suites', else the default."""
    if profile is not None:
        return profile
    profiles = {experiment.profile for experiment in experiments_behind(runs)}
    if len(profiles) > 1:
        raise UsageError(f"the stores have the profiles {' and '.join(sorted(profiles))}; choose one by --profile.")
    return profiles.pop() if profiles else OBJECTIVE_FIRST.name
