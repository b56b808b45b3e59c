"""The JSON of `outweigh report`. Keys are added, never renamed, within a schema version."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from outweigh.compare.comparison import Comparison
from outweigh.compare.inference import Inference
from outweigh.compare.judge_panel import JudgePanel
from outweigh.report.comparison_contract import comparison_payload
from outweigh.report.payload import Payload
from outweigh.report.rule_source import RuleSource
from outweigh.report.verdict_contract import verdict_payload
from outweigh.verdict.promotion import may_promote
from outweigh.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a report comes from. There is no clock in it: the same records and command give the same page."""

    outweigh_version: str
    command: str
    suite: str | None
    baseline: str
    policy_from: RuleSource
    profile: str
    infer: str
    seed: int
    evidence_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One candidate with everything that is known about it."""

    comparison: Comparison
    inference: Inference
    panel: JudgePanel | None
    verdict: Verdict

    @property
    def name(self) -> str:
        """The candidate's name."""
        return self.comparison.candidate.name

    @property
    def promotes(self) -> bool:
        """Whether it may be promoted."""
        return may_promote(self.verdict, self.comparison.evidence_sha256)


def report_payload(candidates: Sequence[Judged], provenance: Provenance) -> Payload:
    """`report -o FILE.json`."""
    return {
        "schema": "outweigh.report/1",
        "verdicts": [
            verdict_payload(one.verdict, one.comparison, provenance.policy_from, may_promote=one.promotes)
            for one in candidates
        ],
        "comparisons": [comparison_payload(one.comparison, one.inference, one.panel) for one in candidates],
        "provenance": asdict(provenance),
    }
