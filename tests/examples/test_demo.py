"""The demo proves what it shows: its tasks are real, and its arms are as different as it says."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from examples.make_demo import demo_tasks, script_toml, task_files

from outweigh.agents.agent_script import (
    AgentScript,
    WriteStep,
    behaviour_for,
    parse_agent_script,
    parse_scripted_options,
)
from outweigh.agents.scripted import SeededRandom, simulate, solve_probability
from outweigh.app.starter_suite import starter_files
from outweigh.compare.comparison import compare_arms
from outweigh.engine.trial_plan import plan_runs
from outweigh.model.parse import inherit, parse_suite
from outweigh.model.run_record import RunRecord
from outweigh.model.source_document import convert_options
from outweigh.model.suite import SuiteSpec
from outweigh.model.task import TaskSettings
from outweigh.model.usage import reported_cost
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.weigh_evidence import weigh_evidence

DEMO = Path(__file__).parents[2] / "src" / "outweigh" / "demo_suite"
TASKS = sorted(path.name for path in (DEMO / "tasks").iterdir())


@pytest.fixture(scope="module")
def suite() -> SuiteSpec:
    return parse_suite((DEMO / "suite.toml").read_bytes(), "suite.toml")


@pytest.fixture(scope="module")
def script() -> AgentScript:
    return parse_agent_script((DEMO / "script.toml").read_bytes(), "script.toml")


def pretended_runs(suite: SuiteSpec, script: AgentScript, seed: int) -> Iterator[RunRecord]:
    """What the engine would record, if every check said what the script drew."""
    options = {name: parse_scripted_options(inherit(name, suite.arms).options, name) for name in suite.arms}
    for planned in plan_runs(TASKS, list(suite.arms), suite.repeats or 5, seed):
        trial, factors = planned.trial, options[planned.trial.arm].factors
        behaviour, dice = behaviour_for(trial.task_id, script, options[trial.arm]), SeededRandom(trial)
        drawn = simulate(behaviour, factors, dice)
        yield a_run(
            trial.task_id,
            trial.arm,
            trial.repeat,
            passed=dice.occurs("solve", solve_probability(behaviour, factors)),
            position=planned.position,
            duration_seconds=drawn.duration_seconds,
            usage=drawn.usage,
            cost=reported_cost(drawn.cost_usd),
        )


def decisions(suite: SuiteSpec, script: AgentScript, seed: int) -> dict[str, Decision]:
    evidence = evidence_of(pretended_runs(suite, script, seed))
    names = [name for name in suite.arms if name != suite.baseline]
    weighed = weigh_evidence([compare_arms(evidence, suite.baseline, name) for name in names], evidence_settings())
    return {name: found.decision for name, found in zip(names, weighed, strict=True)}


def test_the_demo_as_it_is_seeded_decides_as_it_says(suite: SuiteSpec, script: AgentScript) -> None:
    found = decisions(suite, script, suite.seed)

    assert found["better"] is Decision.IMPROVED
    assert found["trap"] is Decision.REGRESSED
    assert found["same"] not in (Decision.IMPROVED, Decision.REGRESSED)


def test_the_demo_does_not_owe_its_verdicts_to_a_lucky_seed(suite: SuiteSpec, script: AgentScript) -> None:
    found = [decisions(suite, script, seed) for seed in range(100, 140)]

    assert Counter(each["better"] for each in found)[Decision.IMPROVED] >= 39
    assert Counter(each["trap"] for each in found)[Decision.REGRESSED] >= 39
    assert Counter(each["same"] for each in found)[Decision.IMPROVED] <= 2


def test_every_demo_task_has_its_part_in_the_script_and_a_wrong_answer(script: AgentScript) -> None:
    assert sorted(script.tasks) == TASKS
    for name, behaviour in script.tasks.items():
        for step in behaviour.on_failure or []:
            assert isinstance(step, WriteStep)
            assert (DEMO / "tasks" / name / "solution" / "solve.sh").is_file()
        assert behaviour.on_failure


def test_what_is_in_the_demo_is_what_its_maker_writes() -> None:
    tasks = list(demo_tasks())
    written = {f"tasks/{task.name}/{name}": content for task in tasks for name, content in task_files(task)}
    found = {str(path.relative_to(DEMO)): path.read_text() for path in (DEMO / "tasks").rglob("*") if path.is_file()}

    assert found == written
    assert (DEMO / "script.toml").read_text() == script_toml(tasks)


def read_settings(content: bytes, source: str) -> Any:
    return convert_options(msgspec.toml.decode(content)["metadata"]["outweigh"], TaskSettings, ())


@pytest.mark.parametrize("name", TASKS)
def test_every_demo_task_is_a_task_folder_with_checks(name: str) -> None:
    folder = DEMO / "tasks" / name

    settings = read_settings((folder / "task.toml").read_bytes(), name)

    assert settings.checks
    assert (folder / "instruction.md").read_text().strip()
    assert (folder / settings.workspace.path).is_dir()


def test_the_starter_suite_is_valid_and_complete() -> None:
    files = starter_files()
    suite = parse_suite(files["suite.toml"], "suite.toml")
    script = parse_agent_script(files["script.toml"], "script.toml")
    tasks = [path for path in files if path.endswith("/task.toml")]

    assert (len(suite.arms), len(tasks)) == (2, 2)
    for path in tasks:
        assert read_settings(files[path], path).checks
    for name in suite.arms:
        behaviour_for("any", script, parse_scripted_options(inherit(name, suite.arms).options, name))
