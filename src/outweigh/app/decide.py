"""Decide about the candidates of a baseline: the one way that the library and the command line share.

The order of the steps is part of it: of several faults, the same one is reported everywhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from outweigh.app.evidence import SUITE_ARMS, ArmChoice, ComparedArms, EvidenceRequest, compare_candidates
from outweigh.app.pages import Page
from outweigh.app.policy_choice import SUITE_RULE, ChosenPolicy, PolicyRequest, choose_policy
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, quote_names
from outweigh.report.document import Report
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdicts_report
from outweigh.verdict.decision import Decision, Gate, Verdict
from outweigh.verdict.promotion import may_promote, verdict_refusals

REQUIREMENTS: Mapping[str, frozenset[Decision]] = MappingProxyType(
    {
        "improved": frozenset({Decision.IMPROVED}),
        "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
    }
)

ASK_MAY_PROMOTE = "a verdict is neither true nor false; ask for its may_promote or its decision."


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideRequest:
    """What to decide about: these records, these arms, by this rule."""

    evidence: EvidenceRequest
    arms: ArmChoice = SUITE_ARMS
    policy: PolicyRequest = SUITE_RULE


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """One candidate: how it compares, what the policy says, and whether it may be promoted."""

    comparison: Comparison
    verdict: Verdict

    @property
    def name(self) -> str:
        """The candidate's arm."""
        return self.comparison.candidate.name

    @property
    def decision(self) -> Decision:
        """Improved, neutral, regressed or inconclusive."""
        return self.verdict.decision

    @property
    def blockers(self) -> tuple[str, ...]:
        """Why even an improvement would not be promoted."""
        return self.verdict.blockers

    @property
    def refusals(self) -> tuple[str, ...]:
        """Every reason why it may not be promoted, the decision and regressions among them; empty where it may."""
        return verdict_refusals(self.verdict, self.comparison.evidence_sha256)

    @property
    def may_promote(self) -> bool:
        """Whether it may be promoted, as far as the verdict goes."""
        return may_promote(self.verdict, self.comparison.evidence_sha256)

    def __bool__(self) -> bool:
        raise TypeError(ASK_MAY_PROMOTE)

    def meets(self, requirement: str) -> bool:
        """Whether it is what is required. A hard regression, such as a task that was never run, meets nothing."""
        return self.decision in REQUIREMENTS[requirement] and not self.verdict.regressions


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionResult(Page):
    """The verdict about every candidate of one baseline, decided together.

    It iterates over its candidates and finds one by its name. What is asked of the result itself is asked of its only
    candidate, and refused where there are several.
    """

    compared: ComparedArms
    policy: ChosenPolicy
    candidates: tuple[CandidateResult, ...]

    def document(self) -> Report:
        """The page of `outweigh verdict`."""
        verdicts = [each.verdict for each in self.candidates]
        compared = self.compared
        answer = verdicts_report(verdicts, compared.comparisons, self.policy.source)
        return add_setup_changes(answer, compared.stores.setup(compared.baseline, compared.candidates))

    def rows(self) -> Sequence[Mapping[str, object]]:
        """One row for every candidate and gate."""
        return [_gate_row(self.baseline, each, gate) for each in self.candidates for gate in each.verdict.gates]

    def meets(self, requirement: str) -> bool | None:
        """Whether any candidate is what is required; None where nothing was decided about any."""
        if any(each.meets(requirement) for each in self.candidates):
            return True
        return None if all(each.decision is Decision.INCONCLUSIVE for each in self.candidates) else False

    def __bool__(self) -> bool:
        raise TypeError(ASK_MAY_PROMOTE)

    def __iter__(self) -> Iterator[CandidateResult]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, candidate: str) -> CandidateResult:
        for each in self.candidates:
            if each.name == candidate:
                return each
        raise KeyError(candidate)

    @property
    def only(self) -> CandidateResult:
        """The only candidate."""
        if len(self.candidates) != 1:
            names = quote_names([each.name for each in self.candidates])
            raise UsageError(f"there are several candidates, {names}; choose one by its name, as in result[NAME].")
        return self.candidates[0]

    @property
    def evidence(self) -> Evidence:
        """What the verdict rests on, with every line that could not be read and every warning."""
        return self.compared.evidence

    @property
    def baseline(self) -> str:
        """The arm that the candidates are compared with."""
        return self.compared.baseline

    @property
    def comparison(self) -> Comparison:
        """The only candidate's."""
        return self.only.comparison

    @property
    def verdict(self) -> Verdict:
        """The only candidate's."""
        return self.only.verdict

    @property
    def decision(self) -> Decision:
        """The only candidate's."""
        return self.only.decision

    @property
    def blockers(self) -> tuple[str, ...]:
        """The only candidate's."""
        return self.only.blockers

    @property
    def refusals(self) -> tuple[str, ...]:
        """The only candidate's."""
        return self.only.refusals

    @property
    def may_promote(self) -> bool:
        """The only candidate's."""
        return self.only.may_promote


def _gate_row(baseline: str, result: CandidateResult, gate: Gate) -> dict[str, object]:
    tested = gate.evidence
    return {
        "candidate": result.name,
        "baseline": baseline,
        "decision": result.decision.value,
        "may_promote": result.may_promote,
        "gate": gate.name,
        "state": gate.state.value,
        "baseline_value": gate.baseline,
        "candidate_value": gate.candidate,
        "effect": None if tested is None else tested.effect,
        "low": None if tested is None else tested.low,
        "high": None if tested is None else tested.high,
        "margin": None if tested is None else tested.margin,
        "tasks": None if tested is None else tested.tasks,
    }


def decide(request: DecideRequest) -> DecisionResult:
    """Choose the rule, read the records, choose the arms, compare, decide."""
    return decide_by(choose_policy(request.evidence.stores, request.policy), request)


def decide_by(policy: ChosenPolicy, request: DecideRequest) -> DecisionResult:
    """The same by a policy that was chosen already."""
    compared = compare_candidates(request.evidence, request.arms)
    verdicts = policy.decide(compared.comparisons)
    return DecisionResult(
        compared=compared,
        policy=policy,
        candidates=tuple(
            CandidateResult(comparison=comparison, verdict=verdict)
            for comparison, verdict in zip(compared.comparisons, verdicts, strict=True)
        ),
    )
