"""From a change of an agent's set-up to a first answer: find or mine tasks, plan, run within a budget, and decide.

Everything is an ordinary suite in `outweigh-try` and an ordinary store in `outweigh-runs`.
"""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from outweigh.app.check_before_run import IGNORE_HINT
from outweigh.app.decide import DecideRequest, DecisionResult
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.observer import Notify, RunObserver
from outweigh.app.report import ReportRequest, report
from outweigh.app.run import run
from outweigh.app.run_request import RunPreview, RunRequest
from outweigh.app.suite_selection import SuiteRequest, read_suite
from outweigh.app.this_folder import RUNS_FOLDER
from outweigh.app.try_agent import TryAgent, choose_agent
from outweigh.app.try_budget import (
    FEWEST_TASKS,
    TYPICAL_RUN_SECONDS,
    RunPrice,
    choose_tasks,
    default_budget,
    price_runs,
    require_two_tasks,
)
from outweigh.app.try_subject import NamedSubject, SubjectKind, TrySubject
from outweigh.app.try_suite import BASELINE, MINED_FOLDER, TRY_FOLDER, TrySuiteDraft, keep_out_of_git, untouched_tasks
from outweigh.engine.batch import EndReason
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError, quote_names
from outweigh.model.failure import detail_line
from outweigh.model.model_name import bare_model_name
from outweigh.model.suite import SUITE_FILE, PolicySpec, SuiteSpec
from outweigh.model.task import Task
from outweigh.plugins import load_adapter
from outweigh.prices import price_tables
from outweigh.report.formatting import count_of
from outweigh.report.try_page import TryForecast
from outweigh.store.find_stores import has_records
from outweigh.store.store_set import StoreSet
from outweigh.verdict.decision_chance import DecisionOutlook, DecisionSimulation
from outweigh.verdict.evidence_settings import COST_OF_PASS, GATED_METRICS, JUDGE_SCORE, PASS_RATE, evidence_settings
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.public_variation import public_populations
from outweigh.verdict.rule_on_arrays import CURRENT_RULE
from outweigh.workspace.revisions import GitRevisions

if TYPE_CHECKING:
    from outweigh.mining.journal import MinedCandidate

REPORT_FILE = "report.html"
SHOWN_REASONS = 2
NO_SUITE = SuiteSpec(name="none", tasks=["tasks/*"], arms={}, baseline="baseline")
"""The settings where the repository has no suite yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryChangeRequest:
    """What to try, and how much to spend on it. `gain` is the rise of the pass rate that chances are told for.

    Without a budget it is the usual one, or what the fewest tasks cost that can be decided on.
    """

    named: str
    suite: str | None = None
    agent: str | None = None
    model: str | None = None
    base: str | None = None
    budget_usd: float | None = None
    run_usd: float | None = None
    gain: float = 0.1
    jobs: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTry:
    """A suite that is written and checked, and of which nothing was run yet."""

    request: TryChangeRequest
    subject: TrySubject
    agent: TryAgent
    suite: LoadedSuite
    store: Path
    forecast: TryForecast

    @property
    def pretends(self) -> str | None:
        """Why no real agent takes part; None where one does."""
        return self.agent.pretends

    def run(self, observer: RunObserver) -> EndReason:
        """Run until the evidence decides, within the budget."""
        keep_out_of_git(self.store.parent)
        try:
            ended = run(_run_request(self.suite, self.store, self.request), observer)
        except UsageError as fault:  # -y of a try agrees to the cost, and to nothing that was found wrong
            raise UsageError(str(fault).removesuffix(IGNORE_HINT).rstrip()) from None
        assert isinstance(ended, EndReason), "neither a dry run nor two revisions were asked for"
        return ended

    def decide(self) -> tuple[DecisionResult, Path]:
        """The verdict on the store, and the report that was written beside it."""
        page = self.store / REPORT_FILE
        command = shlex.join(["outweigh", "report", str(self.store), "-o", str(page)])
        request = DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([str(self.store)])))
        return report(ReportRequest(decide=request, command=command, output=page)).decided, page


def prepare_try(request: TryChangeRequest, observer: RunObserver) -> PreparedTry:
    """Find out what to run, write the suite, and say what to expect of it. Nothing is paid for."""
    top = _repository()
    named = NamedSubject(request.named, top, request.base)
    found = find_suite(request.suite, top)
    source = LoadedSuite(spec=NO_SUITE, folder=top, tasks=(), arms={}, overlays={}, origins={})
    if found is not None:
        source = read_suite(str(found))
    agent = choose_agent(source, named.read_by, request.agent, request.model, named.read_as)
    if named.kind is SubjectKind.MODEL:
        _require_model(request.named, agent)
    subject = named.for_agent(agent.name)
    price = price_runs(source, agent, subject.after.model, request.run_usd)
    budget_usd = default_budget(price) if request.budget_usd is None else request.budget_usd
    request = replace(request, budget_usd=budget_usd)
    wanted = require_two_tasks(price, budget_usd)
    if found is None or (found == top / TRY_FOLDER / MINED_FOLDER and len(source.tasks) < wanted):
        source = _mine_tasks(top, wanted, request.jobs, observer)
    tasks = choose_tasks(_usable_tasks(source, subject, observer.notify), wanted)
    draft = TrySuiteDraft(
        source=source,
        tasks=tasks,
        agent=agent,
        subject=subject,
        budget_usd=budget_usd,
        run_cap_usd=price.cap_usd,
    )
    suite = draft.write(top)
    store = _from_here(top / RUNS_FOLDER / suite.spec.name)
    preview = run(_run_request(suite, store, request, dry_run=True), observer)
    assert isinstance(preview, RunPreview)
    return PreparedTry(
        request=request,
        subject=subject,
        agent=agent,
        suite=suite,
        store=store,
        forecast=_forecast(request, draft, suite, preview, price),
    )


def _mine_tasks(top: Path, tasks: int, jobs: int, observer: RunObserver) -> LoadedSuite:
    """A small suite of the repository's own history, in a folder that later tries find again. It costs nothing."""
    from outweigh.app.mine_suite import MineRequest, mine_suite  # noqa: PLC0415 - most tries have a suite

    folder = top / TRY_FOLDER / MINED_FOLDER
    observer.notify(f"no suite here has {tasks} tasks, so they are made from the repository's history; that is free")
    is_new = not folder.parent.exists()
    try:
        mined = mine_suite(
            MineRequest(repository=top, folder=folder, tasks=tasks, jobs=jobs),
            listen=lambda progress: observer.notify(
                f"{progress.kept} of {tasks} tasks made from {count_of(progress.tried, 'change')}"
            ),
        )
        if mined.kept < FEWEST_TASKS:
            raise UsageError(explain_few_tasks(mined.kept, mined.results.values()))
    except UsageError as fault:
        shutil.rmtree(folder.parent if is_new else folder, ignore_errors=True)
        raise UsageError(f"{fault} A suite that you have already is named with -s SUITE.") from None
    keep_out_of_git(folder.parent)
    return read_suite(str(folder))


def explain_few_tasks(kept: int, tried: "Collection[MinedCandidate]") -> str:
    """Why a history gives too few tasks: the commonest reasons, and what was seen where the first of them applies."""
    counted = Counter(each.reason for each in tried if each.reason).most_common(SHOWN_REASONS)
    why = "; ".join(f"{reason} ({number} of them)" for reason, number in counted)
    seen = next((each.detail for each in tried if counted and each.reason == counted[0][0] and each.detail), "")
    shown = f" The first of these ended with: {detail_line(seen).rstrip('.')}." if seen else ""
    return (
        f"the history gives {count_of(kept, 'task')}, and at least {FEWEST_TASKS} are needed. Others were refused: "
        f"{why}.{shown} `outweigh init my-suite --from-git .` takes other commands for the set-up and the tests."
    )


def _repository() -> Path:
    try:
        return GitRevisions(Path.cwd()).top.resolve()
    except UsageError:
        raise UsageError(
            f"{Path.cwd()} is not in a working copy of a git repository, and what is tried is compared with the "
            "repository without it. Run this inside the repository."
        ) from None


def find_suite(named: str | None, top: Path) -> Path | None:
    """The suite that is named, that of this folder or of the repository, or the one that was mined earlier."""
    if named is not None:
        return Path(named)
    for folder in dict.fromkeys((Path.cwd(), top)):
        below = sorted(file.parent for file in folder.glob(f"*/{SUITE_FILE}") if file.is_file())
        found = [folder] if (folder / SUITE_FILE).is_file() else below
        if len(found) > 1:
            raise UsageError(f"there are several suites here: {quote_names([*map(str, found)])}. Name one with -s.")
        if found:
            return found[0]
    mined = top / TRY_FOLDER / MINED_FOLDER
    return mined if (mined / SUITE_FILE).is_file() else None


def _usable_tasks(source: LoadedSuite, subject: TrySubject, notify: Notify) -> tuple[Task, ...]:
    usable = untouched_tasks(source.tasks, (*subject.without, *subject.after.files))
    if left_out := len(source.tasks) - len(usable):
        notify(f"{left_out} of {len(source.tasks)} tasks are left out: their solutions change {subject.name} itself.")
    if len(usable) < FEWEST_TASKS:
        raise UsageError(
            f"{source.spec.name} has {count_of(len(usable), 'task')} that {subject.name} can be tried on, and at least "
            f"{FEWEST_TASKS} are needed. Add tasks to the suite, or name another one with -s."
        )
    return usable


def _require_model(named: str, agent: TryAgent) -> None:
    """Refuse a name that is neither a file nor a model that anybody knows."""
    aliases = getattr(load_adapter("agent", agent.name), "model_aliases", {})
    if named not in aliases and price_tables(None).prices(bare_model_name(named)) is None:
        raise UsageError(
            f"there is no file or folder {named!r}, and no price list has a model of that name. Name a file such as "
            "CLAUDE.md, a folder with a skill or a plugin, a .mcp.json, or a model."
        )
    if agent.spec.model == named:
        raise UsageError(f"{named} is the model of the baseline already; name another model, or another -m.")


def _run_request(suite: LoadedSuite, store: Path, request: TryChangeRequest, *, dry_run: bool = False) -> RunRequest:
    policy = suite.spec.policy
    return RunRequest(
        suite=SuiteRequest(path=str(suite.folder)),
        output=store,
        jobs=request.jobs,
        budget_usd=request.budget_usd,
        reuse=tuple(str(earlier) for earlier in _earlier_stores(store)),
        until_decided=policy.name == "evidence" and JUDGE_SCORE not in (policy.gates or ()),
        dry_run=dry_run,
    )


def _earlier_stores(store: Path) -> list[Path]:
    """Stores of earlier tries of the same thing, such as with a smaller budget; what fits of them is not run again."""
    if has_records(store):
        return []
    family = re.compile(re.escape(re.sub(r"-\d+$", "", store.name)) + r"(-\d+)?")
    beside = sorted(store.parent.iterdir()) if store.parent.is_dir() else []
    return [path for path in beside if path != store and family.fullmatch(path.name) and has_records(path)]


def _forecast(
    request: TryChangeRequest, draft: TrySuiteDraft, suite: LoadedSuite, preview: RunPreview, price: RunPrice
) -> TryForecast:
    runs = len(preview.missing)
    version = getattr(load_adapter("agent", draft.agent.name), "version", None)
    return TryForecast(
        subject=draft.subject.name,
        baseline=draft.describe_baseline(),
        candidate=draft.describe_candidate(),
        agent=draft.agent.name,
        agent_version=None if version is None else version(suite.arms[BASELINE]),
        model=draft.agent.spec.model,
        suite=str(_from_here(draft.source.folder)),
        tasks=len(suite.tasks),
        suite_tasks=len(draft.source.tasks),
        runs=runs,
        reused=len(preview.plan) - runs,
        sandbox=preview.sandbox or "",
        run_usd=price.run_usd,
        price_source=price.source,
        budget_usd=draft.budget_usd,
        seconds=runs * TYPICAL_RUN_SECONDS / request.jobs,
        outlook=_outlook(suite.spec.policy, len(suite.tasks), request.gain),
        folder=str(_from_here(suite.folder)),
        store=str(preview.folder),
        pretends=draft.agent.pretends,
    )


def _outlook(policy: PolicySpec, tasks: int, gain: float) -> DecisionOutlook | None:
    """How likely a decision is, with the variation of public records of agents; None for a policy that has no looks."""
    if policy.name != "evidence" or JUDGE_SCORE in (policy.gates or ()):
        return None
    usual = tuple(name for name, gated in GATED_METRICS.items() if not gated.only_when_named)
    named = tuple(name for name in policy.gates or usual if name != COST_OF_PASS)
    gates = tuple(dict.fromkeys((PASS_RATE, *named)))
    settings = evidence_settings(
        gates=gates,
        margins={name: value for name, value in policy.margins.items() if name in gates},
        tolerances={name: value for name, value in policy.tolerances.items() if name in gates},
    )
    simulation = DecisionSimulation(
        populations=public_populations(gates), limits=gates_without_pilot(gates, settings).limits, rule=CURRENT_RULE
    )
    return simulation.outlook(tasks, gain)


def _from_here(path: Path) -> Path:
    """A path as a user of this folder would write it."""
    return path.relative_to(Path.cwd().resolve()) if path.is_relative_to(Path.cwd().resolve()) else path
