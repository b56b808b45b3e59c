"""Which files a run changed and how: read from its diff, or from its edits where no diff was kept.

Both come from agents, so anything may be in them. Reading is linear in their length and raises nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from outweigh.model.actions import Action
from outweigh.model.untrusted_json import as_dict, as_list
from outweigh.transcript.tool_calls import NormalizedCall

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NEW_TEXT_KEYS = ("new_string", "new_str", "newString", "content", "file_text", "insert_text")
_OLD_TEXT_KEYS = ("old_string", "old_str", "oldString")
_PATCH_KEYS = ("input", "patch", "content")


class FileStatus(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(slots=True, kw_only=True)
class ChangedFile:
    """One changed file. Added lines have their numbers where a diff states them; None where only an edit is known."""

    path: str
    kind: FileStatus
    added: list[tuple[int | None, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    step: int | None = None
    moved_to: str | None = None


def changes_of_diff(lines: Sequence[str]) -> list[ChangedFile]:
    """The files of a unified diff. Lines of a hunk are counted, so that no content is taken for the next file."""
    reader = _DiffReader()
    for line in lines:
        reader.take(line)
    return [change for change in reader.changes if change.path]


class _DiffReader:
    def __init__(self) -> None:
        self.changes: list[ChangedFile] = []
        self._old_left = self._new_left = self._number = 0

    def take(self, line: str) -> None:
        if self._old_left > 0 or self._new_left > 0:
            self._take_content(line)
        elif line.startswith("diff --git "):
            self._begin(_name_in_header(line))
        elif line.startswith("--- "):
            self._take_old_name(_name_of_side(line))
        elif line.startswith("+++ "):
            self._take_new_name(_name_of_side(line))
        elif self.changes:
            self._take_header(line)

    def _begin(self, path: str) -> None:
        self.changes.append(ChangedFile(path=path, kind=FileStatus.MODIFIED))

    def _take_header(self, line: str) -> None:
        change = self.changes[-1]
        if line.startswith("new file mode"):
            change.kind = FileStatus.ADDED
        elif line.startswith("deleted file mode"):
            change.kind = FileStatus.DELETED
        elif line.startswith("rename from "):
            self.changes.insert(-1, ChangedFile(path=_unquoted(line[12:]), kind=FileStatus.DELETED))
        elif line.startswith("rename to ") and len(self.changes) > 1:
            change.path, change.kind = _unquoted(line[10:]), FileStatus.ADDED
            self.changes[-2].moved_to = change.path
        elif (found := _HUNK.match(line)) is not None:
            self._old_left = int(found[1] or 1)
            self._number = int(found[2])
            self._new_left = int(found[3] or 1)

    def _take_old_name(self, path: str) -> None:
        last = self.changes[-1] if self.changes else None
        if last is None or last.added or last.removed:
            # A diff without `diff --git` lines; the name follows on the other side, unless the file is deleted.
            self._begin("" if path == "/dev/null" else path)
            last = self.changes[-1]
        if path == "/dev/null":
            last.kind = FileStatus.ADDED

    def _take_new_name(self, path: str) -> None:
        if not self.changes:
            return
        if path == "/dev/null":
            self.changes[-1].kind = FileStatus.DELETED
        else:
            self.changes[-1].path = path

    def _take_content(self, line: str) -> None:
        change = self.changes[-1]
        if line.startswith("+"):
            change.added.append((self._number, line[1:]))
            self._number += 1
            self._new_left -= 1
        elif line.startswith("-"):
            change.removed.append(line[1:])
            self._old_left -= 1
        elif not line.startswith("\\"):
            self._number += 1
            self._old_left -= 1
            self._new_left -= 1


def _name_in_header(line: str) -> str:
    """The name after `diff --git`, which stands there twice."""
    names = line[len("diff --git ") :]
    return _unquoted(names[: len(names) // 2]).removeprefix("a/")


def _name_of_side(line: str) -> str:
    name = _unquoted(line[4:].split("\t", 1)[0])
    return name[2:] if name.startswith(("a/", "b/")) else name


def _unquoted(name: str) -> str:
    return name.strip().strip('"')


def changes_of_edits(calls: Sequence[NormalizedCall]) -> list[ChangedFile]:
    """The files that tool calls changed; a file that was not read or edited before is taken for a new one."""
    known: set[str] = set()
    found = []
    for call in calls:
        if call.action is Action.READ:
            known.update(call.paths)
        if call.action is Action.EDIT and call.succeeded is not False:
            for change in _changes_of_call(call, known):
                change.step = call.step
                known.add(change.path)
                found.append(change)
    return found


def _changes_of_call(call: NormalizedCall, known: set[str]) -> Iterator[ChangedFile]:
    arguments = call.arguments
    for key in _PATCH_KEYS:
        patch = arguments.get(key)
        if isinstance(patch, str) and patch.startswith("*** Begin Patch"):
            yield from _changes_of_envelope(patch)
            return
    listed = [as_dict(change) for change in as_list(arguments.get("changes"))]
    if listed:
        yield from _listed_changes(listed)
        return
    edits = [arguments, *(as_dict(edit) for edit in as_list(arguments.get("edits")))]
    replaced = any(isinstance(edit.get(key), str) for edit in edits for key in _OLD_TEXT_KEYS)
    for path in call.paths[:1]:
        kind = FileStatus.MODIFIED if replaced or path in known else FileStatus.ADDED
        change = ChangedFile(path=path, kind=kind)
        for edit in edits:
            _add_lines(change, _text(edit, _OLD_TEXT_KEYS), _text(edit, _NEW_TEXT_KEYS))
        yield change


def _listed_changes(listed: Sequence[Mapping[str, Any]]) -> Iterator[ChangedFile]:
    """Changes as Codex lists them: a path and what became of the file."""
    kinds = {"add": FileStatus.ADDED, "delete": FileStatus.DELETED}
    for change in listed:
        path = change.get("path")
        if isinstance(path, str) and path:
            yield ChangedFile(path=path, kind=kinds.get(str(change.get("kind")), FileStatus.MODIFIED))


def _changes_of_envelope(patch: str) -> Iterator[ChangedFile]:
    """The files of a patch in the format that begins with `*** Begin Patch`."""
    kinds = {"Add": FileStatus.ADDED, "Update": FileStatus.MODIFIED, "Delete": FileStatus.DELETED}
    change: ChangedFile | None = None
    for line in patch.split("\n"):
        verb, mark, path = line.removeprefix("*** ").partition(" File: ")
        if line.startswith("*** ") and mark and verb in kinds:
            if change is not None:
                yield change
            change = ChangedFile(path=path.strip(), kind=kinds[verb])
        elif change is not None and line.startswith("+"):
            change.added.append((None, line[1:]))
        elif change is not None and line.startswith("-"):
            change.removed.append(line[1:])
    if change is not None:
        yield change


def _text(edit: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((text for key in keys if isinstance(text := edit.get(key), str)), "")


def _add_lines(change: ChangedFile, old: str, new: str) -> None:
    """The lines that only one of the two texts has."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    spare = Counter(before)
    for line in after:
        if spare[line] > 0:
            spare[line] -= 1
        else:
            change.added.append((None, line))
    change.removed += spare.elements()
