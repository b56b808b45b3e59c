"""The A/A self-check: what every policy decides about two halves of one arm, where there is nothing to find."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import msgspec
from msgspec import Struct
from numpy.random import Generator

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.evidence_hash import NO_RECORDS
from outweigh.score.composite import OBJECTIVE_FIRST, Profile
from outweigh.score.judge_scores import NO_JUDGE_RULES
from outweigh.score.run_score import Score
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import wilson_interval
from outweigh.verdict.configured_policy import ConfiguredPolicy, PolicyArguments, PolicyOpinion
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import ERROR_RATES
from outweigh.verdict.policy import POLICIES, Policies, configure_policy

ConfiguredPolicies = Mapping[str, ConfiguredPolicy]
DEFAULT_ARGUMENTS = PolicyArguments()


def configure_all(
    name: str | None = None, arguments: PolicyArguments = DEFAULT_ARGUMENTS, policies: Policies = POLICIES
) -> ConfiguredPolicies:
    """Every policy: the named one with these arguments, the others with their defaults for the same population."""
    others = PolicyArguments(fixed_suite=arguments.fixed_suite, seed=arguments.seed)
    return {each: configure_policy(each, arguments if each == name else others, policies) for each in policies}


def ask_all_policies(comparison: Comparison, policies: ConfiguredPolicies) -> dict[str, PolicyOpinion]:
    """What every policy says, by its name."""
    return {name: policy.opinion(comparison) for name, policy in policies.items()}


TOLERATED_FALSE_ALARMS = round(
    2 * ERROR_RATES.superiority + ERROR_RATES.pass_rate_alarm + ERROR_RATES.resource_alarm + ERROR_RATES.task_alarm,
    ndigits=9,
)
"""What the evidence policy allows itself in all; a policy with a larger share of false alarms must not gate."""

FALSE_ALARMS = (Decision.IMPROVED, Decision.TRADE_OFF, Decision.REGRESSED)
HALVES = ("one half", "the other half")

RunsByTask = Sequence[Sequence[Score]]


class _Question(Struct, frozen=True):
    """The policies to ask, and the weights of the composite that they see."""

    policies: ConfiguredPolicies
    profile: Profile

    def ask(self, evidence: Evidence, baseline: str, candidate: str) -> dict[str, PolicyOpinion]:
        return ask_all_policies(compare_arms(evidence, baseline, candidate, self.profile), self.policies)


class SplitCounts(Struct, frozen=True, kw_only=True):
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


class IdenticalArms(Struct, frozen=True, kw_only=True):
    """Two arms with one fingerprint, and what each policy says about them."""

    baseline: str
    candidate: str
    decisions: Mapping[str, Decision]


class SelfCheck(Struct, frozen=True, kw_only=True):
    """How often each policy would have raised a false alarm. `splits` counts those of every arm that could be split."""

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
    policies: ConfiguredPolicies | None = None,
    profile: Profile = OBJECTIVE_FIRST,
) -> SelfCheck:
    """Share the splits evenly among the arms, ask every policy about each, and about arms of one fingerprint."""
    asked = _Question(configure_all() if policies is None else policies, profile)
    repeats = {name: _repeats(evidence.arm(name)) for name in arms}
    shares = _shares([name for name in arms if repeats[name]], splits)
    pairs = tuple(_natural_pairs(evidence, arms, asked))
    if not shares and not pairs:
        raise EvidenceError(
            f"no task of {quote_names(arms)} has two counted runs, so there is nothing to split. Run every task "
            "at least twice (ten times, to split into halves of five)."
        )
    tallies = _tally(
        asked.policies,
        [answers for name in shares for answers in _ask_about_splits(repeats[name], shares[name], rng, asked)],
    )
    return SelfCheck(
        arms=tuple(arms),
        splits=shares,
        tallies=tallies,
        natural_pairs=pairs,
        evidence_sha256=evidence.sha256(*arms),
        warnings=(*evidence.warnings, *_left_out(evidence, arms, shares), *_unjudged_splits(tallies)),
    )


def split_in_halves(repeats: RunsByTask, rng: Generator) -> Evidence:
    """Deal the runs of every task to the halves at random, as many to the one as to the other.

    The odd run of a task is left out: a half without it would look as if it had lost a run.
    """
    halves: dict[str, list[Score]] = {name: [] for name in HALVES}
    for task in rng.permutation(len(repeats)).tolist():
        shuffled = rng.permutation(len(repeats[task])).tolist()
        for rank, place in enumerate(shuffled[: len(shuffled) // 2 * 2]):
            half = HALVES[rank % 2]
            halves[half].append(_in_half(repeats[task][place], half, rank // 2 + 1))
    # Nothing is promoted on the strength of a split, so it needs no fingerprint.
    digests: dict[str, Sequence[bytes]] = dict.fromkeys(HALVES, ())
    return Evidence(
        arms=halves,
        digests=digests,
        hashes=dict.fromkeys(HALVES, NO_RECORDS),
        changes={},
        components={},
        judging={},
        judge_rules=NO_JUDGE_RULES,
        skipped=(),
        warnings=(),
    )


def _in_half(run: Score, half: str, repeat: int) -> Score:
    """The run in its half, without its time: after a random split the order of runs is chance."""
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
    repeats: RunsByTask, splits: int, rng: Generator, question: _Question
) -> Iterator[dict[str, PolicyOpinion]]:
    for _ in range(splits):
        yield question.ask(split_in_halves(repeats, rng), *HALVES)


def _tally(policies: Iterable[str], splits: Sequence[Mapping[str, PolicyOpinion]]) -> dict[str, SplitCounts]:
    return {policy: _count([opinions[policy] for opinions in splits]) for policy in policies}


def _count(opinions: Sequence[PolicyOpinion]) -> SplitCounts:
    obstacles = [opinion.obstacle for opinion in opinions if opinion.obstacle is not None]
    return SplitCounts(
        splits=len(opinions),
        counts=Counter(opinion.decision for opinion in opinions),
        obstructed=len(obstacles),
        obstacle=obstacles[0] if obstacles else None,
    )


def _natural_pairs(evidence: Evidence, arms: Sequence[str], question: _Question) -> Iterator[IdenticalArms]:
    """Every pair of arms with one fingerprint, as far as it holds an arm asked about."""
    fingerprints = {name: _fingerprint(evidence.arms[name]) for name in sorted(evidence.arms)}
    for baseline, candidate in combinations(fingerprints, 2):
        alike = fingerprints[baseline] is not None and fingerprints[baseline] == fingerprints[candidate]
        if alike and not {baseline, candidate}.isdisjoint(arms):
            opinions = question.ask(evidence, baseline, candidate)
            decisions = {policy: opinion.decision for policy, opinion in opinions.items()}
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


def _unjudged_splits(tallies: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Name policies that could not judge: that they raised no false alarm then means nothing."""
    for policy, tally in tallies.items():
        if tally.obstructed:
            yield f"policy {policy} could not judge {tally.obstructed} of {tally.splits} splits: {tally.obstacle}."
