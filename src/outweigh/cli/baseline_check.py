"""`outweigh baseline check`: a few runs made again and compared with a pin, before the pin is trusted."""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from outweigh.adapters.stores.pins import Pin, PinCheck, read_pin, runs_in, write_check
from outweigh.cli.amounts import repeats
from outweigh.cli.arguments import price_tables
from outweigh.cli.baseline_pin import agents_of
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.run import run_parser, run_suite
from outweigh.cli.suite_choice import chosen_suite
from outweigh.compare.comparison import compare
from outweigh.compare.drift import FEWEST_TASKS, Drift, find_drift
from outweigh.compare.evidence import gather
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.codec import Located
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.report.wording import visible
from outweigh.run.loading import LoadedSuite
from outweigh.task.suite import settings_fingerprint

TASKS = 5
THEN, NOW = "pinned", "now"


def check(arguments: Sequence[str]) -> int:
    """Exit 0 where nothing moved as far as so few runs can tell, 1 where something did; the pin remembers it."""
    options = _options(arguments)
    folder = Path(options.pin)
    pinned = read_pin(folder)
    with chosen_suite(options) as suite:
        sample = _sample(suite, pinned, options.tasks)
        store = Path(options.output or f"outweigh-runs/check-{pinned.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}")
        if store.exists():
            raise UsageError(f"{store} is there already, and a check takes runs of its own; name a new folder by -o.")
        options.output = str(store)
        code = run_suite(sample, options)
    if code != ExitCode.SATISFIED:
        return code
    return _judge(folder, pinned, list(runs_in(folder)), list(runs_in(store)))


def _judge(folder: Path, pinned: Pin, then: Sequence[RunRecord], now: Sequence[RunRecord]) -> int:
    drift = _drift(then, now)
    if drift.tasks < FEWEST_TASKS:
        raise EvidenceError(f"the check has {drift.tasks} tasks with a result; it needs {FEWEST_TASKS} at least.")
    findings = (*_other_agents(pinned, now), *drift.findings)
    result = PinCheck(checked_at=datetime.now(UTC), drifted=bool(findings), findings=findings, runs=len(now))
    write_check(folder, result)
    if findings:
        print(f"{visible(pinned.name)} has drifted; run the baseline anew and pin it again:")
        print("\n".join(f"  - {visible(finding)}" for finding in findings))
        return ExitCode.NOT_SATISFIED
    print(f"{visible(pinned.name)} is steady, as far as {len(now)} runs of {drift.tasks} tasks can tell")
    return ExitCode.SATISFIED


def _drift(then: Sequence[RunRecord], now: Sequence[RunRecord]) -> Drift:
    tasks = {run.trial.task_id for run in now}
    evidence = gather((*_told(then, THEN, tasks), *_told(now, NOW, tasks)), prices=price_tables(None))
    return find_drift(compare(evidence, THEN, NOW))


def _told(runs: Sequence[RunRecord], arm: str, tasks: set[str]) -> Iterator[Located]:
    """One arm then and now, as two."""
    for number, run in enumerate((run for run in runs if run.trial.task_id in tasks), 1):
        trial = msgspec.structs.replace(run.trial, arm=arm)
        yield Located(msgspec.structs.replace(run, trial=trial, run_id=f"{arm} {run.run_id}"), arm, number)


def _other_agents(pinned: Pin, now: Sequence[RunRecord]) -> Iterator[str]:
    agents = agents_of([run for run in now if run.status not in EXCLUDED])
    if agents and set(agents) != set(pinned.agents):
        yield f"the agent was {' and '.join(pinned.agents)} and is {' and '.join(agents)}"


def _sample(suite: LoadedSuite, pinned: Pin, size: int) -> LoadedSuite:
    """The pinned arm alone, on some of its tasks, drawn so that the same pin is always checked on the same ones."""
    name = suite.spec.baseline
    _refuse_another(suite, pinned)
    shared = [task for task in suite.tasks if pinned.tasks.get(task.id) == task.checksum]
    if len(shared) < FEWEST_TASKS:
        raise UsageError(f"the suite shares {len(shared)} unchanged tasks with {pinned.name}; run the baseline anew.")
    chosen = random.Random(pinned.evidence_sha256).sample(shared, min(size, len(shared)))
    spec = msgspec.structs.replace(suite.spec, arms={name: suite.spec.arms[name]}, judges=[])
    return replace(suite, spec=spec, arms={name: suite.arms[name]}, tasks=tuple(chosen))


def _refuse_another(suite: LoadedSuite, pinned: Pin) -> None:
    name = suite.spec.baseline
    if suite.arms[name].fingerprint != pinned.fingerprint:
        raise UsageError(f"{pinned.name} was made with another configuration than {name!r} has now; pin that one.")
    if settings_fingerprint(suite.spec) != pinned.settings:
        raise UsageError(f"{pinned.name} was made under other settings (sandbox, limits, gateway); pin under these.")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    """Those of `outweigh run`, for that is what happens, and which pin."""
    parser = run_parser()
    parser.prog, parser.description = "outweigh baseline check", "Run a few tasks again and compare them with a pin."
    parser.add_argument("pin", metavar="PIN", help="the folder of a pin")
    parser.add_argument(
        "--tasks", type=repeats, default=TASKS, metavar="N", help="how many tasks to run again (default: %(default)s)"
    )
    parser.set_defaults(repeats=1)
    options = parser.parse_args(arguments)
    for name in ("head", "reuse", "until_decided", "dry_run"):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} has no place in a check: it runs the pinned arm, and anew.")
    return options
