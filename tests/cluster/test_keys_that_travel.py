"""Claims about keys that an arm has written out: a suite is sent to the scheduler and to all hosts as it is."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import loaded, write_suite

from outweigh.app.run_on_cluster import keys_that_travel

NOBODY = "tcp://127.0.0.1:9"
"""No scheduler: what is refused is refused before anyone is asked."""


def run(outweigh: Any, folder: Path, environment: dict[str, str]) -> Any:
    arms: dict[str, dict[str, Any]] = {
        "plain": {"agent": "noop"},
        "other": {"agent": "noop", "environment": environment},
    }
    suite = write_suite(folder / "suite", arms, repeats=1)
    place = ("-o", str(folder / "store"), "--executor", "dask", "--scheduler", NOBODY)
    return outweigh("run", "-c", str(suite), *place)


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({"ADDRESS": "sk-ant-api03-0123456789abcdef"}, "a key of Anthropic"),
        ({"HOUSE_TOKEN": "0123456789abcdef"}, "a value of HOUSE_TOKEN"),
    ],
)
def test_a_key_that_an_arm_has_written_out_is_not_sent_to_a_cluster(
    tmp_path: Path, outweigh: Any, environment: dict[str, str], kind: str
) -> None:
    refused = run(outweigh, tmp_path, environment)

    assert refused.code == 2
    assert f"nothing was run or paid for: arm 'other' has {kind} written out" in refused.err
    assert "Name the variable under `secrets` of the arm" in refused.err
    assert not any(value in refused.err for value in environment.values())


def test_an_arm_that_names_its_secrets_or_a_path_has_no_key_written_out(tmp_path: Path) -> None:
    harmless = {"KEY_FILE": "/etc/house/key.pem", "MAX_TOKENS": "409640964096", "SORT_KEY": "name"}
    arm = {"agent": "noop", "environment": harmless, "secrets": ["ANTHROPIC_API_KEY"]}

    assert keys_that_travel(loaded(tmp_path, {"plain": arm, "other": {"agent": "noop"}})) == []
