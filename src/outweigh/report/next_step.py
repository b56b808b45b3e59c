"""What to do after a verdict: a few words, and a command that works when it is pasted."""

import shlex
from itertools import chain

import numpy as np
from msgspec import Struct

from outweigh.compare.comparison import Comparison
from outweigh.compare.pilot import read_pilot
from outweigh.compare.run_columns import numbers_of
from outweigh.compare.task_comparison import TaskComparison
from outweigh.errors import EvidenceError
from outweigh.report.formatting import count_of, format_dollars, option_words
from outweigh.verdict.decision import Decision, GateState, RequiredSample, Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, JUDGE_SCORE, PASS_RATE, WORTH_GATE, gate_title
from outweigh.verdict.promotion import may_promote

EXAMPLE_VALUE_USD = "10"
PLAN_RULE_OPTIONS = frozenset({"--gates", "--policy-version", "--seed"})
"""What `outweigh plan` takes of the options that choose a rule. `outweigh promote` takes none of them."""


class VerdictCommand(Struct, frozen=True, kw_only=True):
    """The command that asked for a verdict, and what other commands about the same records are made of.

    `runs` are the records as they were named. `arm_options` choose the arms, and are empty where the suite names them.
    `reading_options` say how to read the records, `rule_options` how to decide, each with its value: a command that
    lacks one of them could come to another decision.
    `store` is the folder of an experiment; None where there is none, so that commands that need one are not offered.
    `beside` is how names of files beside a bundle begin, where the store is in one; nothing can be written into it.
    `keeps_runs` says whether `outweigh diff` can read the records, `written` where the report has been written already.
    """

    words: str
    runs: tuple[str, ...]
    arm_options: tuple[str, ...] = ()
    reading_options: tuple[str, ...] = ()
    rule_options: tuple[tuple[str, ...], ...] = ()
    store: str | None = None
    beside: str | None = None
    keeps_runs: bool = True
    written: str | None = None

    @property
    def can_promote(self) -> bool:
        """Whether `outweigh promote` would decide as this command does: it follows the suite's own rule."""
        return self.store is not None and self.has_only(frozenset())

    @property
    def can_diff(self) -> bool:
        """Whether `outweigh diff` finds the runs: it takes one store, and no options about reading."""
        return self.keeps_runs and len(self.runs) == 1 and not self.reading_options

    def again(self, *options: str) -> str:
        """The same command with more options."""
        return f"{self.words} {shlex.join(options)}"

    def about(self, verb: str, candidate: str) -> str:
        """Another command about one candidate of the same records."""
        baseline = self.arm_options[: 1 if "=" in "".join(self.arm_options[:1]) else 2]
        arms = (*baseline, *option_words("--candidate", candidate))
        return shlex.join(["outweigh", verb, *self.runs, *arms, *self._all_options()])

    def has_only(self, accepted: frozenset[str]) -> bool:
        """Whether a verb that takes these rule options can follow the rule of this command."""
        return all(option in accepted for option, *_ in self.rule_options)

    def report(self) -> str:
        """The command that writes the report; into the store where there is one, and beside a bundle."""
        page = "report.html" if self.store is None else f"{self.store.rstrip('/')}/report.html"
        if self.beside is not None:
            page = f"{self.beside}-report.html"
        return shlex.join(["outweigh", "report", *self.runs, *self.arm_options, *self._all_options(), "-o", page])

    def _all_options(self) -> tuple[str, ...]:
        return (*self.reading_options, *chain.from_iterable(self.rule_options))


class NextStep(Struct, frozen=True, kw_only=True):
    """What to do, and the command that does it; None where no command of outweigh does."""

    words: str
    command: str | None


def next_step(verdict: Verdict, comparison: Comparison, command: VerdictCommand) -> NextStep:
    """The one thing to do next about a candidate."""
    candidate = comparison.candidate.name
    judged = command.store if command.beside is None else None
    if judged is not None and (missing := unjudged_runs(verdict, comparison)):
        lacking = "1 run has no judgment; judge it" if missing == 1 else f"{missing} runs have no judgment; judge them"
        failed = any(call.invalid and not call.replaced for calls in comparison.judging.values() for call in calls)
        again = ("--retry-invalid",) if failed else ()
        return NextStep(
            words=f"{lacking}, then decide again",
            command=shlex.join(["outweigh", "judge", judged, *again]),
        )
    match verdict.decision:
        case Decision.IMPROVED if may_promote(verdict, comparison.evidence_sha256) and command.can_promote:
            return NextStep(
                words="see the pull request that would ship it", command=command.about("promote", candidate)
            )
        case Decision.TRADE_OFF:
            words = f"say what a solved task is worth to you, for example ${EXAMPLE_VALUE_USD}"
            return NextStep(words=words, command=command.again("--value", EXAMPLE_VALUE_USD))
        case Decision.REGRESSED if (lost := _lost_task(comparison)) is not None and command.can_diff:
            pair = (f"{lost.task_id}/{arm}/{_first_repeat(comparison, lost, arm)}" for arm in _names(comparison))
            words = f"compare a run of {lost.task_id}, where the candidate lost most, side by side"
            return NextStep(words=words, command=shlex.join(["outweigh", "diff", *command.runs, *pair]))
        case Decision.INCONCLUSIVE if (step := _step_to_decide(verdict, comparison, command)) is not None:
            return step
    return _read_report(command)


def _read_report(command: VerdictCommand) -> NextStep:
    if command.written is not None:
        return NextStep(words=f"open {command.written}", command=None)
    return NextStep(words="read the report", command=command.report())


def _step_to_decide(verdict: Verdict, comparison: Comparison, command: VerdictCommand) -> NextStep | None:
    """More tasks or repeats, or fewer gates where records lack or estimate a resource; None where nothing helps."""
    if verdict.needs is not None and not _unusable(verdict):
        words = describe_needs(verdict.needs, simulated=comparison.simulated)
        if command.has_only(PLAN_RULE_OPTIONS) and _shows_variation(verdict, comparison):
            return NextStep(words=words, command=command.about("plan", comparison.candidate.name))
        return NextStep(words=f"{words}; the report says what is open", command=command.report())
    if unrecorded := _unrecorded_resources(verdict):
        known = [gate.name for gate in verdict.gates if gate.name not in unrecorded]
        words = f"decide without {' and '.join(map(gate_title, unrecorded))}, which the records do not have"
        return NextStep(words=words, command=command.again("--gates", ",".join(known)))
    if verdict.needs is None and (estimated := _estimated_resources(verdict, comparison)):
        known = [gate.name for gate in verdict.gates if gate.name not in estimated]
        words = f"decide without {' and '.join(map(gate_title, estimated))}, which some runs only estimate"
        return NextStep(words=words, command=command.again("--gates", ",".join(known)))
    return None


def _estimated_resources(verdict: Verdict, comparison: Comparison) -> list[str]:
    """Gates on resources that some runs estimate, where others are left to decide."""
    ranges = {*comparison.baseline_table.ranges, *comparison.candidate_table.ranges}
    estimated = [gate.name for gate in verdict.gates if GATED_METRICS.get(gate.name, WORTH_GATE).metric in ranges]
    return estimated if len(estimated) < len(verdict.gates) else []


def _shows_variation(verdict: Verdict, comparison: Comparison) -> bool:
    """Whether `outweigh plan` can take these records for a pilot; it refuses those that do not vary."""
    names = {gate.name for gate in verdict.gates}
    metric = GATED_METRICS[JUDGE_SCORE if JUDGE_SCORE in names and PASS_RATE not in names else PASS_RATE]
    try:
        read_pilot(comparison, metric.metric, logs=False)
    except EvidenceError:
        return False
    return True


def _unrecorded_resources(verdict: Verdict) -> list[str]:
    """Gates on resources that an arm has no figure of, where nothing else keeps the gates from deciding."""
    unknown = [gate for gate in verdict.gates if gate.state is GateState.UNKNOWN]
    if not any(gate.name == PASS_RATE and gate.state is not GateState.UNKNOWN for gate in verdict.gates):
        return []
    unrecorded = [gate.name for gate in unknown if gate.baseline is None or gate.candidate is None]
    return unrecorded if len(unrecorded) == len(unknown) else []


def unjudged_runs(verdict: Verdict, comparison: Comparison) -> int:
    """How many counted runs have no judgment, where the verdict is to go by one; 0 where it is not."""
    waits = any(gate.name == JUDGE_SCORE and gate.state is GateState.UNKNOWN for gate in verdict.gates)
    if not waits:
        return 0
    tables = (comparison.baseline_table, comparison.candidate_table)
    return sum(int(np.isnan(numbers_of(table.runs, "judge_score")).sum()) for table in tables)


def describe_needs(needs: RequiredSample, *, simulated: bool) -> str:
    """What it would probably take to decide, in one sentence."""
    if not needs.more_tasks:
        return f"about {count_of(needs.more_repeats or 0, 'more repeat')} of every task would probably decide"
    price = "" if needs.cost_usd is None or simulated else f" (about {format_dollars(needs.cost_usd)})"
    fewer = needs.more_tasks_as_seen
    seen = f", or {fewer:,} if the effects are as large as they look" if fewer and fewer < needs.more_tasks else ""
    return f"about {count_of(needs.more_tasks, 'more task')}{price} would probably decide{seen}"


def _unusable(verdict: Verdict) -> bool:
    return any(gate.state is GateState.UNKNOWN for gate in verdict.gates)


def _names(comparison: Comparison) -> tuple[str, str]:
    return comparison.baseline.name, comparison.candidate.name


def _lost_task(comparison: Comparison) -> TaskComparison | None:
    """The task on which the candidate lost most of its checks."""
    tasks = comparison.tasks
    fall = tasks.candidate.means("objective") - tasks.baseline.means("objective")
    if not (fall < 0).any():
        return None
    return tasks[min(np.flatnonzero(fall == np.nanmin(fall)).tolist(), key=tasks.names.__getitem__)]


def _first_repeat(comparison: Comparison, task: TaskComparison, arm: str) -> int:
    """A run that shows the loss: the baseline's that passed, the candidate's that did not; else the first."""
    table = comparison.baseline_table if arm == comparison.baseline.name else comparison.candidate_table
    rows = np.flatnonzero(table.task_of == table.tasks.index(task.task_id))
    repeats, passed = numbers_of(table.runs, "repeat")[rows], table.columns["passed"][rows]
    wanted = repeats[passed == (1.0 if arm == comparison.baseline.name else 0.0)]
    return int(wanted[0] if len(wanted) else repeats[0])
