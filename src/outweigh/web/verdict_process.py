"""The verdict or the report of one store, computed in a process of its own by the code that the command line uses.

Reading a hundred thousand runs takes seconds and a lot of memory; in a process of its own it delays no page, and its
memory is returned when it ends.
"""

import shlex
import sys

import msgspec

from outweigh.app.decide import CandidateResult, DecideRequest, DecisionResult, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.report import ReportRequest, report
from outweigh.errors import OutweighError
from outweigh.report.render_html import HtmlReporter
from outweigh.report.verdict_sentence import effect_sentences
from outweigh.store.store import StoreSet
from outweigh.verdict.decision import Gate
from outweigh.verdict.evidence_settings import JUDGE_SCORE, PASS_RATE
from outweigh.web.store_verdict import CandidateVerdict, StoreVerdict


def decide_store(path: str) -> StoreVerdict:
    """What `outweigh verdict` says about a store; where it refuses, what it says about that."""
    try:
        return _summarise(decide(_request(path)))
    except OutweighError as fault:
        return StoreVerdict(problem=str(fault))


def render_report(path: str) -> str:
    """The file that `outweigh report -o FILE.html` writes about a store."""
    command = shlex.join(["outweigh", "report", path, "-o", "report.html"])
    return HtmlReporter().render(report(ReportRequest(decide=_request(path), command=command)).document())


def _request(path: str) -> DecideRequest:
    return DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([path])))


def _summarise(result: DecisionResult) -> StoreVerdict:
    return StoreVerdict(baseline=result.baseline, candidates=tuple(map(_candidate, result.candidates)))


def _candidate(result: CandidateResult) -> CandidateVerdict:
    verdict = result.verdict
    gate = next(filter(_measures_quality, verdict.gates), None)
    measured = None if gate is None else gate.evidence
    return CandidateVerdict(
        name=result.name,
        decision=verdict.decision,
        sentence=effect_sentences(verdict, result.comparison),
        reason=verdict.reasons[0] if verdict.reasons else "",
        may_promote=result.may_promote,
        effect=None if measured is None else measured.effect,
        low=None if measured is None else measured.low,
        high=None if measured is None else measured.high,
    )


def _measures_quality(gate: Gate) -> bool:
    return gate.name in (PASS_RATE, JUDGE_SCORE) and gate.evidence is not None


def main() -> None:
    """Write the answer to standard output: JSON for a verdict, HTML for a report."""
    kind, path = sys.argv[1:]
    content = render_report(path).encode() if kind == "report" else msgspec.json.encode(decide_store(path))
    sys.stdout.buffer.write(content)


if __name__ == "__main__":
    try:
        main()
    except OutweighError as fault:
        sys.exit(str(fault))
