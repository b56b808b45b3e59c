"""What a promotion rests on, gathered from a store, its repository and the remote."""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.experiment_file import Experiment, recall_suite
from outweigh.adapters.workspaces.revisions import GitRevisions
from outweigh.adapters.workspaces.upstream import GitUpstream
from outweigh.cli.arguments import arms_to_compare, gather_evidence, read_records
from outweigh.cli.policy_options import ChosenPolicy, chosen_policy
from outweigh.cli.suite_behind import experiment_behind, profile_for
from outweigh.compare.comparison import Comparison, compare
from outweigh.errors import EvidenceError, UsageError, name_some
from outweigh.ports.forges import FileChange
from outweigh.record.run_record import RunRecord
from outweigh.run.moved_files import Files, differing, files_by_path, left_to_do, moved_base
from outweigh.run.tested_arm import ReadArtifact, arm_standing, tested_changes, tested_identity
from outweigh.score.profile import PROFILES
from outweigh.task.arm import ArmIdentity, ArmOrigin
from outweigh.task.beyond_files import beyond_files
from outweigh.task.configuration import configuration_kind
from outweigh.task.overlay_change import OverlayChange, overlay_changes
from outweigh.verdict.standing import Standing
from outweigh.verdict.verdict import Verdict

SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A candidate's verdict over the records as they are now, decided together with the suite's other candidates."""

    store: Path
    experiment: Experiment
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
class Groundwork:
    """What would be proposed where, and whether it still may be."""

    standing: Standing
    folder: str
    onto: str
    into: str
    changes: tuple[FileChange, ...]
    overlay_changes: tuple[OverlayChange, ...]
    notes: tuple[str, ...]


def decided_case(options: argparse.Namespace) -> Case:
    """Decide as `outweigh verdict` does without options: by the suite's own rules, about all of its candidates."""
    experiment = experiment_behind(options.runs)
    stores = [Path(path) for path in dict.fromkeys(options.runs)]
    if experiment is None or len(stores) != 1 or recall_suite(stores[0]) is None:
        raise UsageError(
            "a promotion rests on one store that `outweigh run` wrote, with what its arms laid; name that folder alone."
        )
    policy, evidence = chosen_policy(options), gather_evidence(options)
    baseline, (candidate, *_) = arms_to_compare(options, evidence)
    profile = PROFILES[profile_for(None, options.runs)]
    rivals = dict.fromkeys((candidate, *(name for name in experiment.arms if name != baseline)))
    comparisons = [compare(evidence, baseline, name, profile) for name in rivals]
    return Case(
        store=stores[0],
        experiment=experiment,
        policy=policy,
        comparison=comparisons[0],
        verdict=policy.decide(comparisons)[0],
    )


def groundwork(case: Case, options: argparse.Namespace, upstream: GitUpstream) -> Groundwork:
    """Everything else that must be as it was tested."""
    artifact = ArtifactFolder(case.store / "artifacts").read
    fingerprints = {name: _fingerprint(case, name) for name in (case.baseline, case.candidate)}
    before, after = (_identity(case, name, artifact) for name in fingerprints)
    runs = _runs(options)
    changes = tested_changes(before, after, artifact)
    into = options.into or upstream.default_branch()
    onto = upstream.tip(into)
    if onto is None:
        raise UsageError(f"the remote has no branch {into!r}; name the one to promote into by --into.")
    ground = _Ground(case, Path(options.repo), options.folder)
    old, new = _laid(before), _laid(after)
    was = ground.tested_files(case.baseline, before, {*old, *new})
    now = files_by_path(upstream.files(onto, ground.folder, ground.wanted(before, {*old, *new})))
    standing = Standing(
        verdict=case.verdict,
        evidence_sha256=case.comparison.evidence_sha256,
        shown_sha256=options.evidence,
        arms=(
            arm_standing(case.baseline, fingerprints[case.baseline], runs[case.baseline], artifact),
            arm_standing(case.candidate, fingerprints[case.candidate], runs[case.candidate], artifact),
        ),
        never_run=_never_run(case, runs),
        changed_files=len(changes),
        besides_files=beyond_files(before, after),
        moved_candidate=ground.moved(case.candidate, after, set(new)),
        moved_base=tuple(moved_base(old, new, was, now)),
    )
    return Groundwork(
        standing=standing,
        folder=ground.folder,
        onto=onto,
        into=into,
        changes=left_to_do(changes, now),
        overlay_changes=overlay_changes(before.overlay, after.overlay),
        notes=(*case.experiment.notes, *_notes(old, new, was, now)),
    )


class _Ground:
    """Where in which repository the files of the arms belong, and what its revisions say about them."""

    def __init__(self, case: Case, repository: Path, folder: str | None) -> None:
        self._origins = case.experiment.origins
        self._revisions = GitRevisions(repository)
        self.folder = self._folder(case, folder)

    def wanted(self, arm: ArmIdentity, laid: set[str]) -> "_Wanted":
        """The files to look at: those that arms lay and, in a repository that they come from, the agent's others."""
        return _Wanted(laid, arm.agent if self._origins else None)

    def tested_files(self, name: str, arm: ArmIdentity, laid: set[str]) -> Files | None:
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
        return tuple(differing(self._at(origin.commit, arm, laid), self._at(commit, arm, laid)))

    def _at(self, commit: str, arm: ArmIdentity, laid: set[str]) -> Files:
        return files_by_path(self._revisions.files(commit, self.folder, self.wanted(arm, laid)))

    def _folder(self, case: Case, named: str | None) -> str:
        origins: list[ArmOrigin | None] = [self._origins.get(name) for name in (case.baseline, case.candidate)]
        known = {None if origin is None else origin.folder for origin in origins}
        if len(known) > 1:
            raise UsageError(
                "the arms do not come from the same folder of a repository, so no change leads between them."
            )
        (folder,) = known
        if folder is not None and named not in (None, folder):
            raise UsageError(f"--folder {named}: the arms come from {folder!r}, and belong there.")
        if named is not None and (named.startswith("/") or ".." in PurePosixPath(named).parts):
            raise UsageError(f"--folder {named} leads out of the repository; write a path within it.")
        return folder if folder is not None else str(PurePosixPath(named or "."))


class _Wanted:
    """Which paths are looked at."""

    def __init__(self, laid: set[str], agent: str | None) -> None:
        self._laid, self._agent = laid, agent

    def __call__(self, path: str) -> bool:
        return path in self._laid or (self._agent is not None and configuration_kind(path, self._agent) is not None)


def _fingerprint(case: Case, name: str) -> str:
    try:
        return case.experiment.arms[name]
    except KeyError:
        raise UsageError(f"the suite of {case.store} has no arm {name!r}.") from None


def _identity(case: Case, name: str, artifact: ReadArtifact) -> ArmIdentity:
    """By its manifest; what else the store says about its files must say the same."""
    identity = tested_identity(name, _fingerprint(case, name), artifact)
    if case.experiment.overlays.get(name) != identity.overlay:
        raise EvidenceError(f"{case.store} was edited: it names other files of {name!r} than were laid. Run it again.")
    return identity


def _laid(arm: ArmIdentity) -> Files:
    return {file.path: file for file in arm.overlay}


def _runs(options: argparse.Namespace) -> dict[str, list[RunRecord]]:
    found: dict[str, list[RunRecord]] = defaultdict(list)
    for located in read_records(options, []):
        if isinstance(located.record, RunRecord):
            found[located.record.trial.arm].append(located.record)
    return found


def _never_run(case: Case, runs: dict[str, list[RunRecord]]) -> tuple[str, ...]:
    """Tasks of the suite without a run of both arms; an experiment that ends at a decision may leave some out."""
    if case.experiment.looked_at is not None:
        return ()
    done = [{run.trial.task_id for run in runs[name]} for name in (case.baseline, case.candidate)]
    return tuple(task for task in case.experiment.tasks if not all(task in arm for arm in done))


def _notes(old: Files, new: Files, was: Files | None, now: Files) -> Iterator[str]:
    if was is not None and (others := [path for path in differing(was, now) if path not in {*old, *new}]):
        yield f"the base has changed in other files of the set-up since the test: {name_some(others, SHOWN)}."
    if was is None and (absent := [path for path in old if old[path] == new.get(path) and path not in now]):
        yield f"the arms were tested with files that the base does not have: {name_some(absent, SHOWN)}."
