"""`outweigh report`: everything about a baseline and its candidates, as one file."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from outweigh import __version__
from outweigh.adapters.reporters.csv import CsvReporter
from outweigh.adapters.reporters.html import HtmlReporter
from outweigh.adapters.reporters.json import JsonReporter
from outweigh.adapters.reporters.junit import JunitReporter
from outweigh.adapters.reporters.markdown import MarkdownReporter
from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.adapters.stores.whole_file import write_whole
from outweigh.cli.arguments import (
    Parser,
    add_arm_options,
    add_changes_option,
    add_inference_options,
    arms_to_compare,
    gather_evidence,
    reading_parser,
    show,
)
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.policy_options import ChosenPolicy, add_policy_options, chosen_policy
from outweigh.cli.report_check import check_report
from outweigh.cli.setup_behind import setup_behind
from outweigh.cli.suite_behind import experiment_behind, profile_for
from outweigh.compare.comparison import Comparison, compare
from outweigh.compare.delta_inference import Method
from outweigh.compare.evidence import Evidence
from outweigh.compare.inference import Population, infer
from outweigh.compare.judge_panel import judge_panel
from outweigh.compare.ladder import Ladder, climb
from outweigh.errors import UsageError
from outweigh.ports.reporters import Reporter
from outweigh.report.document import Report
from outweigh.report.report_contract import Judged, Provenance
from outweigh.report.report_view import joint_report
from outweigh.report.setup_view import with_setup
from outweigh.report.wording import visible
from outweigh.score.profile import PROFILES

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
    policy, command = chosen_policy(options), shlex.join(["outweigh", "report", *arguments])
    if options.output is None:
        show(whole_report(options, policy, command), "text")
        return ExitCode.SATISFIED
    target = Path(options.output)
    reporter = REPORTERS.get(target.suffix)
    if reporter is None:
        raise UsageError(f"-o {target}: the name must end in one of {', '.join(REPORTERS)}.")
    report = whole_report(options, policy, command)
    write_whole(target, [reporter().render(report).encode()])
    print(f"{visible(report.headline)}\nwritten to {visible(str(target))}")
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


def whole_report(options: argparse.Namespace, policy: ChosenPolicy, command: str) -> Report:
    """Everything about the runs that the options name, before it has a format."""
    evidence = gather_evidence(options)
    baseline, candidates = arms_to_compare(options, evidence, several=True)
    profile = PROFILES[profile_for(options.profile, options.runs)]
    comparisons = [compare(evidence, baseline, name, profile) for name in candidates]
    experiment = experiment_behind(options.runs)
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
    answer = joint_report(_judge(options, policy, comparisons), provenance, _ladder(evidence, experiment))
    return with_setup(answer, setup_behind(options.runs, baseline, candidates))


def _ladder(evidence: Evidence, experiment: Experiment | None) -> Ladder | None:
    """The suite's tiers, where it has several and all of them have runs."""
    tiers = {} if experiment is None else experiment.tiers
    if len(tiers) < 2 or not tiers.keys() <= evidence.arms.keys():
        return None
    return climb(evidence, sorted(tiers, key=lambda arm: tiers[arm]))


def _judge(options: argparse.Namespace, policy: ChosenPolicy, comparisons: Sequence[Comparison]) -> list[Judged]:
    population = Population(options.infer)
    return [
        Judged(
            comparison=comparison,
            inference=infer(comparison, population=population, method=Method.T, seed=options.seed),
            panel=judge_panel(comparison.judging, options.seed),
            verdict=verdict,
        )
        for comparison, verdict in zip(comparisons, policy.decide(comparisons), strict=True)
    ]
