"""Sandboxes without limits of their own get some that fit the machine."""

import json
import os

import pytest
from msgspec.structs import replace
from tests.prerequisites import require
from tests.sandbox.unprivileged import as_nobody

from outweigh.app.sandbox_limits import (
    DEFAULT_PROCESSES,
    default_memory_mb,
    machine_memory_mb,
    with_default_limits,
)
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider


@pytest.mark.parametrize(
    ("jobs", "machine_mb", "expected"),
    [(1, 16384, 8192), (2, 24576, 8192), (3, 64000, 16000), (8, 16384, 2048), (2, 1024, 2048)],
)
def test_memory_is_shared_among_runs_and_the_rest_of_the_machine(jobs: int, machine_mb: int, expected: int) -> None:
    assert default_memory_mb(jobs, machine_mb) == expected


def test_isolated_sandboxes_are_limited_by_default_and_local_is_not() -> None:
    spec = SandboxSpec(kind="auto")

    for kind in ("auto", "bubblewrap", "container"):
        limited = with_default_limits(replace(spec, kind=kind), 2)
        assert limited.processes == DEFAULT_PROCESSES
        assert limited.memory_mb == default_memory_mb(2, machine_memory_mb())
    assert with_default_limits(replace(spec, kind="local"), 2) == replace(spec, kind="local")


def test_limits_of_the_suite_are_kept() -> None:
    spec = SandboxSpec(memory_mb=64, processes=10, disk_mb=5)

    assert with_default_limits(spec, 2) == spec


def test_the_machine_has_some_memory() -> None:
    assert machine_memory_mb() > 100


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a user who may make no control groups")
@pytest.mark.needs_bubblewrap
def test_doctor_says_where_default_limits_are_not_kept_and_needs_nothing_for_it() -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    done = as_nobody("-m", "outweigh", "doctor", "--format", "json")

    (sandbox,) = (part for part in json.loads(done.stdout)["parts"] if part["name"] == "bubblewrap")
    assert "without limits of memory and processes" in sandbox["detail"]
    assert sandbox["missing"] is None
