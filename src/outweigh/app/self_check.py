"""The A/A self-check of a store: how often each policy would report a difference where there is none."""

from dataclasses import dataclass

import numpy as np

from outweigh.app.choose_policy import SUITE_RULE, PolicyRequest, choose_policy
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.errors import UsageError
from outweigh.report.document import Report
from outweigh.report.self_check_page import self_check_report
from outweigh.verdict.self_check import configure_all, self_check

DEFAULT_SPLITS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckRequest:
    """Which records, which arms to split (all where none is named), how often, and the rule that will decide."""

    evidence: EvidenceRequest
    policy: PolicyRequest = SUITE_RULE
    arms: tuple[str, ...] = ()
    splits: int = DEFAULT_SPLITS
    profile: str | None = None


def check_false_alarms(request: SelfCheckRequest) -> Report:
    """Split the runs of every arm at random and decide, many times."""
    if len(set(request.arms)) < len(request.arms):
        raise UsageError("--arm names an arm twice.")
    policy = choose_policy(request.evidence.stores, request.policy)
    evidence = read_evidence(request.evidence)
    # By name, so that the order of the records does not change what is drawn.
    arms = request.arms or sorted(evidence.arms)
    draw = np.random.default_rng(request.policy.seed)
    # The policy that will decide as it will decide, and the others as they come.
    policies = configure_all(policy.name, policy.arguments)
    profile = request.evidence.stores.profile(request.profile)
    check = self_check(evidence, arms, request.splits, draw, policies, profile)
    return self_check_report(check, request.policy.seed, policy.name, policy.source)
