"""What judges of a store's runs are told (`judging.json`), and how far they agree with people
(`calibration-<hash>.json`).

Runs can be judged again without the suite.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.judgment import Calibration
from outweigh.model.rubric import Rubric
from outweigh.model.suite import JudgeSpec
from outweigh.score.judge_scores import DEFAULT_JUDGE_RULE, Consensus, JudgeRule
from outweigh.store.durable_files import write_atomic

JUDGING_FILE = "judging.json"


class JudgedTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a judge is told about a task; `solution` only where the task reveals it."""

    checksum: str
    instruction: str
    rubric: Rubric
    solution: str | None


class JudgingFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The judges of a suite, the tasks that have a rubric, and the names that would tell whose run it is.

    `demands` is the highest `minimum_alpha` that was ever asked of each judge here: who has seen results cannot ask
    less, nor by leaving the judge out.
    """

    schema: Literal["outweigh.judging/1"] = "outweigh.judging/1"
    judges: tuple[JudgeSpec, ...]
    tasks: dict[str, JudgedTask]
    tell_tales: tuple[str, ...]
    demands: dict[str, float] = {}


def write_judging(folder: Path, judging: JudgingFile) -> JudgingFile:
    """Write it down, unless it is there already. Older judgments stay: they say themselves what they are about."""
    known = read_judging(folder)
    strict = msgspec.structs.replace(judging, demands=_strictest(known, judging))
    if known != strict:
        content = msgspec.json.format(msgspec.json.encode(strict, order="sorted"), indent=2)
        write_atomic(folder / JUDGING_FILE, [content, b"\n"])
    return strict


def read_judging(folder: Path) -> JudgingFile | None:
    """What was written down; None where nothing was."""
    try:
        return msgspec.json.decode((folder / JUDGING_FILE).read_bytes(), type=JudgingFile)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise EvidenceError(
            f"{folder / JUDGING_FILE} cannot be read: {fault}. Remove it and name the suite with -c to write it again."
        ) from fault


def lowered_requirements(judging: JudgingFile) -> dict[str, float]:
    """What was once demanded of judges of whom their suite now demands less, or nothing."""
    now = _minimum_alphas(judging.judges)
    return {name: least for name, least in judging.demands.items() if name not in now or now[name] < least}


def _strictest(*files: JudgingFile | None) -> dict[str, float]:
    strictest: dict[str, float] = {}
    for file in filter(None, files):
        for name, least in (*file.demands.items(), *_minimum_alphas(file.judges).items()):
            strictest[name] = max(least, strictest.get(name, least))
    return strictest


def _minimum_alphas(judges: Iterable[JudgeSpec]) -> dict[str, float]:
    return {judge.name: judge.minimum_alpha for judge in judges if judge.minimum_alpha is not None}


CALIBRATION_PATTERN = "calibration-*.json"


def write_calibration(folder: Path, calibration: Calibration) -> Path:
    """Write it whole, in place of an earlier one of the same version of the judge."""
    target = folder / CALIBRATION_PATTERN.replace("*", calibration.judge_sha256)
    write_atomic(target, [msgspec.json.format(msgspec.json.encode(calibration), indent=2), b"\n"])
    return target


def read_calibrations(folder: Path) -> Iterable[Calibration]:
    """Every calibration of a store. A damaged one is refused: without it a judge might decide that must not."""
    for path in sorted(folder.glob(CALIBRATION_PATTERN)):
        try:
            calibration = msgspec.json.decode(path.read_bytes(), type=Calibration)
        except (OSError, msgspec.MsgspecError) as fault:
            raise EvidenceError(
                f"{path} cannot be read: {fault}. Calibrate again with `outweigh judge RUNS --calibrate LABELS`."
            ) from fault
        if calibration.judge.sha256 != calibration.judge_sha256 or path.name != CALIBRATION_PATTERN.replace(
            "*", calibration.judge_sha256
        ):
            raise EvidenceError(f"{path} is not about the judge that its name says. Calibrate again.")
        yield calibration


def rules_by_judge(judging: JudgingFile | None) -> dict[str, JudgeRule]:
    """By judge, with the most that was ever demanded of it, also where the suite has dropped it since."""
    if judging is None:
        return {}
    rules = {judge.name: _rule(judge) for judge in judging.judges}
    for name, least in judging.demands.items():
        rules[name] = msgspec.structs.replace(rules.get(name, DEFAULT_JUDGE_RULE), minimum_alpha=least)
    return rules


def _rule(judge: JudgeSpec) -> JudgeRule:
    """What a suite says about a judge, as far as it matters to its scores."""
    return JudgeRule(
        passes=judge.passes,
        most_passes=judge.most_passes,
        consensus=Consensus(judge.consensus),
        minimum_alpha=judge.minimum_alpha,
    )
