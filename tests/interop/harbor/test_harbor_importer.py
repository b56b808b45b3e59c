import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.interop.harbor.harbor_jobs import TRAJECTORY, a_job, a_trial, leave_trajectory

from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.harbor.importer import HarborImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind, RunRecord
from outweigh.model.usage import Usage
from outweigh.ports.importers import Importer
from outweigh.testing.importer_contract import ImporterContract, read_all


class TestHarborImporter(ImporterContract):
    # Without a count of cache writes, nothing was written.
    alternatives = frozenset({"input_tokens"})

    def importer(self) -> Importer:
        return HarborImporter()

    def example(self, folder: Path) -> Path:
        trials = [a_trial(1, "one"), a_trial(2, "two", 0), a_trial(3, "two", None, exception="AgentTimeoutError")]
        job = a_job(folder / "job", trials)
        leave_trajectory(job, trials[0])
        return job


def runs(path: Path, **options: Any) -> list[RunRecord]:
    return [record for record in read_all(HarborImporter(), path, **options)[0] if isinstance(record, RunRecord)]


def test_every_figure_of_a_trial_is_where_it_belongs(tmp_path: Path) -> None:
    trial = a_trial(1, "one")
    job = a_job(tmp_path / "job", [trial])
    leave_trajectory(job, trial)

    (run,) = runs(job)

    assert run.run_id == "harbor/00000000-0000-0000-0000-000000000001"
    assert (run.trial.task_id, run.trial.repeat, run.status) == ("one", 1, Status.COMPLETED)
    assert (run.agent.name, run.agent.version, run.agent.model) == ("claude-code", "2.1.0", "claude-opus-4-5")
    assert run.task_checksum == "checksum of one"
    assert (run.duration_seconds, run.setup_seconds, run.checks_seconds) == (30, 5, 10.5)
    # Harbor counts the cache inside input: 1000 = 200 + 700 read + 100 written.
    assert run.usage == Usage(input_tokens=200, output_tokens=50, cache_read_tokens=700, cache_write_tokens=100)
    assert run.cost.usd == 0.25
    assert (run.step_count, run.tool_call_count) == (2, 1)
    assert "trajectory.json" in run.artifacts
    assert run.checks is not None
    assert [(check.name, check.passed, check.required) for check in run.checks] == [("reward", True, True)]


def test_the_arm_is_what_configured_the_agent_not_its_name(tmp_path: Path) -> None:
    plain, skilled = a_trial(1, "one"), a_trial(2, "one", skills=["skills/review"])
    capped = a_trial(3, "two")
    capped["config"]["agent"]["n_concurrent"] = 4

    first, second, third = runs(a_job(tmp_path / "job", [plain, skilled, capped]))

    assert first.trial.arm.startswith("claude-code claude-opus-4-5 @")
    assert first.trial.arm != second.trial.arm
    assert first.arm_fingerprint != second.arm_fingerprint
    assert third.trial.arm == first.trial.arm, "how many ran at once is no part of the arm"


def test_a_name_can_be_given_to_one_agent_but_not_to_two(tmp_path: Path) -> None:
    one = a_job(tmp_path / "one", [a_trial(1, "one")])
    two = a_job(tmp_path / "two", [a_trial(1, "one"), a_trial(2, "one", skills=["s"])])

    assert runs(one, arm="plain")[0].trial.arm == "plain"
    with pytest.raises(UsageError, match="several agents"):
        runs(two, arm="plain")


def test_repeats_are_numbered_by_time_and_marked_as_arbitrary(tmp_path: Path) -> None:
    found = runs(a_job(tmp_path / "job", [a_trial(9, "one"), a_trial(4, "one"), a_trial(5, "two")]))

    assert {(run.run_id[-1], run.trial.repeat, run.extra.get("repeat_label")) for run in found} == {
        ("4", 1, "arbitrary"),
        ("9", 2, "arbitrary"),
        ("5", 1, None),
    }


@pytest.mark.parametrize(
    ("exception", "reward", "status"),
    [
        ("AgentTimeoutError", None, Status.TIMEOUT),
        ("AgentTimeoutError", 1, Status.COMPLETED),
        ("ContextLengthExceededError", None, Status.AGENT_ERROR),
        ("AgentSafetyRefusalError", 0, Status.COMPLETED),
        ("EnvironmentStartTimeoutError", None, Status.INFRA_ERROR),
        ("ApiRateLimitError", 0, Status.INFRA_ERROR),
        ("VerifierTimeoutError", None, Status.INFRA_ERROR),
        ("NonZeroAgentExitCodeError", 0, Status.INFRA_ERROR),
        ("NeverHeardOfError", 1, Status.INFRA_ERROR),
        ("CancelledError", None, Status.NOT_RUN),
    ],
)
def test_an_exception_means_what_it_means_to_harbor(
    tmp_path: Path, exception: str, reward: float | None, status: Status
) -> None:
    (run,) = runs(a_job(tmp_path / "job", [a_trial(1, "one", reward, exception=exception)]))

    assert run.status is status
    assert run.status_detail == f"{exception}: it broke"


def test_what_nobody_classified_is_said_aloud(tmp_path: Path) -> None:
    _, notes = read_all(
        HarborImporter(), a_job(tmp_path / "job", [a_trial(1, "one", 0, exception="NonZeroAgentExitCodeError")])
    )

    assert any("NonZeroAgentExitCodeError" in warning for warning in notes.warnings)


def test_the_cost_of_retries_is_said_to_be_missing(tmp_path: Path) -> None:
    found, notes = read_all(HarborImporter(), a_job(tmp_path / "job", [a_trial(1, "one")], n_retries=2))

    assert any("tried again 2 times" in warning for warning in notes.warnings)
    assert isinstance(found[0], RunRecord)
    assert "not in the cost" in found[0].warnings[0]


def test_a_task_that_changed_between_trials_is_noticed(tmp_path: Path) -> None:
    _, notes = read_all(
        HarborImporter(), a_job(tmp_path / "job", [a_trial(1, "one"), a_trial(2, "one", task_checksum="another")])
    )

    assert any("the task changed between trials of 'one'" in warning for warning in notes.warnings)


def test_a_part_of_a_reward_is_no_pass_and_further_rewards_do_not_decide(tmp_path: Path) -> None:
    half = a_trial(1, "one", verifier_result={"rewards": {"reward": 0.5, "style": 1}})
    both = a_trial(2, "two", verifier_result={"rewards": {"tests": 1, "style": 0}})

    first, second = runs(a_job(tmp_path / "job", [half, both]))

    assert first.checks is not None
    assert [(check.name, check.passed, check.required) for check in first.checks] == [
        ("reward", False, True),
        ("style", True, False),
    ]
    assert second.checks is not None
    assert [check.required for check in second.checks] == [True, True]


def test_a_copied_folder_does_not_double_its_trials(tmp_path: Path) -> None:
    job = a_job(tmp_path / "job", [a_trial(1, "one"), a_trial(2, "two")])
    shutil.copytree(job, job / "job")

    found, notes = read_all(HarborImporter(), job)

    assert len(found) == 2
    assert any("2 results are there twice" in warning for warning in notes.warnings)


def test_a_job_that_is_still_running_says_so(tmp_path: Path) -> None:
    _, notes = read_all(HarborImporter(), a_job(tmp_path / "some", [a_trial(1, "one")], n_running_trials=2))

    assert any("still running" in warning for warning in notes.warnings)
    with pytest.raises(EvidenceError, match=r"no result of a trial\. Its trials have not finished"):
        read_all(HarborImporter(), a_job(tmp_path / "none", [], n_pending_trials=2))


def test_a_folder_of_jobs_and_a_single_result_are_read_too(tmp_path: Path) -> None:
    a_job(tmp_path / "jobs" / "a", [a_trial(1, "one")])
    job = a_job(tmp_path / "jobs" / "b", [a_trial(2, "one")])

    assert HarborImporter().recognises(tmp_path / "jobs")
    assert len(runs(tmp_path / "jobs")) == 2
    assert len(runs(job / "one__0000002" / "result.json")) == 1


def test_without_the_count_of_cached_tokens_input_is_unknown(tmp_path: Path) -> None:
    (run,) = runs(a_job(tmp_path / "job", [a_trial(1, "one", agent_result={"n_input_tokens": 1000, "cost_usd": 0.0})]))

    assert run.usage.input_tokens is None
    assert run.extra["n_input_tokens"] == 1000


def test_a_trial_that_left_no_totals_is_counted_by_its_trajectory(tmp_path: Path) -> None:
    trial = a_trial(1, "one", agent_result=None)
    job = a_job(tmp_path / "job", [trial])
    leave_trajectory(job, trial, TRAJECTORY)

    (run,) = runs(job)

    assert run.usage == Usage(input_tokens=200, output_tokens=50, cache_read_tokens=700, cache_write_tokens=100)
    assert run.cost.usd == 0.25


def test_harbors_oracle_is_no_real_agent(tmp_path: Path) -> None:
    trial = a_trial(1, "one", agent_info={"name": "oracle", "version": "1.0.0"})

    assert runs(a_job(tmp_path / "job", [trial]))[0].agent.kind is AgentKind.SCRIPTED


def test_a_trial_of_several_steps_is_the_sum_of_them(tmp_path: Path) -> None:
    step = {
        "step_name": "a",
        "agent_result": {"n_input_tokens": 100, "n_cache_tokens": 60, "n_output_tokens": 5, "cost_usd": 0.5},
        "agent_execution": {"started_at": "2026-05-01T10:00:00Z", "finished_at": "2026-05-01T10:00:10Z"},
    }
    trial = a_trial(1, "one", agent_result=None, agent_execution=None, step_results=[step, step])

    (run,) = runs(a_job(tmp_path / "job", [trial]))

    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.output_tokens) == (80, 120, 10)
    assert (run.cost.usd, run.duration_seconds) == (1.0, 20)


def with_agent(trial: dict[str, Any], **settings: Any) -> dict[str, Any]:
    return trial | {"config": {"agent": trial["config"]["agent"] | settings}}


def arms_and_tasks(path: Path) -> set[tuple[str, str]]:
    found, _ = read_all(HarborImporter(), path)
    return {(run.trial.arm, run.trial.task_id) for run in found if isinstance(run, RunRecord)}


def test_arguments_that_differ_from_task_to_task_make_no_arm(tmp_path: Path) -> None:
    trials = [
        with_agent(a_trial(number, task, skills=skills), kwargs={"hint": task, "effort": "high"})
        for number, (task, skills) in enumerate((("a", []), ("b", []), ("a", ["s"]), ("b", ["s"])))
    ]

    found = arms_and_tasks(a_job(tmp_path / "job", trials))

    assert len({arm for arm, _ in found}) == 2
    assert len(found) == 4


def test_an_argument_with_two_values_for_one_task_makes_arms(tmp_path: Path) -> None:
    trials = [
        with_agent(a_trial(number, task), kwargs={"effort": effort, "hint": task})
        for number, (task, effort) in enumerate((("a", "low"), ("b", "low"), ("a", "high"), ("b", "high")))
    ]

    found = arms_and_tasks(a_job(tmp_path / "job", trials))

    assert len({arm for arm, _ in found}) == 2
    assert len(found) == 4


def test_skills_in_the_folders_of_tasks_are_one_arm(tmp_path: Path) -> None:
    trials = [
        a_trial(number, task, skills=[f"tasks/{task}/skill"] if number > 1 else [])
        for number, task in enumerate(("a", "b", "a", "b"))
    ]

    assert len({arm for arm, _ in arms_and_tasks(a_job(tmp_path / "job", trials))}) == 2


def test_tasks_of_one_name_in_two_folders_are_two_arms(tmp_path: Path) -> None:
    trials = [
        a_trial(number, task, task_id={"path": f"{folder}/{task}"})
        for number, (folder, task) in enumerate(
            (("plain", "a"), ("plain", "b"), ("with-skill", "a"), ("with-skill", "b"))
        )
    ]

    assert len({arm for arm, _ in arms_and_tasks(a_job(tmp_path / "job", trials))}) == 2


def test_jobs_are_found_at_any_depth(tmp_path: Path) -> None:
    a_job(tmp_path / "submissions" / "terminal-bench" / "2.0" / "agent__model" / "job", [a_trial(1, "a")])

    assert HarborImporter().recognises(tmp_path / "submissions")
    assert len(arms_and_tasks(tmp_path / "submissions")) == 1
