"""The cases of a plugin's evals: `case.yaml`, or `prompt.md` with `graders/*.md`, or both, as one table each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from outweigh.errors import UsageError, quote_names
from outweigh.interop.suite_files import decode_text, read_bytes, read_yaml, resolve_within
from outweigh.model.plain_yaml import decode_yaml
from outweigh.model.plugin_files import PLUGIN_MANIFEST, PluginFiles
from outweigh.model.untrusted_json import as_dict, as_list, as_str

CASE_FILE, PROMPT_FILE, GRADER_FOLDER, MOCK_FOLDER, RESULTS_FOLDER = (
    "case.yaml",
    "prompt.md",
    "graders",
    "mocks",
    "results",
)
DEFAULT_RUNS, MOST_RUNS, DEFAULT_TURNS, MOST_TURNS, DEFAULT_SECONDS, MOST_SECONDS = 3, 50, 10, 200, 300, 3600
_DEPTH_LIMIT = 8
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOP_KEYS = frozenset({"schema_version", "name", "description", "tags", "plugins", "runs", "expected_outcome"})
_EXECUTION_KEYS = frozenset(
    {"model", "max_turns", "timeout_seconds", "allowed_tools", "disallowed_tools", "artifact_publish"}
    | {"growthbook_overrides", "append_system_prompt", "env"}
)
_BODY_KEYS = {"llm": "criteria", "baseline": "criteria", "regex": "pattern"}
"""What the text below a grader's front matter means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """A case: its folder, what both of its forms say together, and its graders."""

    folder: Path
    name: str
    prompt: str
    table: dict[str, Any]
    execution: dict[str, Any]
    context: dict[str, Any]
    graders: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginLocation:
    """A plugin and the folder of its evals."""

    plugin: Path
    evals: Path
    name: str


def find_plugin(path: Path) -> PluginLocation | None:
    """The plugin that a path is, or whose evals it is; None where there are none."""
    for plugin in (path, *path.absolute().parents[:2]):
        manifest = plugin / PLUGIN_MANIFEST
        content = manifest.read_bytes()[:1_000_000] if manifest.is_file() else b""
        described = PluginFiles({PLUGIN_MANIFEST: content}, str(plugin.resolve()))
        evals = plugin / described.eval_folder
        is_meant = plugin == path or path.resolve().is_relative_to(evals.resolve())
        if is_meant and evals.is_dir() and any(_case_folders(evals, evals)):
            return PluginLocation(plugin=plugin, evals=evals, name=described.name)
    return None


def read_cases(place: PluginLocation) -> Iterator[EvalCase | str]:
    """Every case in order of its folder; for one that cannot be read, the reason."""
    for folder in _case_folders(place.evals, place.evals):
        try:
            yield _read_case(folder, place)
        except UsageError as fault:
            yield f"{folder.relative_to(place.plugin)} was left out: {str(fault).rstrip('.')}."


def _case_folders(folder: Path, evals: Path) -> Iterator[Path]:
    if len(folder.relative_to(evals).parts) > _DEPTH_LIMIT:
        return
    if (folder / CASE_FILE).is_file() or (folder / PROMPT_FILE).is_file():
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        is_apart = folder == evals and entry.name in (RESULTS_FOLDER, MOCK_FOLDER)
        if entry.is_dir() and not entry.is_symlink() and not is_apart:
            yield from _case_folders(entry, evals)


def _read_case(folder: Path, place: PluginLocation) -> EvalCase:
    table = _read_table(folder / CASE_FILE) if (folder / CASE_FILE).is_file() else {"name": folder.name}
    execution = dict(as_dict(table.get("execution")))
    graders = [as_dict(each) for each in as_list(table.get("graders"))]
    if (folder / PROMPT_FILE).is_file():
        stated, body = read_prose(folder / PROMPT_FILE)
        if unknown := [key for key in stated if key not in _TOP_KEYS | _EXECUTION_KEYS]:
            raise UsageError(f"{PROMPT_FILE} has unknown keys: {quote_names(unknown)}")
        table = table | {key: value for key, value in stated.items() if key in _TOP_KEYS}
        refused = [*as_list(execution.get("disallowed_tools")), *as_list(stated.get("disallowed_tools"))]
        execution |= {key: value for key, value in stated.items() if key in _EXECUTION_KEYS}
        execution |= {"disallowed_tools": refused} if refused else {}
        execution |= {"prompt": body} if body else {}
    graders += _prose_graders(folder / GRADER_FOLDER)
    prompt = as_str(execution.get("prompt"))
    if prompt is None or not prompt.strip() or "\0" in prompt:
        raise UsageError("it has no prompt")
    if not graders:
        raise UsageError("it has no graders")
    return EvalCase(
        folder=folder,
        name=as_str(table.get("name")) or str(folder.relative_to(place.evals)),
        prompt=prompt.strip(),
        table=table,
        execution=execution,
        context=as_dict(table.get("context")),
        graders=tuple(graders),
    )


def _read_table(path: Path) -> dict[str, Any]:
    found = read_yaml(path)
    if not isinstance(found, dict):
        raise UsageError(f"{path.name} is not a table")
    version = as_str(found.get("schema_version")) or ""
    if version.partition(".")[0] != "1":
        raise UsageError(f"its schema_version is {found.get('schema_version')!r}; outweigh reads version 1")
    return found


def _prose_graders(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        stated, body = read_prose(path)
        if not stated:
            continue
        grader = {"name": path.stem, **stated}
        meant = _BODY_KEYS.get(as_str(stated.get("type")) or "")
        yield grader | ({meant: body} if meant and body and meant not in grader else {})


def read_prose(path: Path) -> tuple[dict[str, Any], str]:
    """The front matter and the text below it."""
    text = decode_text(read_bytes(path)).replace("\r\n", "\n")
    found = _FRONT_MATTER.match(text)
    if found is None:
        if text.startswith("---\n"):
            raise UsageError(f"{path.name} has front matter without an end")
        return {}, text.strip()
    try:
        read = decode_yaml(found[1])
    except ValueError as fault:
        raise UsageError(f"the front matter of {path.name} is not valid YAML: {fault}") from None
    if read.value is not None and not isinstance(read.value, dict):
        raise UsageError(f"the front matter of {path.name} is not a table")
    if read.doubtful:
        raise UsageError(f"{path.name}: {quote_names(read.doubtful)} has two values in one place")
    return as_dict(read.value), text[found.end() :].strip()


def file_of_case(case: EvalCase, stated: str, where: str) -> Path:
    """A file that a case names; UsageError if it leads out of its folder."""
    return resolve_within(case.folder, stated, where)
