"""`outweigh promote`: what was tested and is allowed, as a pull request; a plan of it unless --execute."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from outweigh.adapters.reporters.markdown import MarkdownReporter
from outweigh.adapters.workspaces.upstream import GitUpstream
from outweigh.cli.arguments import Parser, add_format_option, gather_evidence, reading_parser, show
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.forge_choice import add_forge_options, chosen_forge, require_forge
from outweigh.cli.progress import tell
from outweigh.cli.promotion_case import Case, Groundwork, decided_case, groundwork
from outweigh.cli.setup_behind import setup_behind
from outweigh.errors import UsageError
from outweigh.ports.forges import ForgeError, PullRequestDraft
from outweigh.record.secrecy import without_passwords
from outweigh.report.promotion_body import bounded, with_identity
from outweigh.report.promotion_view import Carried, Destination, Promotion, promotion_report, proposal_title
from outweigh.report.setup_view import with_setup
from outweigh.report.verdict_view import verdict_report
from outweigh.report.wording import visible
from outweigh.run.promoting import Promoted, Proposal, branch_name, promote
from outweigh.verdict.standing import refusals, verdict_refusals
from outweigh.verdict.verdict import Decision

# The rule is the suite's: a promotion takes no option of `verdict` that could bend it.
_SUITE_RULES: dict[str, Any] = {
    "policy": None,
    "gates": None,
    "margin": [],
    "sequential": False,
    "planned_tasks": None,
    "infer": "tasks",
    "seed": 0,
}


def main(arguments: Sequence[str]) -> int:
    """Plan, or carry out."""
    options = _parser().parse_intermixed_args(arguments)
    case = decided_case(options)
    try:
        answer = _promotion(case, options)
    except ForgeError as fault:
        raise UsageError(f"{visible(str(fault))} Nothing was made.") from fault
    show(promotion_report(answer), options.format)
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
    parser.set_defaults(**_SUITE_RULES)
    return parser


def _promotion(case: Case, options: argparse.Namespace) -> Promotion:
    """What the answer is; nothing leaves the machine unless it is allowed and asked for."""
    if refused := verdict_refusals(case.verdict, case.comparison.evidence_sha256):
        return _answer(case, refused, None, None)
    with GitUpstream.open(Path(options.repo), options.remote) as upstream:
        ground = groundwork(case, options, upstream)
        forge, project = chosen_forge(options, upstream.address)
        destination = _destination(case, ground, without_passwords(upstream.address), forge.name)
        refused = refusals(ground.standing)
        if refused or not options.execute or not ground.changes:
            return _answer(case, refused, destination, None)
        require_forge(forge, project)
        proposal = _proposal(case, ground, destination, options)
        done = promote(
            proposal, upstream, forge, project, lambda step: tell(f"outweigh: {visible(step)}\n", sys.stderr)
        )
    return _answer(case, (), destination, done)


def _destination(case: Case, ground: Groundwork, remote: str, forge: str) -> Destination:
    left = {change.path for change in ground.changes}
    fingerprint = case.experiment.arms[case.candidate]
    return Destination(
        remote=remote,
        forge=forge,
        into=ground.into,
        onto=ground.onto,
        branch=branch_name(case.comparison.evidence_sha256, fingerprint, ground.into),
        title=proposal_title(case.experiment.suite, _called(case, case.baseline), _called(case, case.candidate)),
        changes=tuple(change for change in ground.overlay_changes if change.path in left),
        notes=ground.notes,
    )


def _called(case: Case, arm: str) -> str:
    """An arm from git goes by its ref, which says more than base and head."""
    origin = case.experiment.origins.get(arm)
    return arm if origin is None else origin.ref


def _proposal(case: Case, ground: Groundwork, destination: Destination, options: argparse.Namespace) -> Proposal:
    evidence = case.comparison.evidence_sha256
    return Proposal(
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
        still_holds=lambda: gather_evidence(options).sha256(case.baseline, case.candidate) == evidence,
    )


def _body(case: Case, ground: Groundwork, options: argparse.Namespace) -> str:
    verdict = verdict_report(case.verdict, case.comparison, case.policy.source)
    page = with_setup(verdict, setup_behind(options.runs, case.baseline, [case.candidate]))
    fingerprints = {name: case.experiment.arms[name] for name in (case.baseline, case.candidate)}
    evidence = case.comparison.evidence_sha256
    whole = with_identity(page, evidence_sha256=evidence, fingerprints=fingerprints, onto=ground.onto)
    return bounded(MarkdownReporter().render(whole))


def _answer(case: Case, refused: tuple[str, ...], destination: Destination | None, done: Promoted | None) -> Promotion:
    carried = None
    if done is not None:
        found = done.pull_request
        carried = Carried(url=found.url, number=found.number, commit=done.commit, opened=done.opened)
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
