"""What the scan for cheats looks at: a run's diff, commands, files read and the agent's own words, in short fragments.

Tool output is not among it, because the agent did not write it. Where no diff was kept, edits stand in for it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from outweigh.model.actions import Action
from outweigh.transcript.atif import AtifStep, content_text
from outweigh.transcript.cheat_rules import LookAt
from outweigh.transcript.file_changes import ChangedFile, FileStatus, changes_of_diff, changes_of_edits
from outweigh.transcript.shell_commands import ShellText, read_shell_text
from outweigh.transcript.tool_calls import NormalizedCall, normalized_calls, steps_without_copies

TEXT_LIMIT = 4_000_000
"""How many characters of a run are scanned; real runs have far fewer, as tool output does not count."""

FRAGMENT_LENGTH = 500
"""Longer lines are cut into pieces of this length."""

FRAGMENT_LIMIT = 60_000

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_SCRIPT_KEYS = ("command", "cmd", "keystrokes", "code", "script")
_SCRATCH = ("/tmp/", "/dev/", "/var/tmp/")
_PATH_OF_KIND = {
    FileStatus.ADDED: LookAt.ADDED_PATH,
    FileStatus.MODIFIED: LookAt.MODIFIED_PATH,
    FileStatus.DELETED: LookAt.DELETED_PATH,
}


class Fragment(NamedTuple):
    """A short text and where it stands; `change` is the changed file that it belongs to."""

    text: str
    place: str
    change: ChangedFile | None = None


@dataclass(slots=True)
class ScanMaterial:
    """Fragments by what they are. `complete` is false where a limit was reached and something was left out."""

    fragments: dict[LookAt, list[Fragment]] = field(default_factory=lambda: {part: [] for part in LookAt})
    complete: bool = True
    _characters: int = 0
    _count: int = 0

    def add(self, part: LookAt, text: str, place: str, change: ChangedFile | None = None) -> None:
        """Add a text, cut into fragments."""
        for begin in range(0, len(text), FRAGMENT_LENGTH):
            if self._characters >= TEXT_LIMIT or self._count >= FRAGMENT_LIMIT:
                self.complete = False
                return
            piece = text[begin : begin + FRAGMENT_LENGTH]
            self._characters += len(piece)
            self._count += 1
            self.fragments[part].append(Fragment(piece, place, change))


def gather_material(steps: Sequence[AtifStep] | None, diff: str | None) -> ScanMaterial:
    """The material of a run; None where its steps or its diff were not kept."""
    material = ScanMaterial()
    if diff is not None:
        if len(diff) > TEXT_LIMIT:
            material.complete = False
        _add_changes(material, changes_of_diff(diff[:TEXT_LIMIT].split("\n")))
    calls = list(normalized_calls(steps or ()))
    written = _add_calls(material, calls)
    if diff is None:
        edited = (change for change in (*changes_of_edits(calls), *written) if not change.path.startswith(_SCRATCH))
        _add_changes(material, edited)
    for step in steps_without_copies(steps or ()):
        if step.source == "agent":
            for sentence in _sentences(f"{step.reasoning_content or ''}\n{content_text(step.message)}"):
                material.add(LookAt.MESSAGE, sentence, f"step {step.step_id}")
    return material


def _add_changes(material: ScanMaterial, changes: "Sequence[ChangedFile] | Iterator[ChangedFile]") -> None:
    for change in changes:
        whence = f"{change.path[:200]}" if change.step is None else f"{change.path[:200]}, step {change.step}"
        material.add(_PATH_OF_KIND[change.kind], change.path[:FRAGMENT_LENGTH], whence, change)
        following = (text for _, text in (*change.added[1:], (None, "")))
        for (number, text), after in zip(change.added, following, strict=False):
            place = whence if number is None else f"{change.path[:200]}:{number}"
            # The next line comes along, because a condition and what it returns often stand on two.
            left = FRAGMENT_LENGTH - len(text) - 1
            material.add(LookAt.ADDED_LINE, text if left < 0 else f"{text}\n{after[:left]}", place, change)
        for text in change.removed:
            material.add(LookAt.REMOVED_LINE, text, whence, change)


def _add_calls(material: ScanMaterial, calls: Sequence[NormalizedCall]) -> list[ChangedFile]:
    """Add commands and the files that were read; the files that commands changed are returned."""
    changed: list[ChangedFile] = []
    for call in calls:
        place = f"step {call.step}"
        if call.action in (Action.READ, Action.SEARCH):
            for path in call.paths:
                material.add(LookAt.READ_PATH, path, place)
        if isinstance(url := call.arguments.get("url"), str):
            material.add(LookAt.COMMAND, f"{call.tool} {url}", place)
        if call.action in (Action.RUN, None):
            shell = read_shell_text(_script(call.arguments))
            for command in shell.commands:
                material.add(LookAt.COMMAND, command, place)
            changed += _written_files(shell, call.step)
    return changed


def _script(arguments: "dict[str, Any] | Any") -> str:
    """The text that a call runs; of a list of arguments the last, which is the script of a shell."""
    for key in _SCRIPT_KEYS:
        stated = arguments.get(key)
        if isinstance(stated, str):
            return stated[:TEXT_LIMIT]
        if isinstance(stated, list) and stated and all(isinstance(word, str) for word in stated):
            return str(stated[-1] if stated[0].endswith("sh") else " ".join(stated))[:TEXT_LIMIT]
    return ""


def _written_files(shell: ShellText, step: int) -> Iterator[ChangedFile]:
    """Files that commands wrote. Whether one was there before is not known, so it is taken for a new one."""
    for path, lines in shell.written:
        yield ChangedFile(path=path, kind=FileStatus.ADDED, added=[(None, line) for line in lines], step=step)
    for path in shell.edited:
        yield ChangedFile(path=path, kind=FileStatus.MODIFIED, step=step)


def _sentences(text: str) -> Iterator[str]:
    """The sentences of what the agent said, without blocks of code."""
    quoted = False
    for line in text[:TEXT_LIMIT].split("\n"):
        if line.lstrip().startswith("```"):
            quoted = not quoted
        elif not quoted and line.strip():
            yield from (sentence for sentence in _SENTENCE_END.split(line) if sentence.strip())
