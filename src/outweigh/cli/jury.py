"""The rules for judges that the stores among RUNS were made under, and how far their judges agreed with people."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from outweigh.adapters.stores.calibration_file import kept_calibrations
from outweigh.adapters.stores.jsonl import STANDARD_INPUT
from outweigh.adapters.stores.judging_file import JudgingFile, recall_judging
from outweigh.errors import UsageError
from outweigh.score.consensus import Consensus
from outweigh.score.jury import DEFAULT_RULE, JudgeRule, Jury, ShownAgreement
from outweigh.task.judge import JudgeSpec


def jury_behind(runs: Sequence[str]) -> Jury:
    """What all stores say together; stores that contradict each other about a judge are refused."""
    rules: dict[str, JudgeRule] = {}
    agreements: dict[str, list[ShownAgreement]] = defaultdict(list)
    for folder in _folders(runs):
        for name, rule in _rules(recall_judging(folder)).items():
            if rules.setdefault(name, rule) != rule:
                raise UsageError(
                    f"the stores have different rules for judge {name!r} (passes, consensus or minimum_alpha); "
                    "read them one by one."
                )
        for calibration in kept_calibrations(folder):
            shown = ShownAgreement(alpha=calibration.overall.alpha.value, rubrics=frozenset(calibration.rubrics))
            agreements[calibration.judge_sha256].append(shown)
    return Jury(rules=rules, agreements=agreements)


def _rules(judging: JudgingFile | None) -> dict[str, JudgeRule]:
    """By judge, with the most that was ever demanded of it, also where the suite has dropped it since."""
    if judging is None:
        return {}
    rules = {judge.name: rule_of(judge) for judge in judging.judges}
    for name, least in judging.demands.items():
        rules[name] = replace(rules.get(name, DEFAULT_RULE), minimum_alpha=least)
    return rules


def rule_of(judge: JudgeSpec) -> JudgeRule:
    """What a suite says about a judge, as far as it matters to its scores."""
    return JudgeRule(
        passes=judge.passes,
        most_passes=judge.most_passes,
        consensus=Consensus(judge.consensus),
        minimum_alpha=judge.minimum_alpha,
    )


def _folders(runs: Sequence[str]) -> list[Path]:
    paths = (Path(path) for path in dict.fromkeys(runs) if path != STANDARD_INPUT)
    return [path for path in paths if _is_folder(path)]


def _is_folder(path: Path) -> bool:
    """A path that the system refuses is none; whoever reads it says what is wrong with it."""
    try:
        return path.is_dir()
    except OSError:
        return False
