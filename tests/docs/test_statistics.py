"""What docs/statistics.md says in words is what docs/calibration.md and the code say in numbers."""

from collections.abc import Iterator
from pathlib import Path

from outweigh.stats.means import all_zero_bound
from outweigh.verdict.blockers import MINIMUM_REPEATS, PromotionMinimum
from outweigh.verdict.collapse import COLLAPSE, DROP_LEVEL, REPEATS_TO_DETECT
from outweigh.verdict.confounding import CACHE_TOLERANCE
from outweigh.verdict.evidence_settings import (
    ERROR_RATES,
    GATED_METRICS,
    MINIMUM_TASKS,
    TOTAL_TOLERANCE,
    UNKNOWN_TOLERANCE,
    UNPAIRED_TOLERANCE,
)
from outweigh.verdict.p_values import SPARSE_BELOW_TASKS
from outweigh.verdict.task_drops import MINIMUM_RUNS, fisher_drop_p
from outweigh.verdict.unusable import MINIMUM_FAMILIES

DOCS = Path(__file__).resolve().parents[2] / "docs"
WORDS = " ".join((DOCS / "statistics.md").read_text().split())
CALIBRATION = (DOCS / "calibration.md").read_text()

Row = dict[str, str]


def rows(heading: str) -> list[Row]:
    """A table of the calibration page; of two columns with one name the first counts."""
    section = next(part for part in CALIBRATION.split("\n## ") if part.startswith(heading))
    names, _, *lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")
    ]
    return [dict(reversed(list(zip(names, line, strict=True)))) for line in lines]


def cell(heading: str, column: str, **where: str) -> str:
    (found,) = (row[column] for row in rows(heading) if where.items() <= row.items())
    return found


def promise(beginning: str) -> str:
    (found,) = (row["worst cell"] for row in rows("What is promised") if row["promise"].startswith(beginning))
    return found


def power(world: str, column: str) -> str:
    found = [cell("Real differences", column, world=world, T=tasks, R="5") for tasks in ("20", "50", "100")]
    return " % | ".join(found)


def quotes() -> Iterator[str]:
    units, rules, looks = "Repeats counted as tasks", "Rules without error rates", "What stopping early saves"
    exact = "identical arms, effects alike on all tasks"
    counted = {kind: cell(units, kind, T="20", R="10") for kind in ("t on runs", "t on tasks")}
    yield f'that counts runs finds a "difference" in {counted["t on runs"]} % of all experiments'
    yield f"one that counts tasks in {counted['t on tasks']} %"
    yield f"between {promise('95 % intervals')} and {promise('…')} % of them do"
    yield f"improved in at most {promise('identical arms are called improved')} % of the experiments (promised: 2)"
    yield f"regressed in at most {promise('identical arms are called regressed')} % (promised: 7)"
    yield f"is called improved in at most {promise('worse by the whole margin')} % (promised: 5;"
    yield f"at most {promise('20 sequential looks')} % of the experiments end in a false decision (promised: 5)"
    averages = cell(rules, "either", world=exact, T="20", R="5", rule="averages of arms")
    yield f'one of the arms "wins" in {averages} % of the experiments'
    for tasks, words in (("10", "condemns {} % of identical candidates"), ("20", "with 20 tasks {} %.")):
        drops = cell(rules, "regressed", world=exact, T=tasks, R="1", rule="any lost run")
        yield words.format(drops)
    yield f"+4.8 points, a tenth less time and tokens: improved | {power('small win', 'improved')} % |"
    yield f"+12.5 points, a fifth less time and tokens: improved | {power('win', 'improved')} % |"
    yield f"−10.2 points, a fifth less time and tokens: regressed | {power('trap: cheaper but worse', 'regressed')} % |"
    peeking = max(float(row["ordinary rule, 20 looks"]) for row in rows("Peeking at identical arms"))
    yield f"a false decision in up to {peeking:.1f} % of the experiments"
    sequential, once = "sequential rule, 20 looks", "ordinary rule, once"
    yield f"decided after {cell(looks, 'tasks used, mean', world='win', rule=sequential)} tasks on average"
    yield f"found in {cell(looks, 'improved', world='small win', rule=sequential)} % of the experiments with up to 100"
    yield f"a single look at the end finds it in {cell(looks, 'improved', world='small win', rule=once)} %"


def chances() -> Iterator[str]:
    names = "better: off by", "gain if repeated: off by", "gain if repeated, with the spread known: off by"
    for spread in ("0.1", "0.25", "0.5", "1"):
        row = {"cell": f"effects scatter by {spread} on the logit scale, 100 × 5"}
        errors = cell("Chances", "spread of effects, in standard errors", **row)
        gaps = [round(float(cell("Chances", name, **row).split(" ± ")[0])) for name in names]
        yield " | ".join([f"| {errors}", *(f"{gap} point{'' if gap == 1 else 's'}" for gap in gaps)])


def test_a_single_gate_is_wrong_as_often_as_was_measured() -> None:
    found = rows("A single gate")
    equal = [row for row in found if "of the baseline" not in row["cell"]]
    worst = {
        "improved": max(float(row["improved"].split(" ± ")[0]) for row in found),
        "equal": max(float(row["improved if tested at 2 %"]) for row in equal),
        "stale": max(float(row["improved if tested at 2 %"]) for row in found),
    }

    alarms = [
        cell("A single gate", "regressed", cell=f"identical arms, nearly all passing, 100 × 5, {runs}").split(" ")[0]
        for runs in ("1 run of the baseline", "3 runs of the baseline")
    ]

    assert f"identical arms are called regressed in {alarms[0]} % of experiments" in WORDS
    assert f"with three of the baseline, in {alarms[1]} %" in WORDS
    assert f"in up to {worst['equal']:.1f} % of the experiments with as many runs in both arms" in WORDS
    assert f"in {worst['stale']:.1f} % where stale runs of a baseline are set aside" in WORDS
    assert f"[at most {worst['improved']:.1f} %](calibration.md#a-single-gate)" in WORDS


def test_chances_are_off_by_as_much_as_was_measured() -> None:
    assert [quote for quote in chances() if quote not in WORDS] == []


def test_measured_numbers_are_quoted_as_they_were_measured() -> None:
    assert [quote for quote in quotes() if quote not in WORDS] == []


def test_the_thresholds_are_those_of_the_policy() -> None:
    assert (MINIMUM_TASKS, MINIMUM_FAMILIES, MINIMUM_REPEATS, MINIMUM_RUNS, SPARSE_BELOW_TASKS) == (6, 5, 5, 5, 5)
    assert (UNPAIRED_TOLERANCE, UNKNOWN_TOLERANCE, CACHE_TOLERANCE) == (0.05, 0.05, 0.10)
    assert {name for name, gate in GATED_METRICS.items() if gate.margin != 0.05} == {"trigger_recall", "false_triggers"}
    assert {GATED_METRICS[name].margin for name in ("trigger_recall", "false_triggers")} == {0.15}
    assert ERROR_RATES.non_inferiority == ERROR_RATES.pass_rate_alarm == 0.05
    assert ERROR_RATES.superiority == ERROR_RATES.task_alarm == 0.01
    assert ERROR_RATES.resource_alarm == 0.02
    assert {gate.tolerance for gate in GATED_METRICS.values()} == {None, 0.25}
    assert TOTAL_TOLERANCE == 0.10
    assert (PromotionMinimum().tasks, PromotionMinimum().repeats, PromotionMinimum().tasks_instead) == (12, 3, 30)
    assert (COLLAPSE, DROP_LEVEL, REPEATS_TO_DETECT) == (0.8, 0.01, 5)


def test_what_may_hide_behind_passing_tasks_is_as_described() -> None:
    bounds = {tasks: round(100 * all_zero_bound(tasks, 0.05), 1) for tasks in (10, 20)}

    assert f"{bounds[10]} points for 10 tasks, {bounds[20]} for 20" in WORDS
    assert all_zero_bound(59, 0.05) < 0.05 < all_zero_bound(58, 0.05)
    assert round(0.9**10, 1) == 0.3


def test_with_fewer_than_five_repeats_no_task_can_be_shown_to_have_collapsed() -> None:
    p_values = {repeats: fisher_drop_p(repeats, repeats, repeats, 0) for repeats in (4, 5)}

    assert p_values[5] <= DROP_LEVEL < p_values[4]
    assert round(p_values[5], 3) == 0.004
