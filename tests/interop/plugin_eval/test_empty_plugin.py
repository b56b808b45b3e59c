"""Results about an empty plugin: its own figures lean one way or the other, and a verdict hardly ever says improved."""

from pathlib import Path

from benchmarks.plugin_evals import judge_draws, read_pool

from outweigh.verdict.decision import Decision


def test_results_drawn_from_real_executions_of_an_empty_plugin_are_not_called_improved(tmp_path: Path) -> None:
    found = list(judge_draws(read_pool(), 20, tmp_path))

    assert sum(delta > 0 for delta, _, _ in found) >= 5
    assert sum(alone is Decision.IMPROVED for _, alone, _ in found) <= 1
    assert {whole for _, _, whole in found} <= {Decision.INCONCLUSIVE, Decision.REGRESSED}


def test_ten_executions_are_recorded() -> None:
    pool = read_pool()

    assert len(pool.deltas) == 10
    assert {len(runs) for runs in pool.cases.values()} == {60}
    assert any(delta > 0 for delta in pool.deltas)
    assert any(delta < 0 for delta in pool.deltas)
