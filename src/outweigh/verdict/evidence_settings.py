"""Settings of the evidence policy: what it can gate on, its error rates, gates and margins. Stored with every
verdict.

Needs no numpy: commands read it to check options.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import inf, isfinite, log1p

from msgspec import Struct

from outweigh.errors import UsageError
from outweigh.model.look_plan import LookPlan


class EffectScale(StrEnum):
    """How two arms differ: by points of a rate, by a ratio, or by dollars."""

    POINTS = "points"
    RATIO = "ratio"
    DOLLARS = "dollars"


class GateRole(StrEnum):
    """What a gate is there for: how well tasks are done, what that takes, or whether the one is worth the other."""

    QUALITY = "quality"
    RESOURCE = "resource"
    WORTH = "worth"


class GatedMetric(Struct, frozen=True, kw_only=True):
    """A gate's metric. `margin` is in points of a rate (0.05 is five points) or as a relative change (0.05 is 5 %).

    Beyond the margin a loss is real. `tolerance` is what an improvement must be shown to stay below; None for quality,
    where that is the margin itself. One that is `only_when_named` is no gate unless somebody asks for it. Options take
    the `name`, and people read the `title`.
    """

    name: str
    title: str
    metric: str
    scale: EffectScale
    role: GateRole
    margin: float
    tolerance: float | None = None
    only_when_named: bool = False

    def on_scale(self, margin: float) -> float:
        """The margin where the test happens: as a log for ratios, as it is for points and dollars."""
        return log1p(margin) if self.scale is EffectScale.RATIO else margin


def _resource(name: str, title: str, metric: str, *, only_when_named: bool = False) -> GatedMetric:
    return GatedMetric(
        name=name,
        title=title,
        metric=metric,
        scale=EffectScale.RATIO,
        role=GateRole.RESOURCE,
        margin=0.05,
        tolerance=0.25,
        only_when_named=only_when_named,
    )


def _quality(name: str, title: str, metric: str, *, margin: float = 0.05, only_when_named: bool = False) -> GatedMetric:
    return GatedMetric(
        name=name,
        title=title,
        metric=metric,
        scale=EffectScale.POINTS,
        role=GateRole.QUALITY,
        margin=margin,
        only_when_named=only_when_named,
    )


PASS_RATE = "pass_rate"
JUDGE_SCORE = "judge_score"
COST_OF_PASS = "cost_of_pass"
TRIGGER_RECALL, FALSE_TRIGGERS = "trigger_recall", "false_triggers"
TRIGGER_GATES = (TRIGGER_RECALL, FALSE_TRIGGERS)
"""Gates over trigger cases; all others are over the other tasks, where there are any."""
WORTH = "worth"

GATED_METRICS = {
    gated.name: gated
    for gated in (
        _quality(PASS_RATE, "pass rate", "passed"),
        _resource("duration", "duration", "duration_seconds"),
        _resource("non_cache_tokens", "non-cache tokens", "non_cache_tokens"),
        _resource("cost", "cost", "cost_usd"),
        # What judges say decides only where a suite has nothing better, and says so before it runs.
        _quality(JUDGE_SCORE, "judge score", "deciding_judge_score", only_when_named=True),
        _resource(COST_OF_PASS, "cost of a pass", COST_OF_PASS, only_when_named=True),
        # How often a skill is used is no gain in itself, so these only decide where a suite asks about nothing else.
        # Twenty cases without any difference rule out a loss of 14 points, and more cases are rarely written.
        _quality(TRIGGER_RECALL, "trigger recall", "trigger_recall", margin=0.15, only_when_named=True),
        _quality(FALSE_TRIGGERS, "no false trigger", "no_false_trigger", margin=0.15, only_when_named=True),
    )
}
"""What can be named as a gate."""

WORTH_GATE = GatedMetric(
    name=WORTH,
    title="worth",
    metric=WORTH,
    scale=EffectScale.DOLLARS,
    role=GateRole.WORTH,
    margin=0.0,
    only_when_named=True,
)
"""Added where somebody says what a solved task is worth."""


def gate_title(name: str) -> str:
    """What people call a gate; options and JSON have its name."""
    return name if name not in GATED_METRICS else GATED_METRICS[name].title


TOTAL_TOLERANCE = 0.10
"""An improvement that is no gain in quality must be shown to keep every total below so much more."""

MINIMUM_TASKS = 6
FEWEST_FOR_A_GAIN = 7
"""With fewer tasks a better pass rate alone is not called improved, even if every task turns from fail to pass."""
UNPAIRED_TOLERANCE = 0.05
UNKNOWN_TOLERANCE = 0.05


CURRENT_VERSION = 2
"""The version of the rule that new experiments are decided by; `evidence_rule_v1` has the one before."""


class ErrorRates(Struct, frozen=True, kw_only=True):
    """How often each kind of mistake may happen, all one-sided.

    `superiority` is that of each of the two ways to an improvement: quality by itself, and all gates together. The
    alarms add up to 8 % at the very worst. Resources are only overspent beyond a margin and collapsed tasks are
    counted exactly, so identical arms are called regressed less often; docs/calibration.md has the measured rates.
    """

    non_inferiority: float
    superiority: float
    pass_rate_alarm: float
    resource_alarm: float
    task_alarm: float


ERROR_RATES = ErrorRates(
    non_inferiority=0.05, superiority=0.01, pass_rate_alarm=0.05, resource_alarm=0.02, task_alarm=0.01
)


class EvidenceSettings(Struct, frozen=True, kw_only=True):
    """Which gates, with which margins and tolerances, over which population, by which version of the rule.

    `planned_tasks` is set for a sequential verdict, `looks` where looks were planned before the first run. `value_usd`
    is what one solved task is worth; None where nobody says. `promotion_tasks` and `promotion_repeats` are what the
    suite asks of a promotion beyond the rule's own.
    """

    gates: tuple[str, ...] | None
    margins: Mapping[str, float]
    tolerances: Mapping[str, float]
    value_usd: float | None
    version: int
    fixed_suite: bool
    planned_tasks: int | None
    seed: int
    promotion_tasks: int = 0
    promotion_repeats: int = 0
    looks: LookPlan | None = None

    def margin(self, gate: str) -> float:
        """The margin of a gate: the user's own or the default."""
        return self.margins.get(gate, GATED_METRICS[gate].margin)

    def tolerance(self, gate: str) -> float | None:
        """The tolerance of a gate, never narrower than its margin; None where the margin is the tolerance."""
        usual = GATED_METRICS[gate].tolerance
        return None if usual is None else self.tolerances.get(gate, max(usual, self.margin(gate)))


def evidence_settings(  # noqa: PLR0913 - one keyword for every setting
    *,
    gates: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    tolerances: Mapping[str, float] | None = None,
    value_usd: float | None = None,
    version: int | None = None,
    fixed_suite: bool = False,
    planned_tasks: int | None = None,
    seed: int = 0,
    promotion_tasks: int = 0,
    promotion_repeats: int = 0,
    looks: LookPlan | None = None,
) -> EvidenceSettings:
    """Check what the user asked for. No gates means the default: all, cost only where an arm knows it."""
    settings = EvidenceSettings(
        gates=None if gates is None else tuple(gates),
        margins=dict(margins or {}),
        tolerances=dict(tolerances or {}),
        value_usd=value_usd,
        version=CURRENT_VERSION if version is None else version,
        fixed_suite=fixed_suite,
        planned_tasks=planned_tasks,
        seed=seed,
        promotion_tasks=promotion_tasks,
        promotion_repeats=promotion_repeats,
        looks=looks,
    )
    _check_names(settings)
    _check_numbers(settings)
    _check_version(settings)
    if fixed_suite and (planned_tasks is not None or looks is not None):
        raise UsageError("--sequential counts tasks and --infer runs counts runs of fixed tasks; use one of them.")
    return settings


def _check_names(settings: EvidenceSettings) -> None:
    for name in (*(settings.gates or ()), *settings.margins, *settings.tolerances):
        if name == WORTH:
            raise UsageError("gate worth needs the value of a solved task; set it with --value USD.")
        if name not in GATED_METRICS:
            from difflib import get_close_matches  # noqa: PLC0415 - only needed for a mistake

            near = get_close_matches(name, GATED_METRICS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy evidence has no gate {name!r}; it has {', '.join(GATED_METRICS)}.{hint}")
    for what, stated in (("margin", settings.margins), ("tolerance", settings.tolerances)):
        if foreign := [name for name in stated if settings.gates is not None and name not in settings.gates]:
            raise UsageError(f"{what} {foreign[0]} belongs to a gate that is not used; add the gate, or remove it.")
    if settings.gates is not None and len(set(settings.gates)) < len(settings.gates):
        raise UsageError("a gate is named twice.")


def _check_numbers(settings: EvidenceSettings) -> None:
    for name, margin in settings.margins.items():
        ratio = GATED_METRICS[name].scale is EffectScale.RATIO
        if not isfinite(margin) or not 0 < margin < (inf if ratio else 1):
            limits = "be above 0 (0.05 is 5 %)" if ratio else "lie between 0 and 1 (0.05 is five points)"
            raise UsageError(f"margin {name} must {limits}, not {margin}.")
    for name, tolerance in settings.tolerances.items():
        if GATED_METRICS[name].tolerance is None:
            raise UsageError(f"{name} has no tolerance, only a margin. Use --margin {name}=X.")
        if not isfinite(tolerance) or tolerance < settings.margin(name):
            margin = settings.margin(name)
            raise UsageError(f"tolerance {name} must not be below its margin of {margin:g}; it is {tolerance}.")
    if settings.value_usd is not None and not (isfinite(settings.value_usd) and settings.value_usd > 0):
        raise UsageError(f"the value of a solved task must be above 0 dollars, not {settings.value_usd}.")


def _check_version(settings: EvidenceSettings) -> None:
    if settings.version not in range(1, CURRENT_VERSION + 1):
        raise UsageError(f"policy evidence has versions 1 to {CURRENT_VERSION}, not {settings.version}.")
    if settings.version == 1 and (settings.tolerances or settings.value_usd is not None):
        raise UsageError("version 1 of policy evidence has neither tolerances nor a value; leave them out.")
    if settings.version == 1 and COST_OF_PASS in (settings.gates or ()):
        raise UsageError(f"version 1 of policy evidence has no gate {COST_OF_PASS}; leave it out.")
