"""The study as a page of tables."""

from collections.abc import Sequence

from calibration.cell_table import cell_sections
from calibration.cells import TOLERANCE
from calibration.claims import Claim, claims
from calibration.coverage import STATISTICS, Coverage
from calibration.looks import Looks
from calibration.markdown import paragraph, percent, section, table
from calibration.rates import Rates
from calibration.study import ORDINARY, PLANNED_TASKS, Study
from calibration.truth import pass_delta
from calibration.wider import Answer
from calibration.worlds import NULLS
from outweigh.verdict.decision import Decision

_ABOUT = """`make calibrate` writes this page. Every number comes from simulated experiments whose truth is known,
decided by the code that decides about real records, or by its form for many experiments at once, which tests hold to
the same decisions. [Statistics](statistics.md) explains the ideas."""

_ERROR = """T is the number of tasks, R the number of repeats per task and arm. Shares are in per cent. A share p of n
draws has a standard error of √(p(1 − p)/n): 0.3 points for 2 % of 2,000 draws, 0.6 points for 7 % of them. Every cell
has a seed of its own."""

_MODEL = """The logit of a task's chance to pass is normal with mean 0.4 and standard deviation 1.6, so tasks differ
widely. The candidate moves each task's logit by an effect of its own (standard deviation 0.4). Log time and log tokens
scatter between tasks (0.5), between a task's arms (0.15) and between runs (0.4). A run's dollars follow its time and
tokens, with some scatter of their own. Three gates are judged where nothing else is said: pass rate, duration and
non-cache tokens, with margins of 5 points and 5 %. Cost is the fourth."""

_NULL_MODEL = f"""*Identical arms* still let every task's effect vary around zero. The logistic curve bends, so the mean
effect on the pass rate is not exactly zero but {abs(100 * pass_delta(NULLS[0])):.1f} points of loss; *effects alike on
all tasks* is exactly zero. Nearly all (or none) passing means a pass rate of 98.9 % (or 1.1 %)."""


def render(study: Study) -> str:
    """The page as Markdown."""
    sections = (
        "# Calibration: how often the evidence policy is right and wrong",
        paragraph(_ABOUT),
        paragraph(_ERROR),
        f"## The worlds\n\n{paragraph(_MODEL)}\n\n{paragraph(_NULL_MODEL)}",
        _claims(claims(study)),
        _nulls(study.nulls),
        _margins(study.margins),
        _wider(study.wider),
        *cell_sections(study.cells),
        _power(study),
        _coverage(study.coverage),
        _bootstrap(study.bootstrap),
        _false_looks(study.looks),
        _useful_looks(study.looks),
        _rules(study),
        _units(study),
    )
    return "\n\n".join(sections) + "\n"


def _claims(found: Sequence[Claim]) -> str:
    rows = [
        [
            claim.sentence,
            claim.worst.reading.shown,
            claim.worst.reading.shown_error,
            claim.worst.where,
            str(claim.cells),
            _outcome(claim),
        ]
        for claim in found
    ]
    return section(
        "What is promised",
        "The worst cell of each table below, with the standard error of the simulation. The worst of many cells is "
        f"partly bad luck, so a promise counts as broken when a cell lies beyond the limit by more than {TOLERANCE:g} "
        "standard errors.",
        table(["promise", "worst cell", "error", "where", "cells", "outcome"], rows, numeric=(1, 2, 4)),
    )


def _outcome(claim: Claim) -> str:
    if claim.within:
        return "holds"
    errors = claim.distance / claim.error if claim.error else float("inf")
    return f"{'holds' if claim.holds else '**broken**'} ({errors:.1f} standard errors)"


def _nulls(found: Sequence[Rates]) -> str:
    tasks = sorted({cell.tasks for cell in found})
    cells = {(cell.world, cell.repeats, cell.tasks): cell for cell in found}
    rows = [
        [world, str(repeats), *(_both(cells[world, repeats, size]) for size in tasks)]
        for world in _worlds(found)
        for repeats in sorted({cell.repeats for cell in found})
    ]
    return section(
        "Identical arms: false decisions",
        f"Improved / regressed, in per cent of {found[0].draws:,} draws each. Promised: at most 2 / 7.",
        table(["world", "R", *(f"T = {size}" for size in tasks)], rows, numeric=range(1, 2 + len(tasks))),
    )


def _margins(found: Sequence[Rates]) -> str:
    rows = [
        [cell.world, str(cell.tasks), str(cell.repeats), *(percent(cell.of(decision)) for decision in Decision)]
        for cell in found
    ]
    headings = ["world", "T", "R", *(decision.value for decision in Decision)]
    return section(
        "Cheaper, and worse by exactly the margin",
        "Time and tokens fall by a fifth, and the pass rate by five points: `improved` would ship a loss. Promised: at "
        f"most 5. {found[0].draws:,} draws each.",
        table(headings, rows, numeric=range(1, len(headings))),
    )


def _wider(found: Sequence[Answer]) -> str:
    sizes = sorted({(cell.tasks, cell.repeats) for cell in found})
    cells = {(cell.question.name, cell.tasks, cell.repeats): cell for cell in found}
    rows = [
        [name, *(_answered(cells[name, *size]) for size in sizes)]
        for name in dict.fromkeys(cell.question.name for cell in found)
    ]
    return section(
        "A fourth gate, several candidates, families, and rare breaks",
        "Any candidate called improved / a single one called regressed. Arms are identical in all lines "
        "but the last, and what is promised is the same: at most 2 / 7, however many candidates share the baseline. "
        "In families of five, the candidate's effect differs between families by 0.6 on the logit. The last line is "
        "the known limit of the rule: the candidate is cheaper by a fifth, gains 0.3 on the logit wherever it works "
        "and breaks one task in six altogether, five points of loss in all. A sample may hold too few of the breaks, "
        "and `improved` is then claimed somewhat more often than in 5 % of experiments. "
        f"{found[0].draws:,} draws each.",
        table(["question", *map(_size, sizes)], rows, numeric=range(1, 1 + len(sizes))),
    )


def _answered(cell: Answer) -> str:
    return f"{percent(cell.any_improved)} / {percent(cell.regressed)}"


def _power(study: Study) -> str:
    rows = [
        [
            cell.published.world.name,
            str(cell.published.tasks),
            str(cell.published.repeats),
            percent(cell.improved),
            percent(cell.regressed),
            percent(cell.improved_by_version_1),
            percent(cell.published.improved),
            percent(cell.regressed_by_version_1),
            percent(cell.published.regressed),
        ]
        for cell in study.power
    ]
    headings = [
        "world",
        "T",
        "R",
        "improved",
        "regressed",
        "improved, version 1",
        "published",
        "regressed, version 1",
        "published",
    ]
    return section(
        "Real differences: how often they are found",
        "Three gates. Small win: +0.3 on the logit (+4.8 points), a tenth less time and tokens. Win: +0.8 (+12.5 "
        "points), a fifth less. Trap: −0.6 (−10.2 points), a fifth less. *Published* are the operating characteristics "
        "that version 1 was designed to (4,000 draws, superiority tested at .05); *version 1* is that rule on the same "
        f"experiments. {study.power[0].draws:,} draws each.",
        table(headings, rows, numeric=range(1, len(headings))),
    )


def _coverage(found: Sequence[Coverage]) -> str:
    sizes = sorted({(cell.tasks, cell.repeats) for cell in found})
    cells = {(cell.statistic, cell.world, cell.tasks, cell.repeats): cell for cell in found}
    rows = [
        [statistic.name, world, *(_covered(cells[statistic.name, world, *size]) for size in sizes)]
        for statistic in STATISTICS
        for world in _worlds(found)
    ]
    draws = max(cell.intervals for cell in found)
    ordinary = ", ".join(world.name for world in ORDINARY)
    return section(
        "Coverage of 95 % intervals",
        f"The share of t intervals that hold the truth, {draws:,} experiments each. Promised for T ≥ 20 in the "
        f"ordinary worlds ({ordinary}): 94 to 96.5. In brackets, the share of experiments that give no interval at "
        "all. Where nearly all or none pass, most deltas are zero and the intervals of the pass rate hold too often; "
        "there the policy counts tasks instead.",
        table(["statistic", "world", *map(_size, sizes)], rows, numeric=range(2, 2 + len(sizes))),
    )


def _bootstrap(found: Sequence[Coverage]) -> str:
    sizes = sorted({(cell.tasks, cell.repeats) for cell in found})
    cells = {(cell.statistic, cell.method, cell.tasks, cell.repeats): cell for cell in found}
    kinds = list(dict.fromkeys((cell.statistic, cell.method) for cell in found))
    rows = [[*kind, *(_covered(cells[*kind, *size]) for size in sizes)] for kind in kinds]
    draws = max(cell.intervals for cell in found)
    return section(
        "Bootstrap against t",
        f"The same in the world of the small win, {draws:,} experiments of 10,000 resamples each. The plain percentile "
        "interval is too narrow with few tasks; the expanded one is widened as t is.",
        table(["statistic", "interval", *map(_size, sizes)], rows, numeric=range(2, 2 + len(sizes))),
    )


def _false_looks(found: Sequence[Looks]) -> str:
    nulls = {world.name for world in NULLS}
    chosen = [cell for cell in found if cell.world in nulls]
    rows = [
        [world, str(repeats), *(percent(_look(chosen, world, repeats, rule).firm) for rule in _RULES)]
        for world, repeats in dict.fromkeys((cell.world, cell.repeats) for cell in chosen)
    ]
    return section(
        "Peeking at identical arms",
        f"Tasks arrive in random order and are looked at 20 times up to {PLANNED_TASKS}; no conclusion is drawn from "
        "fewer than 6. The share of experiments ever called improved or regressed. Promised for the sequential rule: "
        "at most 5. "
        f"{chosen[0].draws:,} draws each.",
        table(
            ["world", "R", "sequential rule, 20 looks", "ordinary rule, 20 looks", "ordinary rule, once"],
            rows,
            numeric=range(1, 5),
        ),
    )


def _useful_looks(found: Sequence[Looks]) -> str:
    nulls = {world.name for world in NULLS}
    chosen = [cell for cell in found if cell.world not in nulls and cell.rule in ("sequential", "once")]
    rows = [
        [
            cell.world,
            str(cell.repeats),
            _RULES[cell.rule],
            percent(cell.improved),
            percent(cell.regressed),
            f"{cell.stopped_after:.0f}",
        ]
        for cell in chosen
    ]
    return section(
        "What stopping early saves",
        f"The same looks at real differences: stop at the first firm decision, at {PLANNED_TASKS} tasks at the latest. "
        f"{chosen[0].draws:,} draws each.",
        table(["world", "R", "rule", "improved", "regressed", "tasks used, mean"], rows, numeric=(1, 3, 4, 5)),
    )


def _rules(study: Study) -> str:
    names = {
        "averages": "averages of arms",
        "any drop": "any lost run",
        "evidence": "evidence",
    }
    rows = [
        [
            cell.world,
            str(cell.tasks),
            str(cell.repeats),
            names[cell.rule],
            percent(cell.improved),
            percent(cell.regressed),
            percent(cell.improved + cell.regressed),
        ]
        for cell in study.rules
    ]
    return section(
        "Rules without error rates, on identical arms",
        "*Averages*: no worse in pass rate, median duration and median tokens, or worse in all three. *Any lost run*: "
        "a task that passes less often is a regression, and a net gain without one an improvement. Every firm decision "
        f"here is wrong. {study.rules[0].draws:,} draws each.",
        table(["world", "T", "R", "rule", "improved", "regressed", "either"], rows, numeric=(1, 2, 4, 5, 6)),
    )


def _units(study: Study) -> str:
    rows = [
        [
            str(cell.tasks),
            str(cell.repeats),
            percent(cell.mcnemar_on_runs),
            percent(cell.t_on_runs),
            percent(cell.t_on_tasks),
        ]
        for cell in study.units
    ]
    return section(
        "Repeats counted as tasks",
        "The candidate helps on half of the tasks, hurts on the other half, and is equal on average. How often a test "
        f"at 5 % calls it different, by what counts as one observation. {study.units[0].draws:,} draws each.",
        table(["T", "R", "McNemar on runs", "t on runs", "t on tasks"], rows, numeric=range(5)),
    )


_RULES = {
    "sequential": "sequential rule, 20 looks",
    "ordinary": "ordinary rule, 20 looks",
    "once": "ordinary rule, once",
}


def _look(found: Sequence[Looks], world: str, repeats: int, rule: str) -> Looks:
    return next(cell for cell in found if (cell.world, cell.repeats, cell.rule) == (world, repeats, rule))


def _worlds(found: Sequence[Rates] | Sequence[Coverage]) -> list[str]:
    return list(dict.fromkeys(cell.world for cell in found))


def _size(size: tuple[int, int]) -> str:
    return f"T = {size[0]}, R = {size[1]}"


def _both(cell: Rates) -> str:
    return f"{percent(cell.of(Decision.IMPROVED))} / {percent(cell.of(Decision.REGRESSED))}"


def _covered(cell: Coverage) -> str:
    missing = f" ({percent(cell.unknown)})" if cell.unknown >= 0.0005 else ""
    return percent(cell.covered) + missing
