"""One gate's tests: the p-values of what the data show about the typical run and about the total."""

from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from outweigh.verdict.evidence_settings import GateRole
from outweigh.verdict.gate_sample import GateSample, p_values_of
from outweigh.verdict.p_values import PValues


class GateClaims(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """One-sided p-values of what can be claimed about one effect; None means that the data cannot answer.

    Each is computed when the rule asks for it: a decision needs a few of them, and the sensitivity makes many.
    """

    gate: GateSample
    p_values: PValues

    @cached_property
    def non_inferior(self) -> float | None:
        """Not worse by the margin."""
        return self.p_values.above(-self.gate.limit)

    @cached_property
    def superior(self) -> float | None:
        """Better."""
        return self.p_values.above(0.0)

    @cached_property
    def equivalent(self) -> float | None:
        """The same within the margin."""
        return weakest([self.non_inferior, self.p_values.below(self.gate.limit)])

    @cached_property
    def alarm(self) -> float | None:
        """Worse. Any loss of passes or of worth raises the alarm, more use of a resource only beyond its margin."""
        return self.p_values.below(-self.gate.limit if self.gate.gated.role is GateRole.RESOURCE else 0.0)

    @cached_property
    def tolerable(self) -> float | None:
        """Below the tolerance."""
        return self.p_values.above(-self.gate.tolerance_limit)

    @cached_property
    def within_total_tolerance(self) -> float | None:
        """Below what a saving may add to the total."""
        return self.p_values.above(-self.gate.total_limit)

    def stating(self, **p_values: float | None) -> "GateClaims":
        """The same claims with these p-values, by their names, in the place of those of the tests."""
        claims = GateClaims(gate=self.gate, p_values=self.p_values)
        # A claim that has been asked for keeps its answer there.
        vars(claims).update({**vars(self), **p_values})
        return claims


class GateTest(Struct, frozen=True, kw_only=True, eq=False):
    """The claims about a gate: about the typical run, and, for a resource, about the total as well."""

    sample: GateSample
    typical: GateClaims
    total: GateClaims | None

    @property
    def unknown(self) -> bool:
        """Whether the gate cannot be judged at all."""
        return any(claims.alarm is None for claims in self.claims)

    @property
    def claims(self) -> tuple[GateClaims, ...]:
        """What must hold together: the typical run, and the total where there is one."""
        return (self.typical,) if self.total is None else (self.typical, self.total)

    @property
    def non_inferior(self) -> float | None:
        """P-value of "not worse by the margin" on both scales."""
        return weakest([claims.non_inferior for claims in self.claims])

    @property
    def superior(self) -> float | None:
        """P-value of "better" on both scales."""
        return weakest([claims.superior for claims in self.claims])

    @property
    def equivalent(self) -> float | None:
        """P-value of "the same within the margin" on both scales."""
        return weakest([claims.equivalent for claims in self.claims])

    @property
    def tolerable(self) -> float | None:
        """P-value of "below the tolerance" on both scales; a gate without a tolerance must keep its margin."""
        return weakest([claims.tolerable for claims in self.claims])

    @property
    def tolerable_saving(self) -> float | None:
        """P-value of what a saving must show: the typical run below the tolerance, the total below 10 % more."""
        total = [] if self.total is None else [self.total.within_total_tolerance]
        return weakest([self.typical.tolerable, *total])

    @property
    def alarms(self) -> tuple[float | None, ...]:
        """P-values of "worse", one for each scale."""
        return tuple(claims.alarm for claims in self.claims)


def weakest(p_values: list[float | None]) -> float | None:
    """The largest p-value, because all must be shown; None where one is unknown."""
    known = [p_value for p_value in p_values if p_value is not None]
    return max(known) if known and len(known) == len(p_values) else None


def examine_gate(sample: GateSample, *, fixed_suite: bool = False, planned_tasks: int | None = None) -> GateTest:
    """Test one gate: not worse, better, the same, worse, and within its tolerance."""

    def claims(part: GateSample) -> GateClaims:
        return GateClaims(gate=sample, p_values=p_values_of(part, fixed_suite=fixed_suite, planned_tasks=planned_tasks))

    return GateTest(sample=sample, typical=claims(sample), total=None if sample.total is None else claims(sample.total))


def with_margin(test: GateTest, margin: float) -> GateTest:
    """The same test with another margin."""
    sample = replace(test.sample, margin=margin)
    return GateTest(
        sample=sample,
        typical=GateClaims(gate=sample, p_values=test.typical.p_values),
        total=None if test.total is None else GateClaims(gate=sample, p_values=test.total.p_values),
    )
