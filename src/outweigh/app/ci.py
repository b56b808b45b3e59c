"""Base against head as one step of a CI job: run, decide, write the reports and the comment, set the job's outputs."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from outweigh.app.ci_host import CiHost
from outweigh.app.decide import CandidateResult, DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.ledger import default_ledger, enter_verdict
from outweigh.app.observer import Notify, RunObserver
from outweigh.app.report import REPORTERS, ReportRequest, ReportResult, report
from outweigh.app.run import run_suite
from outweigh.app.run_request import RunPreview, RunRequest
from outweigh.app.suite_selection import HEAD, choose_suite, nothing_to_compare
from outweigh.engine.batch import EndReason
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.gateway.named_providers import provider_variables
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
from outweigh.report.render_markdown import MarkdownReporter
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.report.verdict_summary import decision_reason
from outweigh.store.durable_files import make_folder, write_atomic
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet

HEAD_DIGITS = 10
COMMENT_FILE, REPORT_NAME = "comment.md", "report"
UNFINISHED = (EndReason.INCOMPLETE, EndReason.BUDGET, EndReason.STOPPED, EndReason.UNJUDGED)
"""Ends of a run that fail the job, whatever the records decide so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CiRequest:
    """What to run, between which two commits, and what the candidate is required to be.

    `ledger` is the file with the repository's verdicts; without one it lies beside the pins, or beside the store.
    `history` is a folder that the records are copied to, one folder for each head.
    """

    run: RunRequest
    require: str = "improved"
    ledger: Path | None = None
    history: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CiResult:
    """What the job reports. `ended` is None where nothing was run; `meets` is None where nothing was decided."""

    outcome: CiOutcome
    ended: EndReason | None
    meets: bool | None


def run_ci(request: CiRequest, host: CiHost, observer: RunObserver, warn: Notify) -> CiResult | RunPreview | EndReason:
    """Do the whole step; only a preview in a dry run, and only why it ended where it was interrupted.

    `warn` takes what nobody should overlook on the page of the job.
    """
    run = request.run
    if run.suite.base is None or run.suite.head is None:
        raise UsageError("a CI job compares two commits; name them with --base and --head.")
    with choose_suite(run.suite) as suite:
        folder = run.store_folder(suite)
        step = _CiStep(suite=suite, folder=folder, host=host, warn=warn, skip_invalid=run.go_on_without)
        if (why := nothing_to_compare(suite, run.suite)) is not None:
            return step.skip(NoDecision.NOTHING_TO_COMPARE, why)
        if (why := _why_not_run(suite, host)) is not None:
            warn(why)
            return step.skip(NoDecision.NO_SECRETS, why)
        ended = run_suite(suite, run, observer)
        if isinstance(ended, RunPreview) or ended is EndReason.INTERRUPTED:
            return ended
        if request.history is not None:
            keep_records(folder, request.history / f"{suite.spec.name}-{suite.origins[HEAD].commit[:HEAD_DIGITS]}")
        return step.decide(ended, request.require, request.ledger or default_ledger(run.reuse, step.folder))


def keep_records(store: Path, target: Path) -> None:
    """Copy what `outweigh history` reads of a store: its records and what it was for. An earlier copy is replaced."""
    try:
        make_folder(target)
        for file in (*store.glob(f"*{RECORDS_SUFFIX}"), store / EXPERIMENT_FILE):
            write_atomic(target / file.name, [file.read_bytes()])
    except OSError as fault:
        raise UsageError(f"--history {target} cannot be written: {fault.strerror}. Name another folder.") from fault


def _why_not_run(suite: LoadedSuite, host: CiHost) -> str | None:
    """Why the agents cannot be asked, where the job is known to get no secrets; None where they can."""
    reason = host.withholds_secrets
    if reason is None or not _lacks_secrets(suite, host.environment):
        return None
    return (
        f"not run: {reason}, so this job has no key for a model. Nothing was judged; ask a maintainer to run it "
        "from a branch of this repository."
    )


def _lacks_secrets(suite: LoadedSuite, environment: Mapping[str, str]) -> bool:
    arms, gateway = suite.arms.values(), suite.spec.gateway
    if any(not environment.get(name) for arm in arms for name in arm.secrets):
        return True
    if suite.spec.executor is Executor.HARBOR:
        return any(not environment.get(name) for name in suite.spec.harbor.pass_environment)
    model_users = [arm for arm in arms if load_adapter("agent", arm.agent).uses_model(arm)]
    named = {arm.provider_name for arm in model_users if arm.provider_name is not None}
    needed = (variable for name in named for variable in provider_variables(suite.spec.providers[name]))
    if any(not environment.get(variable) for variable in needed):
        return True
    keys = [provider.key for provider in (gateway.anthropic, gateway.openai, gateway.gemini)]
    asks = any(arm.upstream_name is None for arm in model_users)
    return asks and not any(key == "" or environment.get(key) for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CiStep:
    """One suite in one job: what is decided about it, and where that is published."""

    suite: LoadedSuite
    folder: Path
    host: CiHost
    warn: Notify
    skip_invalid: bool

    def skip(self, reason: NoDecision, words: str) -> CiResult:
        """Publish that nothing was run; the check is satisfied."""
        outcome = undecided_outcome(reason, words)
        self._publish(outcome, None)
        return CiResult(outcome=outcome, ended=None, meets=True)

    def decide(self, ended: EndReason, requirement: str, ledger: Path) -> CiResult:
        """Decide about the records, enter that in the ledger, write the reports, and publish them."""
        verdict = decide(self._decide_request()).only.verdict
        note = enter_verdict(self.folder, self.suite.spec.name, verdict, ledger)
        written = self._write_reports()
        page, meets = written.document(), written.decided.meets(requirement)
        runs = list(Store.open(self.folder).runs())
        paid = [amount_paid(run) for run in runs]
        outcome = decided_outcome(
            page.payload,
            page.headline,
            satisfied=meets is True and ended not in UNFINISHED,
            cost_usd=None if None in paid else sum(cost or 0.0 for cost in paid),
            cost_is_estimated=any(run.cost.is_estimated for run in runs),
            runs=len(runs),
            reused_runs=sum(REUSED_LABEL in run.extra for run in runs),
            ledger=note,
        )
        outcome = replace(outcome, **_verdict_words(written.decided.only))
        self._publish(outcome, page)
        return CiResult(outcome=outcome, ended=ended, meets=meets)

    def _decide_request(self) -> DecideRequest:
        return DecideRequest(
            evidence=EvidenceRequest(stores=StoreSet.open([str(self.folder)]), skip_invalid=self.skip_invalid)
        )

    def _write_reports(self) -> ReportResult:
        words = [str(self.folder), "-o", str(self._report_file(".html"))]
        written = report(
            ReportRequest(
                decide=self._decide_request(),
                command=shlex.join(["outweigh", "report", *words]),
            )
        )
        for suffix in REPORTERS:
            written.save(self._report_file(suffix))
        return written

    def _report_file(self, suffix: str) -> Path:
        return self.folder / f"{REPORT_NAME}{suffix}"

    def _publish(self, outcome: CiOutcome, page: Report | None) -> None:
        """Tell the job, and leave the comment for a step that may write comments."""
        comment = _comment(self.suite, self.host, outcome, page)
        try:
            make_folder(self.folder)
        except OSError as fault:
            raise UsageError(
                f"{self.folder} cannot be made: {fault.strerror}. Name a folder to write to with -o."
            ) from fault
        comment_file = self.folder / COMMENT_FILE
        write_atomic(comment_file, [comment.encode()])
        self.host.add_summary(comment)
        shown = "" if page is None else str(self._report_file(".html"))
        self.host.set_outputs({**step_outputs(outcome, shown), "comment-path": str(comment_file)})
        for note in self.suite.notes:
            self.warn(note)


def _comment(suite: LoadedSuite, host: CiHost, outcome: CiOutcome, report: Report | None) -> str:
    return render_comment(
        outcome,
        "" if report is None else MarkdownReporter().render(report),
        suite=suite.spec.name,
        headline=_words(outcome.headline),
        said=(_words(outcome.sentence), _words(outcome.reason)),
        notes="\n\n".join(filter(None, (_ledger(outcome), _notes(_setup_notes(suite, report))))),
        run=host.run,
        link=host.link,
    )


def _ledger(outcome: CiOutcome) -> str:
    return "" if outcome.ledger is None else _words(outcome.ledger.words)


def _words(text: str) -> str:
    """A foreign sentence as Markdown, so that it stays words."""
    return _markdown(text).removeprefix("## ") if text else ""


def _verdict_words(candidate: CandidateResult) -> dict[str, str | bool]:
    """What the comment says first: the effects, and what the decision rests on."""
    reason = decision_reason(candidate.verdict, candidate.comparison)
    return {
        "sentence": effect_sentence(candidate.verdict, candidate.comparison),
        "reason": f"{reason[:1].upper()}{reason[1:].removesuffix('.')}.",
        "simulated": candidate.comparison.simulated,
    }


def _setup_notes(suite: LoadedSuite, report: Report | None) -> Sequence[str]:
    return suite.notes if report is None else report.payload.get("setup", {}).get("notes", ())


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    page = _markdown("", BulletList(title="Read this first", items=tuple(notes), tone=Tone.BAD))
    return page.partition("\n\n")[2]


def _markdown(headline: str, *blocks: Block) -> str:
    """Foreign words as Markdown, so that they stay words."""
    return MarkdownReporter().render(Report(headline=headline, tone=Tone.PLAIN, blocks=blocks, payload={})).strip()
