"""Suite → Trial → RunRecord → Judgment → Score → Delta → Comparison → Verdict → Report.

Records are the only truth; everything to their right is a pure function of them. The names below are the public
API. Each is loaded when it is first used, so that `import outweigh` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from outweigh.compare.arm_summary import ArmSummary
    from outweigh.compare.comparison import Comparison, compare_arms
    from outweigh.compare.deltas import Delta
    from outweigh.compare.evidence import Evidence, gather
    from outweigh.compare.ladder import Ladder, compare_tiers
    from outweigh.errors import EvidenceError, OutweighError, UsageError
    from outweigh.model.codec import LocatedRecord, decode, decode_lines, encode, refuse_invalid
    from outweigh.model.judgment import CriterionScore, Judgment
    from outweigh.model.pricing import PriceTables
    from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, RunRecord, Status, Trial
    from outweigh.model.usage import Cost, CostProvenance, Usage
    from outweigh.score.composite import EVEN, OBJECTIVE_FIRST, Profile
    from outweigh.score.run_score import Score
    from outweigh.store.records import RecordReader
    from outweigh.verdict.decision import Decision, Verdict
    from outweigh.verdict.policy import decide
    from outweigh.verdict.promotion import may_promote

_HOMES = {
    "outweigh.compare.arm_summary": ("ArmSummary",),
    "outweigh.compare.comparison": (
        "Comparison",
        "compare_arms",
    ),
    "outweigh.compare.deltas": ("Delta",),
    "outweigh.compare.evidence": (
        "Evidence",
        "gather",
    ),
    "outweigh.compare.ladder": (
        "Ladder",
        "compare_tiers",
    ),
    "outweigh.errors": (
        "EvidenceError",
        "OutweighError",
        "UsageError",
    ),
    "outweigh.model.codec": (
        "LocatedRecord",
        "decode",
        "decode_lines",
        "encode",
        "refuse_invalid",
    ),
    "outweigh.model.judgment": (
        "CriterionScore",
        "Judgment",
    ),
    "outweigh.model.pricing": ("PriceTables",),
    "outweigh.model.run_record": (
        "AgentIdentity",
        "AgentKind",
        "CheckResult",
        "RunRecord",
        "Status",
        "Trial",
    ),
    "outweigh.model.usage": (
        "Cost",
        "CostProvenance",
        "Usage",
    ),
    "outweigh.score.composite": (
        "EVEN",
        "OBJECTIVE_FIRST",
        "Profile",
    ),
    "outweigh.score.run_score": ("Score",),
    "outweigh.store.records": ("RecordReader",),
    "outweigh.verdict.decision": (
        "Decision",
        "Verdict",
    ),
    "outweigh.verdict.policy": ("decide",),
    "outweigh.verdict.promotion": ("may_promote",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "EVEN",
    "OBJECTIVE_FIRST",
    "AgentIdentity",
    "AgentKind",
    "ArmSummary",
    "CheckResult",
    "Comparison",
    "Cost",
    "CostProvenance",
    "CriterionScore",
    "Decision",
    "Delta",
    "Evidence",
    "EvidenceError",
    "Judgment",
    "Ladder",
    "LocatedRecord",
    "OutweighError",
    "PriceTables",
    "Profile",
    "RecordReader",
    "RunRecord",
    "Score",
    "Status",
    "Trial",
    "Usage",
    "UsageError",
    "Verdict",
    "__version__",
    "compare_arms",
    "compare_tiers",
    "decide",
    "decode",
    "decode_lines",
    "encode",
    "gather",
    "may_promote",
    "refuse_invalid",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'outweigh' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
