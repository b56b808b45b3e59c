"""The options that reading verbs share, and the typed values that parsing them leaves.

`parse_command(arguments, Options())` fills an object of a verb's own class, made of the classes here, so
that what a verb asks of its options is checked like any other code.
"""

import argparse
from math import isfinite, nan
from pathlib import Path
from shlex import join

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.choose_policy import DEFAULT_PLANNED_TASKS, PolicyRequest
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.open_runs import open_runs
from outweigh.cli.arguments import CommandOptions, Parser, add_map_option
from outweigh.cli.console import notify
from outweigh.cli.defaults import choose_stores
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.verdict.policy import POLICIES, Policies


class ReadingOptions(CommandOptions):
    """What every reading verb takes."""

    runs: list[str]
    skip_invalid: bool
    prices: str | None
    map: list[dict[str, str]]
    changes: str | None = None
    task_list: str | None = None
    reads_datasets: bool = False
    """Whether the verb says of a dataset exactly what it says of the stores; any other refuses one."""

    def evidence_request(self) -> EvidenceRequest:
        """What to read: what the user named, else the last store of this folder."""
        self._name_stores(choose_stores(self.runs, self.command))
        return self.named_request()

    def named_request(self) -> EvidenceRequest:
        """What to read of what the user named, and nothing else."""
        for name in () if self.reads_datasets else self.runs:
            refuse_dataset(Path(name))
        return EvidenceRequest(
            stores=open_runs(self.runs, self.columns(), join(self.command), notify),
            skip_invalid=self.skip_invalid,
            prices=self.prices,
            changes=self.changes,
            columns=self.columns(),
            task_list=self.task_list,
        )

    def columns(self) -> dict[str, str]:
        """Which column of a table is which field, as far as the user says so."""
        return {field: column for each in self.map for field, column in each.items()}

    def _name_stores(self, stores: list[str]) -> None:
        """Take these stores, and put them into the command, so that it means the same when it is typed again."""
        renamed = dict(zip(self.runs, stores, strict=False))
        added = () if self.runs else stores
        self.command = (*(renamed.get(word, word) for word in self.command), *added)
        self.runs = stores


class ArmOptions(CommandOptions):
    """Which arms, weighed how."""

    baseline: str | None
    candidate: list[str] | None
    profile: str | None = None

    def arm_choice(self) -> ArmChoice:
        """The arms that were named, and the command as far as the stores in it are known by now."""
        return ArmChoice(
            baseline=self.baseline,
            candidates=tuple(self.candidate or ()),
            profile=self.profile,
            command=join(self.command),
        )


class InferenceOptions:
    """What the numbers speak of."""

    infer: str
    seed: int


class PolicyOptions(InferenceOptions):
    """Which rule, with which gates and margins, over how many looks."""

    policy: str | None
    gates: str | None
    margin: list[str]
    tolerance: list[str]
    value: float | None
    policy_version: int | None
    sequential: bool
    planned_tasks: int | None

    def policy_request(self) -> PolicyRequest:
        """The rule as far as it was named."""
        return PolicyRequest(
            policy=self.policy,
            gates=None if self.gates is None else tuple(name.strip() for name in self.gates.split(",")),
            margins=tuple(self.margin),
            tolerances=tuple(self.tolerance),
            value_usd=self.value,
            version=self.policy_version,
            sequential=self.sequential,
            planned_tasks=self.planned_tasks,
            fixed_suite=self.infer == "runs",
            seed=self.seed,
        )


def reading_parser(verb: str, description: str, *examples: str) -> Parser:
    """A parser with what every reading verb takes."""
    parser = Parser(prog=f"outweigh {verb}", description=description, examples=examples)
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUNS",
        help="a store, a .jsonl file of run records, a table such as .csv, or - for standard input (default: the last "
        "store of this folder)",
    )
    add_reading_options(parser)
    return parser


def add_reading_options(parser: Parser) -> None:
    """How records are read."""
    group = parser.group("Reading")
    group.add_argument("--skip-invalid", action="store_true", help="skip lines that cannot be read")
    group.add_argument(
        "--prices", metavar="FILE", help="your own prices (TOML), used before the bundled ones (default: bundled)"
    )
    add_map_option(group)


def add_arm_options(parser: Parser, *, several: bool = False) -> None:
    """Which arms, weighed how."""
    group = parser.group("Arms")
    group.add_argument("--baseline", metavar="ARM", help="the arm to compare with (default: the suite's)")
    group.add_argument(
        "--candidate",
        metavar="ARM",
        action="append",
        help="the arm that may replace it"
        + ("; repeat it for several (default: every other arm)" if several else " (default: the only other arm)"),
    )
    add_profile_option(parser)


def add_profile_option(parser: Parser) -> None:
    """How a composite weighs its parts."""
    parser.group("Statistics").add_argument(
        "--profile",
        metavar="NAME",
        help="weights of the composite: objective_first, even or one of the suite's own (default: the suite's, else "
        "objective_first)",
    )


def add_changes_option(parser: Parser) -> None:
    """What the user knows about merged changes."""
    parser.group("Reading").add_argument(
        "--changes", metavar="FILE", help="what happened to the merged changes of each arm (JSON Lines)"
    )


def add_task_list_option(parser: Parser) -> None:
    """Which tasks count."""
    parser.group("Reading").add_argument(
        "--task-list", metavar="FILE", help="count only the tasks that `suite prune` chose, by runs that it did not use"
    )


def add_inference_options(parser: Parser) -> None:
    """What the numbers speak of."""
    group = parser.group("Statistics")
    group.add_argument(
        "--infer",
        choices=("tasks", "runs"),
        default="tasks",
        help="whether results apply to all tasks like these, or to this suite only (default: %(default)s)",
    )
    group.add_argument(
        "--seed", type=parse_seed, default=0, metavar="N", help="seed for random draws (default: %(default)s)"
    )


def add_policy_options(parser: Parser, policies: Policies = POLICIES) -> None:
    """Which rule, with which gates and margins, over how many looks."""
    group = parser.group("Rule")
    group.add_argument(
        "--policy", choices=policies, help="the policy that decides (default: the suite's, else evidence)"
    )
    group.add_argument(
        "--gates",
        metavar="NAME,…",
        help="the gates of the evidence policy (default: the suite's, else all; cost only where it is known)",
    )
    group.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="NAME=X",
        help="change one margin of the policy, such as duration=0.1; may be repeated (default: the suite's)",
    )
    group.add_argument(
        "--tolerance",
        action="append",
        default=[],
        metavar="NAME=X",
        help="how much of a resource an improvement may add at most, such as cost=0.5 (default: 0.25)",
    )
    group.add_argument(
        "--value",
        type=_parse_value,
        metavar="USD",
        help="what one solved task is worth to you; decides a trade-off between passes and dollars",
    )
    group.add_argument(
        "--policy-version",
        type=_parse_version,
        metavar="N",
        help="the version of the rule (default: the one that the experiment ran under, else the current one)",
    )
    group.add_argument(
        "--sequential",
        action="store_true",
        help="you look at the data more than once: keep the error rate over all looks",
    )
    group.add_argument(
        "--planned-tasks",
        type=_parse_planned_tasks,
        metavar="N",
        help="the number of tasks at which a sequential verdict detects the most; choose it before the first look "
        f"(default: {DEFAULT_PLANNED_TASKS})",
    )


def _parse_value(text: str) -> float:
    try:
        value = float(text.removeprefix("$"))
    except ValueError:
        value = nan
    if not (isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars above 0")
    return value


def _parse_version(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version of a rule (1 or more)")
    return int(text)


def _parse_planned_tasks(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tasks (2 or more)")
    return int(text)


def parse_seed(text: str) -> int:
    """A seed for random draws."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
