"""Where a skill and its evals are on disk, and a copy of the skill for the agent under test.

The copy has neither the evals nor the results of earlier runs: an agent that could read them would know how it is
judged.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_files import looks_like_json, read_json, read_tree
from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.arm import ArmSpec
from outweigh.ports.suites import DraftFile

_EVAL_FILES = re.compile(r"(trigger[-_])?evals?([-_](queries|set|metadata))?(\.[\w-]+)?\.(jsonl?|ya?ml)", re.IGNORECASE)
"""Drafts and translations such as `eval.vally.yaml` also say what is expected."""
_RESULT_FILES = frozenset({"grading.json", "benchmark.json", "eval_metadata.json", "feedback.json"})
_EVAL_FOLDERS = re.compile(r"evals|.+-workspace|iteration-\d+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillCopy:
    """The files of a skill by their paths in it, and what was not copied."""

    files: dict[str, DraftFile]
    left_out: tuple[str, ...]


WITHOUT_SKILL_ARM, WITH_SKILL_ARM = "without_skill", "with_skill"


def skill_arms(skill: str, agent: str, model: str | None) -> dict[str, ArmSpec]:
    """The arms of a suite that tests a skill: the same agent without it and with it."""
    return {
        WITHOUT_SKILL_ARM: ArmSpec(agent=agent, model=model),
        WITH_SKILL_ARM: ArmSpec(extends=WITHOUT_SKILL_ARM, skills=[f"skills/{skill}"]),
    }


def notes_on_copy(copy: SkillCopy) -> Iterator[str]:
    """A note on the files of the skill that the agent does not get."""
    if copy.left_out:
        names = quote_names(copy.left_out, 10)
        yield f"Not in the copy of the skill, because an agent could look up there what is expected: {names}."


def read_skill_files(skill: Path) -> SkillCopy:
    """Read a skill without its evals and their results."""
    left_out: list[PurePosixPath] = []

    def aside(path: PurePosixPath) -> bool:
        if belongs_to_evals(path):
            left_out.append(path)
        return belongs_to_evals(path)

    files = read_tree(skill, without=aside)
    # A folder with files of graders holds outputs of runs, whatever its name.
    graded = {path.parts[0] for path in left_out if path.name in _RESULT_FILES and len(path.parts) > 1}
    return SkillCopy(
        files={path: file for path, file in files.items() if PurePosixPath(path).parts[0] not in graded},
        left_out=tuple(
            dict.fromkeys((*sorted(graded), *(str(path) for path in left_out if path.parts[0] not in graded)))
        ),
    )


def belongs_to_evals(path: PurePosixPath) -> bool:
    """Whether a path below a skill is part of its evals or of their results, by the usual names."""
    return any(map(_EVAL_FOLDERS.fullmatch, path.parts)) or is_evals_file(path)


def is_evals_file(path: PurePosixPath) -> bool:
    """Whether a file states what is expected, or what was found."""
    return path.name in _RESULT_FILES or _EVAL_FILES.fullmatch(path.name) is not None


EVALS_FILE = "evals.json"
EVALS_PATH = f"evals/{EVALS_FILE}"
CASE_LIST_KEYS = ("evals", "test_cases", "cases", "tests")
PROMPT_KEYS = ("prompt", "query", "input", "task")
_SKILL_FOLDERS = ("skills", ".claude/skills", ".agents/skills")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillLocation:
    """`skill` is the folder with the SKILL.md. `home` contains it and the evals, and nothing outside it is read."""

    home: Path
    skill: Path
    evals: Path


def find_evals(path: Path) -> Path | None:
    """The evals that a path stands for: a file, a folder of evals, or a folder that contains one."""
    if path.is_file():
        return path
    places = (path / EVALS_PATH, path / EVALS_FILE)
    return next((place for place in places if place.is_file()), None)


def looks_like_evals(path: Path) -> bool:
    """Whether a file is a list of prompts with what is expected of each. Never raises."""
    return path.suffix == ".json" and looks_like_json(path, lambda document: bool(_cases_with_prompts(document)))


def find_skill(path: Path) -> SkillLocation:
    """Where the skill and its evals are; a UsageError says what is missing and where to put it."""
    path = path.absolute()
    evals = find_evals(path)
    if evals is None:
        raise UsageError(_missing_evals_hint(path))
    for home in (evals.parent, *evals.parent.parents[:2]):
        if (home / SKILL_FILE).is_file():
            return SkillLocation(home=home, skill=home, evals=evals)
    home = next((above.parent for above in evals.parents[:2] if above.name == "evals"), evals.parent)
    found = _named_skill(home, evals)
    if found is None:
        raise UsageError(
            f"{evals} has no skill beside it: neither {evals.parent} nor the folders above hold a {SKILL_FILE}, and "
            f"there is no skills/NAME/{SKILL_FILE} that its skill_name names. Put the evals into the skill's folder, "
            f"as {EVALS_PATH}."
        )
    return SkillLocation(home=home, skill=found, evals=evals)


def _named_skill(home: Path, evals: Path) -> Path | None:
    """The skill that evals at the top of a project name, or the only one there is."""
    document = read_json(evals)
    stated = document.get("skill_name", document.get("skill")) if isinstance(document, dict) else None
    named = stated if isinstance(stated, str) else evals.parent.name
    files = (
        file for place in _SKILL_FOLDERS for file in sorted((home / place).glob(f"*/{SKILL_FILE}")) if file.is_file()
    )
    skills = [file.parent for file in files]
    only = skills[0] if len(skills) == 1 and not isinstance(stated, str) else None
    return next((skill for skill in skills if skill.name == named), only)


def _missing_evals_hint(path: Path) -> str:
    if not path.exists():
        return f"there is no {path}; name a skill's folder, or its {EVALS_FILE}."
    if not (path / SKILL_FILE).is_file():
        return f"{path} is not a skill: it has neither a {SKILL_FILE} nor {EVALS_PATH}. Name the skill's own folder."
    return (
        f"{path} is a skill without evals. Write {path / EVALS_PATH}: "
        '{"skill_name": …, "evals": [{"id": 1, "prompt": …, "expected_output": …, "expectations": […]}]}; or take the '
        "suite that `outweigh init DIR` writes, and give its candidate the skill: skills = [PATH]."
    )


def eval_cases(document: Any) -> list[Any] | None:
    """The evals of a document, under any of the usual keys; None if there is no list."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    return next((document[name] for name in CASE_LIST_KEYS if isinstance(document.get(name), list)), None)


def _cases_with_prompts(document: Any) -> list[Any]:
    cases = eval_cases(document) or []
    prompts = [
        case for case in cases if isinstance(case, dict) and any(isinstance(case.get(key), str) for key in PROMPT_KEYS)
    ]
    named = isinstance(document, dict) and ("evals" in document or "skill_name" in document)
    expectation_keys = ("expected_output", "expectations", "assertions")
    return [case for case in prompts if named or any(key in case for key in expectation_keys)]
