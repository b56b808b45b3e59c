"""What a scripted agent does, as people write it: probabilities, steps, noise and faults, per task or for all.

The values of an arm come in layers, and a later one wins: `[default]` of the script file, its `[tasks.NAME]`,
then `default` and `tasks` of the arm's own options. Finally the arm's `factors` multiply what the layers say.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from outweigh.model.base import Seconds, Spec
from outweigh.model.source_document import SourceDocument, convert_options
from outweigh.model.task import WorkspacePath
from outweigh.model.task_environment import Command

Probability = Annotated[float, Meta(ge=0, le=1)]
Factor = Annotated[float, Meta(gt=0, le=1e6)]
ScriptedAmount = Annotated[float, Meta(ge=0, le=1e9)]


class LognormalNoise(Spec, frozen=True, kw_only=True):
    """A lognormal quantity: half of the draws lie above `median`, and `spread` is the deviation of the log."""

    median: ScriptedAmount
    spread: Annotated[float, Meta(ge=0, le=3)] = 0.0


ScriptedQuantity = float | LognormalNoise


class ScriptStep(Spec, frozen=True, kw_only=True, tag_field="do"):
    """Something that happens in the sandbox."""


class WriteStep(ScriptStep, frozen=True, kw_only=True, tag="write"):
    """Write a file into the workspace."""

    path: WorkspacePath
    content: str = ""
    executable: bool = False


class RunStep(ScriptStep, frozen=True, kw_only=True, tag="run"):
    """Run a command in the workspace; a plain string is run by `sh -c`."""

    command: Command


class SolutionStep(ScriptStep, frozen=True, kw_only=True, tag="solution"):
    """Run the task's own solution."""


class SleepStep(ScriptStep, frozen=True, kw_only=True, tag="sleep"):
    """Wait in real time, within the limit of the run."""

    seconds: Seconds


AnyScriptStep = WriteStep | RunStep | SolutionStep | SleepStep


class ScriptedFault(Spec, frozen=True, kw_only=True):
    """A simulated fault: the attempt ends this way before any step. With `retry_after_seconds` it is a rate limit."""

    status: Literal["agent_error", "infra_error", "timeout", "budget_exceeded"]
    detail: str | None = None
    probability: Probability = 1.0
    first_attempts: Annotated[int, Meta(ge=1)] | None = None
    retry_after_seconds: Seconds | None = None


class ScriptedBehaviour(Spec, frozen=True, kw_only=True):
    """What the agent does with a task. What no layer states is unknown in the record; by default it always solves.

    In trigger cases, `recall` is how likely it asks for the skill where it should, and `false_triggers` where it should
    not; where it does not although it should, it asks for the skill `asks_instead`. It asks only for skills of its arm.
    """

    solve_probability: Probability | None = None
    on_success: list[AnyScriptStep] | None = None
    on_failure: list[AnyScriptStep] | None = None
    duration_seconds: ScriptedQuantity | None = None
    input_tokens: ScriptedQuantity | None = None
    output_tokens: ScriptedQuantity | None = None
    cache_read_tokens: ScriptedQuantity | None = None
    cache_write_tokens: ScriptedQuantity | None = None
    cost_usd: ScriptedQuantity | None = None
    step_count: ScriptedQuantity | None = None
    tool_call_count: ScriptedQuantity | None = None
    recall: Probability | None = None
    false_triggers: Probability | None = None
    asks_instead: str | None = None
    fault: ScriptedFault | None = None


class ArmFactors(Spec, frozen=True, kw_only=True):
    """How an arm differs from its script. The odds of solving are multiplied, so that the result is a probability."""

    solve_odds: Factor = 1.0
    duration: Factor = 1.0
    tokens: Factor = 1.0
    cost: Factor = 1.0
    steps: Factor = 1.0


class AgentScript(Spec, frozen=True, kw_only=True):
    """A script file."""

    default: ScriptedBehaviour = ScriptedBehaviour()
    tasks: dict[str, ScriptedBehaviour] = {}  # noqa: RUF012 - msgspec copies defaults


class ScriptedOptions(AgentScript, frozen=True, kw_only=True):
    """The options of an arm with a scripted agent: a script file, changes to it, and factors."""

    script: str | None = None
    factors: ArmFactors = ArmFactors()


def parse_scripted_options(options: Mapping[str, Any], arm: str) -> ScriptedOptions:
    """Read an arm's options."""
    return convert_options(options, ScriptedOptions, ("arms", arm, "options"))


def parse_agent_script(content: bytes, source: str) -> AgentScript:
    """Read a script file."""
    return SourceDocument(content, source).convert(AgentScript)


def behaviour_for(task: str, script: AgentScript, options: ScriptedOptions) -> ScriptedBehaviour:
    """Merge the layers for one task; each field comes from the last layer that states it."""
    found: dict[str, Any] = {}
    for layer in (script.default, script.tasks.get(task), options.default, options.tasks.get(task)):
        if layer is not None:
            stated = {name: getattr(layer, name) for name in layer.__struct_fields__}
            found |= {name: value for name, value in stated.items() if value is not None}
    return ScriptedBehaviour(**found)
