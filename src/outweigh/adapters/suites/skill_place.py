"""Where a skill lies and where its evals do, whichever of the two somebody named."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.adapters.suites.source_files import looks_like_json, read_json
from outweigh.errors import UsageError

SKILL_FILE = "SKILL.md"
EVALS_FILE = "evals.json"
EVALS_PLACE = f"evals/{EVALS_FILE}"
CASE_LISTS = ("evals", "test_cases", "cases", "tests")
PROMPTS = ("prompt", "query", "input", "task")
_BESIDE = ("skills", ".claude/skills", ".agents/skills")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPlace:
    """`skill` is the folder with the SKILL.md; `home` holds it and the evals, and nothing outside it is read."""

    home: Path
    skill: Path
    evals: Path


def evals_of(path: Path) -> Path | None:
    """The evals that a path means: a file, a folder of evals, or a folder that has one."""
    if path.is_file():
        return path
    places = (path / EVALS_PLACE, path / EVALS_FILE)
    return next((place for place in places if place.is_file()), None)


def looks_like_evals(path: Path) -> bool:
    """A list of prompts, each with what is expected. Never raises."""
    return path.suffix == ".json" and looks_like_json(path, lambda document: bool(_cases_that_ask(document)))


def find_skill(path: Path) -> SkillPlace:
    """Both places; UsageError says what is missing and how to come by it."""
    path = path.absolute()
    evals = evals_of(path)
    if evals is None:
        raise UsageError(_without_evals(path))
    for home in (evals.parent, *evals.parent.parents[:2]):
        if (home / SKILL_FILE).is_file():
            return SkillPlace(home=home, skill=home, evals=evals)
    home = next((above.parent for above in evals.parents[:2] if above.name == "evals"), evals.parent)
    found = _named_skill(home, evals)
    if found is None:
        raise UsageError(
            f"{evals} has no skill beside it: neither {evals.parent} nor the folders above hold a {SKILL_FILE}, and "
            f"there is no skills/NAME/{SKILL_FILE} that its skill_name names. Put the evals into the skill's folder, "
            f"as {EVALS_PLACE}."
        )
    return SkillPlace(home=home, skill=found, evals=evals)


def _named_skill(home: Path, evals: Path) -> Path | None:
    """Where evals stand at the top of a project and the skill among others: the one that they name, or the only one."""
    document = read_json(evals)
    stated = document.get("skill_name", document.get("skill")) if isinstance(document, dict) else None
    named = stated if isinstance(stated, str) else evals.parent.name
    files = (file for place in _BESIDE for file in sorted((home / place).glob(f"*/{SKILL_FILE}")) if file.is_file())
    skills = [file.parent for file in files]
    only = skills[0] if len(skills) == 1 and not isinstance(stated, str) else None
    return next((skill for skill in skills if skill.name == named), only)


def _without_evals(path: Path) -> str:
    if not path.exists():
        return f"there is no {path}; name a skill's folder, or its {EVALS_FILE}."
    if not (path / SKILL_FILE).is_file():
        return f"{path} is no skill: it has neither a {SKILL_FILE} nor {EVALS_PLACE}. Name the skill's own folder."
    return (
        f"{path} is a skill without evals. Write {path / EVALS_PLACE}: "
        '{"skill_name": …, "evals": [{"id": 1, "prompt": …, "expected_output": …, "expectations": […]}]}; or take the '
        "suite that `outweigh init DIR` writes, and give its candidate the skill: skills = [PATH]."
    )


def cases_in(document: Any) -> list[Any] | None:
    """The evals of a document, whatever their list is called; None where there is none."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    return next((document[name] for name in CASE_LISTS if isinstance(document.get(name), list)), None)


def _cases_that_ask(document: Any) -> list[Any]:
    cases = cases_in(document) or []
    asking = [
        case for case in cases if isinstance(case, dict) and any(isinstance(case.get(key), str) for key in PROMPTS)
    ]
    named = isinstance(document, dict) and ("evals" in document or "skill_name" in document)
    telling = ("expected_output", "expectations", "assertions")
    return [case for case in asking if named or any(key in case for key in telling)]
