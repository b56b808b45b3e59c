"""Choose the policy that decides: what the caller sets goes over what the suite says, in the version it was run under.

A policy that the caller names leaves nothing of the suite's.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.store.store_set import StoreSet
from outweigh.verdict.configured_policy import ConfiguredPolicy, PolicyArguments
from outweigh.verdict.decision import PolicySource, Verdict
from outweigh.verdict.policy import POLICIES, Policies, configure_policy, suite_arguments

DEFAULT_PLANNED_TASKS = 100


class PolicyRequest(Struct, frozen=True, kw_only=True):
    """What the caller says about the rule; nothing set is the suite's rule, or the default where no suite is known.

    `margins` and `tolerances` are numbers by gate, or texts NAME=X as the command line has them. `value_usd` is what
    one solved task is worth, `version` the version of the rule. `fixed_suite` speaks of these very tasks instead of
    tasks like these. `sequential` says that the data were looked at more than once.
    """

    policy: str | None = None
    gates: tuple[str, ...] | None = None
    margins: Mapping[str, float] | tuple[str, ...] = ()
    tolerances: Mapping[str, float] | tuple[str, ...] = ()
    value_usd: float | None = None
    version: int | None = None
    sequential: bool = False
    planned_tasks: int | None = None
    fixed_suite: bool = False
    seed: int = 0

    def options(self) -> Iterator[tuple[str, ...]]:
        """The options of a command that decides by the same rule, each with its value."""
        named = {
            "--policy": self.policy,
            "--gates": None if self.gates is None else ",".join(self.gates),
            "--value": None if self.value_usd is None else f"{self.value_usd:.15g}",
            "--policy-version": None if self.version is None else str(self.version),
            "--planned-tasks": None if self.planned_tasks is None else str(self.planned_tasks),
            "--infer": "runs" if self.fixed_suite else None,
            "--seed": str(self.seed) if self.seed else None,
        }
        yield from ((option, value) for option, value in named.items() if value is not None)
        yield from (("--margin", text) for text in _texts(self.margins))
        yield from (("--tolerance", text) for text in _texts(self.tolerances))
        if self.sequential:
            yield ("--sequential",)


def _texts(numbers: Mapping[str, float] | tuple[str, ...]) -> tuple[str, ...]:
    return numbers if isinstance(numbers, tuple) else tuple(f"{name}={x:.15g}" for name, x in numbers.items())


SUITE_RULE = PolicyRequest()
"""The rule of the suite that was run, or the default where no suite is known."""


class ChosenPolicy(Struct, frozen=True, kw_only=True):
    """A policy with everything that was set, and by whom."""

    policy: ConfiguredPolicy
    arguments: PolicyArguments
    source: PolicySource

    @property
    def name(self) -> str:
        """The name of the policy."""
        return self.policy.name

    def decide(self, comparisons: Sequence[Comparison], left_out: int = 0) -> tuple[Verdict, ...]:
        """Decide about every candidate of one baseline together; `left_out` more were tried and are not compared."""
        if left_out and self.policy.decide_among is not None:
            return self.policy.decide_among(comparisons, left_out)
        return self.policy.decide(comparisons)


def choose_policy(stores: StoreSet, request: PolicyRequest, policies: Policies = POLICIES) -> ChosenPolicy:
    """What the caller says, over what the suite says; naming a policy leaves nothing of the suite's."""
    planned_looks = stores.planned_looks()
    written = stores.policy() if request.policy is None else None
    name = request.policy or (written.name if written else "evidence")
    infers = name in policies and policies[name].infers
    looked_at = planned_looks if infers else None
    _refuse_foreign_options(request, name, looked_at, infers=infers)
    suite = PolicyArguments() if written is None else suite_arguments(written)
    gates = suite.gates if request.gates is None else request.gates
    default = DEFAULT_PLANNED_TASKS if request.sequential else None
    # Whoever asks for a sequential verdict looks at moments of their own.
    looks = stores.look_plan() if infers and not request.sequential and request.planned_tasks is None else None
    arguments = PolicyArguments(
        gates=gates,
        margins=_stated(suite.margins, request.margins, "margin", gates),
        tolerances=_stated(suite.tolerances, request.tolerances, "tolerance", gates),
        value_usd=suite.value_usd if request.value_usd is None else request.value_usd,
        version=_stored_version(stores, name) if request.version is None and infers else request.version,
        promotion_tasks=suite.promotion_tasks,
        promotion_repeats=suite.promotion_repeats,
        fixed_suite=request.fixed_suite,
        planned_tasks=None if looks is not None else request.planned_tasks or looked_at or default,
        looks=looks,
        seed=request.seed,
    )
    policy = configure_policy(name, arguments, policies)
    return ChosenPolicy(policy=policy, arguments=arguments, source=_rule_source(request, written))


def _stored_version(stores: StoreSet, policy: str) -> int | None:
    """The version of the rule that the stores were run under, also where the caller names that very policy."""
    versions = {
        experiment.policy.version or 1 for experiment in stores.experiments() if experiment.policy.name == policy
    }
    return _only_version(versions, "stores")


def _only_version(versions: Set[int], made: str) -> int | None:
    """The version that all stores or records were made under; None where they name none."""
    if len(versions) > 1:
        raise UsageError(
            f"the {made} were made under different versions of the rule; choose one with --policy-version, or decide "
            "about each store by itself."
        )
    return next(iter(versions), None)


def follow_named_version(chosen: ChosenPolicy, named: frozenset[int]) -> ChosenPolicy:
    """Records that name the version of their rule are decided by it, where nobody says otherwise."""
    if chosen.name not in POLICIES or not POLICIES[chosen.name].infers or chosen.arguments.version is not None:
        return chosen
    version = _only_version(named, "records")
    if version is None:
        return chosen
    arguments = replace(chosen.arguments, version=version)
    return replace(chosen, arguments=arguments, policy=configure_policy(chosen.name, arguments))


def _stated(
    suite: Mapping[str, float],
    told: Mapping[str, float] | tuple[str, ...],
    option: str,
    gates: Sequence[str] | None,
) -> dict[str, float]:
    """The caller's numbers over the suite's; one of the suite goes with its gate when the caller leaves that out."""
    kept = suite if gates is None else {gate: number for gate, number in suite.items() if gate in gates}
    return {**kept, **_parse_numbers(told, option)}


def _rule_source(request: PolicyRequest, written: PolicySpec | None) -> PolicySource:
    stated = request.gates, request.value_usd, request.version, request.policy
    told = any(part is not None for part in stated) or bool(request.margins) or bool(request.tolerances)
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
    foreign = {
        "gates": any(request.gates or ()),
        "sequential": request.sequential,
        "policy-version": request.version is not None,
    }
    for name, value in foreign.items():
        if value:
            raise UsageError(f"--{name} belongs to policy evidence; policy {policy} decides as the seed wrote it.")
    if request.fixed_suite:
        raise UsageError(f"--infer belongs to policy evidence; policy {policy} makes no inference.")


def _parse_numbers(numbers: Mapping[str, float] | tuple[str, ...], option: str) -> dict[str, float]:
    return dict(numbers) if isinstance(numbers, Mapping) else dict(_parse_number(text, option) for text in numbers)


def _parse_number(text: str, option: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--{option} {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--{option} {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
