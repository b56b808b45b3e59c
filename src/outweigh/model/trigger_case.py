"""Trigger cases: prompts that should and should not make an agent use a skill, as a suite lists them, as a task has
them, and as the record of a run names them.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, ValidationError, convert, to_builtins

from outweigh.model.base import SafeName, Spec
from outweigh.model.run_record import ObservedSetup, RunRecord

Prompt = Annotated[str, Meta(min_length=1, max_length=100_000)]
Answers = Annotated[int, Meta(ge=1, le=50)]

TRIGGER_LABEL = "trigger"
"""The label in `extra` of a run of a trigger case: the case itself."""


class TriggersSpec(Spec, frozen=True, kw_only=True):
    """The trigger cases of one skill: prompts that should make an agent use it, and prompts that should not.

    A run ends after `answers` answers of the model, and usually one is enough: it says whether the skill is asked for.
    `workspace` is a folder that the agent finds itself in; without it, an empty one.
    """

    skill: SafeName
    should_fire: list[Prompt] = []  # noqa: RUF012 - msgspec copies defaults
    should_not_fire: list[Prompt] = []  # noqa: RUF012
    workspace: Annotated[str, Meta(min_length=1)] | None = None
    answers: Answers = 1

    def __post_init__(self) -> None:
        """A table without a case asks nothing."""
        if not (self.should_fire or self.should_not_fire):
            raise ValueError("a table of triggers needs prompts: write `should_fire`, `should_not_fire`, or both")


class TriggerCase(Spec, frozen=True, kw_only=True):
    """What one case expects: that this skill is used, or that it is not. `prompt` is the beginning of what is said."""

    skill: SafeName
    should_fire: bool
    answers: Answers = 1
    prompt: str = ""


def trigger_of(run: RunRecord) -> TriggerCase | None:
    """The trigger case that a run is of; None for a run of an ordinary task."""
    label = run.extra.get(TRIGGER_LABEL)
    return None if label is None else read_trigger(label)


def read_trigger(label: Any) -> TriggerCase | None:
    """The case that a label states; None where it cannot be read."""
    try:
        return convert(label, TriggerCase)
    except ValidationError:
        return None


def trigger_label(case: TriggerCase) -> Mapping[str, Any]:
    """The label of runs of a case."""
    return {TRIGGER_LABEL: to_builtins(case)}


def is_skill(listed: str, skill: str) -> bool:
    """Whether a name is that of the skill; agents put the plugin of a skill before it, as in `plugin:skill`."""
    return listed == skill or listed.rpartition(":")[2] == skill


def was_used(loaded: ObservedSetup | None, skill: str) -> bool | None:
    """Whether a run asked for the skill; None where it does not show that."""
    if loaded is None or loaded.skills_used is None:
        return None
    return any(is_skill(name, skill) for name in loaded.skills_used)


def was_listed(loaded: ObservedSetup | None, skill: str) -> bool | None:
    """Whether the skill was there to be asked for; None where the run does not show that."""
    if was_used(loaded, skill):
        return True
    if loaded is None or loaded.skills is None:
        return None
    return any(is_skill(name, skill) for name in loaded.skills)
