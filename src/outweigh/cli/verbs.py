"""The verbs, grouped by job, and the line that the help shows for each.

A verb is one module with `build_parser()` and `main(arguments)`, imported when the verb is called. To add one, write
the module and one line here. A verb below another goes into `below`, and its module is named by all its words:
`store scan` is `store_scan.py`.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Verb(NamedTuple):
    """What a verb does, in one line, and where its code is.

    `module` is empty for a verb that only has others below it. With `takes_down`, a signal that ends
    the process first stops what the verb started.
    """

    summary: str
    module: str = ""
    takes_down: bool = False
    # Only the name is quoted: Python compiles an annotation that is a string, which takes a millisecond at every start.
    below: Mapping[str, "Verb"] = MappingProxyType({})


def _verb(module: str, summary: str, *, takes_down: bool = False, below: Mapping[str, Verb] | None = None) -> Verb:
    return Verb(summary, f"outweigh.cli.{module}", takes_down, below or {})


GROUPS: Mapping[str, Mapping[str, Verb]] = {
    "Start": {
        "demo": _verb("demo", "try the whole flow offline, in seconds", takes_down=True),
        "try": _verb("try_", "take a change of a set-up to a first answer, in one command", takes_down=True),
        "init": _verb("init", "write a suite: a starter, from evals you have, or from a git history", takes_down=True),
        "doctor": _verb("doctor", "check this machine, and the tasks of a suite", takes_down=True),
    },
    "Run": {
        "plan": _verb("plan", "see what an experiment could detect, and what it would cost"),
        "run": _verb("run", "run every trial of a suite; run it again to resume", takes_down=True),
        "judge": _verb("judge", "score recorded runs with the judges of their suite", takes_down=True),
        "import": _verb("import_", "read the results of another harness"),
    },
    "Read": {
        "verdict": _verb("verdict", "decide whether the candidate improved and may ship"),
        "report": _verb("report", "write one page about a baseline and its candidates"),
        "view": _verb("view", "browse experiments and runs in a browser"),
        "history": _verb("history", "show a suite over time, and which task flipped when"),
        "compare": _verb("compare", "compare two arms number by number"),
        "diff": _verb("diff", "compare two runs step by step"),
    },
    "Decide in CI": {
        "ci": _verb(
            "ci",
            "compare base and head as one step of a CI job",
            takes_down=True,
            below={"comment": _verb("ci_comment", "post the result of `ci` on a pull request")},
        ),
        "promote": _verb("promote", "open the pull request that a verdict allows"),
        "baseline": Verb(
            "keep runs of a baseline, and check them for drift",
            below={
                "pin": _verb("baseline_pin", "keep the runs of an arm for later experiments"),
                "list": _verb("baseline_list", "list the pins, their age, agents and last check"),
                "check": _verb("baseline_check", "run a few tasks again and compare them with a pin", takes_down=True),
                "key": _verb("baseline_key", "print a cache key made of the baseline, tasks and settings"),
            },
        ),
    },
    "Study": {
        "bisect": _verb("bisect", "find the commit or hunk that made a set-up worse", takes_down=True),
        "ladder": _verb("ladder", "compare arms as tiers, each with the one below"),
        "parts": Verb(
            "find out which parts of a set-up earn their place",
            below={
                "list": _verb("parts_list", "list parts of a set-up and their tokens on every turn", takes_down=True),
                "verdict": _verb("parts_verdict", "say which parts to keep, which can go and which hurt"),
                "apply": _verb("parts_apply", "write the set-up without parts that a verdict allows to drop"),
            },
        ),
        "suite": Verb(
            "examine a suite and the rules that decide on it",
            below={
                "aa": _verb("suite_aa", "count false alarms of each policy on your own data"),
                "check": _verb("suite_check", "show which tasks tell arms apart, and what they cost"),
                "export": _verb("suite_export", "write the tasks as evals of a plugin of Claude Code"),
                "prune": _verb("suite_prune", "choose the cheapest tasks that tell almost as much"),
                "triggers": _verb("suite_triggers", "show how often skills fire when they should, and when not"),
            },
        ),
    },
    "Tools": {
        "store": Verb(
            "show, correct, scan, export, copy or bundle a store",
            below={
                "show": _verb("store_show", "show stores at a glance: progress, results by arm, cost and damage"),
                "arms": _verb("store_arms", "rename, merge, split or drop arms and tasks of imported runs"),
                "scan": _verb("store_scan", "find signs of cheating in transcripts and diffs"),
                "export": _verb("store_export", "write records, scores or trajectories to files"),
                "copy": _verb("store_copy", "copy a store to or from another place, and verify the copy"),
                "bundle": _verb("store_bundle", "pack a study into one file that others can verify"),
                "verify": _verb("store_verify", "check a bundle and compute everything in it again"),
            },
        ),
        "dev": Verb(
            "set up hosts of a cluster, shell completion, the manual page and a scripted model",
            below={
                "host": _verb("dev_host", "make runs on this machine for a Dask cluster", takes_down=True),
                "model-server": _verb("dev_model_server", "serve a scripted model to real agents, offline"),
                "completion": _verb("dev_completion", "print a completion script for your shell"),
                "man": _verb("dev_man", "print the manual page"),
            },
        ),
    },
}

COMMON = ("demo", "try", "init", "run", "verdict", "report")
"""The verbs that the help names first."""

ROOT = Verb(
    "Does this change to a coding agent's set-up outweigh the noise, and may it ship?",
    below={name: verb for verbs in GROUPS.values() for name, verb in verbs.items()},
)
"""The program itself: every top verb is below it."""

MOVED: Mapping[str, tuple[str, ...]] = {
    "aa": ("suite", "aa"),
    "comment": ("ci", "comment"),
    "export": ("store", "export"),
    "model-server": ("dev", "model-server"),
    "scan": ("store", "scan"),
}
"""Old names that still work in this release, and the words that replace them."""


def find_verb(arguments: Sequence[str]) -> tuple[tuple[str, ...], Verb, Sequence[str]]:
    """The verb that a command line names, with the words that name it before and the arguments after it."""
    verb, depth = ROOT, 0
    while depth < len(arguments) and arguments[depth] in verb.below:
        verb = verb.below[arguments[depth]]
        depth += 1
    return tuple(arguments[:depth]), verb, arguments[depth:]


def walk_verbs() -> list[tuple[tuple[str, ...], Verb]]:
    """Every verb with its words, those below right after the one above."""
    return _walk((), ROOT)[1:]


def _walk(words: tuple[str, ...], verb: Verb) -> list[tuple[tuple[str, ...], Verb]]:
    below = [each for name, under in verb.below.items() for each in _walk((*words, name), under)]
    return [(words, verb), *below]
