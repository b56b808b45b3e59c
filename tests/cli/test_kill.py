"""The fault test: an engine that is killed again and again loses nothing, doubles nothing and leaves nothing behind.

`make nightly` kills ten times as many.
"""

from pathlib import Path
from typing import Any

from tests.cli.killed_experiment import KILLS_FACTOR, Experiment, verdict

from outweigh.store.experiment_file import read_experiment

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


def test_kills_at_any_moment_of_a_new_version_lose_nothing_and_it_goes_on(outweigh: Any, tmp_path: Path) -> None:
    """The candidate is edited between kills, so that engines are killed while they start a version, and after."""
    killed, calm = (Experiment(tmp_path / name, kind="local", tasks=5, repeats=2) for name in ("killed", "calm"))
    with killed.held, calm.held:
        for probability in (0.9, 0.8, 0.7):
            if probability < 0.9:
                killed.edit_candidate(probability)
                calm.edit_candidate(probability)
            killed.kill_engines(4 * KILLS_FACTOR)
            killed.finish()
            calm.finish()

        killed.assert_nothing_is_left()
        experiment = read_experiment(killed.store)
        assert experiment is not None
        assert list(experiment.arms) == ["a", "b", "b@2", "b@3"]
        assert {run.arm_fingerprint for run in killed.records()} == set(experiment.arms.values())
        assert verdict(outweigh, killed.store) == verdict(outweigh, calm.store)
