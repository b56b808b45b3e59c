"""A skill as an agent may see it: without what is expected of it, and without what earlier runs left."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from outweigh.adapters.suites.source_files import tree
from outweigh.task.suite_draft import SuiteFile

_EVALS = re.compile(r"(trigger[-_])?evals?([-_](queries|set|metadata))?(\.[\w-]+)?\.(jsonl?|ya?ml)", re.IGNORECASE)
"""Drafts and translations, such as `eval.vally.yaml`, say what is expected, too."""
_RESULTS = frozenset({"grading.json", "benchmark.json", "eval_metadata.json", "feedback.json"})
_FOLDERS = re.compile(r"evals|.+-workspace|iteration-\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCopy:
    """The files of a skill by their paths in it, and what was not copied."""

    files: dict[str, SuiteFile]
    left_out: tuple[str, ...]


def copy_skill(skill: Path) -> SkillCopy:
    """Everything but evals and results. An agent that could read them would know what it is judged by."""
    left_out: list[PurePosixPath] = []

    def aside(path: PurePosixPath) -> bool:
        if belongs_to_evals(path):
            left_out.append(path)
        return belongs_to_evals(path)

    files = tree(skill, without=aside)
    # A folder in which graders left their files holds outputs of runs, whatever it is called.
    graded = {path.parts[0] for path in left_out if path.name in _RESULTS and len(path.parts) > 1}
    return SkillCopy(
        files={path: file for path, file in files.items() if PurePosixPath(path).parts[0] not in graded},
        left_out=tuple(
            dict.fromkeys((*sorted(graded), *(str(path) for path in left_out if path.parts[0] not in graded)))
        ),
    )


def belongs_to_evals(path: PurePosixPath) -> bool:
    """Whether a path below a skill is part of its evals or of their results, by the names that are in use for them."""
    return any(map(_FOLDERS.fullmatch, path.parts)) or is_evals_file(path)


def is_evals_file(path: PurePosixPath) -> bool:
    """Whether a file says what is expected, or what was found."""
    return path.name in _RESULTS or _EVALS.fullmatch(path.name) is not None
