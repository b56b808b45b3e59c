"""The closed set of policies, by name."""

from collections.abc import Mapping
from difflib import get_close_matches

from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.verdict.by_composite import decide_by_composite
from outweigh.verdict.by_gates import decide_by_gates
from outweigh.verdict.thresholds import Thresholds
from outweigh.verdict.verdict import Verdict

POLICIES = ("gates", "composite")
RESERVED = "evidence"


def decide(comparison: Comparison, policy: str, margins: Mapping[str, float]) -> Verdict:
    """Apply one policy, with the user's own margins where it has any."""
    if policy == "composite":
        return decide_by_composite(comparison, _thresholds(margins))
    if policy == "gates":
        if margins:
            raise UsageError("policy gates has no margins: it compares as the seed wrote it. Drop --margin.")
        return decide_by_gates(comparison)
    if policy == RESERVED:
        raise UsageError(f"policy evidence is not built yet; choose one of {', '.join(POLICIES)}.")
    raise UsageError(f"there is no policy {policy!r}; choose one of {', '.join(POLICIES)}.")


def _thresholds(margins: Mapping[str, float]) -> Thresholds:
    known = Thresholds.__dataclass_fields__
    for name in margins:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy composite has no margin {name!r}; it has {', '.join(known)}.{hint}")
    return Thresholds(**margins)
