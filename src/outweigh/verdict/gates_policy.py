"""Policy `gates`: three conditions on arm aggregates, as seed 000 states them."""

from collections.abc import Callable
from operator import ge, le

from msgspec import Struct

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError, quote_names
from outweigh.verdict.blockers import MINIMUM_REPEATS, literal_blockers
from outweigh.verdict.configured_policy import ConfiguredPolicy, Policy, PolicyArguments, PolicyOpinion, refuse_gates
from outweigh.verdict.decision import Decision, Gate, GateState, Verdict
from outweigh.verdict.evidence_settings import gate_title

UNKNOWN_TOLERANCE = 0.05
MIXED = "mixed results - inspect paired deltas"


class _Rule(Struct, frozen=True, kw_only=True):
    """Which statistic of which metric a gate compares, how people read it, and when the candidate is no worse."""

    name: str
    metric: str
    statistic: str
    shown: str
    no_worse: Callable[[float, float], bool]


_RULES = (
    _Rule(name="pass_rate", metric="passed", statistic="mean", shown="{:.1%}", no_worse=ge),
    _Rule(name="duration", metric="duration_seconds", statistic="median", shown="{:,.1f} s", no_worse=le),
    _Rule(name="non_cache_tokens", metric="non_cache_tokens", statistic="median", shown="{:,.0f}", no_worse=le),
)


def decide_by_gates(comparison: Comparison) -> Verdict:
    """Prefer the candidate when all gates hold, the baseline when all are strictly the other way, else neither."""
    gates = tuple(_gate(rule, comparison.baseline, comparison.candidate) for rule in _RULES)
    decision = _decision({gate.state for gate in gates})
    tie = decision is Decision.IMPROVED and all(gate.baseline == gate.candidate for gate in gates)
    extra = candidate_only(comparison)
    tied = ("the arms tie on every gate; the rule as written prefers the candidate, but a tie never promotes.",)
    return Verdict(
        policy="gates",
        decision=decision,
        seed_wording=_wording(decision, comparison),
        reasons=tuple(f"{gate_title(gate.name)} {gate.state.words}: {gate.detail}" for gate in gates),
        warnings=(*comparison.warnings, *(tied if tie else ()), *extra, *_repeat_warning(comparison)),
        gates=gates,
        regressions=(),
        blockers=(*(tied if tie else ()), *extra, *literal_blockers(comparison)),
        needs=None,
        settings={},
        evidence_sha256=comparison.evidence_sha256,
        evidence_sha256_v1=comparison.evidence_sha256_v1,
    )


def _decision(states: set[GateState]) -> Decision:
    if states == {GateState.HOLDS}:
        return Decision.IMPROVED
    # A gate that fails is strictly the other way, so all failing is the seed's rule for the baseline.
    return Decision.REGRESSED if states == {GateState.FAILS} else Decision.INCONCLUSIVE


def _gate(rule: _Rule, baseline: ArmSummary, candidate: ArmSummary) -> Gate:
    before, after = (getattr(arm.metrics[rule.metric], rule.statistic) for arm in (baseline, candidate))
    unknown = [arm.name for arm in (baseline, candidate) if _too_unknown(arm, rule.metric)]
    if unknown or before is None or after is None:
        state = GateState.UNKNOWN
        detail = f"more than {UNKNOWN_TOLERANCE:.0%} of the runs of {' and '.join(unknown)} have no {rule.metric}"
        if not (baseline.runs and candidate.runs):
            detail = "one of the arms has no counted run"
    else:
        holds = rule.no_worse(after, before)
        state = GateState.HOLDS if holds else GateState.FAILS
        relation = "equal" if after == before else ("no worse" if holds else "worse")
        ours, theirs = (rule.shown.format(value).replace("%", " %") for value in (after, before))
        detail = f"{rule.statistic} {gate_title(rule.name)} is {ours} against {theirs}: {relation}"
    return Gate(name=rule.name, state=state, baseline=before, candidate=after, detail=detail, evidence=None)


def _too_unknown(arm: ArmSummary, metric: str) -> bool:
    description = arm.metrics[metric]
    return description.count == 0 or description.unknown > UNKNOWN_TOLERANCE * (description.count + description.unknown)


def candidate_only(comparison: Comparison) -> tuple[str, ...]:
    """A warning about tasks that only the candidate ran, because the averages are then over different tasks."""
    extra = [task.task_id for task in comparison.tasks if not task.baseline.present]
    return (
        (f"only the candidate ran {quote_names(extra)}: the arms' averages are over different tasks.",) if extra else ()
    )


def _wording(decision: Decision, comparison: Comparison) -> str:
    preferred = {Decision.IMPROVED: comparison.candidate.name, Decision.REGRESSED: comparison.baseline.name}
    return f"prefer {preferred[decision]}" if decision in preferred else MIXED


def _repeat_warning(comparison: Comparison) -> tuple[str, ...]:
    fewest = comparison.fewest_repeats
    if fewest >= MINIMUM_REPEATS:
        return ()
    return (
        f"one task has only {fewest} counted repeats in an arm; use at least {MINIMUM_REPEATS} before a promotion "
        "decision, 10 for noisy suites.",
    )


def _configure(arguments: PolicyArguments) -> ConfiguredPolicy:
    refuse_gates("gates", arguments)
    if arguments.margins:
        raise UsageError("policy gates has no margins. Remove --margin.")
    return ConfiguredPolicy(
        name="gates", decide=lambda comparisons: tuple(map(decide_by_gates, comparisons)), opinion=_opinion
    )


def _opinion(comparison: Comparison) -> PolicyOpinion:
    verdict = decide_by_gates(comparison)
    unknown = next((gate.detail for gate in verdict.gates if gate.state is GateState.UNKNOWN), None)
    return PolicyOpinion(decision=verdict.decision, obstacle=unknown)


GATES = Policy(name="gates", infers=False, configure=_configure)
