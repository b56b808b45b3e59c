"""Pin the runs of a baseline for later experiments, and check a pin for drift by repeating a few of its runs."""

import argparse
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from outweigh.app.suite_selection import choose_suite
from outweigh.cli.arguments import Parser, parse_repeats
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.run import run_parser, run_suite
from outweigh.compare.arm_drift import FEWEST_TASKS, ArmDrift, find_arm_drift
from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import gather
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.codec import LocatedRecord, evidence_sha256, record_digest
from outweigh.model.run_record import EXCLUDED_STATUSES, RunRecord
from outweigh.model.suite import settings_fingerprint
from outweigh.prices import price_tables
from outweigh.report.formatting import escape_controls
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.experiment_file import ExperimentFile, read_experiment
from outweigh.store.pins import Pin, PinCheck, find_pins, read_pin, read_runs, write_check, write_pin

PINS_FOLDER = "outweigh-baselines"
_INVALID_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def pin_baseline(arguments: Sequence[str]) -> int:
    """Keep every counted run of an arm; runs that are pinned already are not pinned twice."""
    parser = Parser(prog="outweigh baseline pin", description="Keep the runs of an arm.", allow_abbrev=False)
    parser.add_argument("runs", metavar="STORE", help="a store that `outweigh run` wrote")
    parser.add_argument("--arm", metavar="ARM", help="whose runs (default: the baseline's)")
    parser.add_argument("--name", metavar="NAME", help="what to call the pin (default: made of suite, arm and runs)")
    parser.add_argument(
        "-o", "--output", default=PINS_FOLDER, metavar="DIR", help="where pins are (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    store, target = Path(options.runs), Path(options.output)
    experiment = read_experiment(store)
    if experiment is None:
        raise UsageError(f"{store} is no store of `outweigh run`; a pin needs to know the suite behind its runs.")
    made, runs = _make_pin(experiment, store, options.arm or experiment.baseline, options.name)
    twins = [
        read_pin(path).name for path in find_pins(target) if read_pin(path).evidence_sha256 == made.evidence_sha256
    ]
    if twins:
        print(f"these runs are pinned already: {escape_controls(str(target / twins[0]))}")
        return ExitCode.SATISFIED
    place = write_pin(target, made, runs, ArtifactFolder(store / "artifacts"))
    print(
        f"pinned {made.runs} runs of {escape_controls(made.arm)} on {len(made.tasks)} tasks: {escape_controls(str(place))}"
    )
    return ExitCode.SATISFIED


def describe_agents(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Who made these runs: name, version and model, each as far as it is known."""
    parts = {(run.agent.name, run.agent.version, run.agent.model) for run in runs}
    return tuple(sorted(" ".join(filter(None, part)) or "unknown" for part in parts))


def _make_pin(experiment: ExperimentFile, store: Path, arm: str, name: str | None) -> tuple[Pin, list[RunRecord]]:
    if arm not in experiment.arms:
        raise UsageError(f"{store} has no arm {arm!r}; it has {', '.join(map(repr, experiment.arms))}.")
    runs = [
        run
        for run in read_runs(store)
        if run.trial.arm == arm and run.status not in EXCLUDED_STATUSES and run.started_at is not None
    ]
    moments = [run.started_at for run in runs if run.started_at is not None]
    if not moments:
        raise EvidenceError(f"{store} holds no finished run of {arm!r}; there is nothing to pin.")
    if experiment.settings is None:
        raise EvidenceError(f"the runs of {store} were made under several settings, or nobody knows which; run anew.")
    digest = evidence_sha256(map(record_digest, runs))
    made = {run.trial.task_id for run in runs}
    wanted = name or _INVALID_IN_NAME.sub("-", f"{experiment.suite}-{arm}-{digest[:12]}").lstrip(".-_")[:100]
    if _INVALID_IN_NAME.search(wanted) or not wanted[:1].isalnum():
        raise UsageError(f"{wanted!r} cannot name a pin; use letters, digits, dots, dashes and underscores.")
    return Pin(
        name=wanted,
        pinned_at=datetime.now(UTC),
        suite=experiment.suite,
        arm=arm,
        fingerprint=experiment.arms[arm],
        settings=experiment.settings,
        tasks={task: checksum for task, checksum in experiment.tasks.items() if task in made},
        runs=len(runs),
        oldest=min(moments),
        newest=max(moments),
        agents=describe_agents(runs),
        evidence_sha256=digest,
    ), runs


CHECKED_TASKS = 5
PINNED_ARM, CURRENT_ARM = "pinned", "now"


def check_baseline(arguments: Sequence[str]) -> int:
    """Exit 0 where nothing moved as far as so few runs can tell, 1 where something did; the pin remembers it."""
    options = _check_options(arguments)
    folder = Path(options.pin)
    pinned = read_pin(folder)
    with choose_suite(options) as suite:
        sample = _sample(suite, pinned, options.tasks)
        store = Path(options.output or f"outweigh-runs/check-{pinned.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}")
        if store.exists():
            raise UsageError(f"{store} is there already, and a check takes runs of its own; name a new folder by -o.")
        options.output = str(store)
        code = run_suite(sample, options)
    if code != ExitCode.SATISFIED:
        return code
    return _record_check(folder, pinned, list(read_runs(folder)), list(read_runs(store)))


def _record_check(folder: Path, pinned: Pin, then: Sequence[RunRecord], now: Sequence[RunRecord]) -> int:
    drift = _find_pin_drift(then, now)
    if drift.tasks < FEWEST_TASKS:
        raise EvidenceError(f"the check has {drift.tasks} tasks with a result; it needs {FEWEST_TASKS} at least.")
    findings = (*_agent_changes(pinned, now), *drift.findings)
    result = PinCheck(checked_at=datetime.now(UTC), drifted=bool(findings), findings=findings, runs=len(now))
    write_check(folder, result)
    if findings:
        print(f"{escape_controls(pinned.name)} has drifted; run the baseline anew and pin it again:")
        print("\n".join(f"  - {escape_controls(finding)}" for finding in findings))
        return ExitCode.NOT_SATISFIED
    print(f"{escape_controls(pinned.name)} is steady, as far as {len(now)} runs of {drift.tasks} tasks can tell")
    return ExitCode.SATISFIED


def _find_pin_drift(then: Sequence[RunRecord], now: Sequence[RunRecord]) -> ArmDrift:
    tasks = {run.trial.task_id for run in now}
    evidence = gather(
        (*_relabelled(then, PINNED_ARM, tasks), *_relabelled(now, CURRENT_ARM, tasks)), prices=price_tables(None)
    )
    return find_arm_drift(compare_arms(evidence, PINNED_ARM, CURRENT_ARM))


def _relabelled(runs: Sequence[RunRecord], arm: str, tasks: set[str]) -> Iterator[LocatedRecord]:
    """One arm then and now, as two."""
    for number, run in enumerate((run for run in runs if run.trial.task_id in tasks), 1):
        trial = msgspec.structs.replace(run.trial, arm=arm)
        yield LocatedRecord(msgspec.structs.replace(run, trial=trial, run_id=f"{arm} {run.run_id}"), arm, number)


def _agent_changes(pinned: Pin, now: Sequence[RunRecord]) -> Iterator[str]:
    agents = describe_agents([run for run in now if run.status not in EXCLUDED_STATUSES])
    if agents and set(agents) != set(pinned.agents):
        yield f"the agent was {' and '.join(pinned.agents)} and is {' and '.join(agents)}"


def _sample(suite: LoadedSuite, pinned: Pin, size: int) -> LoadedSuite:
    """The pinned arm alone, on some of its tasks, drawn so that the same pin is always checked on the same ones."""
    name = suite.spec.baseline
    _require_same_arm(suite, pinned)
    shared = [task for task in suite.tasks if pinned.tasks.get(task.id) == task.checksum]
    if len(shared) < FEWEST_TASKS:
        raise UsageError(f"the suite shares {len(shared)} unchanged tasks with {pinned.name}; run the baseline anew.")
    chosen = random.Random(pinned.evidence_sha256).sample(shared, min(size, len(shared)))
    spec = msgspec.structs.replace(suite.spec, arms={name: suite.spec.arms[name]}, judges=[])
    return replace(suite, spec=spec, arms={name: suite.arms[name]}, tasks=tuple(chosen))


def _require_same_arm(suite: LoadedSuite, pinned: Pin) -> None:
    name = suite.spec.baseline
    if suite.arms[name].fingerprint != pinned.fingerprint:
        raise UsageError(f"{pinned.name} was made with another configuration than {name!r} has now; pin that one.")
    if settings_fingerprint(suite.spec) != pinned.settings:
        raise UsageError(f"{pinned.name} was made under other settings (sandbox, limits, gateway); pin under these.")


def _check_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Those of `outweigh run`, for that is what happens, and which pin."""
    parser = run_parser()
    parser.prog, parser.description = "outweigh baseline check", "Run a few tasks again and compare them with a pin."
    parser.add_argument("pin", metavar="PIN", help="the folder of a pin")
    parser.add_argument(
        "--tasks",
        type=parse_repeats,
        default=CHECKED_TASKS,
        metavar="N",
        help="how many tasks to run again (default: %(default)s)",
    )
    parser.set_defaults(repeats=1)
    options = parser.parse_args(arguments)
    for name in ("head", "reuse", "until_decided", "dry_run"):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} has no place in a check: it runs the pinned arm, and anew.")
    return options
