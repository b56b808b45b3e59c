"""`outweigh baseline pin`: the runs of one arm, kept for later experiments."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from outweigh.adapters.stores.artifact_folder import ArtifactFolder
from outweigh.adapters.stores.experiment_file import Experiment, recall_suite
from outweigh.adapters.stores.pins import Pin, pins_in, read_pin, runs_in, write_pin
from outweigh.cli.arguments import Parser
from outweigh.cli.exit_codes import ExitCode
from outweigh.errors import EvidenceError, UsageError
from outweigh.record.digest import evidence_sha256, record_digest
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.report.wording import visible

PINS = "outweigh-baselines"
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


def pin(arguments: Sequence[str]) -> int:
    """Keep every counted run of an arm; runs that are pinned already are not pinned twice."""
    parser = Parser(prog="outweigh baseline pin", description="Keep the runs of an arm.", allow_abbrev=False)
    parser.add_argument("runs", metavar="STORE", help="a store that `outweigh run` wrote")
    parser.add_argument("--arm", metavar="ARM", help="whose runs (default: the baseline's)")
    parser.add_argument("--name", metavar="NAME", help="what to call the pin (default: made of suite, arm and runs)")
    parser.add_argument("-o", "--output", default=PINS, metavar="DIR", help="where pins are (default: %(default)s)")
    options = parser.parse_args(arguments)
    store, target = Path(options.runs), Path(options.output)
    experiment = recall_suite(store)
    if experiment is None:
        raise UsageError(f"{store} is no store of `outweigh run`; a pin needs to know the suite behind its runs.")
    made, runs = _pin(experiment, store, options.arm or experiment.baseline, options.name)
    twins = [read_pin(path).name for path in pins_in(target) if read_pin(path).evidence_sha256 == made.evidence_sha256]
    if twins:
        print(f"these runs are pinned already: {visible(str(target / twins[0]))}")
        return ExitCode.SATISFIED
    place = write_pin(target, made, runs, ArtifactFolder(store / "artifacts"))
    print(f"pinned {made.runs} runs of {visible(made.arm)} on {len(made.tasks)} tasks: {visible(str(place))}")
    return ExitCode.SATISFIED


def agents_of(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Who made these runs: name, version and model, each as far as it is known."""
    parts = {(run.agent.name, run.agent.version, run.agent.model) for run in runs}
    return tuple(sorted(" ".join(filter(None, part)) or "unknown" for part in parts))


def _pin(experiment: Experiment, store: Path, arm: str, name: str | None) -> tuple[Pin, list[RunRecord]]:
    if arm not in experiment.arms:
        raise UsageError(f"{store} has no arm {arm!r}; it has {', '.join(map(repr, experiment.arms))}.")
    runs = [
        run
        for run in runs_in(store)
        if run.trial.arm == arm and run.status not in EXCLUDED and run.started_at is not None
    ]
    moments = [run.started_at for run in runs if run.started_at is not None]
    if not moments:
        raise EvidenceError(f"{store} holds no finished run of {arm!r}; there is nothing to pin.")
    if experiment.settings is None:
        raise EvidenceError(f"the runs of {store} were made under several settings, or nobody knows which; run anew.")
    digest = evidence_sha256(map(record_digest, runs))
    made = {run.trial.task_id for run in runs}
    wanted = name or _UNFIT.sub("-", f"{experiment.suite}-{arm}-{digest[:12]}").lstrip(".-_")[:100]
    if _UNFIT.search(wanted) or not wanted[:1].isalnum():
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
        agents=agents_of(runs),
        evidence_sha256=digest,
    ), runs
