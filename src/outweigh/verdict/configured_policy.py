"""What a policy is: a name, what can be set about it, and a function that decides about comparisons."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from outweigh.errors import UsageError
from outweigh.model.look_plan import LookPlan
from outweigh.verdict.decision import Decision, Verdict

if TYPE_CHECKING:
    # Loads numpy, which the literal policies do not need before they decide.
    from outweigh.compare.comparison import Comparison


class PolicyOpinion(Struct, frozen=True, kw_only=True):
    """What a policy says about two arms, and what kept it from judging, if anything did."""

    decision: Decision
    obstacle: str | None


class PolicyArguments(Struct, frozen=True, kw_only=True):
    """What a suite or a caller sets: gates, margins by name, and over which tasks and looks the error rate holds.

    `planned_tasks` is set where the data may be looked at at any time, `looks` where looks were planned. `value_usd` is
    what one solved task is worth. `version` is the version of the rule; None means the current one. `promotion_tasks`
    and `promotion_repeats` are what a suite asks of a promotion beyond the policy's own minimum.
    """

    gates: Sequence[str] | None = None
    margins: Mapping[str, float] = field(default_factory=dict)
    tolerances: Mapping[str, float] = field(default_factory=dict)
    value_usd: float | None = None
    version: int | None = None
    promotion_tasks: int = 0
    promotion_repeats: int = 0
    fixed_suite: bool = False
    planned_tasks: int | None = None
    looks: LookPlan | None = None
    seed: int = 0


class ConfiguredPolicy(Struct, frozen=True, kw_only=True):
    """A policy whose arguments were checked. `decide` takes every candidate of one baseline together.

    `opinion` is the decision alone, without what only explains it, for the many splits of the self-check.
    `decide_among` decides where so many more candidates were tried and are not compared; None where that changes
    nothing, because the policy states no error rate.
    """

    name: str
    decide: Callable[[Sequence["Comparison"]], tuple[Verdict, ...]]
    opinion: Callable[["Comparison"], PolicyOpinion]
    decide_among: Callable[[Sequence["Comparison"], int], tuple[Verdict, ...]] | None = None


class Policy(Struct, frozen=True, kw_only=True):
    """One rule that decides. `configure` refuses arguments that the policy does not have.

    A policy that `infers` has gates, and its error rate depends on the population and on the number of looks; the
    others compare numbers as they are.
    """

    name: str
    infers: bool
    configure: Callable[[PolicyArguments], ConfiguredPolicy]


def refuse_gates(policy: str, arguments: PolicyArguments) -> None:
    """For policies that compare a fixed list of numbers."""
    foreign = {
        "gates": arguments.gates is not None,
        "tolerances": bool(arguments.tolerances),
        "a value of a solved task": arguments.value_usd is not None,
        "minimums of a promotion": bool(arguments.promotion_tasks or arguments.promotion_repeats),
    }
    for what, given in foreign.items():
        if given:
            verb = "belongs" if what.startswith("a ") else "belong"
            raise UsageError(f"{what} {verb} to policy evidence; policy {policy} has a fixed rule.")
