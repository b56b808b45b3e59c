"""Loads the trigger cases of a suite: every prompt is a task without checks, whose runs end at an answer."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.engine.tree_digest import tree_digest
from outweigh.errors import UsageError, quote_value
from outweigh.model.task import FolderSource, Task, task_of_instruction
from outweigh.model.trigger_case import TriggerCase, TriggersSpec

SHOWN_PROMPT = 200
"""How much of a prompt is kept in records, so that readers recognise it."""


def load_triggers(tables: Sequence[TriggersSpec], folder: Path, source: str) -> tuple[Task, ...]:
    """Every trigger case as a task. A prompt that is there twice is refused: it would count twice."""
    found: dict[tuple[str, str], str] = {}
    tasks: list[Task] = []
    numbers: dict[tuple[str, bool], int] = {}
    for table in tables:
        workspace = None if table.workspace is None else _workspace(table.workspace, folder, source)
        for prompt, should_fire in _prompts(table):
            if (table.skill, prompt.strip()) in found:
                raise UsageError(
                    f"{source}: triggers of {table.skill!r}: the prompt {quote_value(prompt)} is there twice; remove "
                    "one."
                )
            number = numbers[table.skill, should_fire] = numbers.get((table.skill, should_fire), 0) + 1
            name = f"{table.skill}-{'fires' if should_fire else 'ignores'}-{number:02d}"
            found[table.skill, prompt.strip()] = name
            tasks.append(_task(name, prompt, table, workspace, should_fire=should_fire))
    return tuple(tasks)


def _prompts(table: TriggersSpec) -> Iterator[tuple[str, bool]]:
    yield from ((prompt, True) for prompt in table.should_fire)
    yield from ((prompt, False) for prompt in table.should_not_fire)


def _task(name: str, prompt: str, table: TriggersSpec, workspace: FolderSource | None, *, should_fire: bool) -> Task:
    trigger = TriggerCase(
        skill=table.skill, should_fire=should_fire, answers=table.answers, prompt=prompt.strip()[:SHOWN_PROMPT]
    )
    digest = None if workspace is None else tree_digest(Path(workspace.path))
    identity = {"instruction": prompt, "trigger": trigger, "workspace": digest}
    return msgspec.structs.replace(
        task_of_instruction(name, prompt),
        workspace=workspace,
        trigger=trigger,
        checksum=sha256(msgspec.json.encode(identity, order="sorted")).hexdigest(),
    )


def _workspace(path: str, folder: Path, source: str) -> FolderSource:
    place = folder / path
    if not place.is_dir():
        raise UsageError(f"{source}: triggers.workspace: there is no folder {place}.")
    return FolderSource(path=str(place.resolve()))
