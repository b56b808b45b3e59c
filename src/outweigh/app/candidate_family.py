"""Compare the arms of a store with its baseline, and decide about them as one family, earlier versions included.

A version of an arm that came later is compared with the baseline's runs as reused runs are (compare/stale_runs.py), and
counts as one more candidate that was tried (verdict/tried_versions.py).
"""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath

import msgspec
from msgspec.structs import replace

from outweigh.app.choose_policy import ChosenPolicy
from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.compare.nearest_runs import keep_nearest_runs
from outweigh.compare.stale_runs import ANEW_BY_OPTION, changed_agents, mark_earlier_runs, set_stale_aside
from outweigh.errors import EvidenceError
from outweigh.model.arm import ArmIdentity, ChangeKind
from outweigh.model.plugin_files import PLUGIN_FOLDER
from outweigh.model.suite import DEFAULT_REUSE_MAX_AGE, age_in_days
from outweigh.score.composite import Profile
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store_set import StoreSet
from outweigh.verdict.decision import Verdict
from outweigh.verdict.tried_versions import candidates_to_count


def prepare_evidence(evidence: Evidence, stores: StoreSet, baseline: str, candidate: str) -> Evidence:
    """The evidence as far as this candidate may be compared by it: runs of the baseline that are too old set aside.

    Where the suite plans more repeats of one of them, as many runs of both are compared, those nearest in time.
    """
    experiment, max_age = stores.experiment, stores.reuse_max_age_days()
    if experiment is None or not (experiment.versions or experiment.planned_repeats):
        return set_stale_aside(evidence, baseline, max_age)
    prepared = prepare_version(evidence, experiment, baseline, candidate, max_age)
    return keep_nearest_runs(prepared, candidate, baseline) if experiment.planned_repeats else prepared


def prepare_version(
    evidence: Evidence,
    experiment: ExperimentFile,
    baseline: str,
    candidate: str,
    max_age_days: float | None,
    first_start: datetime | None = None,
) -> Evidence:
    """The evidence about an arm of a store with versions.

    Runs of the baseline from before a version began count as reused ones. Of those that were made for other versions
    only as many are kept as the arm has itself.
    """
    version = experiment.versions.get(candidate)
    if version is None:
        aside = set_stale_aside(evidence, baseline, max_age_days, first_start)
    else:
        max_age = age_in_days(DEFAULT_REUSE_MAX_AGE) if max_age_days is None else max_age_days
        aside = set_stale_aside(
            mark_earlier_runs(evidence, baseline, version.begun_at),
            baseline,
            0.0 if version.fresh_baseline else max_age,
            version.begun_at,
            remedy=ANEW_BY_OPTION,
        )
    return keep_nearest_runs(aside, baseline, candidate)


def compare_candidate(
    evidence: Evidence, stores: StoreSet, baseline: str, candidate: str, profile: Profile
) -> Comparison:
    """Put one candidate beside the baseline."""
    experiment = stores.experiment
    prepared = prepare_evidence(evidence, stores, baseline, candidate)
    comparison = compare_arms(prepared, baseline, candidate, profile, _changed_skills(stores, baseline, candidate))
    comparison = replace(comparison, missing_shards=stores.missing_shards())
    if experiment is None or candidate not in experiment.versions:
        return comparison
    same_model = _asks_for_same_model(stores, experiment, baseline, candidate)
    changed = changed_agents(prepared, baseline, candidate, same_model=same_model)
    warnings = comparison.warnings if changed is None else (*comparison.warnings, changed)
    return replace(comparison, changed_agent=changed, warnings=warnings)


def _asks_for_same_model(stores: StoreSet, experiment: ExperimentFile, baseline: str, candidate: str) -> bool:
    """Whether both arms name the same model; false where the store does not say what they were."""
    artifact = next(store for store in stores.stores if store.experiment is not None).artifacts.read
    try:
        models = {
            msgspec.json.decode(artifact(experiment.arms[name]), type=ArmIdentity).model
            for name in (baseline, candidate)
        }
    except (EvidenceError, KeyError, msgspec.MsgspecError):
        return False
    return len(models) == 1


def _changed_skills(stores: StoreSet, baseline: str, candidate: str) -> tuple[str, ...]:
    """The skills that the candidate adds or changes, by the names of their folders."""
    setup = stores.setup(baseline, (candidate,))
    changes = () if setup is None else setup.changes(candidate) or ()
    places = (PurePosixPath(one.path).parts for one in changes if one.change is not ChangeKind.REMOVED)
    return tuple(dict.fromkeys(_skill_name(parts) for parts in places if "skills" in parts[:-2]))


def _skill_name(parts: tuple[str, ...]) -> str:
    """The name by the folder; that of a plugin's skill begins with the name of the plugin."""
    folder = parts[parts.index("skills") + 1]
    return f"{parts[1]}:{folder}" if parts[0] == PLUGIN_FOLDER else folder


def decide_family(
    policy: ChosenPolicy, experiment: ExperimentFile | None, comparisons: Sequence[Comparison]
) -> tuple[Verdict, ...]:
    """Decide about every candidate; in a store with versions, with all that were ever tried there in mind.

    The candidates of the first run are decided together. Each that came later is decided by itself, at a level that
    depends on how many came before it and not on those that come after, so its verdict stays what it is.
    """
    if experiment is None or not experiment.versions:
        return policy.decide(comparisons)
    first = experiment.first_candidates
    together = [each for each in comparisons if each.candidate.name in first]
    verdicts: dict[str, Verdict] = {}
    if together:
        decided = policy.decide(together, left_out=len(first) - len(together))
        verdicts.update((each.candidate.name, verdict) for each, verdict in zip(together, decided, strict=True))
    for each in comparisons:
        name = each.candidate.name
        if name not in verdicts:
            left_out = candidates_to_count(place_tried(experiment, name)) - 1
            (verdicts[name],) = policy.decide([each], left_out=left_out)
    return tuple(verdicts[each.candidate.name] for each in comparisons)


def place_tried(experiment: ExperimentFile, name: str) -> int:
    """The place of a candidate among all that were tried in a store, counted from 1.

    An arm that is none of them, such as the suite's baseline in another role, comes after them.
    """
    tried = (*experiment.first_candidates, *experiment.versions)
    return tried.index(name) + 1 if name in tried else len(tried) + 1
