"""Published judgments: totals that are not the sum of their parts, and a judge that was asked in both orders."""

import csv
from pathlib import Path
from typing import Any

import krippendorff
import msgspec
import pytest

from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.judge_calls import judge_call_fact
from outweigh.compare.preferences import WinCounts, compare_pairwise
from outweigh.interop.scylla.tables import read_judgments
from outweigh.model.judgment import Judgment, Preference
from outweigh.score.judge_scores import judgment_score
from outweigh.stats.agreement import MeasurementScale, alphas_by_task
from outweigh.testing.builders import a_preference, a_run

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def need(folder: str) -> Path:
    path = DATA / folder
    if not path.exists():
        pytest.skip("the public data set is not beside the project")
    return path


@pytest.fixture
def scylla() -> Path:
    return need("scylla_dryrun") / "data"


@pytest.fixture
def preferences() -> list[Preference]:
    """One judge on 7 models x 8 scenarios. `a` is what was shown first, so it changes meaning between the orders."""
    found = []
    for path in sorted((need("simple_english_judge") / "raw").glob("*__judge__*.json")):
        raw: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        task = f"{raw['model']}/{raw['scenario']}"
        baseline, skill = a_run(task, "baseline"), a_run(task, "skill")
        for first, second, key in ((baseline, skill, "order1_base_first"), (skill, baseline, "order2_skill_first")):
            scores = raw[key]
            found.append(a_preference(first, second, first_score=scores["a_score"], second_score=scores["b_score"]))
    return found


def test_scores_follow_from_the_items_and_are_what_the_project_itself_computes(scylla: Path) -> None:
    judgments = list(read_judgments(scylla))
    with (scylla / "judges.csv").open(newline="") as stream:
        published = [float(row["judge_impl_rate"]) for row in csv.DictReader(stream)]

    assert len(judgments) == 21
    assert [judgment_score(judgment).value for judgment in judgments] == pytest.approx(published)


def test_a_third_of_the_printed_totals_are_not_the_sum_of_their_items(scylla: Path) -> None:
    panel = summarise_judges({"all": [judge_call_fact(judgment, "only") for judgment in read_judgments(scylla)]})

    assert panel is not None
    gaps = {judge.judge_version.name: (judge.notable_gaps, judge.stated_totals) for judge in panel.judges}
    assert gaps == {
        "claude-haiku-4-5": (0, 7),
        "claude-opus-4-5-20251101": (4, 7),
        "claude-sonnet-4-5-20250929": (3, 7),
    }


def test_the_published_alpha_of_the_three_judges_is_reproduced(scylla: Path) -> None:
    judgments: dict[tuple[str, str], Judgment] = {(j.judge.name, j.run_id): j for j in read_judgments(scylla)}
    judges, runs = (sorted({key[place] for key in judgments}) for place in (0, 1))
    totals = [[judgments[judge, run].stated_total for run in runs] for judge in judges]

    alphas = alphas_by_task(totals, ["only"] * len(runs), scale=MeasurementScale.INTERVAL, level=0.95)

    # tab03_judge_agreement.md
    assert alphas.overall.point == pytest.approx(-0.117, abs=5e-4)
    assert alphas.within.point == pytest.approx(alphas.overall.point)
    # Seven runs of one task say nothing about other tasks.
    assert alphas.overall.interval is None
    assert "all runs are of 1 task;" in alphas.overall.warnings[0]


def test_the_published_wins_ties_and_losses_are_reproduced(preferences: list[Preference]) -> None:
    (judge,) = compare_pairwise(preferences, "baseline", "skill").judges

    # RESULTS.md: 45 of 56 pairs, 5 ties, 6 losses, by the mean of both orders.
    assert (judge.pairs, judge.tally) == (56, WinCounts(wins=45, ties=5, losses=6))
    assert judge.sign_test.p_value is not None
    assert judge.sign_test.p_value < 1e-7


def test_fourteen_pairs_turn_on_the_order_and_the_place_shows_no_bias_beyond_chance(
    preferences: list[Preference],
) -> None:
    (judge,) = compare_pairwise(preferences, "baseline", "skill").judges

    assert judge.agreed == WinCounts(wins=38, ties=14, losses=4)
    # 59 answers prefer the first, 51 the second, 2 neither.
    assert judge.first_share.point == pytest.approx(60 / 112)
    assert judge.first_share.interval is not None
    assert judge.first_share.interval.low < 0.5 < judge.first_share.interval.high


def test_the_two_orders_of_a_judge_agree_on_who_wrote_better_within_eight_scenarios() -> None:
    """The judge's score of a text when it comes first and when it comes second: 112 texts for 8 scenarios."""
    first, second, scenarios = [], [], []
    for path in sorted((need("simple_english_judge") / "raw").glob("*__judge__*.json")):
        raw: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        one, other = raw["order1_base_first"], raw["order2_skill_first"]
        first += [one["a_score"], one["b_score"]]
        second += [other["b_score"], other["a_score"]]
        scenarios += [raw["scenario"]] * 2

    found = alphas_by_task([first, second], scenarios, scale=MeasurementScale.ORDINAL, level=0.95)

    expected = krippendorff.alpha(reliability_data=[first, second], level_of_measurement="ordinal")
    assert (found.runs, found.overall.n) == (112, 8)
    assert found.overall.point == pytest.approx(expected)
    assert found.overall.warnings == ("the interval rests on only 8 tasks",)
    # Part of the agreement is that some scenarios are hard for everybody; within them it is lower.
    assert found.within.point == pytest.approx(0.636, abs=5e-4)
    assert found.by_task["readme-intro"] == pytest.approx(0.359, abs=5e-4)
