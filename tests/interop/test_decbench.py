"""Results of decbench: every decompiler is an arm, and a function that is perfect by every metric passes."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.imported import imported_runs, passes

from outweigh.errors import UsageError
from outweigh.interop.decbench import DecbenchImporter
from outweigh.testing.importer_contract import ImporterContract


def function(name: str, **perfects: dict[str, bool] | None) -> dict[str, Any]:
    """A function; None for a decompiler that has no result for it."""
    known = {arm: found for arm, found in perfects.items() if found is not None}
    return {
        "function": name,
        "values": {
            arm: {metric: float(not perfect) for metric, perfect in found.items()} for arm, found in known.items()
        },
        "perfects": known,
        "distances": {},
        "decompiled": {arm: found is not None for arm, found in perfects.items()},
        "compiles": dict.fromkeys(known, True),
        "size": 10,
    }


def results(folder: Path, *functions: dict[str, Any]) -> Path:
    document = {
        "decompilers": ["tool", "agent"],
        "decompiler_versions": {"tool": "9.2"},
        "metrics": ["ged", "types"],
        "perfect_values": {"ged": 0.0, "types": 1.0},
        "groups": [{"project": "zoo", "opt_level": "O2", "binary": "cat", "functions": functions}],
        "hardest": [],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "function_results.json").write_bytes(msgspec.json.encode(document))
    return folder


BOTH = {"ged": True, "types": True}
ONE = {"ged": True, "types": False}


class TestDecbench(ImporterContract):
    def importer(self) -> DecbenchImporter:
        return DecbenchImporter()

    def example(self, folder: Path) -> Path:
        return results(folder, function("main", tool=BOTH, agent=ONE))


def test_a_function_passes_that_is_perfect_by_every_metric(tmp_path: Path) -> None:
    folder = results(tmp_path, function("a", tool=BOTH, agent=BOTH), function("b", tool=ONE, agent=BOTH))

    runs, _ = imported_runs(DecbenchImporter(), folder)

    assert passes(runs) == {"tool": [True, False], "agent": [True, True]}
    assert {run.trial.task_id for run in runs} == {"zoo/O2/cat/a", "zoo/O2/cat/b"}
    assert {run.trial.arm: run.agent.version for run in runs} == {"tool": "9.2", "agent": None}


def test_what_was_not_decompiled_fails_and_a_metric_without_a_result_is_unknown(tmp_path: Path) -> None:
    folder = results(
        tmp_path,
        function("a", tool=BOTH, agent=None),
        function("b", tool={"ged": True}, agent={"ged": False}),
    )

    runs, _ = imported_runs(DecbenchImporter(), folder)

    assert passes(runs) == {"tool": [True, None], "agent": [False, False]}


def test_one_metric_can_be_named_as_the_result(tmp_path: Path) -> None:
    folder = results(tmp_path, function("a", tool=ONE, agent=BOTH))

    runs, _ = imported_runs(DecbenchImporter(), folder, columns={"success": "ged"})

    assert passes(runs) == {"tool": [True], "agent": [True]}
    with pytest.raises(UsageError, match="there is 'ged', 'types'"):
        imported_runs(DecbenchImporter(), folder, columns={"success": "speed"})
