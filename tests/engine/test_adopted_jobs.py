"""Claims about runs that another harness made: its measurements under our names, and nobody's secrets."""

from pathlib import Path

from tests.cli.harbor_experiment import write_task
from tests.interop.harbor.arms import arm

from outweigh.engine.external_jobs import adopt_record
from outweigh.engine.load_task import load_task
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord, Step, StepSource, Trial
from outweigh.model.task import Task
from outweigh.testing.builders import a_check, a_run

SECRET = "open sesame"
TRIAL = Trial(task_id="one", arm="plain", repeat=3, seed=5)


def task_in(folder: Path) -> Task:
    write_task(folder / "one", metadata={"outweigh": {"family": "answers"}})
    return load_task(folder / "one")


def adopt(record: RunRecord, task: Task, *secrets: str) -> RunRecord:
    return adopt_record(
        record, TRIAL, 2, arm=arm(), task=task, job="0001-plain", rule_labels={"rules_sha256": "5ea1"}, secrets=secrets
    )


def test_a_run_keeps_what_was_measured_and_gets_the_names_of_its_trial(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    made = a_run(task="org/one", arm="claude-code @1234", run_id="harbor/1", task_checksum="theirs", position=9)

    run = adopt(made, task)

    assert (run.trial, run.attempt, run.run_id) == (TRIAL, 2, "harbor/1")
    assert (run.arm_fingerprint, run.task_checksum, run.family) == (arm().fingerprint, task.checksum, "answers")
    assert run.position is None
    assert (run.usage, run.cost, run.duration_seconds, run.checks) == (
        made.usage,
        made.cost,
        made.duration_seconds,
        made.checks,
    )
    assert run.extra == {
        "job": "0001-plain",
        "repeat_label": "arbitrary",
        "source_task_checksum": "theirs",
        "rules_sha256": "5ea1",
    }


def test_no_text_of_a_run_keeps_a_secret(tmp_path: Path) -> None:
    step = Step(
        index=0,
        source=StepSource.AGENT,
        message=f"the key is {SECRET}",
        tool_calls=(),
        usage=None,
        cost_usd=None,
        duration_seconds=None,
    )
    made = a_run(
        status=Status.INFRA_ERROR,
        status_detail=f"{SECRET} was refused",
        steps=(step,),
        warnings=(f"saw {SECRET}",),
        checks=(a_check(detail=SECRET),),
    )

    run = adopt(made, task_in(tmp_path), SECRET, "plain")

    assert SECRET not in repr(run)
    # A secret that happens to be a name does not rename anything.
    assert run.trial == TRIAL
