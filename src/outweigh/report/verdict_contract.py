"""The JSON of `outweigh verdict`. Keys are added, never renamed, within a schema version."""

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256

import msgspec

from outweigh.compare.comparison import Comparison
from outweigh.report.payload import Payload, finite
from outweigh.report.rule_source import RuleSource
from outweigh.report.sightings_contract import sightings_payload
from outweigh.verdict.verdict import Gate, Sensitivity, Verdict


def verdict_payload(verdict: Verdict, comparison: Comparison, source: RuleSource, *, may_promote: bool) -> Payload:
    """`verdict --format json`. `verdict_sha256` is over the answer alone: equal answers have equal ones.

    It covers neither the evidence's hash, nor who chose the rule, nor what was seen of the arms beside their figures.
    """
    answer = _answer(verdict, comparison, may_promote=may_promote)
    fingerprint = sha256(msgspec.json.encode(answer, order="sorted")).hexdigest()
    origins = {"policy_from": source.value, "evidence_sha256": verdict.evidence_sha256}
    return {**answer, "verdict_sha256": fingerprint, **origins, "sightings": sightings_payload(comparison)}


def _answer(verdict: Verdict, comparison: Comparison, *, may_promote: bool) -> Payload:
    return {
        "schema": "outweigh.verdict/1",
        "policy": verdict.policy,
        "baseline": comparison.baseline.name,
        "candidate": comparison.candidate.name,
        "decision": verdict.decision.value,
        "seed_wording": verdict.seed_wording,
        "may_promote": may_promote,
        "reasons": list(verdict.reasons),
        "blockers": list(verdict.blockers),
        "gates": [_gate(gate) for gate in verdict.gates],
        "regressions": [
            {"kind": item.kind.value, "task_id": item.task_id, "detail": item.detail} for item in verdict.regressions
        ],
        "needs": None if verdict.needs is None else asdict(verdict.needs),
        "sensitivity": None if verdict.sensitivity is None else _sensitivity(verdict.sensitivity),
        "settings": dict(verdict.settings),
        "warnings": list(verdict.warnings),
    }


def verdicts_payload(verdicts: Sequence[Payload]) -> Payload:
    """`verdict --format json` with several candidates."""
    return {"schema": "outweigh.verdicts/1", "verdicts": list(verdicts)}


def _gate(gate: Gate) -> Payload:
    figures = {
        "name": gate.name,
        "state": gate.state.value,
        "baseline": finite(gate.baseline),
        "candidate": finite(gate.candidate),
        "detail": gate.detail,
    }
    return figures if gate.evidence is None else figures | asdict(gate.evidence)


def _sensitivity(sensitivity: Sensitivity) -> Payload:
    return {
        "missing_runs": sensitivity.missing_runs,
        "if_missing_hurt": sensitivity.if_missing_hurt.value,
        "if_missing_helped": sensitivity.if_missing_helped.value,
        "margins": {gate: list(margins) for gate, margins in sensitivity.margins.items()},
        "tasks_that_decide": {task: decision.value for task, decision in sensitivity.tasks_that_decide.items()},
    }
