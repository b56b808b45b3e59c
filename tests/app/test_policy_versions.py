"""An experiment is decided by the version of the rule that it was run under."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

import outweigh
from outweigh.errors import UsageError
from outweigh.model.run_record import POLICY_VERSION_LABEL, RULES_LABEL, RunRecord
from outweigh.model.usage import Usage, reported_cost
from outweigh.testing.builders import a_run


def runaway_records(labels: dict[str, object]) -> list[RunRecord]:
    """A candidate that is cheaper on most runs and twenty times as dear on some: the two versions disagree."""
    dice = np.random.default_rng(1)
    records = []
    for task in range(100):
        size = dice.normal(0, 0.4)
        for repeat in range(1, 6):
            for arm in ("old", "new"):
                scale = float(np.exp(size + dice.normal(0, 0.1)))
                factor = 1.0 if arm == "old" else 20.0 if dice.random() < 0.03 else 0.7
                run = a_run(
                    f"task-{task}",
                    arm,
                    repeat,
                    passed=bool(dice.random() < 0.5),
                    duration_seconds=60 * scale,
                    usage=Usage(
                        input_tokens=round(1000 * scale),
                        output_tokens=500,
                        cache_read_tokens=8000,
                        cache_write_tokens=400,
                    ),
                    cost=reported_cost(0.1 * scale * factor),
                )
                records.append(msgspec.structs.replace(run, extra=labels))
    return records


def version_of(records: list[RunRecord], folder: Path, version: int | None = None) -> tuple[int, str]:
    path = folder / "runs.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    result = outweigh.verdict(path, baseline="old", candidate="new", policy_version=version)
    return result.verdict.policy_version, result.decision.value


@pytest.mark.parametrize(
    ("labels", "version"),
    [
        ({}, 2),
        ({RULES_LABEL: "5ea1"}, 1),
        ({RULES_LABEL: "5ea1", POLICY_VERSION_LABEL: 1}, 1),
        ({RULES_LABEL: "5ea1", POLICY_VERSION_LABEL: 2}, 2),
    ],
)
def test_records_are_decided_by_the_version_that_they_name(
    labels: dict[str, object], version: int, tmp_path: Path
) -> None:
    found, decision = version_of(runaway_records(labels), tmp_path)

    assert found == version
    assert (decision == "improved") == (version == 1)


def test_the_caller_may_choose_another_version(tmp_path: Path) -> None:
    records = runaway_records({RULES_LABEL: "5ea1", POLICY_VERSION_LABEL: 2})

    assert version_of(records, tmp_path, version=1) == (1, "improved")


def test_records_of_two_versions_are_not_decided_together(tmp_path: Path) -> None:
    first, second = (runaway_records({RULES_LABEL: "5ea1", POLICY_VERSION_LABEL: version}) for version in (1, 2))
    mixed = [run for run in first if run.trial.arm == "old"] + [run for run in second if run.trial.arm == "new"]

    with pytest.raises(UsageError, match="different versions of the rule; choose one with --policy-version"):
        version_of(mixed, tmp_path)


def test_a_verdict_says_which_version_decided(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, runaway_records({RULES_LABEL: "5ea1"}))))
    result = outweigh.verdict(path, baseline="old", candidate="new")

    assert result.to_dict()["policy_version"] == 1
    assert any("version 1 of the rule" in warning for warning in result.verdict.warnings)


@pytest.mark.parametrize(("version", "told"), [(0, "versions 1 to 2, not 0"), (3, "versions 1 to 2, not 3")])
def test_a_version_that_does_not_exist_is_refused(version: int, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        version_of(runaway_records({}), tmp_path, version=version)
