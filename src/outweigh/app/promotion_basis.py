"""What a promotion rests on, gathered from a store, its repository and the remote."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from outweigh.app.candidate_family import compare_candidate, decide_family
from outweigh.app.choose_arms import ArmChoice, choose_arms
from outweigh.app.choose_policy import SUITE_RULE, ChosenPolicy, choose_policy
from outweigh.app.decide import hold_to_ledger
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.quarantine import hold_to_all_runs
from outweigh.app.tested_files import (
    FilesByPath,
    changed_in_base,
    differing_paths,
    files_by_path,
    remaining_changes,
    stored_arm_identity,
    stored_arm_state,
    tested_changes,
)
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.model.agent_files import configuration_kind
from outweigh.model.arm import ArmIdentity, ArmOrigin, OverlayChange, differing_settings, overlay_changes
from outweigh.model.run_record import ArtifactReader, RunRecord
from outweigh.plugins import installed_file_locations
from outweigh.ports.forges import FileChange
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.fetched_artifacts import artifacts_of
from outweigh.verdict.decision import Verdict
from outweigh.verdict.promotion import PromotionState
from outweigh.workspace.remote_git import GitUpstream
from outweigh.workspace.revisions import GitRevisions

SHOWN_MOVED_FILES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PromoteRequest:
    """Which candidate of a store to promote, into which repository, and how; only a plan unless `execute`.

    `shown_sha256` is the hash of the records that the user has seen. `folder` is where files of arms that are not from
    git belong. Without `forge` it is found by the remote's host.
    """

    evidence: EvidenceRequest
    arms: ArmChoice
    execute: bool = False
    shown_sha256: str | None = None
    repository: Path = Path()
    remote: str = "origin"
    into: str | None = None
    folder: str | None = None
    forge: str | None = None
    api: str | None = None
    reviewers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    draft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionCandidate:
    """A candidate's verdict over the records as they are now, decided together with the suite's other candidates."""

    store: Path
    experiment: ExperimentFile
    policy: ChosenPolicy
    comparison: Comparison
    verdict: Verdict

    @property
    def baseline(self) -> str:
        """The arm that would be replaced."""
        return self.comparison.baseline.name

    @property
    def candidate(self) -> str:
        """The arm that would replace it."""
        return self.comparison.candidate.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionBasis:
    """What would be proposed where, and whether it still may be."""

    state: PromotionState
    folder: str
    onto: str
    into: str
    changes: tuple[FileChange, ...]
    overlay_changes: tuple[OverlayChange, ...]
    notes: tuple[str, ...]


def decide_promotion(request: PromoteRequest) -> PromotionCandidate:
    """Decide as `outweigh verdict` does without options: by the suite's own rules, about all of its candidates."""
    stores = request.evidence.stores
    experiment, paths = stores.experiment, list(dict.fromkeys(store.path for store in stores.stores))
    if experiment is None or len(paths) != 1 or paths[0] is None:
        raise UsageError(
            "a promotion needs one store that `outweigh run` wrote, with the files of its arms; name only that folder."
        )
    # The rule is the suite's: a promotion takes no option of `verdict` that could bend it.
    policy, evidence = choose_policy(stores, SUITE_RULE), read_evidence(request.evidence)
    baseline, (candidate, *_), _ = choose_arms(stores, request.arms, evidence, several=False)
    _refuse_earlier_version(candidate, experiment)
    profile = stores.profile(None)
    family = experiment.first_candidates if candidate in experiment.first_candidates else ()
    rivals = dict.fromkeys((candidate, *(name for name in family if name != baseline)))

    def decide_rivals(evidence: Evidence) -> tuple[list[Comparison], Sequence[Verdict]]:
        comparisons = [compare_candidate(evidence, stores, baseline, name, profile) for name in rivals]
        return comparisons, decide_family(policy, experiment, comparisons)

    comparisons, verdicts = decide_rivals(evidence)
    held = hold_to_all_runs(verdicts, evidence, request.evidence, lambda every: decide_rivals(every)[1])
    return PromotionCandidate(
        store=paths[0],
        experiment=experiment,
        policy=policy,
        comparison=comparisons[0],
        verdict=hold_to_ledger(held[0], paths),
    )


def _refuse_earlier_version(candidate: str, experiment: ExperimentFile) -> None:
    """Only what the suite says now can be promoted: the files of earlier versions are not where they were any more."""
    if candidate in experiment.earlier_candidates:
        raise UsageError(
            f"{candidate!r} is an earlier version; the suite now has {quote_names(experiment.candidates)}. Change the "
            "files back to promote it, and run the suite again: its runs are found, and none is repeated."
        )


def gather_basis(case: PromotionCandidate, request: PromoteRequest, upstream: GitUpstream) -> PromotionBasis:
    """Everything else that must be as it was tested."""
    artifact = artifacts_of(case.store).read
    fingerprints = {name: _fingerprint(case, name) for name in (case.baseline, case.candidate)}
    before, after = (_identity(case, name, artifact) for name in fingerprints)
    runs = runs_by_arm(request.evidence)
    changes = tested_changes(before, after, artifact)
    into = request.into or upstream.default_branch()
    onto = upstream.tip(into)
    if onto is None:
        raise UsageError(f"the remote has no branch {into!r}; name the one to promote into with --into.")
    files = _ArmFiles(case, request.repository, request.folder)
    old, new = _overlay_by_path(before), _overlay_by_path(after)
    was = files.tested_files(case.baseline, before, {*old, *new})
    now = files_by_path(upstream.files(onto, files.folder, files.wanted(before, {*old, *new})))
    state = PromotionState(
        verdict=case.verdict,
        evidence_sha256=case.comparison.evidence_sha256,
        shown_sha256=request.shown_sha256,
        arms=(
            stored_arm_state(case.baseline, fingerprints[case.baseline], runs[case.baseline], artifact),
            stored_arm_state(case.candidate, fingerprints[case.candidate], runs[case.candidate], artifact),
        ),
        never_run=never_run_tasks(case.experiment, (case.baseline, case.candidate), runs),
        changed_files=len(changes),
        besides_files=differing_settings(before, after),
        moved_candidate=files.moved(case.candidate, after, set(new)),
        moved_base=tuple(changed_in_base(old, new, was, now)),
    )
    return PromotionBasis(
        state=state,
        folder=files.folder,
        onto=onto,
        into=into,
        changes=remaining_changes(changes, now),
        overlay_changes=overlay_changes(before.overlay, after.overlay),
        notes=(*case.experiment.notes, *_notes(old, new, was, now)),
    )


class _ArmFiles:
    """Where in which repository the files of the arms belong, and what its revisions say about them."""

    def __init__(self, case: PromotionCandidate, repository: Path, folder: str | None) -> None:
        self._origins = case.experiment.origins
        self._revisions = GitRevisions(repository)
        self.folder = self._folder(case, folder)

    def wanted(self, arm: ArmIdentity, laid: set[str]) -> "_PathFilter":
        """The files to look at: those that arms lay and, in a repository that they come from, the agent's others."""
        return _PathFilter(laid, arm.agent if self._origins else None)

    def tested_files(self, name: str, arm: ArmIdentity, laid: set[str]) -> FilesByPath | None:
        """What the commit of an arm holds; None where it comes from no commit."""
        origin = self._origins.get(name)
        return None if origin is None else self._at(origin.commit, arm, laid)

    def moved(self, name: str, arm: ArmIdentity, laid: set[str]) -> tuple[str, ...]:
        """What the ref of an arm has otherwise than its tested commit; a ref that is gone has nothing any more."""
        origin = self._origins.get(name)
        if origin is None:
            return ()
        commit = self._revisions.commit(origin.ref)
        if commit == origin.commit:
            return ()
        return tuple(differing_paths(self._at(origin.commit, arm, laid), self._at(commit, arm, laid)))

    def _at(self, commit: str, arm: ArmIdentity, laid: set[str]) -> FilesByPath:
        return files_by_path(self._revisions.files(commit, self.folder, self.wanted(arm, laid)))

    def _folder(self, case: PromotionCandidate, named: str | None) -> str:
        origins: list[ArmOrigin | None] = [self._origins.get(name) for name in (case.baseline, case.candidate)]
        known = {None if origin is None else origin.folder for origin in origins}
        if len(known) > 1:
            raise UsageError(
                "the arms do not come from the same folder of a repository, so there is no change to promote."
            )
        (folder,) = known
        if folder is not None and named not in (None, folder):
            raise UsageError(f"--folder {named}: the arms come from {folder!r}, and belong there.")
        if named is not None and (named.startswith("/") or ".." in PurePosixPath(named).parts):
            raise UsageError(f"--folder {named} leads out of the repository; write a path within it.")
        return folder if folder is not None else str(PurePosixPath(named or "."))


class _PathFilter:
    """The paths to look at: those that arms lay, and those that configure the agent."""

    def __init__(self, laid: set[str], agent: str | None) -> None:
        self._laid, self._agent = laid, agent
        self._locations = None if agent is None else installed_file_locations(agent)

    def __call__(self, path: str) -> bool:
        if path in self._laid or self._agent is None:
            return path in self._laid
        return configuration_kind(path, self._agent, self._locations) is not None


def _fingerprint(case: PromotionCandidate, name: str) -> str:
    try:
        return case.experiment.arms[name]
    except KeyError:
        raise UsageError(f"the suite of {case.store} has no arm {name!r}.") from None


def _identity(case: PromotionCandidate, name: str, artifact: ArtifactReader) -> ArmIdentity:
    """By its manifest; what else the store says about its files must say the same."""
    identity = stored_arm_identity(name, _fingerprint(case, name), artifact)
    if case.experiment.overlays.get(name) != identity.overlay:
        raise EvidenceError(
            f"{case.store} was edited: it names other files of {name!r} than its runs had. Run it again."
        )
    return identity


def _overlay_by_path(arm: ArmIdentity) -> FilesByPath:
    return {file.path: file for file in arm.overlay}


def runs_by_arm(evidence: EvidenceRequest) -> dict[str, list[RunRecord]]:
    """Every run of the store, also those that do not count."""
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for located in evidence.stores.read(skip_invalid=evidence.skip_invalid):
        if isinstance(located.record, RunRecord):
            found[located.record.trial.arm].append(located.record)
    return found


def never_run_tasks(
    experiment: ExperimentFile, arms: tuple[str, str], runs: dict[str, list[RunRecord]]
) -> tuple[str, ...]:
    """Tasks of the suite without a run of both arms; an experiment that ends at a decision may leave some out."""
    if experiment.looked_at is not None:
        return ()
    done = [{run.trial.task_id for run in runs[name]} for name in arms]
    return tuple(task for task in experiment.counted_tasks if not all(task in arm for arm in done))


def _notes(old: FilesByPath, new: FilesByPath, was: FilesByPath | None, now: FilesByPath) -> Iterator[str]:
    if was is not None and (others := [path for path in differing_paths(was, now) if path not in {*old, *new}]):
        names = quote_names(others, SHOWN_MOVED_FILES)
        yield f"the base has changed in other files of the set-up since the test: {names}."
    if was is None and (absent := [path for path in old if old[path] == new.get(path) and path not in now]):
        yield f"the arms were tested with files that the base does not have: {quote_names(absent, SHOWN_MOVED_FILES)}."
