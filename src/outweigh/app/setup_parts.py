"""What a set-up is made of: sections of instructions, skills, sub-agents, commands, hooks, tool servers and settings.

Every part is written as a suite has it under `[parts.NAME]`, with the files that it needs below the suite's folder.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from outweigh.app.setup_files import SetupFiles
from outweigh.app.setup_sections import FoundSection, cut_instructions
from outweigh.app.setup_servers import read_servers, secret_places
from outweigh.errors import UsageError
from outweigh.model.agent_files import ConfigurationKind, configuration_kind, imported_paths, read_skill
from outweigh.model.json_text import try_decode_json
from outweigh.model.parts import PartSpec
from outweigh.ports.suites import DraftFile

MOST_NAME = 40
"""Characters of a part's name that come from its title."""
HOOK_FILES = (".claude/settings.json", ".gemini/settings.json", ".qwen/settings.json")
"""Settings that have hooks under the key "hooks", by whose entries they are cut into parts."""
_IMPORT_STEPS = 5
_KIND_PREFIX = {
    ConfigurationKind.SKILL: "skill-",
    ConfigurationKind.AGENT: "agent-",
    ConfigurationKind.COMMAND: "command-",
    ConfigurationKind.HOOK: "hook-",
    ConfigurationKind.RULE: "rule-",
    ConfigurationKind.TOOL_SERVERS: "server-",
}
_DESCRIBED_KINDS = (
    ConfigurationKind.AGENT,
    ConfigurationKind.COMMAND,
    ConfigurationKind.RULE,
    ConfigurationKind.PROMPT,
)
_PATH_RULE = re.compile(r"^(?:paths|globs|applyTo):", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPart:
    """One part. `where` is its place in the set-up, and `paths` are the set-up's own files that it is made of.

    `files` are those of the suite's folder that `spec` names. `read_later` is text that is not in the prompt of every
    turn, and that the agent reads when it uses the part. `withheld` says why it cannot be written into a suite.
    """

    name: str
    kind: ConfigurationKind
    where: str
    spec: PartSpec
    paths: tuple[str, ...]
    files: Mapping[str, DraftFile] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    read_later: str | None = None
    withheld: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupParts:
    """All parts of a set-up. `fixed` are lines of instructions that no part has, such as a title without text.

    `included` are files that instructions include by `@path`.
    """

    parts: tuple[SetupPart, ...]
    fixed: str
    included: Mapping[str, DraftFile]
    notes: tuple[str, ...]


def find_parts(setup: SetupFiles, *, by_bullet: bool) -> SetupParts:
    """Every part of the set-up, under names that differ."""
    finder = _PartFinder(setup, by_bullet=by_bullet)
    parts = tuple(_with_own_names(finder.parts()))
    if not parts:
        raise UsageError("these files have nothing that can be left out on its own. Name others, such as CLAUDE.md.")
    included = dict(_included_files(setup))
    return SetupParts(parts=parts, fixed=finder.fixed, included=included, notes=(*setup.notes, *finder.notes))


class _PartFinder:
    """Goes through the files of a set-up by their kinds."""

    def __init__(self, setup: SetupFiles, *, by_bullet: bool) -> None:
        self._setup = setup
        self._by_bullet = by_bullet
        self.fixed = ""
        self.notes: list[str] = []

    def parts(self) -> Iterator[SetupPart]:
        """Instructions first, then what agents know of by its description, then hooks, servers and settings."""
        by_kind: dict[ConfigurationKind, list[str]] = {}
        for path in self._setup.files:
            by_kind.setdefault(self._setup.kind(path), []).append(path)
        for path in by_kind.get(ConfigurationKind.INSTRUCTIONS, []):
            yield from self._instructions(path)
        yield from self._skills(by_kind.get(ConfigurationKind.SKILL, []))
        for kind in _DESCRIBED_KINDS:
            for path in by_kind.get(kind, []):
                yield self._described_file(path, kind)
        for path in by_kind.get(ConfigurationKind.TOOL_SERVERS, []):
            yield from self._servers(path)
        for path in by_kind.get(ConfigurationKind.SETTINGS, []):
            yield from self._settings(path)

    def _instructions(self, path: str) -> Iterator[SetupPart]:
        content = self._setup.files[path].content
        if not content.strip():
            self.notes.append(f"{path} is empty.")
        elif configuration_kind(path) is None:
            yield self._nested_instructions(path, content.decode())
        else:
            cut = cut_instructions(content.decode(), by_bullet=self._by_bullet)
            self.fixed += cut.fixed
            for section in cut.sections:
                yield self._section(path, section)

    def _section(self, path: str, section: FoundSection) -> SetupPart:
        copy = f"instructions/{path}"
        if section.titles is None:
            spec = PartSpec(instructions=section.text)
        else:
            spec = PartSpec(instructions_file=copy, sections=list(section.titles))
        return SetupPart(
            name=_slug(section.title) or _slug(PurePosixPath(path).stem),
            kind=ConfigurationKind.INSTRUCTIONS,
            where=f"{path}: {section.title}" if section.title else path,
            spec=spec,
            paths=(path,),
            files={} if section.titles is None else {copy: self._setup.files[path]},
        )

    def _nested_instructions(self, path: str, text: str) -> SetupPart:
        """Instructions of a folder further down, which agents read once they work there."""
        name = _slug(path.replace("/", "-").rpartition(".")[0])
        return replace(self._file_part(name, ConfigurationKind.INSTRUCTIONS, path), read_later=text)

    def _skills(self, paths: Sequence[str]) -> Iterator[SetupPart]:
        folders = dict.fromkeys(str(PurePosixPath(path).parent) for path in paths if path.endswith("/SKILL.md"))
        for folder in folders:
            name = PurePosixPath(folder).name
            own = [path for path in paths if path.startswith(f"{folder}/")]
            copies = {f"skills/{name}/{path.removeprefix(f'{folder}/')}": self._setup.files[path] for path in own}
            skill = read_skill(self._setup.files[f"{folder}/SKILL.md"].content, name)
            yield SetupPart(
                name=name,
                kind=ConfigurationKind.SKILL,
                where=folder,
                spec=PartSpec(skills=[f"skills/{name}"]),
                paths=tuple(own),
                files=copies,
                read_later=skill.body or None,
            )

    def _described_file(self, path: str, kind: ConfigurationKind) -> SetupPart:
        """A file of which agents know the description, and whose text they read when they use it."""
        file, name = self._setup.files[path], PurePosixPath(path).stem
        text = read_skill(file.content, name)
        is_later = kind is not ConfigurationKind.RULE or _PATH_RULE.search(file.content.decode(errors="replace"))
        read_later = text.body if is_later and kind is not ConfigurationKind.PROMPT else None
        if kind is not ConfigurationKind.AGENT:
            return replace(self._file_part(name, kind, path), read_later=read_later or None)
        copy = f"agents/{PurePosixPath(path).name}"
        return SetupPart(
            name=name,
            kind=kind,
            where=path,
            spec=PartSpec(agents=[copy]),
            paths=(path,),
            files={copy: file},
            read_later=read_later or None,
        )

    def _servers(self, path: str) -> Iterator[SetupPart]:
        for name, found in read_servers(self._setup.files[path].content, path).items():
            copies = self._program_files(found.server.command, f"files/server-{_slug(name)}")
            yield SetupPart(
                name=name,
                kind=ConfigurationKind.TOOL_SERVERS,
                where=f"{path}: {name}",
                spec=PartSpec(mcp_servers={name: found.server}, files=_folder_of(copies)),
                paths=(path,),
                files=copies,
                secrets=found.secrets,
                withheld=found.withheld,
            )

    def _settings(self, path: str) -> Iterator[SetupPart]:
        read = try_decode_json(self._setup.files[path].content)
        settings = read if isinstance(read, dict) else {}
        if path.endswith(".json") and not isinstance(read, dict):
            raise UsageError(f"{path} is not a JSON object. Correct it, or leave it out.")
        hooks = settings.get("hooks") if path in HOOK_FILES else None
        if isinstance(hooks, dict):
            yield from self._hooks(path, hooks)
            settings = {key: value for key, value in settings.items() if key != "hooks"}
            if not settings:
                return
        whole = self._file_part("settings" if path in HOOK_FILES else path, ConfigurationKind.SETTINGS, path)
        if isinstance(hooks, dict):
            content = (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode()
            whole = replace(whole, files=dict.fromkeys(whole.files, DraftFile(content=content)))
        yield replace(whole, withheld=_withheld(settings))

    def _hooks(self, path: str, hooks: Mapping[str, Any]) -> Iterator[SetupPart]:
        for moment, entries in hooks.items():
            for number, entry in enumerate(entries if isinstance(entries, list) else [], 1):
                matcher = entry.get("matcher") if isinstance(entry, dict) else None
                name = f"{moment}-{matcher or number}" if matcher or len(entries) > 1 else moment
                words = [word for command in _commands(entry) for word in _words(command)]
                copies = self._program_files(words, f"files/hook-{_slug(name)}")
                yield SetupPart(
                    name=name,
                    kind=ConfigurationKind.HOOK,
                    where=f"{path}: {moment}" + (f" ({matcher})" if matcher else ""),
                    spec=PartSpec(hooks={moment: [entry]}, files=_folder_of(copies)),
                    paths=(path,),
                    files=copies,
                    withheld=_withheld(entry),
                )

    def _file_part(self, name: str, kind: ConfigurationKind, path: str) -> SetupPart:
        """A part that is a file at its own place."""
        folder = f"files/{_KIND_PREFIX.get(kind, '')}{_slug(name)}"
        return SetupPart(
            name=name,
            kind=kind,
            where=path,
            spec=PartSpec(files=folder),
            paths=(path,),
            files={f"{folder}/{path}": self._setup.files[path]},
        )

    def _program_files(self, words: Sequence[str], folder: str) -> dict[str, DraftFile]:
        """The files of the set-up's folder that commands name, below a folder of the suite."""
        found: dict[str, DraftFile] = {}
        for word in words:
            path = str(PurePosixPath(word))
            is_inside = bool(word) and not PurePosixPath(word).is_absolute() and ".." not in PurePosixPath(word).parts
            if is_inside and (file := self._setup.find(path)) is not None:
                found[f"{folder}/{path}"] = file
        return found


def _with_own_names(parts: Iterator[SetupPart]) -> Iterator[SetupPart]:
    taken: set[str] = set()
    for part in parts:
        first = f"{_KIND_PREFIX.get(part.kind, '')}{_slug(part.name) or 'part'}"
        names = (first if number == 1 else f"{first}-{number}" for number in range(1, len(taken) + 2))
        name = next(each for each in names if each not in taken)
        taken.add(name)
        yield replace(part, name=name)


def _slug(title: str) -> str:
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:MOST_NAME].rstrip("-")


def _folder_of(copies: Mapping[str, DraftFile]) -> str | None:
    return "/".join(next(iter(copies)).split("/")[:2]) if copies else None


def _commands(entry: object) -> Iterator[str]:
    hooks = entry.get("hooks") if isinstance(entry, dict) else None
    for hook in hooks if isinstance(hooks, list) else []:
        if isinstance(hook, dict) and isinstance(hook.get("command"), str):
            yield hook["command"]


def _words(command: str) -> list[str]:
    """The words of a command, without the variable that stands for the set-up's folder."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [re.sub(r"^\$\{?CLAUDE_PROJECT_DIR\}?/", "", word).removeprefix("./") for word in words]


def _withheld(settings: object) -> str | None:
    places = list(dict.fromkeys(secret_places(settings)))
    return f"{', '.join(places)} looks like a secret; take it out of the file" if places else None


def _included_files(setup: SetupFiles) -> Iterator[tuple[str, DraftFile]]:
    """Files that instructions include by `@path` and that are no part themselves."""
    seen = set(setup.files)
    texts = [
        (path, file.content.decode(errors="replace"))
        for path, file in setup.files.items()
        if setup.kind(path) is ConfigurationKind.INSTRUCTIONS
    ]
    for _ in range(_IMPORT_STEPS):
        paths = [str(PurePosixPath(path).parent / each) for path, text in texts for each in imported_paths(text)]
        new = [path for path in dict.fromkeys(paths) if path not in seen and ".." not in PurePosixPath(path).parts]
        seen |= set(new)
        texts = []
        for path in new:
            if (file := setup.find(path)) is not None:
                texts.append((path, file.content.decode(errors="replace")))
                yield path, file
