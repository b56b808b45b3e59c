"""One eval as a task."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any

from outweigh.adapters.suites.eval_inputs import Inputs, read_inputs
from outweigh.adapters.suites.eval_rubric import EXPECTATIONS, EXPECTED_OUTPUTS, Expected, read_expected
from outweigh.adapters.suites.naming import folder_name
from outweigh.adapters.suites.skill_place import PROMPTS, SkillPlace
from outweigh.errors import UsageError
from outweigh.task.suite_draft import WORKSPACE_FOLDER
from outweigh.task.task import TaskSettings

_NAMES = ("name", "eval_name", "title", "slug")
_TIMEOUTS = ("timeout_seconds", "timeout_sec", "timeout")
_LONGEST_SECONDS = 100_000.0
READ = frozenset((*_NAMES, *_TIMEOUTS, *PROMPTS, *EXPECTATIONS, *EXPECTED_OUTPUTS, "id", "files"))
"""Keys of an eval that are made use of; what else one has is noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalTask:
    """A task but for its final name: `wanted_name` may be wanted twice."""

    wanted_name: str
    instruction: str
    settings: TaskSettings
    inputs: Inputs
    expected: Expected
    leftover_keys: tuple[str, ...]


def label_of(case: Any, number: int) -> str:
    """What messages call an eval."""
    known = case.get("id", _first_text(case, _NAMES)) if isinstance(case, dict) else None
    return f"eval {known!r}" if isinstance(known, str | int) else f"eval number {number}"


def read_task(case: Any, number: int, place: SkillPlace) -> EvalTask:
    """UsageError says, as the end of a sentence, why it cannot be one."""
    if not isinstance(case, dict):
        raise UsageError("it is no table with a prompt")
    prompt = _first_text(case, PROMPTS)
    if prompt is None:
        raise UsageError("it has no prompt")
    inputs = read_inputs(case.get("files"), prompt, place)
    expected = read_expected(case)
    return EvalTask(
        wanted_name=_wanted_name(case, number),
        instruction=prompt.strip() + _told_of(inputs.unnamed),
        settings=TaskSettings(checks=expected.checks, rubric=expected.rubric, timeout_seconds=_timeout(case)),
        inputs=inputs,
        expected=expected,
        leftover_keys=tuple(key for key in case if key not in READ),
    )


def workspace_files(inputs: Inputs) -> dict[str, Any]:
    """The inputs by their places in the task's folder."""
    return {f"{WORKSPACE_FOLDER}/{path}": file for path, file in inputs.files.items()}


def _told_of(unnamed: Iterable[str]) -> str:
    """Whoever runs evals by hand names their files to the agent; a prompt need not."""
    names = ", ".join(f"`{path}`" for path in unnamed)
    return f"\n\nInput files, in the current folder: {names}" if names else ""


def _wanted_name(case: dict[str, Any], number: int) -> str:
    name = _first_text(case, _NAMES)
    known = case.get("id")
    otherwise = f"eval-{known}" if isinstance(known, int) and not isinstance(known, bool) else f"eval-{number}"
    return folder_name(name or (known if isinstance(known, str) else otherwise), otherwise)


def _timeout(case: dict[str, Any]) -> float | None:
    stated = next((case[key] for key in _TIMEOUTS if key in case), None)
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not isfinite(stated):
        return None
    return float(stated) if 0 < stated <= _LONGEST_SECONDS else None


def _first_text(case: dict[str, Any], keys: Iterable[str]) -> str | None:
    found = next((case[key] for key in keys if isinstance(case.get(key), str) and case[key].strip()), None)
    return None if found is None else found.replace("\0", "")
