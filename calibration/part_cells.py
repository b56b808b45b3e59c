"""Parts with known effects: their intervals, false words about parts, and what a screen finds for its price."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import Cell, Promise, Readings, Section, at_least, at_most, mean_of, share_of
from calibration.worlds import Draw
from outweigh.stats.designs import leave_one_out, plackett_burman
from outweigh.stats.effects import effect_contrasts, estimate_effects, task_effects
from outweigh.stats.estimate import Interval
from outweigh.verdict.collapse import DROP_LEVEL, count_collapses
from outweigh.verdict.decision import Decision, Verdict
from outweigh.verdict.evidence_rule import alarm_p_value, apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import ERROR_RATES
from outweigh.verdict.part_verdict import PairedArms, PartDecision, judge_parts
from outweigh.verdict.task_drops import fisher_drop_p

PARTS = 8
KNOWN_EFFECTS = (0.15, 0.10, -0.10, 0.05, 0.0, 0.0, 0.0, -0.05)
NO_EFFECTS = (0.0,) * PARTS
SHORTLIST = 2
SCREEN_REPEATS = 1
SCREEN_COUNTS = ("found", "on the shortlist", "others called", "found by leave-one-out", "others by leave-one-out")
KEPT_PROMISE = 0.93, 0.975
FAMILY_PROMISE = 0.05

Levels = Sequence[Sequence[bool]]
Runs = NDArray[np.float64]
CALLED = (PartDecision.KEEP, PartDecision.HURTS)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartTasks:
    """Tasks on which every part has its own effect: chances to pass without any part, effects, and sizes."""

    base: Runs
    effects: Runs
    sizes: Runs

    def run(self, levels: Sequence[bool], repeats: int, dice: Generator) -> tuple[Runs, Runs, Runs]:
        """Passes, log times and log tokens of one arm, repeats × tasks."""
        tasks = len(self.base)
        chances = np.clip(self.base + self.effects @ np.asarray(levels, dtype=np.float64), 0.0, 1.0)
        passes = (dice.random((repeats, tasks)) < chances).astype(np.float64)
        time, tokens = (
            size + dice.normal(0, 0.15, tasks) + dice.normal(0, 0.4, (repeats, tasks)) for size in self.sizes
        )
        return passes, time, tokens


def draw_tasks(effects: Sequence[float], tasks: int, dice: Generator) -> PartTasks:
    """Tasks that are middling with half of every effect, so that no chance is beyond 0 or 1 but rarely."""
    own = np.asarray(effects) + dice.uniform(-0.03, 0.03, (tasks, len(effects)))
    base = dice.uniform(0.3, 0.7, tasks) - sum(effects) / 2
    return PartTasks(base=base, effects=own, sizes=dice.normal(0, 0.5, (2, tasks)))


def interval_readings(
    effects: tuple[float, ...], levels: Levels, tasks: int, repeats: int, draws: int, seed: int
) -> Readings:
    """How often the intervals of main effects hold the truth, each by itself and all together."""
    dice, contrasts = np.random.default_rng(seed), effect_contrasts(levels).contrasts
    truth = [effects[contrast.terms[0].factors[0]] for contrast in contrasts]
    each = together = called = 0
    for place in range(draws):
        drawn = draw_tasks(effects, tasks, dice)
        means = np.stack([drawn.run(row, repeats, dice)[0].mean(axis=0) for row in levels], axis=1)
        found = estimate_effects(means, contrasts, seed=place).contrasts
        own = [interval_holds(one.interval, value) for one, value in zip(found, truth, strict=True)]
        joint = [interval_holds(one.simultaneous, value) for one, value in zip(found, truth, strict=True)]
        each, together = each + sum(own), together + all(joint)
        called += any(one.adjusted is not None and one.adjusted <= 0.05 for one in found)
    return {
        "each interval": share_of(each / len(contrasts), draws),
        "all together": share_of(together, draws),
        "some effect at 5 %": share_of(called, draws),
    }


def interval_holds(interval: Interval | None, value: float) -> bool:
    """Whether an interval holds a value; one that is not known holds nothing."""
    return interval is not None and interval.low <= value <= interval.high


def word_readings(effects: tuple[float, ...], tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """How often some part gets each word, by leaving each out."""
    dice = np.random.default_rng(seed)
    found = dict.fromkeys(("keep or hurts", "keep", "hurts", "drop"), 0)
    for _ in range(draws):
        words = judge_left_out(draw_tasks(effects, tasks, dice), range(PARTS), repeats, dice)
        found["keep or hurts"] += any(word in CALLED for word in words.values())
        for name in ("keep", "hurts", "drop"):
            found[name] += any(word.value == name for word in words.values())
    return {name: share_of(hits, draws) for name, hits in found.items()}


def judge_left_out(drawn: PartTasks, parts: Sequence[int], repeats: int, dice: Generator) -> dict[int, PartDecision]:
    """Leave each of these parts out of an arm with all, and judge them as one family."""
    baseline = drawn.run([True] * PARTS, repeats, dice)
    arms = [drawn.run([place != left for place in range(PARTS)], repeats, dice) for left in parts]
    experiments = [
        Draw(
            passes=(baseline[0], arm[0]),
            times=(baseline[1], arm[1]),
            tokens=(baseline[2], arm[2]),
            costs=(baseline[1], arm[1]),
            families=None,
        )
        for arm in arms
    ]
    tests = [examine_candidate(each.gates()) for each in experiments]
    pairs = []
    for part, each, tested, finding in zip(parts, experiments, tests, apply_rule(tests), strict=True):
        collapse = collapse_p_value(each)
        regressed = finding.alarm is Decision.REGRESSED or collapse <= ERROR_RATES.task_alarm
        decision = Decision.REGRESSED if regressed else finding.decision
        alarm = alarm_p_value(tested.gates, collapse) if decision is Decision.REGRESSED else None
        pairs.append(_pair(str(part), decision, alarm, each))
    return {int(answer.part): answer.decision for answer in judge_parts(pairs)}


def collapse_p_value(experiment: Draw) -> float:
    """The p-value of collapsed tasks; 1 where no task dropped at the level that counts."""
    before, after = experiment.passes
    runs = len(before)
    lost = zip(before.sum(axis=0).astype(int).tolist(), after.sum(axis=0).astype(int).tolist(), strict=True)
    if all(second >= first or fisher_drop_p(runs, first, runs, second) > DROP_LEVEL for first, second in lost):
        return 1.0
    outcomes = [{str(task): values for task, values in enumerate(arm.T.tolist())} for arm in experiment.passes]
    found = count_collapses(*outcomes).p_value
    return 1.0 if found is None else found


def _pair(part: str, decision: Decision, alarm_p: float | None, experiment: Draw) -> PairedArms:
    verdict = Verdict(
        policy="evidence",
        decision=decision,
        seed_wording="",
        reasons=(),
        warnings=(),
        gates=(),
        regressions=(),
        blockers=(),
        needs=None,
        settings={},
        evidence_sha256="",
        alarm_p=alarm_p,
    )
    repeats, tasks = experiment.passes[0].shape
    return PairedArms(
        part=part, candidate=part, added=False, verdict=verdict, evidence_sha256="", tasks=tasks, repeats=repeats
    )


def screen_readings(effect: float, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """How often the one part with an effect is found by a screen with its confirmation, and by leaving out all."""
    dice, levels = np.random.default_rng(seed), plackett_burman(PARTS)
    contrasts = effect_contrasts(levels).contrasts
    wanted = PartDecision.KEEP if effect > 0 else PartDecision.HURTS
    found = dict.fromkeys(SCREEN_COUNTS, 0)
    for _ in range(draws):
        part = int(dice.integers(PARTS))
        drawn = draw_tasks([effect if place == part else 0.0 for place in range(PARTS)], tasks, dice)
        means = np.stack([drawn.run(row, SCREEN_REPEATS, dice)[0].mean(axis=0) for row in levels], axis=1)
        sizes = np.abs(task_effects(means, contrasts).mean(axis=0))
        shortlist = np.argsort(-sizes)[:SHORTLIST].tolist()
        confirmed = judge_left_out(drawn, shortlist, repeats, dice)
        every = judge_left_out(drawn, range(PARTS), repeats, dice)
        found["found"] += confirmed.get(part) is wanted
        found["on the shortlist"] += part in shortlist
        found["others called"] += _others_called(confirmed, part)
        found["found by leave-one-out"] += every[part] is wanted
        found["others by leave-one-out"] += _others_called(every, part)
    return {name: share_of(hits, draws) for name, hits in found.items()} | {
        "cost": mean_of([screen_cost(levels, repeats)] * 2, share=True)
    }


def _others_called(words: Mapping[int, PartDecision], part: int) -> bool:
    return any(word in CALLED for place, word in words.items() if place != part)


def screen_cost(levels: Levels, repeats: int) -> float:
    """Runs of the screen and its confirmation, as a share of leaving every part out."""
    return (len(levels) * SCREEN_REPEATS + (SHORTLIST + 1) * repeats) / ((PARTS + 1) * repeats)


def _holds(*names: str) -> tuple[Promise, ...]:
    low, high = KEPT_PROMISE
    return tuple(promise for name in names for promise in (at_least(name, low), at_most(name, high)))


def _interval_cell(name: str, effects: tuple[float, ...], levels: Levels) -> Cell:
    return Cell(
        name=f"{name}, 20 × 3",
        measure=interval_readings,
        arguments=(effects, levels, 20, 3),
        draws=2_000,
        promises=_holds("each interval", "all together"),
    )


def _screen_cell(points: int, *promises: Promise) -> Cell:
    return Cell(
        name=f"{points:+} points, 40 × 5",
        measure=screen_readings,
        arguments=(points / 100, 40, 5),
        draws=2_000,
        promises=(*promises, at_most("others called", FAMILY_PROMISE), at_most("cost", 0.6)),
    )


_FOUND = at_least("found", 0.8)
PART_SECTIONS = (
    Section(
        title="Parts: intervals of their effects",
        words="Eight parts, each worth something else on every task, in arms that leave one out, or in the twelve arms "
        "of a Plackett–Burman design. *Each interval* is how often the interval of one effect holds the truth, *all "
        "together* how often the simultaneous intervals of all eight do. *Some effect at 5 %* is how often the "
        "corrected p-value calls any effect.",
        cells=(
            _interval_cell("known effects, leave-one-out", KNOWN_EFFECTS, leave_one_out(PARTS)),
            _interval_cell("known effects, twelve arms", KNOWN_EFFECTS, plackett_burman(PARTS)),
            _interval_cell("no effects, leave-one-out", NO_EFFECTS, leave_one_out(PARTS)),
        ),
    ),
    Section(
        title="Parts: words where nothing has an effect",
        words="Eight parts that do nothing, each left out once, with three gates. Counted are experiments in which "
        "some part is called *keep* or *hurts*, over all eight; *drop* is right here.",
        cells=tuple(
            Cell(
                name=f"no effects, {tasks} × {repeats}",
                measure=word_readings,
                arguments=(NO_EFFECTS, tasks, repeats),
                draws=4_000,
                promises=(at_most("keep or hurts", FAMILY_PROMISE),),
            )
            for tasks, repeats in ((20, 3), (40, 5), (100, 5))
        ),
    ),
    Section(
        title="Parts: a screen with its confirmation",
        words="One of eight parts has an effect. The screen runs the twelve arms of a Plackett–Burman design once on "
        f"every task; the {SHORTLIST} largest effects are confirmed by leaving each out, with new runs at all repeats. "
        "*Cost* is its runs as a share of leaving out every part. *Found* is the right word, *keep* or *hurts*, by the "
        "confirmation; beside it the same by leaving out all eight, at the same error rates.",
        cells=(
            *(_screen_cell(points, _FOUND) for points in (25, -25)),
            *(_screen_cell(points) for points in (15, -15, 10, -10)),
        ),
    ),
)
