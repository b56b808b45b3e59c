"""The policy that decides: the caller's settings over those of the suite that was run, and which of the two set it."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outweigh.cli.arguments import Parser
from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.model.suite import PolicySpec
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store import common_policy, experiments_of
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.policy import POLICIES, PolicySource, decide

DEFAULT_PLANNED_TASKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy with everything that was set, and by whom."""

    name: str
    margins: Mapping[str, float]
    settings: EvidenceSettings | None
    source: PolicySource

    def decide(self, comparisons: Sequence[Comparison]) -> tuple[Verdict, ...]:
        """Decide about every candidate of one baseline together."""
        return decide(comparisons, self.name, self.margins, self.settings)


def add_policy_options(parser: Parser) -> None:
    """Which rule, with which gates and margins, over how many looks."""
    parser.add_argument(
        "--policy", choices=POLICIES, help="the rule that decides, instead of the suite's (default: evidence)"
    )
    parser.add_argument(
        "--gates",
        metavar="NAME,…",
        help="what the evidence policy gates on (default: the suite's, else all; cost where it is known)",
    )
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="NAME=X",
        help="a margin of the policy, e.g. duration=0.1; others stay as the suite has them",
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="the data were, or will be, looked at more than once: hold the error rate over all looks",
    )
    parser.add_argument(
        "--planned-tasks",
        type=_parse_planned_tasks,
        metavar="N",
        help=f"where a sequential verdict is sharpest; fix it before the first look (default: {DEFAULT_PLANNED_TASKS})",
    )


def choose_policy(options: argparse.Namespace) -> ChosenPolicy:
    """What the options say, over what the suite says; `--policy` leaves nothing of the suite's."""
    experiments = experiments_of(options.runs)
    written = common_policy(experiments) if options.policy is None else None
    name = options.policy or (written.name if written else "evidence")
    looked_at = _planned_looks(experiments) if name == "evidence" else None
    _refuse_foreign_options(options, name, looked_at)
    gates, margins = _gates_and_margins(options, written)
    settings = None
    if name == "evidence":
        settings = evidence_settings(
            gates=gates,
            margins=margins,
            fixed_suite=options.infer == "runs",
            planned_tasks=options.planned_tasks or looked_at or (DEFAULT_PLANNED_TASKS if options.sequential else None),
            seed=options.seed,
        )
    return ChosenPolicy(name=name, margins=margins, settings=settings, source=_rule_source(options, written))


def _gates_and_margins(
    options: argparse.Namespace, written: PolicySpec | None
) -> tuple[Sequence[str] | None, Mapping[str, float]]:
    """Gates and margins; a margin of the suite goes with its gate when the user leaves that out."""
    gates = None if options.gates is None else [name.strip() for name in options.gates.split(",")]
    told = dict(map(_parse_margin, options.margin))
    if written is None:
        return gates, told
    kept = (
        written.margins if gates is None else {gate: written.margins[gate] for gate in gates if gate in written.margins}
    )
    return written.gates if gates is None else gates, {**kept, **told}


def _rule_source(options: argparse.Namespace, written: PolicySpec | None) -> PolicySource:
    told = options.policy is not None or options.gates is not None or bool(options.margin)
    if written is None:
        return PolicySource.COMMAND_LINE if told else PolicySource.DEFAULT
    return PolicySource.SUITE_AND_COMMAND_LINE if told else PolicySource.SUITE


def _planned_looks(experiments: Sequence[ExperimentFile]) -> int | None:
    """How many tasks were planned where a run was to end at a decision; whoever stops at a look has looked."""
    return max((experiment.looked_at for experiment in experiments if experiment.looked_at is not None), default=None)


def _refuse_foreign_options(options: argparse.Namespace, policy: str, looked_at: int | None) -> None:
    if options.planned_tasks is not None and not options.sequential and looked_at is None:
        raise UsageError("--planned-tasks goes with --sequential.")
    if policy == "evidence":
        if looked_at is not None and options.infer == "runs":
            raise UsageError(
                "--infer runs keeps the tasks fixed, and this experiment was run --until-decided, task by task; "
                "leave it out, or run the suite again without --until-decided."
            )
        return
    for name in ("gates", "sequential"):
        if getattr(options, name):
            raise UsageError(f"--{name} belongs to policy evidence; policy {policy} decides as the seed wrote it.")
    if options.infer != "tasks":
        raise UsageError(f"--infer belongs to policy evidence; policy {policy} makes no inference.")


def _parse_planned_tasks(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks (2 or more)")
    return int(text)


def _parse_margin(text: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--margin {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--margin {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
