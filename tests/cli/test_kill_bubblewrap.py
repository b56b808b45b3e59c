"""The fault test behind walls: whatever a killed engine built up is taken down."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.killed_experiment import Experiment, verdict
from tests.prerequisites import require

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

KILLS = 10


def forty_trials(folder: Path) -> Experiment:
    return Experiment(folder, kind="bubblewrap", tasks=4, repeats=5)


@pytest.mark.needs_bubblewrap
def test_ten_kills_lose_nothing_double_nothing_and_leave_nothing(outweigh: Any, tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    killed, calm = forty_trials(tmp_path / "killed"), forty_trials(tmp_path / "calm")
    with killed.held, calm.held:
        left_behind = killed.kill_engines(KILLS)
        killed.finish()

        assert left_behind, "there was nothing to clear up"
        killed.assert_nothing_is_left()

        calm.finish()
        assert verdict(outweigh, killed.store) == verdict(outweigh, calm.store)
