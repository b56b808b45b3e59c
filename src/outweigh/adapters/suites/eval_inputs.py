"""The files that an eval hands to the agent: found near the evals, laid where its prompt looks for them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from outweigh.adapters.suites.eval_fields import excerpt
from outweigh.adapters.suites.skill_copy import belongs_to_evals, is_evals_file
from outweigh.adapters.suites.skill_place import SKILL_FILE, SkillPlace
from outweigh.adapters.suites.source_files import suite_file, tree, within
from outweigh.errors import UsageError
from outweigh.task.suite_draft import SuiteFile

_CONTAINERS = ("files", "fixtures", "inputs")
_PLACES = ("path", "name", "file", "target")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Files by their paths in the workspace, and those of them that the prompt does not name.

    Parts of the skill are `shared` with the agent that lacks it where the prompt names them, and else `kept_back`.
    """

    files: dict[str, SuiteFile]
    unnamed: tuple[str, ...]
    shared: tuple[str, ...]
    kept_back: tuple[str, ...]


class _Stated(NamedTuple):
    """What an entry says, where its file is to lie, the file, and whether the skill has that file anyway."""

    said: str
    target: str
    file: SuiteFile
    of_the_skill: bool


def read_inputs(raw: Any, prompt: str, place: SkillPlace) -> Inputs:
    """Everything under `files`. UsageError where one is not there, leads out, or two want the same place."""
    files: dict[str, SuiteFile] = {}
    shared: dict[str, None] = {}
    kept_back: dict[str, None] = {}
    for each in _stated(raw, prompt, place):
        name = PurePosixPath(each.target).name
        if each.of_the_skill:
            if name == SKILL_FILE or name not in prompt:
                kept_back[each.said] = None
                continue
            shared[each.said] = None
        if files.setdefault(each.target, each.file) != each.file:
            raise UsageError(f"two of its files would be {each.target!r}")
    unnamed = tuple(target for target in files if PurePosixPath(target).name not in prompt)
    return Inputs(files=files, unnamed=unnamed, shared=tuple(shared), kept_back=tuple(kept_back))


def _stated(raw: Any, prompt: str, place: SkillPlace) -> Iterator[_Stated]:
    """Every file of every entry; one whose content stands in the evals is nobody else's."""
    if isinstance(raw, dict):
        raw = [{"path": name, "content": content} for name, content in raw.items()]
    entries = [] if raw is None else [raw] if isinstance(raw, str) else raw
    if not isinstance(entries, list):
        raise UsageError(f"`files` is {type(entries).__name__}, where a list belongs")
    for entry in entries:
        if isinstance(entry, str) and entry.strip():
            yield from _found(entry.strip(), prompt, place)
        elif isinstance(entry, dict) and isinstance(entry.get("content"), str) and (name := _name(entry)) is not None:
            file = SuiteFile(content=entry["content"].encode("utf-8", "replace"))
            yield _Stated(name, _within_workspace(name), file, of_the_skill=False)
        elif isinstance(entry, dict) and (name := _name(entry)) is not None and "content" not in entry:
            yield from _found(name, prompt, place)
        else:
            raise UsageError(f"of its `files`, {excerpt(entry)!r} is neither a path nor a path with its content")


def _name(entry: dict[Any, Any]) -> str | None:
    return next((value for key in _PLACES if isinstance(value := entry.get(key), str) and value.strip()), None)


def _found(stated: str, prompt: str, place: SkillPlace) -> Iterator[_Stated]:
    source = _source(stated, place)
    if is_evals_file(PurePosixPath(source.name)):
        raise UsageError(f"its file {stated!r} would tell the agent what is expected of it")
    target = _target(stated, prompt)
    if source.is_dir():
        for path, file in tree(source, without=is_evals_file).items():
            inside = _within_workspace(f"{target}/{path}")
            yield _Stated(stated, inside, file, _is_part_of_the_skill(source / path, place))
    else:
        yield _Stated(stated, target, suite_file(source), _is_part_of_the_skill(source, place))


def _source(stated: str, place: SkillPlace) -> Path:
    """Paths are meant from the skill's folder; some people mean them from that of the evals."""
    folders = dict.fromkeys((place.skill, place.home, place.evals.parent, place.evals.parent / "files"))
    for folder in folders:
        found = within(place.home, str(folder.relative_to(place.home) / stated.replace("\\", "/")), "its `files`")
        if place.skill.resolve().is_relative_to(found):
            raise UsageError(f"its file {stated!r} is the skill itself, which only one arm may have")
        if found.exists():
            return found
    raise UsageError(f"its file {stated!r} is not there")


def _target(stated: str, prompt: str) -> str:
    """Where the prompt has it: word for word, or by a path to a file of that name; else without what is the evals'."""
    plain = PurePosixPath(stated.replace("\\", "/"))
    if str(plain) in prompt:
        return _within_workspace(str(plain))
    spoken = re.search(rf"(?<![\w./~-])((?:[\w.-]+/)+){re.escape(plain.name)}(?![\w/-])", prompt)
    if spoken is not None and ".." not in PurePosixPath(spoken[1]).parts:
        return _within_workspace(f"{spoken[1]}{plain.name}")
    parts = [part for part in plain.parts if part != ".."]
    for container in _CONTAINERS:
        if container in parts[:-1]:
            return _within_workspace("/".join(parts[parts.index(container) + 1 :]))
    return _within_workspace("/".join(parts[1:] if parts[0] == "evals" and len(parts) > 1 else parts))


def _within_workspace(path: str) -> str:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts or pure.parts[0] == ".git":
        raise UsageError(f"its file {path!r} leads out of the workspace")
    return str(pure)


def _is_part_of_the_skill(source: Path, place: SkillPlace) -> bool:
    """Whether the agent with the skill has it anyway; the one without it would be handed a part of the skill."""
    skill = place.skill.resolve()
    return source.is_relative_to(skill) and not belongs_to_evals(PurePosixPath(source.relative_to(skill)))
