"""Trigger evals of a skill: prompts that should and should not make an agent use it (`query`, `should_trigger`).

skill-creator writes them as a JSON list, in a file of any name; others put them under a key, or among the evals.
agent-crucible has them in `evals/triggers.yaml`.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.skill_creator.eval_checks import first_text
from outweigh.interop.skill_files import PROMPT_KEYS, eval_cases
from outweigh.interop.suite_files import read_json, read_yaml
from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.trigger_case import TriggersSpec

_LIST_KEYS = ("queries", "trigger_evals", "triggers")
_MOST_FILES = 100
_LONGEST_PROMPT = 100_000
EXPECTED_KEY = "should_trigger"
_READERS: Mapping[str, Callable[[Path], Any]] = {".json": read_json, ".yaml": read_yaml, ".yml": read_yaml}
_CRUCIBLE_TASKS = "evals/task-*.yaml"


def is_trigger_eval(case: Any) -> bool:
    """Whether an entry says whether a prompt should make the skill fire."""
    return (
        isinstance(case, dict)
        and isinstance(case.get(EXPECTED_KEY), bool)
        and first_text(case, PROMPT_KEYS) is not None
    )


def looks_like_trigger_evals(path: Path) -> bool:
    """Whether a file is a list of trigger evals. Never raises."""
    try:
        return path.suffix in _READERS and any(map(is_trigger_eval, _cases(_READERS[path.suffix](path))))
    except (UsageError, OSError, ValueError):
        return False


def find_trigger_files(skill: Path) -> tuple[Path, ...]:
    """The files with trigger evals of a skill: in its folder, and in its folder of evals."""
    return tuple(file for file in _files_of(skill) if file.is_file() and looks_like_trigger_evals(file))


def _files_of(skill: Path) -> list[Path]:
    places = [place for place in (skill, skill / "evals") if place.is_dir()]
    return [file for place in places for file in sorted(place.iterdir()) if file.suffix in _READERS][:_MOST_FILES]


def refuse_broken_trigger_files(skill: Path) -> None:
    """Raise a UsageError for a file that is named after triggers and cannot be parsed; it would be passed by."""
    for file in _files_of(skill):
        if "trigger" in file.stem.lower() and file.is_file():
            _READERS[file.suffix](file)


def find_triggered_skill(path: Path) -> Path | None:
    """The folder of the skill that a path with trigger evals belongs to; None where it has none."""
    if path.is_file():
        above = next((place for place in path.absolute().parents[:2] if (place / SKILL_FILE).is_file()), None)
        return above if looks_like_trigger_evals(path) else None
    return path if (path / SKILL_FILE).is_file() and find_trigger_files(path) else None


def read_triggers(skill: Path, name: str) -> tuple[list[TriggersSpec], list[str]]:
    """The trigger cases of a skill, and notes on what was left out; no case where the skill has no trigger evals."""
    found: dict[str, bool] = {}
    notes: list[str] = []
    for file in find_trigger_files(skill):
        for case in filter(is_trigger_eval, _cases(_READERS[file.suffix](file))):
            _add(found, notes, case, file.name)
    if not found:
        return [], notes
    if tasks := sorted(file.name for file in skill.glob(_CRUCIBLE_TASKS)):
        notes.append(f"Tasks of agent-crucible are not read, only its trigger cases; left out: {quote_names(tasks)}.")
    fire, quiet = ([prompt for prompt, expected in found.items() if expected is kind] for kind in (True, False))
    if not fire or not quiet:
        missing = "should not" if fire else "should"
        notes.append(f"All trigger evals are of one kind; add prompts that {missing} make the skill fire.")
    return [TriggersSpec(skill=name, should_fire=fire, should_not_fire=quiet)], notes


def _add(found: dict[str, bool], notes: list[str], case: Mapping[str, Any], file: str) -> None:
    prompt = (first_text(case, PROMPT_KEYS) or "").strip()
    expected = bool(case[EXPECTED_KEY])
    if len(prompt) > _LONGEST_PROMPT:
        notes.append(f"{file}: a prompt of more than {_LONGEST_PROMPT:,} letters was left out.")
    elif found.setdefault(prompt, expected) is not expected:
        raise UsageError(f"{file} says that the prompt {prompt[:60]!r} should and should not make the skill fire.")


def _cases(document: Any) -> Iterator[Any]:
    if isinstance(document, dict):
        for key in _LIST_KEYS:
            if isinstance(document.get(key), list):
                yield from document[key]
    yield from eval_cases(document) or ()
