"""`outweigh promote`: the tested change as a pull request; only a plan of it unless `--execute`."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from outweigh.app.evidence import read_evidence
from outweigh.app.promote import PromotionProposal, PromotionResult, branch_name, promote
from outweigh.app.promotion_basis import (
    PromotionBasis,
    PromotionCandidate,
    decide_promotion,
    gather_basis,
    promotion_evidence,
)
from outweigh.cli.arguments import Parser, add_format_option, print_report
from outweigh.cli.console import notify
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.reading_options import reading_parser
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
    promotion_report,
    pull_request_title,
    truncate_body,
)
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.verdict_page import verdict_report
from outweigh.store.store import StoreSet
from outweigh.verdict.decision import Decision
from outweigh.verdict.promotion import promotion_refusals, verdict_refusals
from outweigh.workspace.remote_git import GitUpstream


def add_forge_options(parser: Parser) -> None:
    """Who is asked to open the pull request, and how it is dressed."""
    parser.add_argument("--forge", metavar="NAME", help="github, gitlab or git (default: by the remote's host)")
    parser.add_argument("--api", metavar="URL", help="the forge's API, where it is not the well-known one")
    parser.add_argument("--reviewer", metavar="NAME", action="append", default=[], help="ask this person or ORG/TEAM")
    parser.add_argument("--label", metavar="NAME", action="append", default=[], help="add this label")
    parser.add_argument("--draft", action="store_true", help="open it as a draft")


def choose_forge(options: argparse.Namespace, address: str) -> tuple[Forge, ForgeProject]:
    """The forge and the project there, by the address of the remote."""
    project = parse_project(address, options.api)
    return cast("Forge", load_adapter("forge", options.forge or forge_name_of_host(project.host))), project


def require_forge(forge: Forge, project: ForgeProject) -> None:
    """Before anything is made: whether the forge can be asked at all."""
    if missing := forge.missing(project):
        raise UsageError(
            f"forge {forge.name} cannot be asked: {missing} Or push the branch alone: --forge git. Nothing was made."
        )


def main(arguments: Sequence[str]) -> int:
    """Plan, or carry out."""
    options = _parser().parse_intermixed_args(arguments)
    case = decide_promotion(options)
    try:
        answer = _promotion(case, options)
    except ForgeError as fault:
        raise UsageError(f"{escape_controls(str(fault))} Nothing was made.") from fault
    print_report(promotion_report(answer), options.format)
    if not answer.refusals:
        return ExitCode.SATISFIED
    undecided = case.verdict.decision is Decision.INCONCLUSIVE
    return ExitCode.UNUSABLE_EVIDENCE if undecided else ExitCode.NOT_SATISFIED


def _parser() -> Parser:
    parser = reading_parser("promote", "Open the pull request that a verdict allows; a plan unless --execute.")
    parser.add_argument("--baseline", metavar="ARM", help="the arm to replace (default: the suite's)")
    parser.add_argument(
        "--candidate", metavar="ARM", action="append", help="the arm to promote (default: the only other)"
    )
    parser.add_argument("--execute", action="store_true", help="push the branch and open the pull request")
    parser.add_argument("--evidence", metavar="SHA256", help="refuse unless the records still have this hash")
    parser.add_argument(
        "--repo", metavar="DIR", default=".", help="the repository to propose it to (default: this one)"
    )
    parser.add_argument("--remote", metavar="NAME", default="origin", help="its remote (default: %(default)s)")
    parser.add_argument("--into", metavar="BRANCH", help="the branch to change (default: the remote's main one)")
    parser.add_argument(
        "--folder", metavar="DIR", help="where files of arms that are not from git belong (default: top)"
    )
    add_forge_options(parser)
    add_format_option(parser)
    return parser


def _promotion(case: PromotionCandidate, options: argparse.Namespace) -> Promotion:
    """What the answer is; nothing leaves the machine unless it is allowed and asked for."""
    if refused := verdict_refusals(case.verdict, case.comparison.evidence_sha256):
        return _promotion_answer(case, refused, None, None)
    with GitUpstream.open(Path(options.repo), options.remote) as upstream:
        ground = gather_basis(case, options, upstream)
        forge, project = choose_forge(options, upstream.address)
        destination = _destination(case, ground, redact_passwords(upstream.address), forge.name)
        refused = promotion_refusals(ground.standing)
        if refused or not options.execute or not ground.changes:
            return _promotion_answer(case, refused, destination, None)
        require_forge(forge, project)
        proposal = _proposal(case, ground, destination, options)
        done = promote(
            proposal,
            upstream,
            forge,
            project,
            notify,
        )
    return _promotion_answer(case, (), destination, done)


def _destination(case: PromotionCandidate, ground: PromotionBasis, remote: str, forge: str) -> PromotionTarget:
    left = {change.path for change in ground.changes}
    fingerprint = case.experiment.arms[case.candidate]
    return PromotionTarget(
        remote=remote,
        forge=forge,
        into=ground.into,
        onto=ground.onto,
        branch=branch_name(case.comparison.evidence_sha256, fingerprint, ground.into),
        title=pull_request_title(
            case.experiment.suite, _arm_title(case, case.baseline), _arm_title(case, case.candidate)
        ),
        changes=tuple(change for change in ground.overlay_changes if change.path in left),
        notes=ground.notes,
    )


def _arm_title(case: PromotionCandidate, arm: str) -> str:
    """An arm from git goes by its ref, which says more than base and head."""
    origin = case.experiment.origins.get(arm)
    return arm if origin is None else origin.ref


def _proposal(
    case: PromotionCandidate, ground: PromotionBasis, destination: PromotionTarget, options: argparse.Namespace
) -> PromotionProposal:
    evidence = case.comparison.evidence_sha256
    return PromotionProposal(
        onto=ground.onto,
        folder=ground.folder,
        changes=ground.changes,
        message=f"{destination.title}\n\nTested by outweigh; evidence {evidence}.\n",
        draft=PullRequestDraft(
            branch=destination.branch,
            into=destination.into,
            title=destination.title,
            body=_body(case, ground, options),
            draft=options.draft,
            reviewers=tuple(options.reviewer),
            labels=tuple(options.label),
        ),
        still_holds=lambda: _evidence_sha256(case, options) == evidence,
    )


def _evidence_sha256(case: PromotionCandidate, options: argparse.Namespace) -> str:
    """Of the records as they are at this moment."""
    return read_evidence(promotion_evidence(options)).sha256(case.baseline, case.candidate)


def _body(case: PromotionCandidate, ground: PromotionBasis, options: argparse.Namespace) -> str:
    verdict = verdict_report(case.verdict, case.comparison, case.policy.source)
    page = add_setup_changes(verdict, StoreSet.open(options.runs).setup(case.baseline, [case.candidate]))
    fingerprints = {name: case.experiment.arms[name] for name in (case.baseline, case.candidate)}
    evidence = case.comparison.evidence_sha256
    whole = add_hashes(page, evidence_sha256=evidence, fingerprints=fingerprints, onto=ground.onto)
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
