"""What is shown about the parts of a store, and the JSON of `outweigh parts verdict`."""

from collections.abc import Mapping

from msgspec import Struct

from outweigh.compare.comparison import Comparison
from outweigh.compare.part_effects import DesignEffects, PartEffect
from outweigh.report.json_output import Payload
from outweigh.stats.estimate import Estimate, Interval
from outweigh.verdict.decision import Decision
from outweigh.verdict.part_verdict import PartDecision, PartVerdict

LONGEST_NAME = 60


class PartSavings(Struct, frozen=True, kw_only=True):
    """What a part costs on every turn, and in a month of so many turns."""

    tokens_per_turn: Estimate
    usd_per_month: float | None


class JointArm(Struct, frozen=True, kw_only=True):
    """An arm without several parts: what was decided about it, and why the parts may not be dropped yet."""

    arm: str
    parts: tuple[str, ...]
    decision: Decision | None
    refusals: tuple[str, ...]


class BaseArm(Struct, frozen=True, kw_only=True):
    """The arm of the suite that arms are made of by adding parts or leaving them out; `model` is that of the design."""

    name: str
    parts: tuple[str, ...]
    model: str | None = None

    def arm_lines(self, name: str, parts: tuple[str, ...]) -> tuple[str, ...]:
        """What to write into a suite to get an arm with these parts."""
        added = tuple(part for part in parts if part not in self.parts)
        without = tuple(part for part in self.parts if part not in parts)
        return (
            f"[arms.{name}]",
            f'extends = "{self.name}"',
            *((f"parts = [{quote_parts(added)}]",) if added else ()),
            *((f"without = [{quote_parts(without)}]",) if without else ()),
            *((f'model = "{self.model}"',) if self.model is not None else ()),
        )


def quote_parts(names: tuple[str, ...]) -> str:
    """Names as a suite lists them."""
    return ", ".join(f'"{name}"' for name in names)


def joint_arm_name(dropped: tuple[str, ...]) -> str:
    """What an arm without these parts is called."""
    name = f"without-{'-'.join(dropped)}"
    return name if len(name) <= LONGEST_NAME else f"without-{len(dropped)}-parts"


class PartsPage(Struct, frozen=True, kw_only=True):
    """Everything that the page shows. `shortlist` is how many parts of a screen are to be confirmed.

    `base` is what further arms are made of, `screen_base` what those of the screen were made of.
    """

    baseline: str
    stores: tuple[str, ...]
    baseline_parts: tuple[str, ...]
    base: BaseArm
    screen_base: BaseArm
    parts: tuple[PartVerdict, ...]
    savings: Mapping[str, PartSavings]
    joint: tuple[JointArm, ...]
    effects: DesignEffects | None
    screen: DesignEffects | None
    shortlist: int
    turns_per_month: int | None
    comparisons: Mapping[str, Comparison]
    warnings: tuple[str, ...]

    @property
    def is_decided(self) -> bool:
        """Whether anything is known about some part."""
        return any(part.decision is not PartDecision.NOT_KNOWN for part in self.parts)

    @property
    def simulated(self) -> bool:
        """Whether a simulated agent made the runs, which spent nothing."""
        return any(comparison.simulated for comparison in self.comparisons.values())

    @property
    def droppable(self) -> tuple[str, ...]:
        """The parts that the arms without them speak for dropping, one by one."""
        return tuple(
            part.part
            for part in self.parts
            if part.decision in (PartDecision.DROP, PartDecision.HURTS) and not part.added
        )

    @property
    def tried_together(self) -> tuple[str, ...]:
        """What an arm without several parts should leave out next.

        Those that can go one by one, and after a confirmed screen also those that it ranks below its shortlist: one arm
        judges them all.
        """
        screened = self.screen is not None and not self.unconfirmed
        judged = {part.part for part in self.parts if part.verdict is not None}
        low = {part for part in self.baseline_parts if screened and part not in judged}
        return tuple(part.part for part in self.parts if part.part in self.droppable or part.part in low)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """The shortlist of the screen, as far as no pair of arms has judged it."""
        if self.screen is None:
            return ()
        judged = {part.part for part in self.parts if part.verdict is not None}
        return tuple(part for part in ranked_parts(self.screen)[: self.shortlist] if part not in judged)


def ranked_parts(screen: DesignEffects) -> tuple[str, ...]:
    """The parts by the size of their effect on quality, the largest first."""
    mains = [effect for effect in screen.metrics[0].effects if len(effect.terms[0]) == 1]
    return tuple(effect.terms[0][0] for effect in sorted(mains, key=lambda each: -abs(each.contrast.estimate or 0)))


def parts_payload(page: PartsPage) -> Payload:
    """`parts verdict --format json`."""
    return {
        "schema": "outweigh.parts_verdict/1",
        "baseline": page.baseline,
        "parts": [_part_payload(part, page) for part in page.parts],
        "joint": [
            {
                "arm": joint.arm,
                "parts": list(joint.parts),
                "decision": None if joint.decision is None else joint.decision.value,
                "may_drop": not joint.refusals,
                "refusals": list(joint.refusals),
            }
            for joint in page.joint
        ],
        "effects": None if page.effects is None else _effects_payload(page.effects),
        "screen": None
        if page.screen is None
        else {
            **_effects_payload(page.screen),
            "ranking": list(ranked_parts(page.screen)),
            "shortlist": list(ranked_parts(page.screen)[: page.shortlist]),
            "unconfirmed": list(page.unconfirmed),
        },
        "turns_per_month": page.turns_per_month,
        "warnings": list(page.warnings),
    }


def _part_payload(part: PartVerdict, page: PartsPage) -> Payload:
    saved, verdict, need = page.savings.get(part.part), part.verdict, part.need
    tokens = None if saved is None else saved.tokens_per_turn
    return {
        "part": part.part,
        "verdict": part.decision.value,
        "reason": part.reason,
        "arm": part.candidate,
        "added": part.added,
        "decision": None if verdict is None else verdict.decision.value,
        "may_drop": part.may_drop,
        "blockers": list(part.blockers),
        "family_p": part.family_p,
        "tokens_per_turn": None if tokens is None else tokens.point,
        "tokens_per_turn_low": None if tokens is None or tokens.interval is None else tokens.interval.low,
        "tokens_per_turn_high": None if tokens is None or tokens.interval is None else tokens.interval.high,
        "usd_per_month": None if saved is None or page.simulated else saved.usd_per_month,
        "needs_tasks": None if need is None else need.tasks,
        "needs_repeats": None if need is None else need.repeats,
        "needs_repeats_instead": None if need is None else need.repeats_instead,
        "needs_usd": None if need is None else need.cost_usd,
        "evidence_sha256": None if verdict is None else verdict.evidence_sha256,
    }


def _effects_payload(effects: DesignEffects) -> Payload:
    return {
        "arms": list(effects.arms),
        "ranking_only": effects.ranking_only,
        "not_estimated": [list(pair) for pair in effects.not_estimated],
        "metrics": [
            {
                "metric": found.metric,
                "scale": "log_ratio" if found.ratio else "points",
                "tasks": found.tasks,
                "left_out": found.left_out,
                "reason": found.reason,
                "effects": [_effect_payload(effect) for effect in found.effects],
            }
            for found in effects.metrics
        ],
    }


def _effect_payload(effect: PartEffect) -> Payload:
    contrast = effect.contrast
    return {
        "terms": [list(term) for term in effect.terms],
        "signs": list(effect.signs),
        "clear": effect.clear,
        "estimate": contrast.estimate,
        "standard_error": contrast.standard_error,
        "interval": _interval_payload(contrast.interval),
        "simultaneous": _interval_payload(contrast.simultaneous),
        "p_value": contrast.p_value,
        "adjusted_p": contrast.adjusted,
        "holm_p": contrast.holm,
        "reason": contrast.reason,
    }


def _interval_payload(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]
