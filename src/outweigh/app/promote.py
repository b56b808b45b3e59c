"""Promote a candidate: open the pull request that its verdict allows, or plan it.

A step that fails undoes what was made.
"""

from dataclasses import dataclass
from typing import cast

from msgspec.structs import replace

from outweigh.app.evidence import read_evidence
from outweigh.app.observer import Notify
from outweigh.app.promotion_basis import (
    PromoteRequest,
    PromotionBasis,
    PromotionCandidate,
    decide_promotion,
    gather_basis,
)
from outweigh.app.pull_request import PromotionProposal, PromotionResult, branch_name, open_pull_request
from outweigh.errors import UsageError
from outweigh.forge.plain_git import forge_name_of_host, parse_project
from outweigh.model.redact import redact_passwords
from outweigh.plugins import load_adapter
from outweigh.ports.forges import Forge, ForgeError, ForgeProject, PullRequestDraft
from outweigh.report.formatting import escape_controls
from outweigh.report.promotion_page import (
    Promotion,
    PromotionOutcome,
    PromotionTarget,
    add_hashes,
    pull_request_title,
    truncate_body,
)
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdict_report
from outweigh.verdict.decision import Decision
from outweigh.verdict.promotion import promotion_refusals, verdict_refusals
from outweigh.workspace.remote_git import GitUpstream


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteResult:
    """What came of it, and whether it is allowed; None where nothing was decided about the candidate."""

    promotion: Promotion
    is_allowed: bool | None


def promote(request: PromoteRequest, notify: Notify) -> PromoteResult:
    """Plan the promotion, or carry it out where it is allowed and asked for. `notify` hears of every step."""
    case = decide_promotion(request)
    try:
        promotion = _promote_candidate(case, request, notify)
    except ForgeError as fault:
        raise UsageError(f"{escape_controls(str(fault))} Nothing was made.") from fault
    decided = None if case.verdict.decision is Decision.INCONCLUSIVE else False
    return PromoteResult(promotion=promotion, is_allowed=decided if promotion.refusals else True)


def _promote_candidate(case: PromotionCandidate, request: PromoteRequest, notify: Notify) -> Promotion:
    if refused := verdict_refusals(case.verdict, case.comparison.evidence_sha256):
        return _promotion_answer(case, refused, None, None)
    with GitUpstream.open(request.repository, request.remote) as upstream:
        basis = gather_basis(case, request, upstream)
        forge, project = choose_forge(request, upstream.address)
        destination = _destination(case, basis, redact_passwords(upstream.address), forge.name)
        refused = promotion_refusals(basis.state)
        if refused or not request.execute or not basis.changes:
            return _promotion_answer(case, refused, destination, None)
        require_forge(forge, project)
        proposal = _proposal(case, basis, destination, request)
        done = open_pull_request(proposal, upstream, forge, project, notify)
    return _promotion_answer(case, (), destination, done)


def choose_forge(request: PromoteRequest, address: str) -> tuple[Forge, ForgeProject]:
    """The forge and the project there, by the address of the remote."""
    project = parse_project(address, request.api)
    return cast("Forge", load_adapter("forge", request.forge or forge_name_of_host(project.host))), project


def require_forge(forge: Forge, project: ForgeProject) -> None:
    """Before anything is made: whether the forge can be asked at all."""
    if missing := forge.missing(project):
        raise UsageError(
            f"forge {forge.name} cannot be asked: {missing} Or push the branch alone: --forge git. Nothing was made."
        )


def _destination(case: PromotionCandidate, basis: PromotionBasis, remote: str, forge: str) -> PromotionTarget:
    left = {change.path for change in basis.changes}
    fingerprint = case.experiment.arms[case.candidate]
    return PromotionTarget(
        remote=remote,
        forge=forge,
        into=basis.into,
        onto=basis.onto,
        branch=branch_name(case.comparison.evidence_sha256, fingerprint, basis.into),
        title=pull_request_title(
            case.experiment.suite, _arm_title(case, case.baseline), _arm_title(case, case.candidate)
        ),
        changes=tuple(change for change in basis.overlay_changes if change.path in left),
        notes=basis.notes,
    )


def _arm_title(case: PromotionCandidate, arm: str) -> str:
    """An arm from git goes by its ref, which says more than base and head."""
    origin = case.experiment.origins.get(arm)
    return arm if origin is None else origin.ref


def _proposal(
    case: PromotionCandidate, basis: PromotionBasis, destination: PromotionTarget, request: PromoteRequest
) -> PromotionProposal:
    evidence = case.comparison.evidence_sha256
    return PromotionProposal(
        onto=basis.onto,
        folder=basis.folder,
        changes=basis.changes,
        message=f"{destination.title}\n\nTested by outweigh; evidence {evidence}.\n",
        draft=PullRequestDraft(
            branch=destination.branch,
            into=destination.into,
            title=destination.title,
            body=_body(case, basis, request),
            draft=request.draft,
            reviewers=request.reviewers,
            labels=request.labels,
        ),
        still_holds=lambda: _evidence_sha256(case, request) == evidence,
    )


def _evidence_sha256(case: PromotionCandidate, request: PromoteRequest) -> str:
    """Of the records as they are at this moment."""
    fresh = replace(request.evidence, stores=request.evidence.stores.reopened())
    return read_evidence(fresh).sha256(case.baseline, case.candidate)


def _body(case: PromotionCandidate, basis: PromotionBasis, request: PromoteRequest) -> str:
    verdict = verdict_report(case.verdict, case.comparison, case.policy.source)
    page = add_setup_changes(verdict, request.evidence.stores.setup(case.baseline, [case.candidate]))
    fingerprints = {name: case.experiment.arms[name] for name in (case.baseline, case.candidate)}
    evidence = case.comparison.evidence_sha256
    whole = add_hashes(page, evidence_sha256=evidence, fingerprints=fingerprints, onto=basis.onto)
    return truncate_body(MarkdownReporter().render(whole))


def _promotion_answer(
    case: PromotionCandidate,
    refused: tuple[str, ...],
    destination: PromotionTarget | None,
    done: PromotionResult | None,
) -> Promotion:
    carried = None
    if done is not None:
        found = done.pull_request
        carried = PromotionOutcome(url=found.url, number=found.number, commit=done.commit, opened=done.opened)
    return Promotion(
        baseline=case.baseline,
        candidate=case.candidate,
        decision=case.verdict.decision.value,
        evidence_sha256=case.comparison.evidence_sha256,
        fingerprint=case.experiment.arms.get(case.candidate),
        refusals=refused,
        destination=destination,
        carried=carried,
    )
