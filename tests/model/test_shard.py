"""Claims about how a part of a plan is named on the command line, or by a scheduler."""

import pytest

from outweigh.errors import UsageError
from outweigh.model.shard import Shard, parse_shard


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("2/8", {}, Shard(2, 8)),
        ("1/1", {"SLURM_ARRAY_TASK_ID": "5"}, Shard(1, 1)),
        ("auto", {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4"}, Shard(4, 4)),
        (
            "auto",
            {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "1"},
            Shard(3, 4),
        ),
        ("auto/6", {"JOB_COMPLETION_INDEX": "0"}, Shard(1, 6)),
        ("auto", {"CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "3"}, Shard(2, 3)),
        ("auto", {"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "3"}, Shard(1, 3)),
        ("auto", {"BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "2"}, Shard(2, 2)),
    ],
)
def test_a_shard_is_stated_or_taken_from_a_scheduler(text: str, environment: dict[str, str], expected: Shard) -> None:
    assert parse_shard(text, environment) == expected


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("0/8", {}, "shard 0 of 8"),
        ("9/8", {}, "shard 9 of 8"),
        ("3", {}, "write I/N"),
        ("a/b", {}, "write I/N"),
        ("1/20000", {}, "10,000 shards"),
        ("auto", {}, "none of SLURM_ARRAY_TASK_ID"),
        ("auto", {"JOB_COMPLETION_INDEX": "0"}, "write --shard auto/N"),
        ("auto", {"CI_NODE_INDEX": "two", "CI_NODE_TOTAL": "3"}, "CI_NODE_INDEX is 'two'"),
        # An array of every second task has gaps, so its number is beyond its count.
        ("auto", {"SLURM_ARRAY_TASK_ID": "6", "SLURM_ARRAY_TASK_COUNT": "4"}, "shard 7 of 4"),
    ],
)
def test_a_shard_that_is_none_is_refused_with_what_to_write(text: str, environment: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_shard(text, environment)
