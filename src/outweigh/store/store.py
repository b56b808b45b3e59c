"""What stores say about their runs: policy, profile, arms, set-up, rules for judges, and whether the rules were
edited.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import LocatedRecord
from outweigh.model.run_record import REUSED_LABEL, RULES_LABEL, RunRecord
from outweigh.model.suite import JudgeSpec, PolicySpec
from outweigh.report.setup_changes import ArmSetups
from outweigh.score.composite import OBJECTIVE_FIRST
from outweigh.score.judge_scores import DEFAULT_JUDGE_RULE, Consensus, JudgeRule, JudgeRules, LabelAgreement
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, fits_rules, read_experiment
from outweigh.store.judging_file import JUDGING_FILE, JudgingFile, read_calibrations, read_judging
from outweigh.store.records import STANDARD_INPUT


def experiments_of(runs: Sequence[str]) -> list[ExperimentFile]:
    """The experiment of every store among RUNS."""
    known = (read_experiment(Path(path)) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    return [experiment for experiment in known if experiment is not None]


def single_experiment(runs: Sequence[str]) -> ExperimentFile | None:
    """The experiment of the only store among RUNS; None where there is none, or more than one."""
    found = experiments_of(runs)
    return found[0] if len(found) == 1 else None


def ignored_rules_warnings(runs: Sequence[str]) -> Iterator[str]:
    """Stores whose records are named file by file: whoever does so reads the records alone, and is told."""
    files = (Path(path) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    for folder in dict.fromkeys(path.parent for path in files if path.is_file()):
        rules = [name for name in (EXPERIMENT_FILE, JUDGING_FILE) if (folder / name).is_file()]
        if rules:
            yield (
                f"{folder} says in {' and '.join(rules)} by which rules its runs are compared, and they are not "
                "applied, because its files are named one by one. Name the folder to apply them."
            )


def common_policy(experiments: Sequence[ExperimentFile]) -> PolicySpec | None:
    """What the suites decide by; None where there is none."""
    policies = [experiment.policy for experiment in experiments]
    if any(policy != policies[0] for policy in policies):
        raise UsageError("the stores were made under different policies; choose one by --policy.")
    return policies[0] if policies else None


def choose_profile(profile: str | None, runs: Sequence[str]) -> str:
    """The user's, else the suites', else the default."""
    if profile is not None:
        return profile
    profiles = {experiment.profile for experiment in experiments_of(runs)}
    if len(profiles) > 1:
        raise UsageError(f"the stores have the profiles {' and '.join(sorted(profiles))}; choose one by --profile.")
    return profiles.pop() if profiles else OBJECTIVE_FIRST.name


def setup_of_arms(runs: Sequence[str], baseline: str, candidates: Sequence[str]) -> ArmSetups | None:
    """The set-up of these arms; None where no single store is read, or it says nothing about files."""
    experiment = single_experiment(runs)
    if experiment is None or not (experiment.overlays or experiment.notes):
        return None
    return ArmSetups(
        baseline=baseline,
        candidates=tuple(candidates),
        overlays=experiment.overlays,
        origins=experiment.origins,
        notes=experiment.notes,
    )


def judge_rules_of_stores(runs: Sequence[str]) -> JudgeRules:
    """What all stores say together; stores that contradict each other about a judge are refused."""
    rules: dict[str, JudgeRule] = {}
    agreements: dict[str, list[LabelAgreement]] = defaultdict(list)
    for folder in _store_folders(runs):
        for name, rule in _rules_by_judge(read_judging(folder)).items():
            if rules.setdefault(name, rule) != rule:
                raise UsageError(
                    f"the stores have different rules for judge {name!r} (passes, consensus or minimum_alpha); "
                    "read them one by one."
                )
        for calibration in read_calibrations(folder):
            shown = LabelAgreement(alpha=calibration.overall.alpha.value, rubrics=frozenset(calibration.rubrics))
            agreements[calibration.judge_sha256].append(shown)
    return JudgeRules(rules=rules, agreements=agreements)


def _rules_by_judge(judging: JudgingFile | None) -> dict[str, JudgeRule]:
    """By judge, with the most that was ever demanded of it, also where the suite has dropped it since."""
    if judging is None:
        return {}
    rules = {judge.name: judge_rule(judge) for judge in judging.judges}
    for name, least in judging.demands.items():
        rules[name] = replace(rules.get(name, DEFAULT_JUDGE_RULE), minimum_alpha=least)
    return rules


def judge_rule(judge: JudgeSpec) -> JudgeRule:
    """What a suite says about a judge, as far as it matters to its scores."""
    return JudgeRule(
        passes=judge.passes,
        most_passes=judge.most_passes,
        consensus=Consensus(judge.consensus),
        minimum_alpha=judge.minimum_alpha,
    )


def _store_folders(runs: Sequence[str]) -> list[Path]:
    paths = (Path(path) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    return [path for path in paths if _is_folder(path)]


def _is_folder(path: Path) -> bool:
    """A path that the system refuses is none; whoever reads it says what is wrong with it."""
    try:
        return path.is_dir()
    except OSError:
        return False


class TamperCheck:
    """Looks at records as they are read, and afterwards at the rules beside them."""

    def __init__(self) -> None:
        self._named: dict[str, set[str]] = defaultdict(set)

    def watch(self, records: Iterable[LocatedRecord]) -> Iterator[LocatedRecord]:
        """Pass records on. Runs that were taken over from elsewhere were made under the rules there."""
        for located in records:
            run = located.record
            if isinstance(run, RunRecord) and RULES_LABEL in run.extra and REUSED_LABEL not in run.extra:
                self._named[located.source].add(str(run.extra[RULES_LABEL]))
            yield located

    def refuse_edits(self, runs: Sequence[str]) -> None:
        """A rule that is changed once results are in decides nothing: the file must be what it was."""
        stores = {Path(path) for path in runs if path != STANDARD_INPUT}
        for source, named in self._named.items():
            folder = Path(source).parent
            experiment = read_experiment(folder) if folder in stores else None
            if experiment is not None and not all(fits_rules(experiment, one) for one in named):
                raise EvidenceError(
                    f"{folder / EXPERIMENT_FILE} was edited: its policy, profile or looked_at is not what its runs "
                    "were made under. Change it back; to read the records alone, by other rules, name the .jsonl files."
                )
