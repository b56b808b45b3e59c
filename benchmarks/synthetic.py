"""Made-up run records that look like real ones: two arms, five repeats, tasks of different difficulty and length."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.run_record import AlignedAction, CheckResult, Milestone, RunRecord, Step, StepSource, ToolCall
from outweigh.model.usage import Component, ComponentTokens, Usage, reported_cost
from outweigh.testing.builders import a_check, a_run

BASELINE = "baseline"
CANDIDATE = "candidate"
REPEATS = 5

_SEED = 20
_FAMILIES = 25
_CASES = 20
_START = datetime(2025, 1, 1, tzinfo=UTC)


class Arm(NamedTuple):
    """An arm's part in what happens: how often it passes, and its effort relative to the baseline's."""

    name: str
    pass_rate: float
    effort: float


# Far enough apart that every file, however short, leads to a verdict rather than to "inconclusive".
ARMS = (Arm(BASELINE, 0.5, 1.0), Arm(CANDIDATE, 0.8, 0.7))


class Task(NamedTuple):
    """A task's part in what happens."""

    name: str
    family: str
    checksum: str
    ease: float
    length: float


def write_records(path: Path, number: int) -> Path:
    """Write so many records without their trajectories; the same number gives the same file."""
    with path.open("wb") as file:
        file.writelines(encode(record) + b"\n" for record in records(number))
    return path


def lines(number: int, *, steps: int) -> list[bytes]:
    """So many records as lines in memory, each with a trajectory of so many steps (0: none)."""
    return [encode(record) + b"\n" for record in records(number, steps=steps)]


def records(number: int, *, steps: int = 0, arms: Sequence[Arm] = ARMS) -> Iterator[RunRecord]:
    """So many runs, task after task, the arms interleaved as a fair experiment has them."""
    random = Random(_SEED)
    return islice(_runs(random, steps, arms), number)


def _runs(random: Random, steps: int, arms: Sequence[Arm]) -> Iterator[RunRecord]:
    position = count()
    for index in count(1):
        task = _task(random, index)
        for repeat in range(1, REPEATS + 1):
            for arm in arms:
                yield _run(random, task, arm, repeat, position=next(position), steps=steps)


def _task(random: Random, index: int) -> Task:
    return Task(
        name=f"task-{index:06}",
        family=f"repository-{index % _FAMILIES}",
        checksum=f"{random.getrandbits(256):064x}",
        ease=random.uniform(0.4, 1.2),
        length=random.lognormvariate(0.0, 0.5),
    )


def _run(random: Random, task: Task, arm: Arm, repeat: int, *, position: int, steps: int) -> RunRecord:
    status = _status(random)
    effort = arm.effort * task.length * random.lognormvariate(0.0, 0.25)
    usage = _usage(effort)
    step_count = 1 + int(20 * effort)
    return a_run(
        task.name,
        arm.name,
        repeat,
        status=status,
        arm_fingerprint=f"sha256:{arm.name:0>64}",
        task_checksum=f"sha256:{task.checksum}",
        family=task.family,
        position=position,
        started_at=_START + timedelta(seconds=97 * position),
        duration_seconds=round(180.0 * effort, 3),
        setup_seconds=round(random.uniform(2.0, 4.0), 3),
        checks_seconds=round(random.uniform(5.0, 9.0), 3),
        usage=usage,
        cost=reported_cost(round(0.35 * effort, 6)),
        step_count=step_count,
        tool_call_count=step_count + step_count // 3,
        check_command_count=2,
        checks=None if status is Status.INFRA_ERROR else _checks(random, arm.pass_rate * task.ease),
        **(_trajectory(steps, usage) if steps else {}),
    )


def _status(random: Random) -> Status:
    draw = random.random()
    if draw < 0.01:
        return Status.INFRA_ERROR
    return Status.TIMEOUT if draw < 0.03 else Status.COMPLETED


def _usage(effort: float) -> Usage:
    return Usage(
        input_tokens=int(2_000 * effort),
        output_tokens=int(9_000 * effort),
        cache_read_tokens=int(400_000 * effort),
        cache_write_tokens=int(30_000 * effort),
    )


def _checks(random: Random, pass_rate: float) -> tuple[CheckResult, ...]:
    passed = random.random() < pass_rate
    cases = _CASES if passed else random.randrange(_CASES)
    return (
        a_check("tests", passed=passed, cases_passed=cases, cases_total=_CASES, exit_code=0 if passed else 1),
        a_check("lint", passed=random.random() < 0.9, required=False, exit_code=0),
    )


def _trajectory(steps: int, usage: Usage) -> dict[str, Any]:
    """Every nested structure that a record can hold."""
    return {
        "steps": tuple(_step(index, usage) for index in range(steps)),
        "components": tuple(
            ComponentTokens(component=component, input_tokens=400, output_tokens=90) for component in Component
        ),
        "milestones": tuple(Milestone(name=f"milestone {n}", weight=1.0, achieved=n < 3) for n in range(4)),
        "actions": tuple(AlignedAction(name=f"action {n}", alignment=0.8, weight=1.0) for n in range(4)),
    }


def _step(index: int, usage: Usage) -> Step:
    return Step(
        index=index,
        source=StepSource.AGENT,
        message="Run the tests again and look at the first failure before changing anything else.",
        tool_calls=(ToolCall(name="bash", succeeded=True), ToolCall(name="edit", succeeded=None)),
        usage=usage,
        cost_usd=0.0125,
        duration_seconds=7.25,
    )
