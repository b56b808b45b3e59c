"""A shard of an experiment: one of several equal parts of its plan, each run into a store of its own."""

import re
from collections.abc import Mapping

import msgspec

from outweigh.errors import UsageError

MOST_SHARDS = 10_000

_STATED = re.compile(r"(?P<index>[0-9]+|auto)(/(?P<count>[0-9]+))?")


class _Variables(msgspec.Struct, frozen=True):
    """Where a scheduler tells a process its place; `first` is the number of its first process where nothing says so."""

    index: str
    count: str | None
    first: int
    first_variable: str | None = None


_SCHEDULERS = {
    "Slurm": _Variables("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0, "SLURM_ARRAY_TASK_MIN"),
    "Kubernetes": _Variables("JOB_COMPLETION_INDEX", None, 0),
    "GitLab": _Variables("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    "CircleCI": _Variables("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    "Buildkite": _Variables("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
}


class Shard(msgspec.Struct, frozen=True):
    """Shard `index` of `count`, counted from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @property
    def file_name(self) -> str:
        """A name for files of this shard, which no other shard of the experiment has."""
        return f"shard-{self.index}-of-{self.count}"


def parse_shard(text: str, environment: Mapping[str, str]) -> Shard:
    """Read `I/N`, or `auto` and `auto/N`, which take what is missing from the variables of a scheduler."""
    stated = _STATED.fullmatch(text)
    if stated is None or (stated["index"] != "auto" and stated["count"] is None):
        raise UsageError(
            f"--shard {text}: write I/N for shard I of N, as in 2/8, or auto where a scheduler numbers its jobs."
        )
    count = None if stated["count"] is None else int(stated["count"])
    if stated["index"] == "auto":
        return _check(text, *_scheduled(count, environment))
    return _check(text, int(stated["index"]), int(stated["count"]))


def _check(text: str, index: int, count: int) -> Shard:
    if not 1 <= index <= count <= MOST_SHARDS:
        raise UsageError(
            f"--shard {text}: this is shard {index} of {count}; there can be {MOST_SHARDS:,} shards, counted from 1."
        )
    return Shard(index, count)


def _scheduled(count: int | None, environment: Mapping[str, str]) -> tuple[int, int]:
    """The place among the jobs of the first scheduler whose variables are set."""
    for name, variables in _SCHEDULERS.items():
        if variables.index not in environment:
            continue
        first = variables.first
        if variables.first_variable is not None:
            first = _number(environment, variables.first_variable, first)
        total = count
        if total is None and variables.count is not None and variables.count in environment:
            total = _number(environment, variables.count, 0)
        if total is None:
            raise UsageError(f"--shard auto: {name} does not say how many jobs there are; write --shard auto/N.")
        return _number(environment, variables.index, 0) - first + 1, total
    known = ", ".join(variables.index for variables in _SCHEDULERS.values())
    raise UsageError(f"--shard auto: none of {known} is set; write --shard I/N.")


def _number(environment: Mapping[str, str], variable: str, default: int) -> int:
    text = environment.get(variable)
    if text is None:
        return default
    if not text.isdecimal():
        raise UsageError(f"--shard auto: {variable} is {text!r} and must be a whole number; write --shard I/N.")
    return int(text)
