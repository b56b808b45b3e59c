"""The choice of an arm that another one is built on: among which arms, by what, and from which records.

It is written before the first run of the inheriting arm, and never changed. Whoever reads a store can choose again from
the same records and must find the same arm.
"""

from typing import Annotated

from msgspec import Meta

from outweigh.model.base import Amount, Count, Moment, Name, Ordinal, Sha256, Stored, require_finite
from outweigh.model.tiers import InheritSpec, TierNumber


class ChoiceCandidate(Stored, frozen=True):
    """One arm that could be chosen, and what the records said about it.

    `value` is what the arms are compared by, None where it is unknown, and `problem` says why. `is_close` says that the
    arm counts as equal to the best one. `tokens` and `cost_usd` are means of its runs. `evidence_sha256` is a hash of
    the runs and judgments of the arm that the choice rests on.
    """

    arm: Name
    tier: TierNumber
    fingerprint: Sha256
    runs: Count
    value: float | None
    problem: str | None
    is_close: bool
    tokens: Amount | None
    cost_usd: Amount | None
    evidence_sha256: Sha256

    def __post_init__(self) -> None:
        """Only finite numbers are stored."""
        require_finite("candidate", value=self.value, tokens=self.tokens, cost_usd=self.cost_usd)


class ChoiceRecord(Stored, frozen=True, tag_field="schema", tag="outweigh.choice/1"):
    """Which arm an inheriting arm is built on; `chosen` is None where no arm could be chosen, and `reason` says why.

    `inherit` is what the suite asked for. `fingerprint` is the inheriting arm's own, which is known only now. The
    choice rests on the first `lines` of the store's files, by their names, and within them on the runs of the
    candidates up to the repeat that `choosing_repeats` has for each, without the tasks in `quarantine`.
    """

    arm: Name
    inherit: InheritSpec
    chosen: Name | None
    reason: Annotated[str, Meta(min_length=1)]
    fingerprint: Sha256 | None
    candidates: tuple[ChoiceCandidate, ...]
    choosing_repeats: dict[Name, Ordinal]
    lines: dict[Name, Count]
    chosen_at: Moment
    quarantine: tuple[Name, ...] = ()
