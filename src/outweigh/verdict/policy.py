"""The closed set of policies, by name, and the options each accepts."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum

from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.verdict.composite_policy import CompositeThresholds, decide_by_composite
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.gates_policy import decide_by_gates

POLICIES = ("evidence", "gates", "composite")


class PolicySource(StrEnum):
    """Where the policy with its gates and margins comes from, in the words that people read."""

    DEFAULT = "default"
    SUITE = "suite"
    COMMAND_LINE = "command line"
    SUITE_AND_COMMAND_LINE = "suite and command line"


def decide(
    comparisons: Sequence[Comparison],
    policy: str,
    margins: Mapping[str, float],
    settings: EvidenceSettings | None = None,
) -> tuple[Verdict, ...]:
    """Decide about every candidate of one baseline; only the evidence policy corrects for their number."""
    if policy == "evidence":
        # Imported here: the literal policies need none of its statistics, and answer sooner without them.
        from outweigh.verdict.evidence_policy import decide_by_evidence  # noqa: PLC0415

        return decide_by_evidence(comparisons, settings or evidence_settings(margins=margins))
    if policy == "composite":
        return tuple(decide_by_composite(comparison, composite_thresholds(margins)) for comparison in comparisons)
    if policy == "gates":
        check_policy_options(policy, None, margins)
        return tuple(map(decide_by_gates, comparisons))
    raise UsageError(f"there is no policy {policy!r}; choose one of {', '.join(POLICIES)}.")


def check_policy_options(policy: str, gates: Sequence[str] | None, margins: Mapping[str, float]) -> None:
    """Gates and margins that the policy does not have, found before anything is run or decided."""
    if policy == "evidence":
        evidence_settings(gates=gates, margins=margins)
    elif gates is not None:
        raise UsageError(f"gates belong to policy evidence; policy {policy} decides as the seed wrote it.")
    elif policy == "composite":
        composite_thresholds(margins)
    elif margins:
        raise UsageError("policy gates has no margins: it compares as the seed wrote it. Drop --margin.")


def composite_thresholds(margins: Mapping[str, float]) -> CompositeThresholds:
    """The margins of the composite policy."""
    known = CompositeThresholds.__dataclass_fields__
    for name in margins:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy composite has no margin {name!r}; it has {', '.join(known)}.{hint}")
    return CompositeThresholds(**margins)
