"""One eval as a task, with the input files that it gives to the agent at the paths where the prompt expects them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from outweigh.errors import UsageError
from outweigh.interop.skill_creator.eval_checks import first_text, shorten
from outweigh.interop.skill_creator.eval_rubric import (
    EXPECTATION_KEYS,
    EXPECTED_OUTPUT_KEYS,
    ExpectedResult,
    read_expected,
)
from outweigh.interop.skill_files import PROMPT_KEYS, SkillLocation, belongs_to_evals, is_evals_file
from outweigh.interop.suite_drafting import slug
from outweigh.interop.suite_files import read_suite_file, read_tree, resolve_within
from outweigh.model.agent_files import SKILL_FILE
from outweigh.model.task import TaskSettings
from outweigh.ports.suites import WORKSPACE_FOLDER, DraftFile

_INPUT_FOLDERS = ("files", "fixtures", "inputs")
_INPUT_PATH_KEYS = ("path", "name", "file", "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalInputs:
    """Input files by their paths in the workspace, and those that the prompt does not name.

    Parts of the skill are `shared` with the agent without it if the prompt names them, and `kept_back` otherwise.
    """

    files: dict[str, DraftFile]
    unnamed: tuple[str, ...]
    shared: tuple[str, ...]
    kept_back: tuple[str, ...]


class _InputEntry(NamedTuple):
    """An entry as stated, its path in the workspace, the file, and whether the skill contains it anyway."""

    said: str
    target: str
    file: DraftFile
    of_the_skill: bool


def read_inputs(raw: Any, prompt: str, place: SkillLocation) -> EvalInputs:
    """Every input under `files`; UsageError if one is missing, leads outside, or two have the same path."""
    files: dict[str, DraftFile] = {}
    shared: dict[str, None] = {}
    kept_back: dict[str, None] = {}
    for each in _input_entries(raw, prompt, place):
        name = PurePosixPath(each.target).name
        if each.of_the_skill:
            if name == SKILL_FILE or name not in prompt:
                kept_back[each.said] = None
                continue
            shared[each.said] = None
        if files.setdefault(each.target, each.file) != each.file:
            raise UsageError(f"two of its files would be {each.target!r}")
    unnamed = tuple(target for target in files if PurePosixPath(target).name not in prompt)
    return EvalInputs(files=files, unnamed=unnamed, shared=tuple(shared), kept_back=tuple(kept_back))


def _input_entries(raw: Any, prompt: str, place: SkillLocation) -> Iterator[_InputEntry]:
    """Every file of every entry; one whose content is in the evals is no part of the skill."""
    if isinstance(raw, dict):
        raw = [{"path": name, "content": content} for name, content in raw.items()]
    entries = [] if raw is None else [raw] if isinstance(raw, str) else raw
    if not isinstance(entries, list):
        raise UsageError(f"`files` is {type(entries).__name__}, where a list belongs")
    for entry in entries:
        if isinstance(entry, str) and entry.strip():
            yield from _locate_input(entry.strip(), prompt, place)
        elif (
            isinstance(entry, dict)
            and isinstance(entry.get("content"), str)
            and (name := _entry_path(entry)) is not None
        ):
            file = DraftFile(content=entry["content"].encode("utf-8", "replace"))
            yield _InputEntry(name, _within_workspace(name), file, of_the_skill=False)
        elif isinstance(entry, dict) and (name := _entry_path(entry)) is not None and "content" not in entry:
            yield from _locate_input(name, prompt, place)
        else:
            raise UsageError(f"of its `files`, {shorten(entry)!r} is neither a path nor a path with its content")


def _entry_path(entry: dict[Any, Any]) -> str | None:
    return next((value for key in _INPUT_PATH_KEYS if isinstance(value := entry.get(key), str) and value.strip()), None)


def _locate_input(stated: str, prompt: str, place: SkillLocation) -> Iterator[_InputEntry]:
    source = _source_file(stated, place)
    if is_evals_file(PurePosixPath(source.name)):
        raise UsageError(f"its file {stated!r} would tell the agent what is expected of it")
    target = _workspace_target(stated, prompt)
    if source.is_dir():
        for path, file in read_tree(source, without=is_evals_file).items():
            inside = _within_workspace(f"{target}/{path}")
            yield _InputEntry(stated, inside, file, _is_part_of_the_skill(source / path, place))
    else:
        yield _InputEntry(stated, target, read_suite_file(source), _is_part_of_the_skill(source, place))


def _source_file(stated: str, place: SkillLocation) -> Path:
    """The file that a path means: relative to the skill's folder or, as some people write it, to the evals' folder."""
    folders = dict.fromkeys((place.skill, place.home, place.evals.parent, place.evals.parent / "files"))
    for folder in folders:
        found = resolve_within(
            place.home, str(folder.relative_to(place.home) / stated.replace("\\", "/")), "its `files`"
        )
        if place.skill.resolve().is_relative_to(found):
            raise UsageError(f"its file {stated!r} is the skill itself, which only one arm may have")
        if found.exists():
            return found
    raise UsageError(f"its file {stated!r} is not there")


def _workspace_target(stated: str, prompt: str) -> str:
    """The path in the workspace: as the prompt has it, literally or by file name; else without the evals' folder."""
    plain = PurePosixPath(stated.replace("\\", "/"))
    if str(plain) in prompt:
        return _within_workspace(str(plain))
    spoken = re.search(rf"(?<![\w./~-])((?:[\w.-]+/)+){re.escape(plain.name)}(?![\w/-])", prompt)
    if spoken is not None and ".." not in PurePosixPath(spoken[1]).parts:
        return _within_workspace(f"{spoken[1]}{plain.name}")
    parts = [part for part in plain.parts if part != ".."]
    for container in _INPUT_FOLDERS:
        if container in parts[:-1]:
            return _within_workspace("/".join(parts[parts.index(container) + 1 :]))
    return _within_workspace("/".join(parts[1:] if parts[0] == "evals" and len(parts) > 1 else parts))


def _within_workspace(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts or pure.parts[0] == ".git":
        raise UsageError(f"its file {path!r} leads out of the workspace")
    return str(pure)


def _is_part_of_the_skill(source: Path, place: SkillLocation) -> bool:
    """Whether the agent with the skill has the file anyway; the other would be given a part of the skill."""
    skill = place.skill.resolve()
    return source.is_relative_to(skill) and not belongs_to_evals(PurePosixPath(source.relative_to(skill)))


_NAME_KEYS = ("name", "eval_name", "title", "slug")
_TIMEOUT_KEYS = ("timeout_seconds", "timeout_sec", "timeout")
_LONGEST_SECONDS = 100_000.0
READ_KEYS = frozenset(
    (*_NAME_KEYS, *_TIMEOUT_KEYS, *PROMPT_KEYS, *EXPECTATION_KEYS, *EXPECTED_OUTPUT_KEYS, "id", "files")
)
"""Keys of an eval that are used; any other is noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalTask:
    """A task without its final name: two evals may have the same `wanted_name`."""

    wanted_name: str
    instruction: str
    settings: TaskSettings
    inputs: EvalInputs
    expected: ExpectedResult
    leftover_keys: tuple[str, ...]


def label_eval(case: Any, number: int) -> str:
    """How messages refer to an eval."""
    known = case.get("id", first_text(case, _NAME_KEYS)) if isinstance(case, dict) else None
    return f"eval {known!r}" if isinstance(known, str | int) else f"eval number {number}"


def read_eval_task(case: Any, number: int, place: SkillLocation) -> EvalTask:
    """Read an eval; a UsageError says, as the end of a sentence, why it cannot be a task."""
    if not isinstance(case, dict):
        raise UsageError("it is not a table with a prompt")
    prompt = first_text(case, PROMPT_KEYS)
    if prompt is None:
        raise UsageError("it has no prompt")
    inputs = read_inputs(case.get("files"), prompt, place)
    expected = read_expected(case)
    return EvalTask(
        wanted_name=_wanted_name(case, number),
        instruction=prompt.strip() + _name_files_in_prompt(inputs.unnamed),
        settings=TaskSettings(checks=expected.checks, rubric=expected.rubric, timeout_seconds=_timeout(case)),
        inputs=inputs,
        expected=expected,
        leftover_keys=tuple(key for key in case if key not in READ_KEYS),
    )


def workspace_files(inputs: EvalInputs) -> dict[str, Any]:
    """The inputs by their paths in the task's folder."""
    return {f"{WORKSPACE_FOLDER}/{path}": file for path, file in inputs.files.items()}


def _name_files_in_prompt(unnamed: Iterable[str]) -> str:
    """A sentence that names the input files, which people who run evals by hand tell the agent."""
    names = ", ".join(f"`{path}`" for path in unnamed)
    return f"\n\nInput files, in the current folder: {names}" if names else ""


def _wanted_name(case: dict[str, Any], number: int) -> str:
    name = first_text(case, _NAME_KEYS)
    known = case.get("id")
    otherwise = f"eval-{known}" if isinstance(known, int) and not isinstance(known, bool) else f"eval-{number}"
    return slug(name or (known if isinstance(known, str) else otherwise), otherwise)


def _timeout(case: dict[str, Any]) -> float | None:
    stated = next((case[key] for key in _TIMEOUT_KEYS if key in case), None)
    if not isinstance(stated, int | float) or isinstance(stated, bool) or not isfinite(stated):
        return None
    return float(stated) if 0 < stated <= _LONGEST_SECONDS else None
