"""Write the set-up without some of its parts, as a patch or a pull request, where an arm without them allows it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from outweigh.app.chosen_suite import find_store_suite
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.judge_parts import JudgedArms, base_arm, judge_arms, name_parts
from outweigh.app.observer import Notify
from outweigh.app.promote import choose_forge, require_forge
from outweigh.app.promotion_basis import PromoteRequest, never_run_tasks, runs_by_arm
from outweigh.app.pull_request import PromotionProposal, branch_name, open_pull_request
from outweigh.app.smaller_setup import SmallerSetup, cut_setup
from outweigh.app.suite_selection import read_suite
from outweigh.app.tested_files import stored_arm_state
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.redact import redact_passwords
from outweigh.ports.forges import ForgeError, PullRequestDraft
from outweigh.report.drop_page import DropOutcome, DroppedParts
from outweigh.report.formatting import escape_controls
from outweigh.report.parts_json import joint_arm_name
from outweigh.report.promotion_page import add_hashes, neutralize_name, truncate_body
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.verdict_page import verdict_report
from outweigh.store.fetched_artifacts import artifacts_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.promotion import arm_refusals, drop_refusals
from outweigh.workspace.file_patch import file_patch
from outweigh.workspace.remote_git import GitUpstream
from outweigh.workspace.revisions import GitRevisions

SHOWN_FILES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyPartsRequest:
    """Which parts to drop, from which set-up, and what to write. Nothing is written where neither is asked for.

    `setup` is the folder with the files of the set-up, `suite` the suite that was run, found by the store where it is
    not named. `pull_request` says how and where to open one; its evidence and arms are not looked at.
    """

    evidence: EvidenceRequest
    drop: tuple[str, ...]
    setup: Path = Path()
    suite: str | None = None
    patch: Path | None = None
    pull_request: PromoteRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyPartsResult:
    """What came of it; `is_allowed` is None where nothing was decided about the arm."""

    dropped: DroppedParts
    is_allowed: bool | None


def apply_parts(request: ApplyPartsRequest, notify: Notify) -> ApplyPartsResult:
    """Drop parts where the arm without all of them was judged neutral or improved, and no file has changed since."""
    if request.patch is not None and request.patch.exists():
        raise UsageError(f"--patch {request.patch} is already there, and nothing is overwritten; name another file.")
    judged = judge_arms(request.evidence)
    joint, parts = _joint_arm(judged, request)
    refusals = _evidence_refusals(judged, joint, request)
    suite, cut = _cut(judged, joint, parts, request)
    refusals = (*refusals, *_suite_refusals(judged, joint, suite), *cut.refusals)
    outcome = DropOutcome()
    if not refusals and cut.changes:
        try:
            outcome = _write(judged, joint, parts, cut, request, notify)
        except ForgeError as fault:
            raise UsageError(f"{escape_controls(str(fault))} Nothing was made.") from fault
    verdict = judged.verdicts[joint]
    undecided = None if verdict.decision is Decision.INCONCLUSIVE else False
    dropped = DroppedParts(
        baseline=judged.arms.baseline,
        arm=joint,
        parts=parts,
        decision=verdict.decision.value,
        evidence_sha256=judged.comparisons[joint].evidence_sha256,
        refusals=refusals,
        files={
            change.path: (len(cut.before[change.path][0]), None if change.content is None else len(change.content))
            for change in cut.changes
        },
        outcome=outcome,
    )
    return ApplyPartsResult(dropped=dropped, is_allowed=undecided if refusals else True)


def _joint_arm(judged: JudgedArms, request: ApplyPartsRequest) -> tuple[str, tuple[str, ...]]:
    """The arm without all of them together; where it does not exist or was not run, how to make it."""
    arms = judged.arms
    known = tuple(part for part in arms.parts if part in arms.sets[arms.baseline])
    dropped = name_parts(request.drop, known)
    parts = tuple(part for part in known if part in dropped)
    joint = arms.without(dropped)
    store = request.evidence.stores.stores[0].name
    run = shlex.join(["outweigh", "run", "-o", store])
    together = parts[0] if len(parts) == 1 else f"{', '.join(parts)} together"
    if joint is None:
        left = tuple(part for part in known if part not in dropped)
        lines = "\n  ".join(base_arm(judged).arm_lines(joint_arm_name(parts), left))
        raise EvidenceError(
            f"no arm without {together} was run, and the effects of parts need not add up. Add it to the suite, and "
            f"run it with `{run}`:\n  {lines}"
        )
    if joint not in judged.verdicts:
        raise EvidenceError(f"{joint}, the arm without {together}, has no run yet. Run it with `{run}`.")
    return joint, parts


def _evidence_refusals(judged: JudgedArms, joint: str, request: ApplyPartsRequest) -> tuple[str, ...]:
    """Why the records do not allow it: the verdict, and what the runs themselves say."""
    stores = request.evidence.stores.stores
    folder = stores[0].path
    if len(stores) != 1 or folder is None or not folder.is_dir():
        raise UsageError("a deletion needs one store that `outweigh run` wrote; name only that folder.")
    artifact, runs = artifacts_of(folder).read, runs_by_arm(request.evidence)
    names = (judged.arms.baseline, joint)
    states = [stored_arm_state(name, judged.experiment.arms[name], runs[name], artifact) for name in names]
    verdict, comparison = judged.verdicts[joint], judged.comparisons[joint]
    return (
        *drop_refusals(verdict, comparison.evidence_sha256),
        *arm_refusals(states, never_run_tasks(judged.experiment, names, runs)),
    )


def _cut(
    judged: JudgedArms, joint: str, parts: Sequence[str], request: ApplyPartsRequest
) -> tuple[LoadedSuite, SmallerSetup]:
    file = find_store_suite(request.suite, judged.experiment)
    if file is None:
        raise UsageError(
            f"the suite {judged.experiment.suite!r}, which says what the parts are, is not in this folder; name it "
            "with -c."
        )
    suite = read_suite(str(file))
    names = _suite_names(judged, joint)
    if missing := [name for name in names if name not in suite.arms]:
        raise UsageError(f"{file} has no arm {quote_names(missing)}, which the store has; name the suite with -c.")
    if unknown := [part for part in parts if part not in suite.spec.parts]:
        raise UsageError(f"{file} has no part {quote_names(unknown)}; name the suite that was run with -c.")
    return suite, cut_setup(request.setup, suite, names, parts)


def _suite_names(judged: JudgedArms, joint: str) -> tuple[str, str]:
    """The suite's names of two arms of the store."""
    by_store = {stored: name for name, stored in judged.experiment.current.items()}
    baseline = judged.arms.baseline
    return by_store.get(baseline, baseline), by_store.get(joint, joint)


def _suite_refusals(judged: JudgedArms, joint: str, suite: LoadedSuite) -> tuple[str, ...]:
    stored = (judged.arms.baseline, joint)
    changed = [
        name
        for name, stored_name in zip(_suite_names(judged, joint), stored, strict=True)
        if suite.arms[name].fingerprint != judged.experiment.arms[stored_name]
    ]
    if not changed:
        return ()
    return (
        f"the suite's files have changed since {quote_names(changed)} ran, so what was tested is not what would be "
        "written. Go back to the tested state, or run the suite again.",
    )


def _write(
    judged: JudgedArms,
    joint: str,
    parts: Sequence[str],
    cut: SmallerSetup,
    request: ApplyPartsRequest,
    notify: Notify,
) -> DropOutcome:
    if request.patch is not None:
        request.patch.write_bytes(_patch(cut, request.setup))
        return DropOutcome(patch=str(request.patch))
    if request.pull_request is None:
        return DropOutcome()
    return _open(judged, joint, parts, cut, request, request.pull_request, notify)


def _patch(cut: SmallerSetup, setup: Path) -> bytes:
    """Paths are from the top of the repository, so that `git apply` takes it there; else from the folder."""
    prefix = _folder_in_repository(setup)
    after = {change.path: (change.content, change.executable) for change in cut.changes}
    return file_patch(
        {f"{prefix}{path}": cut.before[path] for path in after},
        {f"{prefix}{path}": (content, x) for path, (content, x) in after.items() if content is not None},
    )


def _folder_in_repository(setup: Path) -> str:
    try:
        top = GitRevisions(setup).top
    except UsageError:
        return ""
    relative = setup.resolve().relative_to(top.resolve()).as_posix()
    return "" if relative == "." else f"{relative}/"


def _open(
    judged: JudgedArms,
    joint: str,
    parts: Sequence[str],
    cut: SmallerSetup,
    request: ApplyPartsRequest,
    how: PromoteRequest,
    notify: Notify,
) -> DropOutcome:
    comparison, experiment = judged.comparisons[joint], judged.experiment
    evidence = comparison.evidence_sha256
    folder = _folder_in_repository(request.setup).rstrip("/") or "."
    with GitUpstream.open(request.setup, how.remote) as upstream:
        forge, project = choose_forge(how, upstream.address)
        require_forge(forge, project)
        into = how.into or upstream.default_branch()
        onto = upstream.tip(into)
        if onto is None:
            raise UsageError(f"the remote has no branch {into!r}; name the one to change with --into.")
        now = {file.path: file.content for file in upstream.files(onto, folder, lambda path: path in cut.before)}
        if moved := [change.path for change in cut.changes if now.get(change.path) != cut.before[change.path][0]]:
            raise EvidenceError(
                f"{into} of {redact_passwords(upstream.address)} has other files than were tested: "
                f"{quote_names(moved, SHOWN_FILES)}. Bring the set-up up to date and test it again."
            )
        title = f"Drop {neutralize_name(', '.join(parts))} from the set-up ({neutralize_name(experiment.suite)})"
        fingerprints = {name: experiment.arms[name] for name in (judged.arms.baseline, joint)}
        page = verdict_report(judged.verdicts[joint], comparison, judged.policy.source)
        whole = add_hashes(page, evidence_sha256=evidence, fingerprints=fingerprints, onto=onto)
        proposal = PromotionProposal(
            onto=onto,
            folder=folder,
            changes=cut.changes,
            message=f"{title}\n\nTested by outweigh; evidence {evidence}.\n",
            draft=PullRequestDraft(
                branch=branch_name(evidence, experiment.arms[joint], into),
                into=into,
                title=title,
                body=truncate_body(MarkdownReporter().render(whole)),
                draft=how.draft,
                reviewers=how.reviewers,
                labels=how.labels,
            ),
            still_holds=lambda: _evidence_sha256(judged, joint, request) == evidence,
        )
        done = open_pull_request(proposal, upstream, forge, project, notify)
    return DropOutcome(url=done.pull_request.url, number=done.pull_request.number, branch=proposal.draft.branch)


def _evidence_sha256(judged: JudgedArms, joint: str, request: ApplyPartsRequest) -> str:
    """Of the records as they are at this moment."""
    fresh = replace(request.evidence, stores=request.evidence.stores.reopened())
    return read_evidence(fresh).sha256(judged.arms.baseline, joint)
