"""The closed set of policies. One is added by a file that defines it, such as `gates_policy`, and an entry here.

The suite, the command line, the self-check and the JSON Schemas all read POLICIES.
"""

from collections.abc import Mapping, Sequence

from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.verdict.composite_policy import COMPOSITE
from outweigh.verdict.configured_policy import ConfiguredPolicy, Policy, PolicyArguments, PolicyOpinion
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.gates_policy import GATES


def _configure_evidence(arguments: PolicyArguments) -> ConfiguredPolicy:
    settings = evidence_settings(
        gates=arguments.gates,
        margins=arguments.margins,
        tolerances=arguments.tolerances,
        value_usd=arguments.value_usd,
        version=arguments.version,
        promotion_tasks=arguments.promotion_tasks,
        promotion_repeats=arguments.promotion_repeats,
        fixed_suite=arguments.fixed_suite,
        planned_tasks=arguments.planned_tasks,
        looks=arguments.looks,
        seed=arguments.seed,
    )
    return ConfiguredPolicy(
        name="evidence",
        decide=lambda comparisons: _decide_by_evidence(comparisons, settings, 0),
        decide_among=lambda comparisons, left_out: _decide_by_evidence(comparisons, settings, left_out),
        opinion=lambda comparison: _evidence_opinion(comparison, settings),
    )


def _decide_by_evidence(
    comparisons: Sequence[Comparison], settings: EvidenceSettings, left_out: int
) -> tuple[Verdict, ...]:
    # Imported here and below: the other policies need none of its statistics, and answer sooner without them.
    from outweigh.verdict.evidence_policy import decide_by_evidence  # noqa: PLC0415

    return decide_by_evidence(comparisons, settings, left_out)


def _evidence_opinion(comparison: Comparison, settings: EvidenceSettings) -> PolicyOpinion:
    from outweigh.verdict.weigh_evidence import weigh_evidence  # noqa: PLC0415

    (weighed,) = weigh_evidence([comparison], settings)
    return PolicyOpinion(decision=weighed.decision, obstacle=next(iter(weighed.unusable), None))


EVIDENCE = Policy(name="evidence", infers=True, configure=_configure_evidence)

Policies = Mapping[str, Policy]

POLICIES: Policies = {policy.name: policy for policy in (EVIDENCE, GATES, COMPOSITE)}


def configure_policy(name: str, arguments: PolicyArguments, policies: Policies = POLICIES) -> ConfiguredPolicy:
    """The policy, ready to decide; refuses a name that is none, and arguments that the policy does not have."""
    if name not in policies:
        raise UsageError(f"there is no policy {name!r}; choose one of {', '.join(policies)}.")
    return policies[name].configure(arguments)


def check_policy(policy: PolicySpec, policies: Policies = POLICIES) -> None:
    """Refuse what a suite says about its policy, if the policy cannot be configured so."""
    configured = configure_policy(policy.name, suite_arguments(policy), policies)
    if policy.version is not None and not policies[configured.name].infers:
        raise UsageError(f"versions belong to policy evidence; policy {policy.name} has a fixed rule.")


def suite_arguments(policy: PolicySpec) -> PolicyArguments:
    """What a suite sets about its policy."""
    return PolicyArguments(
        gates=policy.gates,
        margins=policy.margins,
        tolerances=policy.tolerances,
        value_usd=policy.value_usd,
        version=policy.version,
        promotion_tasks=policy.promotion_tasks,
        promotion_repeats=policy.promotion_repeats,
    )


def decide(
    comparisons: Sequence[Comparison], policy: str, margins: Mapping[str, float], policies: Policies = POLICIES
) -> tuple[Verdict, ...]:
    """Decide about every candidate of one baseline; only the evidence policy corrects for their number."""
    return configure_policy(policy, PolicyArguments(margins=margins), policies).decide(comparisons)
