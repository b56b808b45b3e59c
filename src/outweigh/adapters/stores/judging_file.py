"""What judges of a store's runs are told, kept beside the runs: they can be judged again without the suite at hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import EvidenceError
from outweigh.task.judge import JudgeSpec
from outweigh.task.rubric import Rubric

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


def remember_judging(folder: Path, judging: JudgingFile) -> JudgingFile:
    """Write it down, unless it is there already. Older judgments stay: they say themselves what they are about."""
    known = recall_judging(folder)
    strict = msgspec.structs.replace(judging, demands=_strictest(known, judging))
    if known != strict:
        content = msgspec.json.format(msgspec.json.encode(strict, order="sorted"), indent=2)
        write_whole(folder / JUDGING_FILE, [content, b"\n"])
    return strict


def recall_judging(folder: Path) -> JudgingFile | None:
    """What was written down; None where nothing was."""
    try:
        return msgspec.json.decode((folder / JUDGING_FILE).read_bytes(), type=JudgingFile)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise EvidenceError(
            f"{folder / JUDGING_FILE} cannot be read: {fault}. Remove it and name the suite by -c to write it again."
        ) from fault


def lowered_demands(judging: JudgingFile) -> dict[str, float]:
    """What was once demanded of judges of whom their suite now demands less, or nothing."""
    now = _demands(judging.judges)
    return {name: least for name, least in judging.demands.items() if name not in now or now[name] < least}


def _strictest(*files: JudgingFile | None) -> dict[str, float]:
    strictest: dict[str, float] = {}
    for file in filter(None, files):
        for name, least in (*file.demands.items(), *_demands(file.judges).items()):
            strictest[name] = max(least, strictest.get(name, least))
    return strictest


def _demands(judges: Iterable[JudgeSpec]) -> dict[str, float]:
    return {judge.name: judge.minimum_alpha for judge in judges if judge.minimum_alpha is not None}
