"""`outweigh report`: a baseline and its candidates as one file; `--check` says whether such a file is out of date."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from outweigh import __version__
from outweigh.app.policy_choice import ChosenPolicy, add_policy_options, choose_policy
from outweigh.cli.arguments import (
    Parser,
    add_arm_options,
    add_changes_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    print_report,
    reading_parser,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.compare.evidence import Evidence
from outweigh.compare.inference import IntervalMethod, Population, infer
from outweigh.compare.judge_agreement import summarise_judges
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report
from outweigh.report.formatting import escape_controls
from outweigh.report.json_output import JsonReporter
from outweigh.report.render_csv import CsvReporter
from outweigh.report.render_html import HtmlReporter
from outweigh.report.render_junit import JunitReporter
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.report_page import Provenance, ReportedCandidate, candidates_report
from outweigh.report.setup_changes import add_setup_changes
from outweigh.report.stamp import ReportStamp, read_stamp
from outweigh.score.composite import PROFILES
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store import choose_profile, setup_of_arms, single_experiment


def check_report(target: Path, options: argparse.Namespace) -> ExitCode:
    """Say fresh or stale, and exit 0 or 1. Only the records of the report's own arms count."""
    stamp = read_stamp(_read_report(target))
    if stamp is None:
        raise UsageError(f"{target} is not a report of outweigh, or not one that can be checked (.html, .md, .json).")
    changed = _find_change(stamp, gather_evidence(options))
    name = escape_controls(str(target))
    if changed is None:
        print(f"fresh: {name} rests on these records")
        return ExitCode.SATISFIED
    print(
        f"STALE: {escape_controls(changed)} since {name} was written. Write it again, and do not rely on it until then."
    )
    return ExitCode.NOT_SATISFIED


def _find_change(stamp: ReportStamp, evidence: Evidence) -> str | None:
    arms = (stamp.baseline, *stamp.candidates)
    if gone := [arm for arm in arms if arm not in evidence.arms]:
        return f"the records of {', '.join(gone)} have gone"
    if evidence.sha256(*arms) != stamp.evidence_sha256:
        return f"the records of {', '.join(arms)} have changed"
    return None


def _read_report(target: Path) -> str:
    try:
        return target.read_text(errors="replace")
    except OSError as fault:
        raise UsageError(f"--check {target}: {fault.strerror}.") from fault


REPORTERS: dict[str, type[Reporter]] = {
    ".html": HtmlReporter,
    ".md": MarkdownReporter,
    ".json": JsonReporter,
    ".xml": JunitReporter,
    ".csv": CsvReporter,
}


def main(arguments: Sequence[str]) -> int:
    """Write one file, whole or not at all, or print the page; the exit code says that it was written.

    With `--check` nothing is written, and the exit code says whether a report still rests on the records.
    """
    options = report_parser().parse_intermixed_args(arguments)
    if options.check is not None:
        return check_report(Path(options.check), options)
    policy, command = choose_policy(options), shlex.join(["outweigh", "report", *arguments])
    if options.output is None:
        print_report(build_report(options, policy, command), "text")
        return ExitCode.SATISFIED
    target = Path(options.output)
    reporter = REPORTERS.get(target.suffix)
    if reporter is None:
        raise UsageError(f"-o {target}: the name must end in one of {', '.join(REPORTERS)}.")
    report = build_report(options, policy, command)
    write_atomic(target, [reporter().render(report).encode()])
    print(f"{escape_controls(report.headline)}\nwritten to {escape_controls(str(target))}")
    return ExitCode.SATISFIED


def report_parser() -> Parser:
    """The options of `outweigh report`."""
    parser = reading_parser("report", "Everything about a baseline and its candidates, as one file.")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "-o", "--output", metavar="FILE", help=f"ends in {', '.join(REPORTERS)} (default: print the page as text)"
    )
    target.add_argument("--check", metavar="FILE", help="has this report gone stale? .html, .md or .json; exits 0 or 1")
    add_arm_options(parser, several=True)
    add_changes_option(parser)
    add_inference_options(parser)
    add_policy_options(parser)
    return parser


def build_report(options: argparse.Namespace, policy: ChosenPolicy, command: str) -> Report:
    """Everything about the runs that the options name, before it has a format."""
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence, several=True)
    profile = PROFILES[choose_profile(options.profile, options.runs)]
    comparisons = [compare_arms(evidence, baseline, name, profile) for name in candidates]
    experiment = single_experiment(options.runs)
    provenance = Provenance(
        outweigh_version=__version__,
        command=command,
        suite=None if experiment is None else experiment.suite,
        baseline=baseline,
        policy_from=policy.source,
        profile=profile.name,
        infer=options.infer,
        seed=options.seed,
        evidence_sha256=evidence.sha256(baseline, *candidates),
    )
    answer = candidates_report(_decide_all(options, policy, comparisons), provenance, _ladder(evidence, experiment))
    return add_setup_changes(answer, setup_of_arms(options.runs, baseline, candidates))


def _ladder(evidence: Evidence, experiment: ExperimentFile | None) -> Ladder | None:
    """The suite's tiers, where it has several and all of them have runs."""
    tiers = {} if experiment is None else experiment.tiers
    if len(tiers) < 2 or not tiers.keys() <= evidence.arms.keys():
        return None
    return compare_tiers(evidence, sorted(tiers, key=lambda arm: tiers[arm]))


def _decide_all(
    options: argparse.Namespace, policy: ChosenPolicy, comparisons: Sequence[Comparison]
) -> list[ReportedCandidate]:
    population = Population(options.infer)
    return [
        ReportedCandidate(
            comparison=comparison,
            inference=infer(comparison, population=population, method=IntervalMethod.T, seed=options.seed),
            panel=summarise_judges(comparison.judging, options.seed),
            verdict=verdict,
        )
        for comparison, verdict in zip(comparisons, policy.decide(comparisons), strict=True)
    ]
