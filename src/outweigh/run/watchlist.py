"""What to look for in the requests of an experiment: the texts that give each arm's skills and instructions away."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath

from outweigh.record.components import Component
from outweigh.task.arm import Arm
from outweigh.task.skill_file import SkillText, read_skill
from outweigh.transcript.model_call import Marker

SKILL_FILE = "SKILL.md"
INSTRUCTION_FILES = frozenset(
    {"CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "CONVENTIONS.md", ".goosehints", "CLAUDE.local.md"}
)
LONGEST_DESCRIPTION = 200
"""Agents cut long descriptions short; the beginning is enough to know one by."""
LONGEST_TEXT = 20_000
SHORTEST_TEXT = 12
"""A shorter text would be found in requests by chance, and proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One thing an arm lays before its agent, and the markers that show it; a skill may go by its folder's name too."""

    name: str
    folder: str | None
    shown_by: str | None
    used_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchlist:
    """What every arm declares, and all markers of the experiment: what one arm has, another must not show."""

    skills: Mapping[str, tuple[Declared, ...]]
    instructions: Mapping[str, tuple[Declared, ...]]
    markers: Mapping[str, Marker]

    def of_others(self, arm: str) -> tuple[tuple[Declared, ...], tuple[Declared, ...]]:
        """Skills and instructions that only other arms have. What lies within this arm's own texts shows nothing."""
        own = [*self.skills.get(arm, ()), *self.instructions.get(arm, ())]
        own_texts = [_flat(self.markers[name].text) for thing in own for name in _names(thing)]
        skills, instructions = (
            tuple(
                {
                    (thing.name, thing.shown_by): thing
                    for name, things in table.items()
                    if name != arm
                    for thing in things
                    if thing.shown_by is None or not _is_within(self.markers[thing.shown_by].text, own_texts)
                }.values()
            )
            for table in (self.skills, self.instructions)
        )
        own_names = {thing.name for thing in self.skills.get(arm, ())}
        return tuple(skill for skill in skills if skill.name not in own_names or skill.shown_by), instructions


def watchlist(arms: Mapping[str, Arm], overlays: Mapping[str, bytes]) -> Watchlist:
    """Read the skills and instructions of every arm."""
    markers: dict[str, Marker] = {}
    return Watchlist(
        skills={name: _skills(arm, overlays, markers) for name, arm in arms.items()},
        instructions={name: _instructions(arm, overlays, markers) for name, arm in arms.items()},
        markers=markers,
    )


def _skills(arm: Arm, overlays: Mapping[str, bytes], markers: dict[str, Marker]) -> tuple[Declared, ...]:
    found: dict[str, SkillText] = {}
    for file in arm.overlay:
        path = PurePosixPath(file.path)
        if path.name == SKILL_FILE and path.parent.parent.name == "skills":
            found.setdefault(path.parent.name, read_skill(overlays[file.sha256], path.parent.name))
    return tuple(
        Declared(
            name=skill.name,
            folder=folder,
            shown_by=_mark(
                markers, f"skill {skill.name}", Component.SKILL_PROMPT, skill.description[:LONGEST_DESCRIPTION]
            ),
            used_by=_mark(markers, f"text of skill {skill.name}", Component.SKILL_PROMPT, skill.body),
        )
        for folder, skill in found.items()
    )


def _instructions(arm: Arm, overlays: Mapping[str, bytes], markers: dict[str, Marker]) -> tuple[Declared, ...]:
    texts: dict[str, tuple[str, str]] = {}
    for file in arm.overlay:  # one text under two names, for two families of agents, is one thing
        if file.path in INSTRUCTION_FILES:
            texts.setdefault(file.sha256, (file.path, overlays[file.sha256].decode(errors="replace")))
    return tuple(
        Declared(name=path, folder=None, shown_by=_mark(markers, path, Component.DOMAIN_EXPERTISE, text), used_by=None)
        for path, text in texts.values()
    )


def _mark(markers: dict[str, Marker], what: str, component: Component, text: str) -> str | None:
    text = text.strip()[:LONGEST_TEXT]
    if len(text) < SHORTEST_TEXT:
        return None
    name = f"{what}@{sha256(text.encode()).hexdigest()[:8]}"
    markers[name] = Marker(name=name, component=component, text=text)
    return name


def _names(thing: Declared) -> list[str]:
    return [name for name in (thing.shown_by, thing.used_by) if name is not None]


def _is_within(text: str, others: list[str]) -> bool:
    return any(_flat(text) in other for other in others)


def _flat(text: str) -> str:
    return " ".join(text.split())
