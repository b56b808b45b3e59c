"""Composes an arm of parts: one arm with what all its parts bring, in the order of the suite.

Instructions of all parts are written into one text, sections of a file in the order in which the file has them. What
two parts bring differently is refused.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec

from outweigh.engine.load_server import refuse_bad_server
from outweigh.errors import UsageError
from outweigh.model.agent_files import AgentFileLocations
from outweigh.model.arm import ArmSpec, McpServer
from outweigh.model.json_text import try_decode_json
from outweigh.model.markdown_sections import MarkdownSection, find_section, own_spans, split_sections
from outweigh.model.parts import PartSpec


class SuiteFiles(Protocol):
    """The files of a suite's folder."""

    def file(self, path: object, where: str) -> Path:
        """The file that the suite names; UsageError where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartInstructions:
    """Characters of one text: `place` is the position of its source among all, `spans` are what a part takes of it."""

    part: str
    place: int
    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedArm:
    """An arm with everything that its parts add to it.

    What becomes files has the name of its part: `skills` and `files` are folders, `agents` files of the suite, by
    their path. `hooks` are to be merged into the settings of the agent, by the part that brings them.
    """

    spec: ArmSpec
    skills: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
    agents: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instructed_by: tuple[str, ...] = ()


class SuiteParts:
    """The parts of a suite, with the instructions of each as text."""

    def __init__(self, parts: Mapping[str, PartSpec], files: SuiteFiles, source: str) -> None:
        self._parts = parts
        self._source = source
        self._instructions = {each.part: each for each in read_instructions(parts, files, source)}

    def compose(self, name: str, spec: ArmSpec, places: AgentFileLocations) -> ComposedArm:
        """The arm of this name with its parts; UsageError where two of them contradict each other."""
        where = f"{self._source}: arms.{name}"
        chosen = {part: self._parts[part] for part in self._parts if part in spec.parts}
        for part, what in chosen.items():
            _refuse_what_agent_lacks(what, spec.agent or "", places, f"{self._source}: parts.{part}")
            for server_name, server in what.mcp_servers.items():
                variables = (*spec.secrets, *spec.environment)
                refuse_bad_server(server, variables, f"{self._source}: parts.{part}.mcp_servers.{server_name}")
        written = [self._instructions[part] for part in chosen if part in self._instructions]
        text = _compose_instructions(written, spec.instructions, where)
        composed = msgspec.structs.replace(
            spec,
            model=_one_model(chosen, where) or spec.model,
            mcp_servers=_merge_servers(spec.mcp_servers, chosen, where),
            flags=[*spec.flags, *(flag for what in chosen.values() for flag in what.flags)],
            skills=list(dict.fromkeys((*spec.skills, *(path for what in chosen.values() for path in what.skills)))),
            instructions=text,
        )
        return ComposedArm(
            spec=composed,
            skills={path: part for part, what in reversed(chosen.items()) for path in what.skills},
            files=tuple((part, what.files) for part, what in chosen.items() if what.files is not None),
            agents={path: part for part, what in reversed(chosen.items()) for path in reversed(what.agents)},
            hooks={part: what.hooks for part, what in chosen.items() if what.hooks},
            instructed_by=tuple(each.part for each in written),
        )


def read_instructions(parts: Mapping[str, PartSpec], files: SuiteFiles, source: str) -> Iterator[PartInstructions]:
    """The instructions of every part. A section that any part names is not part of the section around it."""
    texts: dict[Path, str] = {}
    places: dict[Path, int] = {}
    named: dict[Path, dict[str, list[MarkdownSection]]] = {}
    for number, (part, what) in enumerate(parts.items()):
        if what.instructions is not None:
            yield PartInstructions(
                part=part, place=number, text=what.instructions, spans=((0, len(what.instructions)),)
            )
        elif what.instructions_file is not None:
            where = f"{source}: parts.{part}.instructions_file"
            path = files.file(what.instructions_file, where)
            places.setdefault(path, number)
            text = texts.setdefault(path, _read_text(path, where))
            sections = split_sections(text) if what.sections else ()
            here = f"{source}: parts.{part}.sections: {what.instructions_file}"
            named.setdefault(path, {})[part] = [find_section(sections, title, here) for title in what.sections]
    for path, by_part in named.items():
        taken = [section for sections in by_part.values() for section in sections]
        for part, own in by_part.items():
            whole = ((0, len(texts[path])),)
            spans = {span for section in own for span in own_spans(section, taken)} if own else whole
            yield PartInstructions(part=part, place=places[path], text=texts[path], spans=tuple(sorted(spans)))


def _read_text(path: Path, where: str) -> str:
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise UsageError(f"{where}: {path} is not UTF-8 text; save it as UTF-8.") from None


def _compose_instructions(written: Sequence[PartInstructions], own: str | None, where: str) -> str | None:
    """The arm's own instructions and those of its parts; None where there are none."""
    if not written:
        return own
    by_place: dict[int, list[PartInstructions]] = {}
    for each in written:
        by_place.setdefault(each.place, []).append(each)
    texts = [_join_spans(by_place[place], where) for place in sorted(by_place)]
    return _with_blank_lines((*(() if own is None else (own,)), *texts))


def _join_spans(written: Sequence[PartInstructions], where: str) -> str:
    """What parts take of one text, in its order."""
    spans = sorted((span, each.part) for each in written for span in each.spans)
    for ((_, end), one), ((start, _), other) in pairwise(spans):
        if start < end:
            raise UsageError(
                f"{where}.parts: {one!r} and {other!r} have the same section of one file; leave one of them out, or "
                "name the section in one of them only."
            )
    return "".join(written[0].text[start:end] for (start, end), _ in spans)


def _with_blank_lines(texts: Iterable[str]) -> str:
    """Texts of different sources, with a blank line between them."""
    whole = ""
    for text in filter(None, texts):
        missing = 2 - (len(whole) - len(whole.rstrip("\n"))) if whole else 0
        whole += "\n" * max(0, missing) + text
    return whole


def _one_model(chosen: Mapping[str, PartSpec], where: str) -> str | None:
    """The model that parts bring, which goes before the arm's own."""
    stated = [(part, what.model) for part, what in chosen.items() if what.model is not None]
    for part, model in stated:
        if model != stated[0][1]:
            raise UsageError(
                f"{where}.parts: {stated[0][0]!r} and {part!r} have different models ({stated[0][1]!r} and {model!r}); "
                "an arm has one."
            )
    return stated[0][1] if stated else None


def _merge_servers(own: Mapping[str, McpServer], chosen: Mapping[str, PartSpec], where: str) -> dict[str, McpServer]:
    servers, owners = dict(own), dict.fromkeys(own, "the arm itself")
    for part, what in chosen.items():
        for name, server in what.mcp_servers.items():
            if servers.setdefault(name, server) != server:
                raise UsageError(
                    f"{where}.parts: {owners[name]} and {part!r} have different tool servers called {name!r}; "
                    "give one of them another name."
                )
            owners.setdefault(name, repr(part))
    return servers


def _refuse_what_agent_lacks(what: PartSpec, agent: str, places: AgentFileLocations, where: str) -> None:
    """Refuse what the agent would never read: the arm would have the part in name only."""
    if (what.instructions or what.instructions_file) and not places.instructions:
        raise UsageError(f"{where}: {agent} reads no instruction file, so this part cannot be added to it.")
    if what.skills and not places.skills:
        raise UsageError(f"{where}.skills: {agent} does not support skills; leave the part out, or use another agent.")
    if what.agents and not places.sub_agents:
        raise UsageError(
            f"{where}.agents: {agent} has no folder of sub-agents that they could be added to; use `files` for what it "
            "reads, or another agent."
        )
    if what.hooks and places.hooks is None:
        raise UsageError(
            f"{where}.hooks: {agent} has no settings that hooks could be added to; use `files` for what it reads, or "
            "another agent."
        )
    for moment, entries in what.hooks.items():
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise UsageError(f"{where}.hooks.{moment} must be a list of tables, as the settings of {agent} have it.")


def merge_hooks(settings: bytes | None, hooks: Mapping[str, Mapping[str, Any]], where: str) -> bytes:
    """A settings file with the hooks of parts after those that it has; one that two of them bring is there once."""
    read = {} if settings is None else try_decode_json(settings)
    merged = read.get("hooks", {}) if isinstance(read, dict) else None
    if not isinstance(read, dict) or not isinstance(merged, dict):
        raise UsageError(f"{where} is not a JSON object that hooks can be added to; correct it, or leave it out.")
    table = {moment: list(entries) if isinstance(entries, list) else [entries] for moment, entries in merged.items()}
    for brought in hooks.values():
        for moment, entries in brought.items():
            known = table.setdefault(moment, [])
            known.extend(entry for entry in entries if entry not in known)
    return (json.dumps({**read, "hooks": table}, indent=2, ensure_ascii=False) + "\n").encode()
