"""`outweigh ci`: base against head as one step of a CI job: run, decide, write the reports, set the job's outputs."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from outweigh.app.ci_host import CiHost, current_host
from outweigh.app.decide import REQUIREMENTS, DecideRequest
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.report import REPORTERS, ReportRequest, report
from outweigh.app.run import RunPreview, run_suite
from outweigh.app.suite_selection import choose_suite, nothing_to_compare
from outweigh.cli.console import write_notice
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.progress import ConsoleObserver
from outweigh.cli.run import RunOptions, print_preview, run_parser
from outweigh.engine.batch import EndReason
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.run_record import REUSED_LABEL, amount_paid
from outweigh.model.suite import Executor
from outweigh.plugins import load_adapter
from outweigh.report.ci_outcome import (
    CiOutcome,
    NoDecision,
    decided_outcome,
    render_comment,
    step_outputs,
    undecided_outcome,
)
from outweigh.report.document import Block, BulletList, Report, Tone
from outweigh.report.formatting import escape_controls
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.store.durable_files import make_folder, write_atomic
from outweigh.store.store import Store, StoreSet
from outweigh.verdict.decision import Decision

COMMENT_FILE = "comment.md"


class _Options(RunOptions):
    """The options of `run`, and what the candidate is required to be."""

    require: str


def main(arguments: Sequence[str]) -> int:
    """Exit as `outweigh verdict` does; 0 as well where there is nothing to judge, or nothing to judge it with."""
    options, host = _parse(arguments), current_host()
    request = options.run_request()
    with choose_suite(request.suite) as suite:
        folder = request.store_folder(suite)
        if (why := nothing_to_compare(suite, request.suite)) is not None:
            return _publish(folder, suite, host, undecided_outcome(NoDecision.NOTHING_TO_COMPARE, why), None)
        if (why := _why_not_run(suite, host)) is not None:
            _warn(host, why)
            return _publish(folder, suite, host, undecided_outcome(NoDecision.NO_SECRETS, why), None)
        ended = run_suite(suite, request, ConsoleObserver(options.events))
        if isinstance(ended, RunPreview):
            print_preview(ended)
            return ExitCode.SATISFIED
        if ended is EndReason.INTERRUPTED:
            return ExitCode.INTERRUPTED
        page = _write_reports(folder)
        outcome, code = _judged_outcome(folder, page, options.require)
        _publish(folder, suite, host, outcome, page)
    exhausted = ended is EndReason.BUDGET and code == ExitCode.UNUSABLE_EVIDENCE
    return ExitCode.BUDGET_EXHAUSTED if exhausted else code


def _warn(host: CiHost, text: str) -> None:
    """Where nobody overlooks it."""
    if (line := host.annotation(text)) is not None:
        write_notice(line, sys.stdout)
    else:
        write_notice(f"outweigh: {text}\n", sys.stderr)


def _why_not_run(suite: LoadedSuite, host: CiHost) -> str | None:
    """Why the agents cannot be asked, where the job is known to get no secrets; None where they can."""
    reason = host.withholds_secrets
    if reason is None or not _lacks_secrets(suite, host.environment):
        return None
    return (
        f"not run: {reason}, so this job has no key for a model. Nothing was judged; let somebody with the rights run "
        "it from a branch of this repository."
    )


def _lacks_secrets(suite: LoadedSuite, environment: Mapping[str, str]) -> bool:
    arms, gateway = suite.arms.values(), suite.spec.gateway
    if any(not environment.get(name) for arm in arms for name in arm.secrets):
        return True
    if suite.spec.executor is Executor.HARBOR:
        return any(not environment.get(name) for name in suite.spec.harbor.pass_environment)
    keys = [provider.key for provider in (gateway.anthropic, gateway.openai, gateway.gemini)]
    asks = any(load_adapter("agent", arm.agent).uses_model(arm) for arm in arms)
    return asks and not any(key == "" or environment.get(key) for key in keys)


def _write_reports(folder: Path) -> Report:
    words = [str(folder), "-o", str(folder / "report.html")]
    evidence = EvidenceRequest(stores=StoreSet.open([str(folder)]))
    command = shlex.join(["outweigh", "report", *words])
    written = report(ReportRequest(decide=DecideRequest(evidence=evidence), command=command))
    for suffix in REPORTERS:
        written.save(folder / f"report{suffix}")
    return written.document()


def _judged_outcome(folder: Path, report: Report, requirement: str) -> tuple[CiOutcome, ExitCode]:
    (verdict,) = report.payload["verdicts"]
    decision = Decision(verdict["decision"])
    satisfied = decision in REQUIREMENTS[requirement] and not verdict["regressions"]
    runs = list(Store.open(folder).runs())
    paid = [amount_paid(run) for run in runs]
    outcome = decided_outcome(
        report.payload,
        report.headline,
        satisfied=satisfied,
        cost_usd=None if None in paid else sum(cost or 0.0 for cost in paid),
        runs=len(runs),
        reused_runs=sum(REUSED_LABEL in run.extra for run in runs),
    )
    if satisfied:
        return outcome, ExitCode.SATISFIED
    undecided = decision is Decision.INCONCLUSIVE
    return outcome, ExitCode.UNUSABLE_EVIDENCE if undecided else ExitCode.NOT_SATISFIED


def _publish(folder: Path, suite: LoadedSuite, host: CiHost, outcome: CiOutcome, report: Report | None) -> int:
    """Tell the job, and leave the comment for a step that may write comments."""
    comment = _comment(suite, host, outcome, report)
    try:
        make_folder(folder)
    except OSError as fault:
        raise UsageError(f"{folder} cannot be made: {fault.strerror}. Name a folder to write to by -o.") from fault
    write_atomic(folder / COMMENT_FILE, [comment.encode()])
    host.add_summary(comment)
    page = "" if report is None else str(folder / "report.html")
    host.set_outputs({**step_outputs(outcome, page), "comment-path": str(folder / COMMENT_FILE)})
    for note in suite.notes:
        _warn(host, note)
    write_notice(f"{escape_controls(outcome.headline)}\n", sys.stdout)
    return ExitCode.SATISFIED


def _comment(suite: LoadedSuite, host: CiHost, outcome: CiOutcome, report: Report | None) -> str:
    return render_comment(
        outcome,
        "" if report is None else MarkdownReporter().render(report),
        suite=suite.spec.name,
        headline=_markdown(outcome.headline).removeprefix("## "),
        notes=_notes(suite.notes if report is None else report.payload.get("setup", {}).get("notes", ())),
        run=host.run,
        link=host.link,
    )


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    page = _markdown("", BulletList(title="Read this first", items=tuple(notes), tone=Tone.BAD))
    return page.partition("\n\n")[2]


def _markdown(headline: str, *blocks: Block) -> str:
    """Foreign words as Markdown, so that they stay words."""
    return MarkdownReporter().render(Report(headline=headline, tone=Tone.PLAIN, blocks=blocks, payload={})).strip()


def _parse(arguments: Sequence[str]) -> _Options:
    parser = run_parser("ci", "Base against head as one step of a CI job.")
    parser.add_argument(
        "--require", choices=tuple(REQUIREMENTS), default="improved", help="what exits 0 (default: %(default)s)"
    )
    options = parser.parse_args(arguments, namespace=_Options())
    if options.base is None or options.head is None:
        raise UsageError("a CI job compares two commits; name them by --base and --head.")
    return options
