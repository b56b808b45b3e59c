"""What a SKILL.md says about itself, as far as agents tell their models: its name, its description, its body."""

import re
from typing import NamedTuple

_KEY = re.compile(r"^(name|description):[ \t]*(.*)$")
_BLOCK = re.compile(r"^[|>][+-]?\d?$")


class SkillText(NamedTuple):
    """The parts of a skill; empty where the file has none."""

    name: str
    description: str
    body: str


def read_skill(content: bytes, folder: str) -> SkillText:
    """Read the two keys of the front matter that agents show; the folder's name stands in for a missing name."""
    lines = content.decode(errors="replace").lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return SkillText(folder, "", "\n".join(lines))
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == "---"), len(lines))
    found = dict(_entries(lines[1:end]))
    return SkillText(found.get("name") or folder, found.get("description", ""), "\n".join(lines[end + 1 :]).strip())


def _entries(lines: list[str]) -> list[tuple[str, str]]:
    """Plain, quoted and block values, with the indented lines that continue them, as one line each."""
    entries: list[tuple[str, list[str]]] = []
    for line in lines:
        if (key := _KEY.match(line)) is not None:
            value = key[2].strip()
            entries.append((key[1], [] if _BLOCK.match(value) else [value]))
        elif line[:1].isspace() and entries:
            entries[-1][1].append(line.strip())
        elif line.strip():
            entries.append(("", []))  # some other key: its lines are not ours
    return [(key, _unquoted(" ".join(part for part in parts if part))) for key, parts in entries if key]


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1].replace('\\"', '"')
    return value
