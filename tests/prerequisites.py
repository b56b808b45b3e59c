"""Parts of the machine that a test needs, and the markers that say so.

A test that calls `require` carries the marker of the same name; one without it fails, so that `make check`, which
selects by markers, leaves out what it should and nothing else. A fixture passes its needs on to the tests that use it.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

NEEDS = {
    "agent": "starts a coding agent, a harness or a reader of exports; `make agents` installs them",
    "browser": "looks at pages with the system's Chromium; `make parts` installs it",
    "bubblewrap": "runs programs in bubblewrap; `make parts` installs it",
    "compiler": "builds a small library in C; `make parts` installs a compiler",
    "container": "runs programs in podman or Docker; `make parts` installs podman",
    "namespaces": "cuts links between network namespaces: root, and iproute2, which `make parts` installs",
    "manual": "sets the manual page with man, groff and mandoc; `make parts` installs them",
    "privileges": "mounts a file system or limits memory: root, or user namespaces and cgroups",
    "python": "starts the system's python3",
    "runner": "starts a test runner other than Python's; `make agents` and `make parts` install them",
    "slurm": "submits jobs to a real Slurm; `make parts` installs it, and root starts it",
    "ssh": "connects to a real sshd on loopback; `make parts` installs openssh-server",
    "shells": "asks zsh and fish what they complete; `make parts` installs them",
}
PLACES = {
    "browser": "needs_browser",
    "public_data": "needs_data",
    # Five seconds of processor time or more for the file: whole experiments, fuzzing, simulations, clean environments.
    "calibration/test_calibration.py": "slow",
    "cluster/test_dask_faults.py": "slow",
    "cluster/test_dask_runs.py": "slow",
    "cluster/test_dask_tokens.py": "slow",
    "cluster/test_network_cuts.py": "slow",
    "cluster/test_launchers.py": "slow",
    "architecture/test_layers.py": "slow",
    "cli/promote": "slow",
    "engine/test_attack.py": "slow",
    "cli/test_baseline.py": "slow",
    "cli/test_ci.py": "slow",
    "cli/test_demo.py": "slow",
    "cli/test_doctor.py": "slow",
    "cli/test_doctor_agents.py": "slow",
    "cli/test_doctor_attack.py": "slow",
    "cli/test_import_bad_input.py": "slow",
    "cli/test_import_crashes.py": "slow",
    "cli/test_import_fuzz.py": "slow",
    "cli/test_judge.py": "slow",
    "cli/test_process.py": "slow",
    "cli/test_parts_list.py": "slow",
    "cli/test_report_parts.py": "slow",
    "cli/test_remote_stores.py": "slow",
    "app/test_copy_store.py": "slow",
    "cli/test_run.py": "slow",
    "cli/test_slurm_shards.py": "slow",
    "cli/test_run_watched.py": "slow",
    "cli/test_tried_arms.py": "slow",
    "ci/test_own_suite.py": "slow",
    "examples/test_demo.py": "slow",
    "interop/test_fuzz.py": "slow",
    "mining/test_proof.py": "slow",
    "packaging": "slow",
    "public_data/test_chosen_by_many_agents.py": "slow",
    "agents/test_acp.py": "slow",
    "architecture/test_command_line.py": "slow",
    "architecture/test_public_api.py": "slow",
    "cli/test_comment.py": "slow",
    "cli/test_init_from_suites.py": "slow",
    "cli/test_kill.py": "slow",
    "docs/test_agent_suites.py": "slow",
    "docs/test_write_an_adapter.py": "slow",
    "engine/checks/test_answer_check.py": "slow",
    "engine/judging/test_judge_call.py": "slow",
    "engine/judging/test_retries.py": "slow",
    "engine/test_attempt.py": "slow",
    "engine/test_batch.py": "slow",
    "forge/test_forges.py": "slow",
    "interop/test_fuzz_order.py": "slow",
    "sandbox/test_sandboxes.py": "slow",
    "stats/test_agreement.py": "slow",
    "stats/test_hypothesis_tests.py": "slow",
    "verdict/test_by_evidence.py": "slow",
    "verdict/test_judge_failures.py": "slow",
    "test_process.py": "slow",
}
"""Folders and files below `tests` whose tests all have the same marker."""
TESTS = Path(__file__).resolve().parent

F = TypeVar("F", bound=Callable[..., object])
_running: list[pytest.Item] = []


def needs(*names: str) -> Callable[[F], F]:
    """Mark every test that uses this fixture; goes below `@pytest.fixture`."""

    def note(fixture: F) -> F:
        fixture.__dict__["needs"] = tuple(f"needs_{name}" for name in names)
        return fixture

    return note


def require(need: str, part_missing: str | None) -> None:
    """Skip where a part is missing, with the reason; where everything must be there, fail instead."""
    if not any(item.get_closest_marker(f"needs_{need}") for item in _running):
        pytest.fail(f"mark this test with needs_{need}: {NEEDS[need]}")
    if part_missing is None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"must not be skipped here: {part_missing}")
    pytest.skip(part_missing)


def mark_by_needs(items: Sequence[pytest.Item]) -> None:
    """Give every test the markers of its folder and of the fixtures that it uses."""
    for item in items:
        found = [marker for place, marker in PLACES.items() if item.path.is_relative_to(TESTS / place)]
        fixtures = getattr(item, "_fixtureinfo", None)
        for definitions in fixtures.name2fixturedefs.values() if fixtures else ():
            found += getattr(definitions[-1].func, "needs", ())
        for marker in found:
            item.add_marker(marker)


def set_running(item: pytest.Item | None) -> None:
    """The test whose markers `require` looks at."""
    _running[:] = [] if item is None else [item]
