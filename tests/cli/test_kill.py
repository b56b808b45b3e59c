"""The fault test: an engine that is killed again and again loses nothing, doubles nothing and leaves nothing behind.

`make nightly` kills ten times as many.
"""

from pathlib import Path
from typing import Any

from tests.cli.killed_experiment import KILLS_FACTOR, Experiment, verdict

KILLS = 50 * KILLS_FACTOR


def four_trials_per_kill(folder: Path) -> Experiment:
    return Experiment(folder, kind="local", tasks=10, repeats=KILLS // 5)


def test_fifty_kills_lose_nothing_double_nothing_and_leave_nothing(outweigh: Any, tmp_path: Path) -> None:
    killed, calm = four_trials_per_kill(tmp_path / "killed"), four_trials_per_kill(tmp_path / "calm")
    with killed.held, calm.held:
        interrupted = killed.kill_engines(KILLS)
        killed.finish()

        assert interrupted >= KILLS / 2, "most kills hit an engine that had nothing under way"
        killed.assert_nothing_is_left()

        calm.finish()
        assert verdict(outweigh, killed.store) == verdict(outweigh, calm.store)
