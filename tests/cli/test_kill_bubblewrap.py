"""The fault test behind walls: whatever a killed engine built up is taken down."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.killed_experiment import KILLS_FACTOR, Experiment, verdict
from tests.prerequisites import require

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

KILLS = 10 * KILLS_FACTOR


def four_trials_per_kill(folder: Path) -> Experiment:
    return Experiment(folder, kind="bubblewrap", tasks=4, repeats=KILLS // 2)


@pytest.mark.needs_bubblewrap
def test_ten_kills_lose_nothing_double_nothing_and_leave_nothing(outweigh: Any, tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    killed, calm = four_trials_per_kill(tmp_path / "killed"), four_trials_per_kill(tmp_path / "calm")
    with killed.held, calm.held:
        interrupted = killed.kill_engines(KILLS)
        killed.finish()

        assert interrupted >= KILLS / 2, "most kills hit an engine that had nothing under way"
        killed.assert_nothing_is_left()

        calm.finish()
        assert verdict(outweigh, killed.store) == verdict(outweigh, calm.store)
