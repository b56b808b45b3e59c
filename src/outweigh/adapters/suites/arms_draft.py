"""The arms of a suite that is being read, with all that belongs to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outweigh.task.arm import ArmSpec
from outweigh.task.suite_draft import SuiteFile

BASELINE, CANDIDATE = "baseline", "candidate"
_STAND_IN = "Look at what you did once more before you say that it is done."


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmsDraft:
    """Arms, the files that they name, what stands above them in the suite, and what a person must know of them."""

    arms: Mapping[str, ArmSpec]
    baseline: str
    files: Mapping[str, SuiteFile] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def unnamed_arms(agent: str, model: str | None) -> ArmsDraft:
    """For tasks that come without arms: an agent as it comes, and the same with a sentence in the change's place."""
    return ArmsDraft(
        arms={
            BASELINE: ArmSpec(agent=agent, model=model),
            CANDIDATE: ArmSpec(extends=BASELINE, extra_prompt=_STAND_IN),
        },
        baseline=BASELINE,
        comments={
            f"arms.{CANDIDATE}": "The change in question: files, skills, instructions, a tool server, another model.\n"
            "The sentence below only holds its place."
        },
        notes=(
            f"The tasks do not say what is compared. arms.{CANDIDATE} in suite.toml has one sentence that holds the "
            "place of your change: put files, skills or instructions there instead.",
        ),
    )
