"""Suite → Trial → RunRecord → Judgment → Score → Delta → Comparison → Verdict → Report.

Records are the only truth; everything to their right is a pure function of them. The names below are the public
API. Each is loaded when it is first used, so that `import outweigh` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from outweigh.adapters.stores.jsonl import JsonLines
    from outweigh.compare.arm_summary import ArmSummary
    from outweigh.compare.comparison import Comparison, compare
    from outweigh.compare.delta import Delta
    from outweigh.compare.evidence import Evidence, gather
    from outweigh.compare.ladder import Ladder, climb
    from outweigh.errors import EvidenceError, OutweighError, UsageError
    from outweigh.record.check_result import CheckResult
    from outweigh.record.codec import Located, decode, decode_lines, encode, refuse
    from outweigh.record.cost import Cost, CostProvenance
    from outweigh.record.judgment import CriterionScore, Judgment
    from outweigh.record.pricing import FirstKnown
    from outweigh.record.run_record import AgentIdentity, AgentKind, RunRecord
    from outweigh.record.status import Status
    from outweigh.record.trial import Trial
    from outweigh.record.usage import Usage
    from outweigh.score.profile import EVEN, OBJECTIVE_FIRST, Profile
    from outweigh.score.score import Score
    from outweigh.verdict.policy import decide
    from outweigh.verdict.promotion import may_promote
    from outweigh.verdict.verdict import Decision, Verdict

_HOMES = {
    "outweigh.adapters.stores.jsonl": ("JsonLines",),
    "outweigh.compare.arm_summary": ("ArmSummary",),
    "outweigh.compare.comparison": ("Comparison", "compare"),
    "outweigh.compare.delta": ("Delta",),
    "outweigh.compare.evidence": ("Evidence", "gather"),
    "outweigh.compare.ladder": ("Ladder", "climb"),
    "outweigh.errors": ("EvidenceError", "OutweighError", "UsageError"),
    "outweigh.record.check_result": ("CheckResult",),
    "outweigh.record.codec": ("Located", "decode", "decode_lines", "encode", "refuse"),
    "outweigh.record.cost": ("Cost", "CostProvenance"),
    "outweigh.record.judgment": ("CriterionScore", "Judgment"),
    "outweigh.record.pricing": ("FirstKnown",),
    "outweigh.record.run_record": ("AgentIdentity", "AgentKind", "RunRecord"),
    "outweigh.record.status": ("Status",),
    "outweigh.record.trial": ("Trial",),
    "outweigh.record.usage": ("Usage",),
    "outweigh.score.profile": ("EVEN", "OBJECTIVE_FIRST", "Profile"),
    "outweigh.score.score": ("Score",),
    "outweigh.verdict.policy": ("decide",),
    "outweigh.verdict.promotion": ("may_promote",),
    "outweigh.verdict.verdict": ("Decision", "Verdict"),
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
    "FirstKnown",
    "JsonLines",
    "Judgment",
    "Ladder",
    "Located",
    "OutweighError",
    "Profile",
    "RunRecord",
    "Score",
    "Status",
    "Trial",
    "Usage",
    "UsageError",
    "Verdict",
    "__version__",
    "climb",
    "compare",
    "decide",
    "decode",
    "decode_lines",
    "encode",
    "gather",
    "may_promote",
    "refuse",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'outweigh' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
