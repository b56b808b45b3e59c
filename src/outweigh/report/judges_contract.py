"""The JSON about judges: what they are worth in a comparison, and what a calibration says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import msgspec

from outweigh.compare.judge_panel import JudgePanel, JudgeSummary
from outweigh.compare.preferences import Pairwise, PairwiseSummary
from outweigh.record.calibration import Calibration
from outweigh.record.voice import Voice
from outweigh.report.payload import Payload, finite
from outweigh.stats.estimate import Estimate
from outweigh.stats.quantity import Quantity


def panel_payload(panel: JudgePanel | None) -> Payload | None:
    """`judges` of `compare --format json`; null where nobody judged."""
    if panel is None:
        return None
    return {
        "agreement": estimate_payload(panel.agreement),
        "cost_usd": _values(panel.cost_usd),
        "judges": [_judge(judge) for judge in panel.judges],
    }


def calibrations_payload(calibrations: Sequence[Calibration]) -> Payload:
    """`judge --calibrate LABELS --format json`: one calibration as it is stored, or a list of them."""
    if len(calibrations) == 1:
        payload: Payload = msgspec.to_builtins(calibrations[0])
        return payload
    return {"schema": "outweigh.calibrations/1", "calibrations": [msgspec.to_builtins(one) for one in calibrations]}


def pairwise_payload(pairwise: Pairwise) -> Payload:
    """`judge --pairwise --format json`."""
    return {
        "schema": "outweigh.pairwise/1",
        "baseline": pairwise.baseline,
        "candidate": pairwise.candidate,
        "evidence_sha256": pairwise.evidence_sha256,
        "judges": [_pairwise(judge) for judge in pairwise.judges],
        "warnings": list(pairwise.warnings),
    }


def estimate_payload(estimate: Estimate) -> Payload:
    """A point with its interval and its doubts."""
    interval = None if estimate.interval is None else asdict(estimate.interval)
    return {
        "value": finite(estimate.point),
        "interval": interval,
        "n": estimate.n,
        "unit": estimate.unit.value,
        "method": estimate.method,
        "warnings": list(estimate.warnings),
    }


def _judge(judge: JudgeSummary) -> Payload:
    return {
        **_voice(judge.voice),
        "answers": dict(judge.answers),
        "invalid": dict(judge.invalid),
        "flagged": judge.flagged,
        "stated_totals": judge.stated_totals,
        "notable_gaps": judge.notable_gaps,
        "mean_gap": judge.mean_gap,
        "retest": estimate_payload(judge.retest),
        "cost_usd": _values(judge.cost_usd),
    }


def _pairwise(judge: PairwiseSummary) -> Payload:
    return {
        **_voice(judge.judge),
        "tasks": judge.tasks,
        "pairs": judge.pairs,
        **asdict(judge.tally),
        "both_orders_agree": asdict(judge.agreed),
        "sign_test": {"p_value": judge.sign_test.p_value, "n": judge.sign_test.n, "unit": judge.sign_test.unit.value},
        "first_share": estimate_payload(judge.first_share),
        "incomplete": judge.incomplete,
        "invalid": judge.invalid,
        "cost_usd": judge.cost_usd.value,
    }


def _voice(voice: Voice) -> Payload:
    return {**msgspec.to_builtins(voice), "judge_sha256": voice.sha256}


def _values(quantities: Mapping[str, Quantity]) -> Payload:
    return {name: quantity.value for name, quantity in quantities.items()}
