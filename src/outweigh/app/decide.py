"""Decide about the candidates of one baseline: choose the policy, compare, and say whether they may be promoted.

The command line and the Python API both come through here. What the caller sets goes over what the suite says; a
policy that the caller names leaves nothing of the suite's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec

from outweigh.app.evidence import SUITE_ARMS, ArmChoice, ComparedArms, EvidenceRequest, compare_candidates
from outweigh.app.ledger import hold_to_ledger
from outweigh.app.pages import Page
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, quote_names
from outweigh.model.suite import PolicySpec
from outweigh.report.document import Report
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdicts_report
from outweigh.report.verdict_summary import verdicts_summary
from outweigh.store.store import StoreSet
from outweigh.verdict.configured_policy import ConfiguredPolicy, PolicyArguments
from outweigh.verdict.decision import Decision, Gate, PolicySource, Verdict
from outweigh.verdict.policy import POLICIES, Policies, configure_policy, suite_arguments
from outweigh.verdict.promotion import may_promote, verdict_refusals

DEFAULT_PLANNED_TASKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """What the caller says about the rule; nothing set is the suite's rule, or the default where no suite is known.

    `margins` and `tolerances` are numbers by gate, or texts NAME=X as the command line has them. `value_usd` is what
    one solved task is worth, `version` the version of the rule. `fixed_suite` speaks of these very tasks instead of
    tasks like these. `sequential` says that the data were looked at more than once.
    """

    policy: str | None = None
    gates: tuple[str, ...] | None = None
    margins: Mapping[str, float] | tuple[str, ...] = ()
    tolerances: Mapping[str, float] | tuple[str, ...] = ()
    value_usd: float | None = None
    version: int | None = None
    sequential: bool = False
    planned_tasks: int | None = None
    fixed_suite: bool = False
    seed: int = 0


SUITE_RULE = PolicyRequest()
"""The rule of the suite that was run, or the default where no suite is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy with everything that was set, and by whom."""

    policy: ConfiguredPolicy
    arguments: PolicyArguments
    source: PolicySource

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.policy.name

    def decide(self, comparisons: Sequence[Comparison]) -> tuple[Verdict, ...]:
        """Decide about every candidate of one baseline together."""
        return self.policy.decide(comparisons)


def choose_policy(stores: StoreSet, request: PolicyRequest, policies: Policies = POLICIES) -> ChosenPolicy:
    """What the caller says, over what the suite says; naming a policy leaves nothing of the suite's."""
    planned_looks = stores.planned_looks()
    written = stores.policy() if request.policy is None else None
    name = request.policy or (written.name if written else "evidence")
    infers = name in policies and policies[name].infers
    looked_at = planned_looks if infers else None
    _refuse_foreign_options(request, name, looked_at, infers=infers)
    suite = PolicyArguments() if written is None else suite_arguments(written)
    gates = suite.gates if request.gates is None else request.gates
    default = DEFAULT_PLANNED_TASKS if request.sequential else None
    # Whoever asks for a sequential verdict looks at moments of their own.
    looks = stores.look_plan() if infers and not request.sequential and request.planned_tasks is None else None
    arguments = PolicyArguments(
        gates=gates,
        margins=_stated(suite.margins, request.margins, "margin", gates),
        tolerances=_stated(suite.tolerances, request.tolerances, "tolerance", gates),
        value_usd=suite.value_usd if request.value_usd is None else request.value_usd,
        version=_stored_version(stores, name) if request.version is None and infers else request.version,
        promotion_tasks=suite.promotion_tasks,
        promotion_repeats=suite.promotion_repeats,
        fixed_suite=request.fixed_suite,
        planned_tasks=None if looks is not None else request.planned_tasks or looked_at or default,
        looks=looks,
        seed=request.seed,
    )
    policy = configure_policy(name, arguments, policies)
    return ChosenPolicy(policy=policy, arguments=arguments, source=_rule_source(request, written))


def _stored_version(stores: StoreSet, policy: str) -> int | None:
    """The version of the rule that the stores were run under, also where the caller names that very policy."""
    versions = {
        experiment.policy.version or 1 for experiment in stores.experiments() if experiment.policy.name == policy
    }
    return _only_version(versions, "stores")


def _only_version(versions: Set[int], made: str) -> int | None:
    """The version that all stores or records were made under; None where they name none."""
    if len(versions) > 1:
        raise UsageError(
            f"the {made} were made under different versions of the rule; choose one with --policy-version, or decide "
            "about each store by itself."
        )
    return next(iter(versions), None)


def _stated(
    suite: Mapping[str, float],
    told: Mapping[str, float] | tuple[str, ...],
    option: str,
    gates: Sequence[str] | None,
) -> dict[str, float]:
    """The caller's numbers over the suite's; one of the suite goes with its gate when the caller leaves that out."""
    kept = suite if gates is None else {gate: number for gate, number in suite.items() if gate in gates}
    return {**kept, **_parse_numbers(told, option)}


def _rule_source(request: PolicyRequest, written: PolicySpec | None) -> PolicySource:
    stated = request.gates, request.value_usd, request.version, request.policy
    told = any(part is not None for part in stated) or bool(request.margins) or bool(request.tolerances)
    if written is None:
        return PolicySource.COMMAND_LINE if told else PolicySource.DEFAULT
    return PolicySource.SUITE_AND_COMMAND_LINE if told else PolicySource.SUITE


def _refuse_foreign_options(request: PolicyRequest, policy: str, looked_at: int | None, *, infers: bool) -> None:
    if request.planned_tasks is not None and not request.sequential and looked_at is None:
        raise UsageError("--planned-tasks goes with --sequential.")
    if infers:
        if looked_at is not None and request.fixed_suite:
            raise UsageError(
                "--infer runs keeps the tasks fixed, and this experiment was run --until-decided, task by task; "
                "leave it out, or run the suite again without --until-decided."
            )
        return
    foreign = {
        "gates": any(request.gates or ()),
        "sequential": request.sequential,
        "policy-version": request.version is not None,
    }
    for name, value in foreign.items():
        if value:
            raise UsageError(f"--{name} belongs to policy evidence; policy {policy} decides as the seed wrote it.")
    if request.fixed_suite:
        raise UsageError(f"--infer belongs to policy evidence; policy {policy} makes no inference.")


def _parse_numbers(numbers: Mapping[str, float] | tuple[str, ...], option: str) -> dict[str, float]:
    return dict(numbers) if isinstance(numbers, Mapping) else dict(_parse_number(text, option) for text in numbers)


def _parse_number(text: str, option: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--{option} {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--{option} {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number


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
        """Improved, a trade-off, neutral, regressed or inconclusive."""
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

    def summary(self) -> Report:
        """The answer on one screen."""
        verdicts = [each.verdict for each in self.candidates]
        return verdicts_summary(verdicts, self.compared.comparisons, self.policy.source)

    def to_text(self, *, verbose: bool = False) -> str:
        """What the command line prints, without colours; everything where it is to be `verbose`."""
        from outweigh.report.render_text import TextReporter  # noqa: PLC0415 - one of several formats is needed

        return TextReporter(colour=False).render(self.document() if verbose else self.summary())

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


def _by_named_version(chosen: ChosenPolicy, named: frozenset[int]) -> ChosenPolicy:
    """Records that name the version of their rule are decided by it, where nobody says otherwise."""
    if chosen.name not in POLICIES or not POLICIES[chosen.name].infers or chosen.arguments.version is not None:
        return chosen
    version = _only_version(named, "records")
    if version is None:
        return chosen
    arguments = msgspec.structs.replace(chosen.arguments, version=version)
    return replace(chosen, arguments=arguments, policy=configure_policy(chosen.name, arguments))


def decide(request: DecideRequest) -> DecisionResult:
    """Choose the rule, read the records, choose the arms, compare, decide."""
    return decide_by(choose_policy(request.evidence.stores, request.policy), request)


def decide_by(policy: ChosenPolicy, request: DecideRequest) -> DecisionResult:
    """The same by a policy that was chosen already."""
    compared = compare_candidates(request.evidence, request.arms)
    policy = _by_named_version(policy, compared.evidence.policy_versions)
    paths = [store.path for store in request.evidence.stores.stores]
    verdicts = [hold_to_ledger(verdict, paths) for verdict in policy.decide(compared.comparisons)]
    return DecisionResult(
        compared=compared,
        policy=policy,
        candidates=tuple(
            CandidateResult(comparison=comparison, verdict=verdict)
            for comparison, verdict in zip(compared.comparisons, verdicts, strict=True)
        ),
    )
