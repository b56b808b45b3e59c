"""The policy that decides: the caller's settings over those of the suite that was run, and which of the two set it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.store.store import StoreSet
from outweigh.verdict.configured_policy import ConfiguredPolicy, PolicyArguments
from outweigh.verdict.decision import PolicySource, Verdict
from outweigh.verdict.policy import POLICIES, Policies, configure_policy

DEFAULT_PLANNED_TASKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """What the caller says about the rule; nothing set is the suite's rule, or the default where no suite is known.

    `margins` are numbers by gate, or texts NAME=X as the command line has them. `fixed_suite` speaks of these very
    tasks instead of tasks like these. `sequential` says that the data were looked at more than once.
    """

    policy: str | None = None
    gates: tuple[str, ...] | None = None
    margins: Mapping[str, float] | tuple[str, ...] = ()
    sequential: bool = False
    planned_tasks: int | None = None
    fixed_suite: bool = False
    seed: int = 0


SUITE_RULE = PolicyRequest()
"""The rule of the suite that was run, or the default where no suite is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy with everything that was set, and by whom."""

    policy: ConfiguredPolicy
    arguments: PolicyArguments
    source: PolicySource

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.policy.name

    def decide(self, comparisons: Sequence[Comparison]) -> tuple[Verdict, ...]:
        """Decide about every candidate of one baseline together."""
        return self.policy.decide(comparisons)


def choose_policy(stores: StoreSet, request: PolicyRequest, policies: Policies = POLICIES) -> ChosenPolicy:
    """What the caller says, over what the suite says; naming a policy leaves nothing of the suite's."""
    planned_looks = stores.planned_looks()
    written = stores.policy() if request.policy is None else None
    name = request.policy or (written.name if written else "evidence")
    infers = name in policies and policies[name].infers
    looked_at = planned_looks if infers else None
    _refuse_foreign_options(request, name, looked_at, infers=infers)
    gates, margins = _gates_and_margins(request, written)
    default = DEFAULT_PLANNED_TASKS if request.sequential else None
    arguments = PolicyArguments(
        gates=gates,
        margins=margins,
        fixed_suite=request.fixed_suite,
        planned_tasks=request.planned_tasks or looked_at or default,
        seed=request.seed,
    )
    policy = configure_policy(name, arguments, policies)
    return ChosenPolicy(policy=policy, arguments=arguments, source=_rule_source(request, written))


def _gates_and_margins(
    request: PolicyRequest, written: PolicySpec | None
) -> tuple[Sequence[str] | None, Mapping[str, float]]:
    """Gates and margins; a margin of the suite goes with its gate when the caller leaves that out."""
    gates, told = request.gates, _parse_margins(request.margins)
    if written is None:
        return gates, told
    kept = (
        written.margins if gates is None else {gate: written.margins[gate] for gate in gates if gate in written.margins}
    )
    return written.gates if gates is None else gates, {**kept, **told}


def _rule_source(request: PolicyRequest, written: PolicySpec | None) -> PolicySource:
    told = request.policy is not None or request.gates is not None or bool(request.margins)
    if written is None:
        return PolicySource.COMMAND_LINE if told else PolicySource.DEFAULT
    return PolicySource.SUITE_AND_COMMAND_LINE if told else PolicySource.SUITE


def _refuse_foreign_options(request: PolicyRequest, policy: str, looked_at: int | None, *, infers: bool) -> None:
    if request.planned_tasks is not None and not request.sequential and looked_at is None:
        raise UsageError("--planned-tasks goes with --sequential.")
    if infers:
        if looked_at is not None and request.fixed_suite:
            raise UsageError(
                "--infer runs keeps the tasks fixed, and this experiment was run --until-decided, task by task; "
                "leave it out, or run the suite again without --until-decided."
            )
        return
    for name, value in (("gates", any(request.gates or ())), ("sequential", request.sequential)):
        if value:
            raise UsageError(f"--{name} belongs to policy evidence; policy {policy} decides as the seed wrote it.")
    if request.fixed_suite:
        raise UsageError(f"--infer belongs to policy evidence; policy {policy} makes no inference.")


def _parse_margins(margins: Mapping[str, float] | tuple[str, ...]) -> dict[str, float]:
    return dict(margins) if isinstance(margins, Mapping) else dict(map(_parse_margin, margins))


def _parse_margin(text: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--margin {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--margin {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
