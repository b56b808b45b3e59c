"""The fault test: an engine that is killed again and again loses nothing, doubles nothing and leaves nothing behind."""

from pathlib import Path
from typing import Any

from tests.cli.killed_experiment import Experiment, verdict

KILLS = 50


def two_hundred_trials(folder: Path) -> Experiment:
    return Experiment(folder, kind="local", tasks=10, repeats=10)


def test_fifty_kills_lose_nothing_double_nothing_and_leave_nothing(outweigh: Any, tmp_path: Path) -> None:
    killed, calm = two_hundred_trials(tmp_path / "killed"), two_hundred_trials(tmp_path / "calm")
    with killed.held, calm.held:
        left_behind = killed.kill_engines(KILLS)
        killed.finish()

        assert len(left_behind) > KILLS, "there was little to clear up"
        killed.assert_nothing_is_left()

        calm.finish()
        assert verdict(outweigh, killed.store) == verdict(outweigh, calm.store)
