"""The policy that decides, as `verdict` and `report` take it from the command line."""

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from outweigh.cli.arguments import Parser
from outweigh.compare.comparison import Comparison
from outweigh.errors import UsageError
from outweigh.verdict.evidence_settings import EvidenceSettings, evidence_settings
from outweigh.verdict.policy import POLICIES, decide
from outweigh.verdict.verdict import Verdict

PLANNED_TASKS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPolicy:
    """A policy with everything the user set."""

    name: str
    margins: Mapping[str, float]
    settings: EvidenceSettings | None

    def decide(self, comparisons: Sequence[Comparison]) -> tuple[Verdict, ...]:
        """Decide about every candidate of one baseline together."""
        return decide(comparisons, self.name, self.margins, self.settings)


def add_policy_options(parser: Parser) -> None:
    """Which rule, with which gates and margins, over how many looks."""
    parser.add_argument(
        "--policy", choices=POLICIES, default="evidence", help="the rule that decides (default: %(default)s)"
    )
    parser.add_argument(
        "--gates", metavar="NAME,…", help="what the evidence policy gates on (default: all; cost where it is known)"
    )
    parser.add_argument(
        "--margin", action="append", default=[], metavar="NAME=X", help="a margin of the policy, e.g. duration=0.1"
    )
    parser.add_argument(
        "--sequential",
        action="store_true",
        help="the data were, or will be, looked at more than once: hold the error rate over all looks",
    )
    parser.add_argument(
        "--planned-tasks",
        type=_planned,
        metavar="N",
        help=f"where a sequential verdict is sharpest; fix it before the first look (default: {PLANNED_TASKS})",
    )


def chosen_policy(options: argparse.Namespace) -> ChosenPolicy:
    """What the options say; one that does not go with the others is refused."""
    margins = dict(map(_margin, options.margin))
    _refuse_foreign_options(options)
    return ChosenPolicy(name=options.policy, margins=margins, settings=_settings(options, margins))


def _settings(options: argparse.Namespace, margins: dict[str, float]) -> EvidenceSettings | None:
    if options.policy != "evidence":
        return None
    return evidence_settings(
        gates=None if options.gates is None else [name.strip() for name in options.gates.split(",")],
        margins=margins,
        fixed_suite=options.infer == "runs",
        planned_tasks=(options.planned_tasks or PLANNED_TASKS) if options.sequential else None,
        seed=options.seed,
    )


def _refuse_foreign_options(options: argparse.Namespace) -> None:
    if options.planned_tasks is not None and not options.sequential:
        raise UsageError("--planned-tasks goes with --sequential.")
    if options.policy == "evidence":
        return
    for name in ("gates", "sequential"):
        if getattr(options, name):
            raise UsageError(
                f"--{name} belongs to policy evidence; policy {options.policy} decides as the seed wrote it."
            )
    if options.infer != "tasks":
        raise UsageError(f"--infer belongs to policy evidence; policy {options.policy} makes no inference.")


def _planned(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks (2 or more)")
    return int(text)


def _margin(text: str) -> tuple[str, float]:
    name, found, value = text.partition("=")
    if not found:
        raise UsageError(f"--margin {text} has no value; write NAME=X, e.g. duration=0.1.")
    try:
        number = float({"true": "1", "false": "0"}.get(value.lower(), value))
    except ValueError:
        raise UsageError(f"--margin {text}: {value!r} is not a number; write NAME=X.") from None
    # The seed spells its thresholds minCompositeGain; both spellings mean the same.
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", name), number
