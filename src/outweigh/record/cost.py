"""Dollars of one run, and where the figure comes from."""

from enum import StrEnum
from math import isfinite

from outweigh.record.stored import Amount, Stored, require_finite


class CostProvenance(StrEnum):
    """Who says what a run cost, most trusted first."""

    METERED = "metered"
    REPORTED = "reported"
    PRICED = "priced"
    UNKNOWN = "unknown"


# Every cost that is read asks for these, and to find a member of an enumeration by its name is slow.
_METERED, _PRICED, _UNKNOWN = CostProvenance.METERED, CostProvenance.PRICED, CostProvenance.UNKNOWN


class Cost(Stored, frozen=True):
    """An amount and its source; `price_table` names the table that priced it, or that priced metered tokens."""

    usd: Amount | None
    provenance: CostProvenance
    price_table: str | None

    def __post_init__(self) -> None:
        """An unknown cost has no amount, and only an unknown one."""
        if not isfinite(self.usd or 0.0):
            require_finite("cost", usd=self.usd)
        if (self.usd is None) != (self.provenance is _UNKNOWN):
            raise ValueError("cost.usd is null exactly when cost.provenance is 'unknown'")
        if self.provenance is not _METERED and ((self.price_table is None) == (self.provenance is _PRICED)):
            raise ValueError(
                "cost.price_table is given when cost.provenance is 'priced', and else only when it is 'metered'"
            )


UNKNOWN_COST = Cost(usd=None, provenance=CostProvenance.UNKNOWN, price_table=None)
"""Nobody reported a cost; it may still be priced from the tokens."""


def reported_cost(usd: float | None) -> Cost:
    """Take the figure an agent or harness reported, or none."""
    return UNKNOWN_COST if usd is None else Cost(usd=usd, provenance=CostProvenance.REPORTED, price_table=None)
