"""Everything about a baseline and its candidates as one page, written to a file, and whether such a file is stale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.choose_policy import choose_policy
from outweigh.app.decide import DecideRequest, DecisionResult, decide_by
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.ladder_tiers import suite_tiers
from outweigh.app.pages import Page
from outweigh.compare.comparison import Comparison
from outweigh.compare.evidence import Evidence
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report
from outweigh.report.json_output import JsonReporter
from outweigh.report.render_csv import CsvReporter
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_junit import JunitReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.report_folds import ReportedCandidate
from outweigh.report.report_page import Provenance, candidates_report
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.stamp import ReportStamp, read_stamp
from outweigh.report.version_history import add_version_history
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_file import ExperimentFile
from outweigh.verdict.decision import Verdict
from outweigh.version import __version__

REPORTERS: dict[str, type[Reporter]] = {
    ".html": HtmlReporter,
    ".md": MarkdownReporter,
    ".json": JsonReporter,
    ".xml": JunitReporter,
    ".csv": CsvReporter,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """What the report is about, the file to write it to, and the command that the page says made it."""

    decide: DecideRequest
    command: str
    output: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult(Page):
    """A report, and the verdicts in it."""

    decided: DecisionResult
    page: Report

    def document(self) -> Report:
        """The page of `outweigh report`."""
        return self.page

    def rows(self) -> Sequence[Mapping[str, object]]:
        """One row for every candidate and gate, as the verdicts have them."""
        return self.decided.rows()

    def save(self, path: str | Path) -> Path:
        """Write it, whole or not at all, in the format that the name ends in."""
        target = Path(path)
        write_atomic(target, [_choose_reporter(target)().render(self.page).encode()])
        return target


def report(request: ReportRequest) -> ReportResult:
    """Decide, put everything on one page, and write it where the request says so."""
    policy = choose_policy(request.decide.evidence.stores, request.decide.policy)
    if request.output is not None:
        _choose_reporter(request.output)
    result = report_decision(request, decide_by(policy, request.decide))
    if request.output is not None:
        result.save(request.output)
    return result


def report_decision(request: ReportRequest, decided: DecisionResult) -> ReportResult:
    """The page about a decision that was made already."""
    return ReportResult(decided=decided, page=_report_page(request, decided))


def _choose_reporter(target: Path) -> type[Reporter]:
    reporter = REPORTERS.get(target.suffix)
    if reporter is None:
        raise UsageError(f"-o {target}: the name must end in one of {', '.join(REPORTERS)}.")
    return reporter


def _report_page(request: ReportRequest, decided: DecisionResult) -> Report:
    compared, policy = decided.compared, request.decide.policy
    experiment = compared.stores.experiment
    population = Population.RUNS if policy.fixed_suite else Population.TASKS
    provenance = Provenance(
        outweigh_version=__version__,
        command=request.command,
        suite=None if experiment is None else experiment.suite,
        baseline=compared.baseline,
        policy_from=decided.policy.source,
        profile=compared.profile.name,
        infer=population.value,
        seed=policy.seed,
        evidence_sha256=compared.evidence.sha256(compared.baseline, *compared.candidates),
    )
    reported = [_reported(each.comparison, each.verdict, population, policy.seed) for each in decided.candidates]
    stores = set(request.decide.evidence.stores.stores)
    places = [store.name for store in stores if store.path is not None]
    # A page about several stores cannot tell which of them holds a run.
    runs = places[0] if len(stores) == len(places) == 1 else "RUNS"
    page = candidates_report(reported, provenance, runs, _ladder(compared.evidence, experiment))
    whole = add_setup_changes(page, compared.stores.setup(compared.baseline, compared.candidates))
    return add_version_history(whole, decided.history)


def _reported(comparison: Comparison, verdict: Verdict, population: Population, seed: int) -> ReportedCandidate:
    return ReportedCandidate(
        comparison=comparison,
        inference=infer(comparison, population=population, method=IntervalMethod.T, seed=seed),
        panel=summarise_judges(comparison.judging),
        verdict=verdict,
    )


def _ladder(evidence: Evidence, experiment: ExperimentFile | None) -> Ladder | None:
    """The suite's tiers, where it has several and all of them have runs."""
    tiers = {} if experiment is None else experiment.tiers
    if experiment is None or len(tiers) < 2 or not tiers.keys() <= evidence.arms.keys():
        return None
    return compare_tiers(evidence, None, plan=suite_tiers(experiment))


def find_stale(target: Path, request: EvidenceRequest) -> str | None:
    """What has changed about the records of a written report's arms; None where it still rests on them."""
    stamp = read_stamp(_read_report(target))
    if stamp is None:
        raise UsageError(f"{target} is not a report of outweigh, or not one that can be checked (.html, .md, .json).")
    return _find_change(stamp, read_evidence(request))


def _find_change(stamp: ReportStamp, evidence: Evidence) -> str | None:
    arms = (stamp.baseline, *stamp.candidates)
    if gone := [arm for arm in arms if arm not in evidence.arms]:
        return f"the records of {', '.join(gone)} have gone"
    if stamp.evidence_sha256 not in (evidence.sha256(*arms), evidence.sha256_v1(*arms)):
        return f"the records of {', '.join(arms)} have changed"
    return None


def _read_report(target: Path) -> str:
    try:
        return target.read_text(errors="replace")
    except OSError as fault:
        raise UsageError(f"--check {target}: {fault.strerror}.") from fault
