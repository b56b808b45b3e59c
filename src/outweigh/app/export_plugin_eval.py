"""Export two arms of a store as a result of `claude plugin eval`."""

from collections import defaultdict
from pathlib import Path

import msgspec

from outweigh.app.choose_arms import ArmChoice, choose_arms
from outweigh.app.evidence import read_evidence
from outweigh.app.export import ExportRequest, Warn, refuse_gaps
from outweigh.app.suite_selection import read_suite
from outweigh.errors import UsageError
from outweigh.interop.plugin_eval.exporter import ExportedCase, ExportedResult, make_result
from outweigh.interop.plugin_eval.result_document import WITH_ARM, WITHOUT_ARM
from outweigh.model.run_record import RunRecord
from outweigh.score.objective import objective
from outweigh.store.durable_files import write_atomic


def export_plugin_eval(request: ExportRequest, choice: ArmChoice, suite: str | None, warn: Warn) -> None:
    """Write the file, whole or not at all; warn of every number that it cannot say is unknown."""
    refuse_gaps(request)
    stores, target = request.evidence.stores, request.target
    if target.suffix != ".json":
        raise UsageError(f"-o {target}: the name must end in .json, such as aggregate-result.json.")
    evidence = read_evidence(request.evidence)
    chosen = choose_arms(stores, choice, evidence, several=False)
    candidate = chosen.candidates[0]
    arms = {candidate: WITH_ARM, chosen.baseline: WITHOUT_ARM}
    runs: dict[str, dict[str, list[RunRecord]]] = defaultdict(lambda: {WITH_ARM: [], WITHOUT_ARM: []})
    final = {(score.source, score.line) for name in arms for score in evidence.arm(name)}
    for located in stores.read(skip_invalid=False):
        run = located.record
        if isinstance(run, RunRecord) and run.trial.arm in arms and (located.source, located.line) in final:
            runs[run.trial.task_id][arms[run.trial.arm]].append(run)
    prompts = {task: text for (task, _), text in stores.instructions().items()}
    if suite is not None:
        prompts |= {task.id: task.instruction for task in read_suite(suite).tasks}
    every = [run for of_task in runs.values() for of_arm in of_task.values() for run in of_arm]
    _warn_of_zeros(every, warn)
    agents = {run.agent for run in every}
    models = {agent.model for agent in agents}
    document = make_result(
        ExportedResult(
            suite=stores.experiment.suite if stores.experiment is not None else Path(target).stem,
            candidate=candidate,
            version="0.0.0",
            agent_version=" + ".join(sorted({agent.version or "unknown" for agent in agents})) or "unknown",
            model=models.pop() if len(models) == 1 else None,
            cases=[
                ExportedCase(name=task, prompt=prompts.get(task, ""), runs=of_task) for task, of_task in runs.items()
            ],
        )
    )
    write_atomic(target, [msgspec.json.format(msgspec.json.encode(document), indent=2), b"\n"])


def _warn_of_zeros(runs: list[RunRecord], warn: Warn) -> None:
    unknown = {
        "cost": sum(run.cost.usd is None for run in runs),
        "time": sum(run.duration_seconds is None for run in runs),
        "score": sum(objective(run).share.value is None for run in runs),
    }
    for what, count in unknown.items():
        if count:
            warn(
                f"the {what} of {count:,} of {len(runs):,} runs is unknown; the file has 0, because its format needs a "
                "number."
            )
