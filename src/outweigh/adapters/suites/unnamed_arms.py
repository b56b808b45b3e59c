"""Two arms for tasks that come without any: other programs are told on the command line what they compare."""

from collections.abc import Mapping
from dataclasses import dataclass

from outweigh.task.arm import ArmSpec

BASELINE, CANDIDATE = "baseline", "candidate"
_STAND_IN = "Look at what you did once more before you say that it is done."


@dataclass(frozen=True, slots=True, kw_only=True)
class UnnamedArms:
    """The arms, what stands above them in the suite, and what a person must know."""

    arms: Mapping[str, ArmSpec]
    comments: Mapping[str, str]
    note: str


def unnamed_arms(agent: str, model: str | None) -> UnnamedArms:
    """An agent as it comes, and the same with one sentence more that holds the place of the change in question."""
    return UnnamedArms(
        arms={
            BASELINE: ArmSpec(agent=agent, model=model),
            CANDIDATE: ArmSpec(extends=BASELINE, extra_prompt=_STAND_IN),
        },
        comments={
            f"arms.{CANDIDATE}": "The change in question: files, skills, instructions, a tool server, another model.\n"
            "The sentence below only holds its place."
        },
        note=f"The tasks do not say what is compared. arms.{CANDIDATE} in suite.toml has one sentence that holds the "
        "place of your change: put files, skills or instructions there instead.",
    )
