"""The chances of a verdict as forecasts, on public pairs of agents: one half of the tasks foretells the other half.

A pair of arms that ran the same tasks is split into halves of its tasks, every split in both directions and for both
orders of the arms. From one half comes the chance that as many other tasks show a gain; the other half shows whether
they do, and a tie counts half. Errors are those of the mean over pairs: splits of one pair are not independent.

A verdict takes every effect for equally likely beforehand. Of these pairs many hardly differ, so its forecasts are too
sure; they come true once effects are drawn towards 0 by the spread of the other pairs of the same set and metric.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from calibration.chance_cells import forecast_with_spread, share_kept
from numpy.typing import NDArray

from outweigh.verdict.gate_result import chances_of
from outweigh.verdict.p_values import StudentPValues

Values = NDArray[np.float64]
Amount = Callable[[dict[str, Any]], float]

SPLITS = 70
"""Of eight tasks these are all; of a hundred, so many are drawn."""

AS_STATED = (-5.0, -10.3, -10.4, -7.5, -3.3)
"""How many points less often a gain came than was forecast: forecasts of 50 to 60 %, 60 to 70 %, and so on."""
TAKEN_FOR_P_BETTER = (-7.6, -11.1, -16.9, -18.2, -6.3)
WITH_SPREAD = (-2.0, -4.4, -0.8, 2.3, -1.2)


@dataclass(frozen=True)
class Pair:
    """Task deltas of one pair of arms, and how much of an effect the other pairs of its kind say is real."""

    deltas: Values
    kept: float


def written_texts(folder: Path, amount: Amount) -> list[Values]:
    """Every pair of models, with and without a skill, on eight texts to write; amounts as minus their logs."""
    arms: dict[tuple[str, str], dict[str, float]] = {}
    for path in sorted(folder.glob("*.json")):
        run = msgspec.json.decode(path.read_bytes())
        if "lint" in run:
            arms.setdefault((run["model"], run["condition"]), {})[run["scenario"]] = amount(run)
    known = [np.array([arm[name] for name in sorted(arm)]) for arm in arms.values() if min(arm.values()) > 0]
    return [np.log(one) - np.log(other) for one, other in combinations(known, 2)]


def resolved_issues(rows: Sequence[dict[str, Any]]) -> list[Values]:
    """Every pair of four agents on a hundred issues, resolved or not."""
    names = sorted({row["arm"] for row in rows})
    passes = {name: {row["task_id"]: float(row["success"]) for row in rows if row["arm"] == name} for name in names}
    tasks = sorted(passes[names[0]])
    return [np.array([passes[b][task] - passes[a][task] for task in tasks]) for a, b in combinations(names, 2)]


def with_spread(kind: Sequence[Values]) -> list[Pair]:
    """Each pair with what the others say: their effects scatter by what error does not explain."""
    varied = [deltas for deltas in kind if deltas.std() > 0]
    means = np.array([deltas.mean() for deltas in varied])
    errors = np.array([deltas.std(ddof=1) / np.sqrt(len(deltas)) for deltas in varied])
    pairs = []
    for place, deltas in enumerate(varied):
        others = np.arange(len(varied)) != place
        spread = np.sqrt(max(0.0, float(np.mean(means[others] ** 2 - errors[others] ** 2))))
        # Half as many tasks have twice the variance.
        half_error = float(np.sqrt(2 * np.mean(errors[others] ** 2)))
        pairs.append(Pair(deltas=deltas, kept=share_kept(spread, half_error)))
    return pairs


@pytest.fixture(scope="module")
def texts() -> Path:
    path = Path(__file__).resolve().parents[3] / "shared" / "data" / "simple_english_judge"
    if not path.exists():
        pytest.skip("the public data set is not beside the project")
    return path


@pytest.fixture
def pairs(vexp: list[dict[str, Any]], texts: Path) -> list[Pair]:
    amounts: list[Amount] = [
        lambda run: run["duration_ms"],
        lambda run: run["output_tokens"],
        lambda run: run["cost_usd"],
    ]
    folders = texts / "raw", texts / "pi-2026-07-31" / "raw"
    kinds = [resolved_issues(vexp), *(written_texts(folder, amount) for folder in folders for amount in amounts)]
    return [pair for kind in kinds for pair in with_spread(kind)]


@cache
def halves(tasks: int) -> Values:
    """Splits into halves, each in both directions: a row of 0 and 1 for every split."""
    if tasks == 8:
        chosen = [np.isin(np.arange(tasks), half) for half in combinations(range(tasks), tasks // 2)]
    else:
        dice = np.random.default_rng(7)
        one_way = [np.isin(np.arange(tasks), dice.permutation(tasks)[: tasks // 2]) for _ in range(SPLITS // 2)]
        chosen = [*one_way, *(~half for half in one_way)]
    assert len(chosen) == SPLITS
    return np.array(chosen, dtype=np.float64)


def split(deltas: Values) -> Iterator[tuple[StudentPValues, float]]:
    """The t distribution that one half gives, and whether the other half shows a gain, for every split."""
    chosen, size = halves(len(deltas)), len(deltas) // 2
    means, others = chosen @ deltas / size, (1 - chosen) @ deltas / size
    squares = (chosen * (deltas - means[:, None]) ** 2).sum(axis=1)
    errors = np.sqrt(squares / (size - 1) / size)
    came = np.where(np.abs(others) < 1e-12, 0.5, others > 0)
    for mean, error, true in zip(means.tolist(), errors.tolist(), came.tolist(), strict=True):
        if error > 1e-12:
            yield StudentPValues(mean=mean, error=error, df=size - 1), true


Forecast = Callable[[StudentPValues, Pair], float | None]


def gaps(pairs: Sequence[Pair], forecast: Forecast) -> tuple[Values, Values]:
    """By tenth from 50 % on, in points: how much more often a gain came than was forecast, and the error over pairs."""
    sums, counts = np.zeros((len(pairs), 5)), np.zeros((len(pairs), 5))
    for place, pair in enumerate(pairs):
        for law, came in split(pair.deltas):
            stated = forecast(law, pair)
            assert stated is not None
            # In the other order of the arms both are the other way round.
            said, true = (stated, came) if stated >= 0.5 else (1 - stated, 1 - came)
            tenth = min(int(10 * said), 9) - 5
            sums[place, tenth] += true - said
            counts[place, tenth] += 1
    mean = sums.sum(axis=0) / counts.sum(axis=0)
    error = np.sqrt(np.square(sums - mean * counts).sum(axis=0)) / counts.sum(axis=0)
    return 100 * mean, 100 * error


def as_stated(law: StudentPValues, _: Pair) -> float | None:
    return chances_of(law, 0.05).gain_if_repeated


def taken_for_better(law: StudentPValues, _: Pair) -> float | None:
    return chances_of(law, 0.05).better


def drawn_towards_0(law: StudentPValues, pair: Pair) -> float:
    return forecast_with_spread(law, pair.kept)


def test_forecasts_that_take_every_effect_for_equally_likely_are_too_sure_on_public_pairs(pairs: list[Pair]) -> None:
    found, errors = gaps(pairs, as_stated)

    assert len(pairs) == 350
    assert found == pytest.approx(AS_STATED, abs=0.3)
    assert max(errors) < 3.6


def test_the_chance_of_being_better_is_no_forecast_of_what_other_tasks_show(pairs: list[Pair]) -> None:
    found, _ = gaps(pairs, taken_for_better)

    assert found == pytest.approx(TAKEN_FOR_P_BETTER, abs=0.3)


def test_forecasts_that_know_the_spread_of_other_pairs_come_true_within_five_points(pairs: list[Pair]) -> None:
    found, errors = gaps(pairs, drawn_towards_0)

    assert found == pytest.approx(WITH_SPREAD, abs=0.3)
    assert max(map(abs, found)) <= 5
    assert max(errors) < 3.6


def test_the_documentation_quotes_these_figures() -> None:
    words = " ".join((Path(__file__).resolve().parents[2] / "docs" / "statistics.md").read_text().split())
    *first, last = [f"{-gap:.1f}" for gap in AS_STATED]

    assert f"by {', '.join(first)} and {last} points" in words
    assert f"({', '.join(f'{gap:+.1f}' for gap in WITH_SPREAD)})" in words
    assert f"off by up to {-min(TAKEN_FOR_P_BETTER):.0f} points" in words
