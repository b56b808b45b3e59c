"""Does a change to a coding agent's set-up outweigh the noise, and may it ship?

`verdict`, `compare_arms` and `report` take a store, a path or a data frame and give the answers of the command line;
`open_store` opens a store. Everything here is loaded when it is first used, so that `import outweigh` costs nothing.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from outweigh.version import __version__

if TYPE_CHECKING:
    from outweigh.app.compare import ComparisonResult
    from outweigh.app.decide import CandidateResult, DecisionResult
    from outweigh.app.library import compare_arms, open_store, report, verdict
    from outweigh.app.report import ReportResult
    from outweigh.compare.arm_summary import ArmSummary
    from outweigh.compare.comparison import Comparison
    from outweigh.compare.deltas import Delta
    from outweigh.compare.evidence import Evidence
    from outweigh.errors import EvidenceError, OutweighError, UsageError
    from outweigh.model.codec import LocatedRecord, decode, decode_lines, encode, refuse_invalid
    from outweigh.model.failure import Status
    from outweigh.model.judgment import CriterionScore, Judgment
    from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, RunRecord, Trial
    from outweigh.model.usage import Cost, CostProvenance, Usage
    from outweigh.score.composite import EVEN, OBJECTIVE_FIRST, Profile
    from outweigh.score.run_score import Score
    from outweigh.store.store import Store
    from outweigh.verdict.decision import Decision, Gate, GateState, Regression, Verdict

_HOMES = {
    "outweigh.app.compare": ("ComparisonResult",),
    "outweigh.app.decide": ("CandidateResult", "DecisionResult"),
    "outweigh.app.library": ("compare_arms", "open_store", "report", "verdict"),
    "outweigh.app.report": ("ReportResult",),
    "outweigh.compare.arm_summary": ("ArmSummary",),
    "outweigh.compare.comparison": ("Comparison",),
    "outweigh.compare.deltas": ("Delta",),
    "outweigh.compare.evidence": ("Evidence",),
    "outweigh.errors": ("EvidenceError", "OutweighError", "UsageError"),
    "outweigh.model.codec": ("LocatedRecord", "decode", "decode_lines", "encode", "refuse_invalid"),
    "outweigh.model.failure": ("Status",),
    "outweigh.model.judgment": ("CriterionScore", "Judgment"),
    "outweigh.model.run_record": ("AgentIdentity", "AgentKind", "CheckResult", "RunRecord", "Trial"),
    "outweigh.model.usage": ("Cost", "CostProvenance", "Usage"),
    "outweigh.score.composite": ("EVEN", "OBJECTIVE_FIRST", "Profile"),
    "outweigh.score.run_score": ("Score",),
    "outweigh.store.store": ("Store",),
    "outweigh.verdict.decision": ("Decision", "Gate", "GateState", "Regression", "Verdict"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "EVEN",
    "OBJECTIVE_FIRST",
    "AgentIdentity",
    "AgentKind",
    "ArmSummary",
    "CandidateResult",
    "CheckResult",
    "Comparison",
    "ComparisonResult",
    "Cost",
    "CostProvenance",
    "CriterionScore",
    "Decision",
    "DecisionResult",
    "Delta",
    "Evidence",
    "EvidenceError",
    "Gate",
    "GateState",
    "Judgment",
    "LocatedRecord",
    "OutweighError",
    "Profile",
    "Regression",
    "ReportResult",
    "RunRecord",
    "Score",
    "Status",
    "Store",
    "Trial",
    "Usage",
    "UsageError",
    "Verdict",
    "__version__",
    "compare_arms",
    "decode",
    "decode_lines",
    "encode",
    "open_store",
    "refuse_invalid",
    "report",
    "verdict",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'outweigh' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _FunctionNamedLikeAPackage:
    """A public function that shares its name with a package of ours, as `verdict` does with `outweigh.verdict`.

    Python sets a module that was imported as an attribute of its package. For these names that attribute is this
    descriptor: setting it changes nothing, so that the function is there whatever was imported before. The function
    has the package's modules as attributes, so that `import outweigh.verdict.policy as policy` finds its module too.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, module: ModuleType | None, owner: type) -> Any:
        function = __getattr__(self._name)
        package = sys.modules.get(f"{__name__}.{self._name}")
        if package is not None:
            modules = {name: value for name, value in vars(package).items() if isinstance(value, ModuleType)}
            vars(function).update(modules)
        return function

    def __set__(self, module: ModuleType, value: object) -> None:
        """Keep the function."""


class _Outweigh(ModuleType):
    """This module, with functions that stay functions."""

    report = _FunctionNamedLikeAPackage()
    verdict = _FunctionNamedLikeAPackage()


sys.modules[__name__].__class__ = _Outweigh
