"""The verdict or the report of one store, computed in a process of its own by the code that the command line uses.

Reading a hundred thousand runs takes seconds and a lot of memory; in a process of its own it delays no page, and its
memory is returned when it ends.
"""

import shlex
import sys
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.decide import CandidateResult, DecideRequest, DecisionResult, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.report import ReportRequest, report
from outweigh.errors import OutweighError
from outweigh.report.render_html import HtmlReporter
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.report.verdict_summary import decision_reason
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet
from outweigh.verdict.decision import Gate
from outweigh.verdict.evidence_settings import JUDGE_SCORE, PASS_RATE
from outweigh.web.store_verdict import CandidateVerdict, StoreReport, StoreVerdict


def decide_store(path: str) -> StoreVerdict:
    """What `outweigh verdict` says about a store; where it refuses, what it says about that."""
    try:
        return _summarise(decide(_request(path)))
    except OutweighError as fault:
        return StoreVerdict(problem=str(fault))


def report_store(path: str) -> StoreReport:
    """The file that `outweigh report -o FILE.html` writes about a store."""
    try:
        command = shlex.join(["outweigh", "report", _name(path), "-o", "report.html"])
        page = report(ReportRequest(decide=_request(path), command=command)).document()
    except OutweighError as fault:
        return StoreReport(problem=str(fault))
    return StoreReport(html=HtmlReporter(_pair_address).render(page))


def _pair_address(baseline_run: str, candidate_run: str) -> str:
    """The page of two runs side by side, as seen from the page of the report."""
    return f"diff?{urlencode({'a': baseline_run, 'b': candidate_run})}"


def _request(path: str) -> DecideRequest:
    """The suite's arms by the suite's rule; where no suite names them, the error shows the commands to choose from."""
    arms = ArmChoice(command=shlex.join(["outweigh", "verdict", _name(path)]))
    return DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([path])), arms=arms)


def _name(path: str) -> str:
    """How people name a store: one that was fetched, by its address."""
    return Store.open(path).name


def _summarise(result: DecisionResult) -> StoreVerdict:
    return StoreVerdict(
        baseline=result.baseline,
        candidates=tuple(map(_candidate, result.candidates)),
        earlier=tuple(map(_candidate, result.earlier)),
    )


def _candidate(result: CandidateResult) -> CandidateVerdict:
    verdict = result.verdict
    gate = next(filter(_measures_quality, verdict.gates), None)
    measured = None if gate is None else gate.evidence
    return CandidateVerdict(
        name=result.name,
        decision=verdict.decision,
        sentence=effect_sentence(verdict, result.comparison),
        reason=decision_reason(verdict, result.comparison),
        may_promote=result.may_promote,
        effect=None if measured is None else measured.effect,
        low=None if measured is None else measured.low,
        high=None if measured is None else measured.high,
    )


def _measures_quality(gate: Gate) -> bool:
    return gate.name in (PASS_RATE, JUDGE_SCORE) and gate.evidence is not None


def main() -> None:
    """Write the answer to the file that is named last."""
    kind, path, target = sys.argv[1:]
    answer = report_store(path) if kind == "report" else decide_store(path)
    Path(target).write_bytes(msgspec.json.encode(answer))


if __name__ == "__main__":
    main()
