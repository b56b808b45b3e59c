"""Choose the best of several arms from their runs: the arm that an inheriting arm is built on.

Arms are compared on the tasks that all of them have results for. Those that are close to the best count as equal, and
the cheaper one among them is chosen. The same runs give the same choice.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from outweigh.compare.missing_judgments import complete_judging
from outweigh.errors import quote_names
from outweigh.model.tiers import InheritSpec
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Unit, excludes
from outweigh.stats.means import mean_interval
from outweigh.stats.sample import median

LEVEL = 0.95
"""Of the interval by which an arm can be told from the best, where the evidence chooses."""

FEWEST_RESULTS = 0.5
"""The share of the results of the candidate with the most that another one needs to be compared with it."""

ROUNDING = 1e-9


class ComparedCandidate(Struct, frozen=True, kw_only=True):
    """One arm and what it is compared by; `value` is None where it is unknown, and `problem` says why."""

    arm: str
    runs: int
    value: float | None = None
    problem: str | None = None
    is_close: bool = False
    tokens: float | None = None
    cost_usd: float | None = None


class BestArm(Struct, frozen=True, kw_only=True):
    """The chosen arm, None where none could be chosen, with the reason and all candidates in their order."""

    chosen: str | None
    reason: str
    candidates: tuple[ComparedCandidate, ...]


def choose_best(arms: Mapping[str, Sequence[Score]], inherit: InheritSpec) -> BestArm:
    """Choose among these arms by these runs. The order of the arms decides where nothing else does."""
    counted = {arm: [score for score in scores if score.counted] for arm, scores in arms.items()}
    kind = _KINDS[inherit.by]
    known = kind.known_runs(counted)
    problems = dict(_find_problems(counted, known, kind))
    usable = {arm: runs for arm, runs in known.items() if arm not in problems}
    tasks = _shared_tasks(usable.values())
    tables = {arm: _by_task(runs, tasks) for arm, runs in usable.items()} if tasks else {}
    values = {arm: kind.value(runs) for arm, runs in tables.items()}
    problems |= {arm: kind.no_value for arm, value in values.items() if value is None}
    ranked = {arm: value for arm, value in values.items() if value is not None}
    best = kind.best(ranked)
    close = [] if best is None else [arm for arm in ranked if kind.is_close(arm, best, ranked, tables, inherit.margin)]
    candidates = tuple(
        ComparedCandidate(
            arm=arm,
            runs=len(runs),
            value=ranked.get(arm),
            problem=problems.get(arm, None if arm in ranked else "there is no task that all arms have results for"),
            is_close=arm in close,
            tokens=_mean_of(runs, "total_tokens"),
            cost_usd=_mean_of(runs, "cost_usd"),
        )
        for arm, runs in counted.items()
    )
    if best is None:
        return BestArm(chosen=None, reason=_explain_none(candidates, kind), candidates=candidates)
    by_name = {each.arm: each for each in candidates}
    chosen = min(close, key=lambda arm: _TIES[inherit.tie](by_name[arm]))  # the first of several that are equal
    return BestArm(chosen=chosen, reason=_explain(by_name, chosen, best, close, inherit), candidates=candidates)


def choosing_runs(arms: Mapping[str, Sequence[Score]], repeats: Mapping[str, int]) -> Mapping[str, Sequence[Score]]:
    """The runs of these arms that are for choosing: those up to the repeat that each of them has."""
    return {arm: [score for score in arms.get(arm, ()) if score.repeat <= last] for arm, last in repeats.items()}


Table = Mapping[str, Sequence[Score]]
"""The runs of one arm by task."""


class _Kind(Struct, frozen=True):
    """How arms are compared: which runs can be used, the value of an arm, and whether one is close to the best."""

    words: str
    known_runs: Callable[[Mapping[str, Sequence[Score]]], dict[str, list[Score]]]
    value: Callable[[Table], float | None]
    sign: int
    is_near: Callable[[float, float, float], bool]
    missing: str
    no_value: str
    by_evidence: bool = False
    shown: Callable[[float], str] = "{:.2f}".format

    def best(self, values: Mapping[str, float]) -> str | None:
        """The arm with the best value; None where no arm achieved anything."""
        if not values or (self.sign > 0 and max(values.values()) <= 0):
            return None
        return max(values, key=lambda arm: self.sign * values[arm])

    def is_close(
        self, arm: str, best: str, values: Mapping[str, float], tables: Mapping[str, Table], margin: float
    ) -> bool:
        """Whether an arm counts as equal to the best."""
        if self.is_near(values[arm], values[best], margin):
            return True
        return self.by_evidence and not _differs(tables[best], tables[arm])


def _differs(best: Table, other: Table) -> bool:
    """Whether the tasks show the best arm to be better than another, beyond what chance explains."""
    deltas = [_mean_passed(best[task]) - _mean_passed(other[task]) for task in best]
    estimate = mean_interval(deltas, level=LEVEL, unit=Unit.TASK)
    if estimate.interval is None:  # all tasks differ by the same, or there is one task only
        return len(deltas) > 1 and deltas[0] != 0
    return excludes(estimate.interval, 0.0)


def _passes_known(arms: Mapping[str, Sequence[Score]]) -> dict[str, list[Score]]:
    return {arm: [score for score in scores if score.passed is not None] for arm, scores in arms.items()}


def _costs_known(arms: Mapping[str, Sequence[Score]]) -> dict[str, list[Score]]:
    passes = _passes_known(arms)
    return {arm: [score for score in scores if score.cost_usd is not None] for arm, scores in passes.items()}


def _judged(arms: Mapping[str, Sequence[Score]]) -> dict[str, list[Score]]:
    """The judged runs; what a judge left out is filled in, or left out for all arms, as verdicts do it."""
    completed = complete_judging(arms)
    return {
        arm: [
            score for score in scores if score.judge_score is not None and score.task_id not in completed.unknown_tasks
        ]
        for arm, scores in completed.arms.items()
    }


def _mean_passed(runs: Sequence[Score]) -> float:
    return sum(score.passed or 0.0 for score in runs) / len(runs)


def _pass_rate(table: Table) -> float:
    return sum(map(_mean_passed, table.values())) / len(table)


def _median_score(table: Table) -> float | None:
    return median([score.judge_score or 0.0 for runs in table.values() for score in runs]).value


def _cost_of_pass(table: Table) -> float | None:
    cost = sum(sum(score.cost_usd or 0.0 for score in runs) / len(runs) for runs in table.values()) / len(table)
    rate = _pass_rate(table)
    return cost / rate if rate else None


def _is_near_score(value: float, best: float, margin: float) -> bool:
    return value >= best - margin - ROUNDING


def _is_near_cost(value: float, best: float, margin: float) -> bool:
    return value <= best * (1 + margin) + ROUNDING


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


_KINDS: Mapping[str, _Kind] = {
    "evidence": _Kind(
        "pass rate",
        _passes_known,
        _pass_rate,
        +1,
        _is_near_score,
        "none of its runs has a known result of its checks",
        "its pass rate is unknown",
        by_evidence=True,
        shown=_percent,
    ),
    "median-judge": _Kind(
        "median judge score",
        _judged,
        _median_score,
        +1,
        _is_near_score,
        "none of its runs has a usable judgment",
        "its judge score is unknown",
    ),
    "cost-of-pass": _Kind(
        "cost of pass",
        _costs_known,
        _cost_of_pass,
        -1,
        _is_near_cost,
        "none of its runs has both a known result and a recorded cost",
        "none of its runs passed",
        shown="${:.2f}".format,
    ),
}


def _known_first(amount: float | None) -> tuple[bool, float]:
    return (amount is None, amount or 0.0)


_TIES: Mapping[str, Callable[[ComparedCandidate], tuple[bool, float]]] = {
    "fewest-tokens": lambda candidate: _known_first(candidate.tokens),
    "cheapest": lambda candidate: _known_first(candidate.cost_usd),
    "first": lambda _: (False, 0.0),
}


def _find_problems(
    counted: Mapping[str, Sequence[Score]], known: Mapping[str, Sequence[Score]], kind: _Kind
) -> Iterable[tuple[str, str]]:
    most = max((len(runs) for runs in known.values()), default=0)
    for arm, runs in counted.items():
        if not runs:
            yield arm, "it has no run with a result"
        elif not known[arm]:
            yield arm, kind.missing
        elif len(known[arm]) < FEWEST_RESULTS * most:
            yield arm, f"{len(known[arm])} of its runs can be used, and {most} of another arm"


def _shared_tasks(arms: Iterable[Sequence[Score]]) -> frozenset[str]:
    tasks = [{score.task_id for score in runs} for runs in arms]
    return frozenset(set.intersection(*tasks)) if tasks else frozenset()


def _by_task(runs: Sequence[Score], tasks: frozenset[str]) -> dict[str, list[Score]]:
    table: dict[str, list[Score]] = defaultdict(list)
    for score in runs:
        if score.task_id in tasks:
            table[score.task_id].append(score)
    return {task: table[task] for task in sorted(table)}


def _mean_of(runs: Sequence[Score], metric: str) -> float | None:
    amounts = [getattr(score, metric) for score in runs]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) / len(known) if known else None


def _explain_none(candidates: Sequence[ComparedCandidate], kind: _Kind) -> str:
    if not candidates:
        return "there is no arm to choose from"
    problems: dict[str, list[str]] = defaultdict(list)
    for each in candidates:
        problems[each.problem or f"its {kind.words} is 0"].append(each.arm)
    said = "; ".join(f"{quote_names(arms, 5)}: {problem}" for problem, arms in problems.items())
    return f"no arm can be chosen by {kind.words} ({said})"


def _explain(
    candidates: Mapping[str, ComparedCandidate], chosen: str, best: str, close: Sequence[str], inherit: InheritSpec
) -> str:
    """Why it is this arm, as the end of a sentence that has named it."""
    kind = _KINDS[inherit.by]
    values = {arm: kind.shown(each.value) for arm, each in candidates.items() if each.value is not None}
    others = [arm for arm in close if arm != chosen]
    if not others:
        return f"it has the best {kind.words}, {values[chosen]}"
    equal = (
        f"{quote_names(others, 5)} {'counts' if len(others) == 1 else 'count'} as equal (the best is {values[best]})"
    )
    ties = {"fewest-tokens": "uses the fewest tokens", "cheapest": "costs the least", "first": "comes first"}
    return f"its {kind.words} is {values[chosen]}; {equal}, and it {ties[inherit.tie]}"
