"""The arms of the A/B harness: options of its run script, which knows two of them by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from outweigh.adapters.suites.arms_draft import ArmsDraft
from outweigh.adapters.suites.foreign_table import ForeignTable
from outweigh.adapters.suites.source_files import suite_file, within
from outweigh.errors import name_some
from outweigh.ports.suites import SuiteWishes
from outweigh.task.arm import ArmSpec
from outweigh.task.spec import Name, Repeats
from outweigh.task.suite_draft import SuiteFile

_AGENT = "opencode"
_USUAL = ("without_skelly", "with_skelly")
_WITH, _WITHOUT = "with_", "without_"
_CONTEXT = ("AGENTS.md", "CONTEXT.md", "CLAUDE.md", ".cursor/rules/{tool}-context.mdc", ".{tool}/skills/{tool}.md")
"""What the harness copies into a workspace for the arm that has the tool, where the repository has it."""


class RunConfig(ForeignTable, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What a run was told, of all that its folder remembers."""

    arms: list[Name] = []  # noqa: RUF012 - msgspec copies defaults
    repeats: Repeats | None = None
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    agent: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


def agent_ab_arms(repository: Path, config: RunConfig, wishes: SuiteWishes) -> ArmsDraft:
    """Each arm gets the files that the harness would copy, and a sentence in the place of the harness's own."""
    names = tuple(dict.fromkeys(config.arms))
    names = names if len(names) > 1 else _USUAL
    baseline = next((name for name in names if name.startswith(_WITHOUT)), names[0])
    agent = wishes.agent or _AGENT
    model = wishes.model or config.model
    files = {name: _context(repository, name) for name in names}
    flags = ["--agent", config.agent] if config.agent is not None and agent == _AGENT else []
    return ArmsDraft(
        arms={
            name: ArmSpec(
                agent=agent,
                model=model,
                files=f"arms/{name}" if files[name] else None,
                extra_prompt=_sentence(name),
                flags=flags,
            )
            for name in (baseline, *(name for name in names if name != baseline))
        },
        baseline=baseline,
        files={f"arms/{name}/{path}": file for name in names for path, file in files[name].items()},
        comments={
            f"arms.{name}": "The run script tells this arm something in words of its own; put them in extra_prompt."
            for name in names
        },
        notes=tuple(_notes(agent, model, files)),
    )


def _context(repository: Path, name: str) -> dict[str, SuiteFile]:
    if not name.startswith(_WITH):
        return {}
    paths = [path.format(tool=name.removeprefix(_WITH)) for path in _CONTEXT]
    places = {path: within(repository, path, f"arm {name!r}") for path in paths}
    return {path: suite_file(place) for path, place in places.items() if place.is_file()}


def _sentence(name: str) -> str:
    for prefix, said in ((_WITHOUT, "Do not use {}, nor any file that it made."), (_WITH, "Use {} for this.")):
        if name.startswith(prefix) and name != prefix:
            return said.format(name.removeprefix(prefix))
    return f"This is the arm {name}."


def _notes(agent: str, model: str | None, files: dict[str, dict[str, SuiteFile]]) -> Iterator[str]:
    if agent != _AGENT:
        yield f"The harness is for {_AGENT}, and the arms have {agent}; `-a {_AGENT}` makes them as they were."
    elif model is None:
        yield f"No model is named, and {_AGENT} needs one with its provider: write `model` into the arms, or use -m."
    yield (
        "What its run script says to an arm, and what it runs to prepare one, is no part of the suite. extra_prompt of "
        "each arm holds the place of those words."
    )
    laid = sorted({path for each in files.values() for path in each})
    if laid:
        yield (
            f"Arms that have the tool get {name_some(laid)} as in the working copy. The harness takes that from the "
            "others: name a commit without it in the tasks, or all arms will see it."
        )
