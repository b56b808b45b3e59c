"""Weigh evidence at planned looks. The first look that decides about a candidate stands.

Only an alarm of a later look takes its place: results that came in after a decision may warn, and never promote.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from outweigh.compare.comparison import Comparison, keep_tasks_of
from outweigh.compare.deltas import recorded_runs
from outweigh.model.look_plan import LookPlan
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import ErrorRates, EvidenceSettings
from outweigh.verdict.excluded_runs import FORBIDDEN, unequal_exclusions
from outweigh.verdict.planned_looks import (
    OTHER_CHANCE,
    Prospect,
    best_p_value,
    look_rates,
    overall_level,
    prospects,
)
from outweigh.verdict.weigh_evidence import NOT_TESTED, WeighedEvidence, apply_version, usual_rates, weigh_evidence

ALARMS = (Decision.REGRESSED, Decision.TRADE_OFF)


class LookedEvidence(Struct, frozen=True, kw_only=True, eq=False):
    """One candidate at a planned look: its tasks so far, what they show, and what may still come.

    Looks are counted from 0; `look` is None where the tasks of the first one are not complete yet.
    """

    comparison: Comparison
    weighed: WeighedEvidence
    look: int | None
    prospect: Prospect


def weigh_look(
    comparisons: Sequence[Comparison], settings: EvidenceSettings, plan: LookPlan, look: int, *, left_out: int = 0
) -> tuple[LookedEvidence, ...]:
    """Weigh comparisons that hold just the tasks of one look, at the levels of that look.

    `left_out` is the number of candidates whose runs have ended already; gains are corrected for them all the same.
    """
    usual = usual_rates(settings)
    weighed = weigh_evidence(comparisons, settings, look_rates(plan, look, usual), left_out)
    tests = [*(each.tests for each in weighed), *(NOT_TESTED,) * left_out]
    reachable = prospects(
        tests, plan, look, usual, lambda candidates, rates: apply_version(candidates, settings, rates)
    )[: len(comparisons)]
    return tuple(
        LookedEvidence(
            comparison=comparison, weighed=each, look=look, prospect=_prospect(each, prospect, plan, look, usual)
        )
        for comparison, each, prospect in zip(comparisons, weighed, reachable, strict=True)
    )


def _prospect(weighed: WeighedEvidence, prospect: Prospect, plan: LookPlan, look: int, rates: ErrorRates) -> Prospect:
    """The same with what the rule does not see: what is unusable now may be usable later, and a watched pass rate."""
    other = prospect.other
    if weighed.watched is not None:
        best = best_p_value(weighed.watched.typical.alarm, plan.fractions[look], OTHER_CHANCE)
        other |= best is not None and best <= look_rates(plan, len(plan.sizes) - 1, rates).pass_rate_alarm
    return Prospect(improved=prospect.improved or bool(weighed.unusable), other=other)


def weigh_planned_looks(
    comparisons: Sequence[Comparison], settings: EvidenceSettings, plan: LookPlan, left_out: int = 0
) -> tuple[LookedEvidence, ...]:
    """Weigh at every look whose tasks are complete, in their order, and keep what stands for each candidate."""
    standing: dict[int, LookedEvidence] = {}
    for look in range(len(plan.sizes)):
        tasks = frozenset(plan.tasks_at(look))
        there = [place for place, each in enumerate(comparisons) if _is_complete(each, tasks, plan.repeats)]
        if not there:
            break
        at_look = [keep_tasks_of(comparisons[place], tasks) for place in there]
        found = weigh_look(at_look, settings, plan, look, left_out=left_out + len(comparisons) - len(there))
        for place, looked in zip(there, found, strict=True):
            if place not in standing or _supersedes(looked, standing[place]):
                standing[place] = looked
    early = [place for place in range(len(comparisons)) if place not in standing]
    before = _before_the_first_look(comparisons, early, settings, plan, left_out)
    standing.update(zip(early, before, strict=True))
    return tuple(_with_all_exclusions(standing[place], each) for place, each in enumerate(comparisons))


def _with_all_exclusions(looked: LookedEvidence, comparison: Comparison) -> LookedEvidence:
    """What an earlier look decided does not stand where the arms have lost unequal shares of their attempts since."""
    lost = unequal_exclusions(comparison)
    if lost is None or looked.weighed.decision not in FORBIDDEN:
        return looked
    unusable = (*looked.weighed.unusable, lost)
    return replace(looked, weighed=replace(looked.weighed, decision=Decision.INCONCLUSIVE, unusable=unusable))


def _supersedes(later: LookedEvidence, standing: LookedEvidence) -> bool:
    """Whether a later look takes the place of an earlier one."""
    decided = standing.weighed.decision
    if decided is Decision.INCONCLUSIVE:
        return True
    return (
        later.weighed.decision in ALARMS and decided is not Decision.REGRESSED and decided is not later.weighed.decision
    )


def _is_complete(comparison: Comparison, tasks: frozenset[str], repeats: int) -> bool:
    """Whether both arms have a record of every run that the plan has of these tasks."""
    counts = [recorded_runs(table) for table in (comparison.baseline_table, comparison.candidate_table)]
    return all(count.get(task, 0) >= repeats for count in counts for task in tasks)


def _before_the_first_look(
    comparisons: Sequence[Comparison],
    places: Sequence[int],
    settings: EvidenceSettings,
    plan: LookPlan,
    left_out: int,
) -> Iterator[LookedEvidence]:
    """Candidates whose tasks do not reach the first look: nothing is claimed about them but an alarm."""
    chosen = [comparisons[place] for place in places]
    rates = look_rates(plan, 0, usual_rates(settings))
    reason = (
        f"the first planned look comes after {plan.sizes[0]} tasks with {plan.repeats} runs of both arms each, which "
        "are not complete; continue the run"
    )
    weighed = weigh_evidence(chosen, settings, rates, left_out + len(comparisons) - len(chosen)) if chosen else ()
    for comparison, each in zip(chosen, weighed, strict=True):
        silenced = each.decision if each.decision in ALARMS else Decision.INCONCLUSIVE
        yield LookedEvidence(
            comparison=comparison,
            weighed=replace(each, decision=silenced, unusable=(*each.unusable, reason)),
            look=None,
            prospect=Prospect(improved=True, other=True),
        )


def describe_look(looked: LookedEvidence, plan: LookPlan) -> str:
    """When it was decided, and whether going on was futile."""
    if looked.look is None:
        return f"before the first of {len(plan.sizes)} planned looks"
    size, all_tasks = plan.sizes[looked.look], len(plan.order)
    words = f"at planned look {looked.look + 1} of {len(plan.sizes)}, after {size} of {all_tasks} tasks"
    if looked.weighed.decision is Decision.INCONCLUSIVE and looked.prospect.futile and size < all_tasks:
        return f"{words}; continuing is unlikely to change that"
    return words


def stored_look(looked: LookedEvidence, plan: LookPlan) -> Mapping[str, object]:
    """What a verdict records of its look, so that it can be computed again."""
    return {
        "look": None if looked.look is None else looked.look + 1,
        "planned_looks": len(plan.sizes),
        "tasks": None if looked.look is None else plan.sizes[looked.look],
        "planned_tasks": len(plan.order),
        "spending_exponent": plan.exponent,
        "levels": asdict(looked.weighed.rates),
        "futile": looked.prospect.futile,
    }


def overall_p_value(p_value: float | None, settings: EvidenceSettings, looked: LookedEvidence | None) -> float | None:
    """A p-value of one look as that of the whole plan of looks; as it is where there was only one look."""
    if p_value is None or looked is None or looked.look is None or settings.looks is None:
        return p_value
    return overall_level(settings.looks, looked.look, p_value)
