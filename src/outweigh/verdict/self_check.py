"""The A/A self-check: what every policy decides about two halves of one arm, where there is nothing to find."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import msgspec
from numpy.random import Generator

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.score.composite import OBJECTIVE_FIRST, Profile
from outweigh.score.judge_scores import NO_JUDGE_RULES
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import wilson_interval
from outweigh.verdict.composite_policy import CompositeThresholds, decide_by_composite
from outweigh.verdict.decision import Decision, GateState, Verdict
from outweigh.verdict.evidence_policy import weigh_evidence
from outweigh.verdict.evidence_settings import ERROR_RATES, EvidenceSettings, evidence_settings
from outweigh.verdict.gates_policy import decide_by_gates
from outweigh.verdict.policy import POLICIES


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Every policy as it would decide here: with the gates, margins and weights that the verdict will have."""

    evidence: EvidenceSettings = field(default_factory=evidence_settings)
    thresholds: CompositeThresholds = field(default_factory=CompositeThresholds)
    profile: Profile = OBJECTIVE_FIRST


DEFAULT_POLICY_SETTINGS = PolicySettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOpinion:
    """What a policy says about two arms, and what kept it from judging, if anything did."""

    decision: Decision
    obstacle: str | None


def ask_all_policies(comparison: Comparison, rules: PolicySettings) -> dict[str, PolicyOpinion]:
    """What every policy says, by its name."""
    (weighed,) = weigh_evidence([comparison], rules.evidence)
    gates, composite = decide_by_gates(comparison), decide_by_composite(comparison, rules.thresholds)
    return {
        "evidence": PolicyOpinion(decision=weighed.decision, obstacle=next(iter(weighed.obstacles), None)),
        "gates": PolicyOpinion(decision=gates.decision, obstacle=_unknown_gate(gates)),
        # The composite policy is inconclusive only where a score is unknown or asserts nothing.
        "composite": PolicyOpinion(
            decision=composite.decision,
            obstacle=composite.reasons[0] if composite.decision is Decision.INCONCLUSIVE else None,
        ),
    }


def _unknown_gate(verdict: Verdict) -> str | None:
    return next((gate.detail for gate in verdict.gates if gate.state is GateState.UNKNOWN), None)


TOLERATED_FALSE_ALARMS = round(
    ERROR_RATES.superiority + ERROR_RATES.pass_rate_alarm + ERROR_RATES.resource_alarm + ERROR_RATES.task_alarm,
    ndigits=9,
)
"""What the evidence policy allows itself in all; a policy with a larger share of false alarms must not gate."""

FALSE_ALARMS = (Decision.IMPROVED, Decision.REGRESSED)
HALVES = ("one half", "the other half")

RunsByTask = Sequence[Sequence[Score]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """How often one policy made each decision about splits, and how often something kept it from judging."""

    splits: int
    counts: Mapping[Decision, int]
    obstructed: int
    obstacle: str | None

    def share(self, decision: Decision) -> float | None:
        """The part of the splits that got this decision; None without a split."""
        return self.counts.get(decision, 0) / self.splits if self.splits else None

    def false_alarms(self) -> Estimate:
        """The share of splits called improved or regressed; the interval is about more splits of the same runs."""
        alarms = sum(self.counts.get(decision, 0) for decision in FALSE_ALARMS)
        return wilson_interval(alarms, self.splits, level=0.95, unit=Unit.ITEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdenticalArms:
    """Two arms with one fingerprint, and what each policy says about them."""

    baseline: str
    candidate: str
    decisions: Mapping[str, Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """How often each policy would have cried wolf. `splits` counts those of every arm that could be split."""

    arms: tuple[str, ...]
    splits: Mapping[str, int]
    tallies: Mapping[str, SplitCounts]
    natural_pairs: tuple[IdenticalArms, ...]
    evidence_sha256: str
    warnings: tuple[str, ...]


def self_check(
    evidence: Evidence,
    arms: Sequence[str],
    splits: int,
    rng: Generator,
    rules: PolicySettings = DEFAULT_POLICY_SETTINGS,
) -> SelfCheck:
    """Share the splits evenly among the arms, ask every policy about each, and about arms of one fingerprint."""
    repeats = {name: _repeats(evidence.arm(name)) for name in arms}
    shares = _shares([name for name in arms if repeats[name]], splits)
    pairs = tuple(_natural_pairs(evidence, arms, rules))
    if not shares and not pairs:
        raise EvidenceError(
            f"no task of {quote_names(arms)} has two counted runs, so there is nothing to split. Run every task "
            "at least twice (ten times, to split into halves of five)."
        )
    tallies = _tally(
        [answers for name in shares for answers in _ask_about_splits(repeats[name], shares[name], rng, rules)]
    )
    return SelfCheck(
        arms=tuple(arms),
        splits=shares,
        tallies=tallies,
        natural_pairs=pairs,
        evidence_sha256=evidence.sha256(*arms),
        warnings=(*evidence.warnings, *_left_out(evidence, arms, shares), *_silences(tallies)),
    )


def split_in_halves(repeats: RunsByTask, rng: Generator) -> Evidence:
    """Deal the runs like cards, one shuffled task after the other, so that odd runs go to the halves in turn."""
    hands: dict[str, list[Score]] = {name: [] for name in HALVES}
    turn = int(rng.integers(2))
    for task in rng.permutation(len(repeats)).tolist():
        for rank, place in enumerate(rng.permutation(len(repeats[task])).tolist()):
            half = HALVES[(turn + rank) % 2]
            hands[half].append(_dealt(repeats[task][place], half, rank // 2 + 1))
        turn += len(repeats[task])
    # Nothing is promoted on the strength of a split, so it needs no fingerprint.
    digests: dict[str, Sequence[bytes]] = dict.fromkeys(HALVES, ())
    return Evidence(
        arms=hands, digests=digests, changes={}, components={}, judging={}, jury=NO_JUDGE_RULES, skipped=(), warnings=()
    )


def _dealt(run: Score, half: str, repeat: int) -> Score:
    """The run in its half. Its place in time goes: after a random deal any order is chance, and no warm cache."""
    return msgspec.structs.replace(run, arm=half, repeat=repeat, position=None, started_at=None)


def _repeats(scores: Sequence[Score]) -> RunsByTask:
    """The counted runs of every task that has at least two, in an order that is not that of the file."""
    tasks = _by_task(scores)
    return [sorted(tasks[task], key=lambda run: run.repeat) for task in sorted(tasks) if len(tasks[task]) > 1]


def _by_task(scores: Sequence[Score]) -> dict[str, list[Score]]:
    tasks: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        if score.counted:
            tasks[score.task_id].append(score)
    return tasks


def _shares(arms: Sequence[str], splits: int) -> dict[str, int]:
    if splits < max(1, len(arms)):
        raise UsageError(f"{splits} splits are too few for {max(1, len(arms))} arm(s); ask for one per arm at least.")
    return {name: splits // len(arms) + (place < splits % len(arms)) for place, name in enumerate(arms)}


def _ask_about_splits(
    repeats: RunsByTask, splits: int, rng: Generator, rules: PolicySettings
) -> Iterator[dict[str, PolicyOpinion]]:
    for _ in range(splits):
        yield ask_all_policies(compare_arms(split_in_halves(repeats, rng), *HALVES, rules.profile), rules)


def _tally(asked: Sequence[Mapping[str, PolicyOpinion]]) -> dict[str, SplitCounts]:
    heard: dict[str, list[PolicyOpinion]] = {policy: [] for policy in POLICIES}
    for answers in asked:
        for policy, opinion in answers.items():
            heard[policy].append(opinion)
    return {policy: _count(given) for policy, given in heard.items()}


def _count(given: Sequence[PolicyOpinion]) -> SplitCounts:
    obstacles = [opinion.obstacle for opinion in given if opinion.obstacle is not None]
    return SplitCounts(
        splits=len(given),
        counts=Counter(opinion.decision for opinion in given),
        obstructed=len(obstacles),
        obstacle=obstacles[0] if obstacles else None,
    )


def _natural_pairs(evidence: Evidence, arms: Sequence[str], rules: PolicySettings) -> Iterator[IdenticalArms]:
    """Every pair of arms with one fingerprint, as far as it holds an arm asked about."""
    fingerprints = {name: _fingerprint(evidence.arms[name]) for name in sorted(evidence.arms)}
    for baseline, candidate in combinations(fingerprints, 2):
        alike = fingerprints[baseline] is not None and fingerprints[baseline] == fingerprints[candidate]
        if alike and not {baseline, candidate}.isdisjoint(arms):
            said = ask_all_policies(compare_arms(evidence, baseline, candidate, rules.profile), rules)
            decisions = {policy: opinion.decision for policy, opinion in said.items()}
            yield IdenticalArms(baseline=baseline, candidate=candidate, decisions=decisions)


def _fingerprint(scores: Sequence[Score]) -> str | None:
    """The one fingerprint of all counted runs, or None."""
    found = {score.arm_fingerprint for score in scores if score.counted}
    return found.pop() if len(found) == 1 else None


def _left_out(evidence: Evidence, arms: Sequence[str], shares: Mapping[str, int]) -> Iterator[str]:
    for name in arms:
        single = sorted(task for task, runs in _by_task(evidence.arms[name]).items() if len(runs) < 2)
        if name not in shares:
            yield f"{name} is not split: none of its tasks has two counted runs."
        elif single:
            yield f"{name}: tasks with one counted run are in no split ({len(single)}): {quote_names(single)}."


def _silences(tallies: Mapping[str, SplitCounts]) -> Iterator[str]:
    """A policy that could not judge raised no false alarm, which is no merit."""
    for policy, tally in tallies.items():
        if tally.obstructed:
            yield f"policy {policy} could not judge {tally.obstructed} of {tally.splits} splits: {tally.obstacle}."
