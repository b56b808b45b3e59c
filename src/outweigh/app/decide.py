"""Decide about the candidates of one baseline: compare, decide by the chosen policy, hold the verdicts to the ledger.

The command line and the Python API both come through here.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from outweigh.app.candidate_family import compare_candidate, decide_family
from outweigh.app.choose_arms import SUITE_ARMS, ArmChoice
from outweigh.app.choose_policy import SUITE_RULE, ChosenPolicy, PolicyRequest, choose_policy, follow_named_version
from outweigh.app.evidence import ComparedArms, EvidenceRequest, compare_candidates
from outweigh.app.pages import Page
from outweigh.app.quarantine import hold_to_all_runs
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.errors import UsageError, quote_names
from outweigh.report.document import Report
from outweigh.report.formatting import option_words
from outweigh.report.next_step import VerdictCommand
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdicts_report
from outweigh.report.verdict_summary import SCREEN_WIDTH, Screen, verdicts_summary
from outweigh.report.version_history import VersionHistory, add_version_history, add_version_line
from outweigh.store.bundled_stores import name_beside_bundle
from outweigh.store.ledger import LedgerLine, read_store_ledger
from outweigh.store.store_address import is_address, split_address
from outweigh.verdict.decision import Decision, Gate, Verdict
from outweigh.verdict.policy import POLICIES
from outweigh.verdict.promotion import may_promote, verdict_refusals
from outweigh.verdict.promotion_ledger import FAMILY_ERROR

REQUIREMENTS: Mapping[str, frozenset[Decision]] = MappingProxyType(
    {
        "improved": frozenset({Decision.IMPROVED}),
        "not-regressed": frozenset({Decision.IMPROVED, Decision.NEUTRAL}),
    }
)

ASK_MAY_PROMOTE = "a verdict is neither true nor false; ask for its may_promote or its decision."


class DecideRequest(Struct, frozen=True, kw_only=True):
    """What to decide about: these records, these arms, by this rule."""

    evidence: EvidenceRequest
    arms: ArmChoice = SUITE_ARMS
    policy: PolicyRequest = SUITE_RULE


class CandidateResult(Struct, frozen=True, kw_only=True):
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


class DecisionResult(Struct, Page, frozen=True, kw_only=True):
    """The verdict about every candidate of one baseline, decided together.

    It iterates over its candidates and finds one by its name. What is asked of the result itself is asked of its only
    candidate, and refused where there are several. `earlier` are versions of arms that the suite no longer has.
    """

    request: DecideRequest
    compared: ComparedArms
    policy: ChosenPolicy
    candidates: tuple[CandidateResult, ...]
    earlier: tuple[CandidateResult, ...] = ()

    def document(self) -> Report:
        """The page of `outweigh verdict`."""
        verdicts = [each.verdict for each in self.candidates]
        compared = self.compared
        answer = verdicts_report(verdicts, compared.comparisons, self.policy.source)
        whole = add_setup_changes(answer, compared.stores.setup(compared.baseline, compared.candidates))
        return add_version_history(whole, self.history)

    def summary(self, *, command: str | None = None, width: int = SCREEN_WIDTH, written: Path | None = None) -> Report:
        """The answer on one screen; `command` is what the user typed, which the next commands build on.

        `written` is the page of the report, where there is one already.
        """
        verdicts = [each.verdict for each in self.candidates]
        page = None if written is None else str(written)
        screen = Screen(command=replace(self._command(command), written=page), width=width)
        answer = verdicts_summary(verdicts, self.compared.comparisons, screen)
        return add_version_line(answer, self.history, screen.command)

    def _command(self, typed: str | None) -> VerdictCommand:
        """What commands about the same records are made of; the arms are named where the suite does not name them."""
        stores = self.compared.stores
        names, experiment = tuple(store.name for store in stores.stores), stores.experiment
        from_suite = experiment is not None and experiment.baseline == self.baseline
        chosen = [word for each in self.candidates for word in option_words("--candidate", each.name)]
        arms = () if from_suite else (*option_words("--baseline", self.baseline), *chosen)
        reading = tuple(self.request.evidence.option_words())
        profile = self.request.arms.profile
        rule = (*self.request.policy.options(), *(() if profile is None else (("--profile", profile),)))
        words = ["outweigh", "verdict", *names, *arms, *reading, *chain.from_iterable(rule)]
        in_folder = from_suite and len(names) == 1 and stores.stores[0].folder is not None
        return VerdictCommand(
            words=typed or shlex.join(words),
            runs=names,
            arm_options=arms,
            reading_options=reading,
            rule_options=rule,
            store=names[0] if in_folder else None,
            beside=_name_beside(names[0]) if in_folder else None,
            keeps_runs=len(names) == 1 and (stores.stores[0].folder is not None or names[0].endswith(".jsonl")),
        )

    @property
    def history(self) -> VersionHistory | None:
        """Earlier versions of the arms; None where there are none, or candidates were named."""
        experiment = self.compared.stores.experiment
        if experiment is None or not self.earlier:
            return None
        current, earlier = (
            tuple((each.comparison, each.verdict) for each in results) for results in (self.candidates, self.earlier)
        )
        return VersionHistory(current=current, earlier=earlier, tried=len(experiment.arms) - 1)

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
            raise UsageError(f"there are several candidates, {names}; choose one by name, as in result[NAME].")
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


def _name_beside(name: str) -> str | None:
    """How the names of files about a store begin that nothing is written into; None for a folder of this machine."""
    return split_address(name)[1] if is_address(name) else name_beside_bundle(name)


def decide(request: DecideRequest) -> DecisionResult:
    """Choose the rule, read the records, choose the arms, compare, decide."""
    return decide_by(choose_policy(request.evidence.stores, request.policy), request)


def decide_by(policy: ChosenPolicy, request: DecideRequest) -> DecisionResult:
    """The same by a policy that was chosen already."""
    compared = compare_candidates(request.evidence, request.arms, with_earlier=True)
    policy = follow_named_version(policy, compared.evidence.policy_versions)
    paths = [store.path for store in request.evidence.stores.stores]
    comparisons = (*compared.comparisons, *compared.earlier)
    stores = request.evidence.stores

    def decide_again(evidence: Evidence) -> Sequence[Verdict]:
        names = [each.candidate.name for each in comparisons]
        again = [compare_candidate(evidence, stores, compared.baseline, name, compared.profile) for name in names]
        return decide_family(policy, stores.experiment, again)

    decided = hold_to_all_runs(
        decide_family(policy, stores.experiment, comparisons), compared.evidence, request.evidence, decide_again
    )
    results = tuple(
        CandidateResult(comparison=comparison, verdict=hold_to_ledger(_hold_to_suite(verdict, request.evidence), paths))
        for comparison, verdict in zip(comparisons, decided, strict=True)
    )
    number = len(compared.comparisons)
    return DecisionResult(
        request=request, compared=compared, policy=policy, candidates=results[:number], earlier=results[number:]
    )


def _hold_to_suite(verdict: Verdict, evidence: EvidenceRequest) -> Verdict:
    """A promotion goes by all tasks of a suite: a list that is named beside the results could be any."""
    if evidence.task_list is None:
        return verdict
    reason = "only the tasks of --task-list count. Run a suite of these tasks, and promote by its store."
    return replace(verdict, blockers=(*verdict.blockers, reason))


def hold_to_ledger(verdict: Verdict, stores: Iterable[Path | None]) -> Verdict:
    """The same verdict, with a blocker where a store says that its ledger does not allow the promotion.

    The ledger has a say in whether a candidate may be promoted, and in nothing else: the decision stays what it is.
    """
    if verdict.decision is not Decision.IMPROVED or not POLICIES[verdict.policy].infers:
        return verdict
    # A file of a store that is named alone is held to what the ledger said about the store.
    folders = {path if path.is_dir() else path.parent for path in stores if path is not None}
    ledgers = [found for folder in folders if (found := read_store_ledger(folder)) is not None]
    if not ledgers:
        return verdict
    lines = [line for ledger in ledgers if (line := ledger.find(*verdict.evidence_hashes)) is not None]
    if not lines:
        reason = "the ledger of verdicts has no entry about these records. Run `outweigh ci` again."
        return replace(verdict, blockers=(*verdict.blockers, reason))
    refused = (_refusal(line) for line in lines if not line.promotable)
    return replace(verdict, blockers=(*verdict.blockers, *refused))


def _refusal(line: LedgerLine) -> str:
    known = "no p-value" if line.p_value is None else f"p = {line.p_value:.2g}"
    return (
        f"the ledger of verdicts asks for p ≤ {line.level:.2g}, and this improvement has {known}. It keeps the chance "
        f"that a change without effect is ever promoted below {100 * FAMILY_ERROR:g} %. More tasks make a real gain "
        "clearer."
    )
