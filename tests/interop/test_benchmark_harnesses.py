"""Results of HAL, EvalPlus, LiveCodeBench, MLE-bench and BFCL become runs of models and agents that can be compared."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conftest import Outweigh
from tests.interop.imported import imported_runs, passes

from outweigh.errors import EvidenceError
from outweigh.interop.bfcl import BfclImporter
from outweigh.interop.evalplus import EvalPlusImporter
from outweigh.interop.hal import HalImporter
from outweigh.interop.live_code_bench import LiveCodeBenchImporter
from outweigh.interop.mle_bench import MleBenchImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import ImporterContract


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(document))
    return path


def write_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def by_task(runs: list[RunRecord], arm: str) -> dict[str, RunRecord]:
    return {run.trial.task_id: run for run in runs if run.trial.arm == arm}


# EvalPlus


def sample(base: str, plus: str | None, task: str = "HumanEval/0") -> dict[str, Any]:
    return {
        "task_id": task,
        "solution": "def f(): ...",
        "base_status": base,
        "plus_status": plus,
        "base_fail_tests": [],
        "plus_fail_tests": [],
    }


def evalplus(path: Path, problems: dict[str, Any], **more: Any) -> Path:
    return write(path, {"date": "2026-01-01 10:00", "hash": "0" * 32, "eval": problems} | more)


class TestEvalPlus(ImporterContract):
    def importer(self) -> EvalPlusImporter:
        return EvalPlusImporter()

    def example(self, folder: Path) -> Path:
        return evalplus(
            folder / "m_eval_results.json", {"HumanEval/0": [sample("pass", "pass"), sample("fail", "fail")]}
        )


def test_a_sample_passes_evalplus_with_all_tests_and_the_models_are_arms(tmp_path: Path) -> None:
    humaneval = tmp_path / "evalplus_results" / "humaneval"
    problems = {"HumanEval/0": [sample("pass", "pass")], "HumanEval/1": [sample("pass", "fail", "HumanEval/1")]}
    rate = {"base": {"pass@1": 1.0}, "plus": {"pass@1": 0.5}}
    evalplus(humaneval / "acme--small_vllm_temp_0.0_eval_results.json", problems, pass_at_k=rate)
    evalplus(humaneval / "acme--large_vllm_temp_0.0_eval_results.json", problems)
    mbpp = {"Mbpp/2": [sample("timeout", None, "Mbpp/2")]}
    evalplus(tmp_path / "evalplus_results" / "mbpp" / "acme--small_vllm_temp_0.0_eval_results.json", mbpp)

    runs, notes = imported_runs(EvalPlusImporter(), tmp_path)

    assert passes(runs) == {
        "acme--small_vllm_temp_0.0": [True, False, False],
        "acme--large_vllm_temp_0.0": [True, False],
    }
    assert notes.arm_facts == {"acme--small_vllm_temp_0.0": {"pass@1 base": 1.0, "pass@1 plus": 0.5}}


def test_results_of_evalplus_before_0_3_have_the_statuses_beside_each_other(tmp_path: Path) -> None:
    old = {
        "HumanEval/0": {
            "nfiles": 2,
            "base": [["success", []], ["success", []]],
            "plus": [["success", []], ["failed", []]],
        }
    }

    runs, _ = imported_runs(EvalPlusImporter(), evalplus(tmp_path / "gpt-4_temp_0.8" / "eval_results.json", old))

    assert passes(runs) == {"gpt-4_temp_0.8": [True, False]}


def test_a_status_that_nobody_knows_is_neither_pass_nor_fail(tmp_path: Path) -> None:
    path = evalplus(tmp_path / "m_eval_results.json", {"HumanEval/0": [sample("crashed", "pass")]})

    assert passes(imported_runs(EvalPlusImporter(), path)[0]) == {"m": [None]}


def test_bigcodebench_has_one_status_for_each_sample(tmp_path: Path) -> None:
    statuses = ("pass", "fail", "timeout")
    problems = {
        f"BigCodeBench/{number}": [
            {"task_id": f"BigCodeBench/{number}", "solution": "", "status": status, "details": {}}
        ]
        for number, status in enumerate(statuses)
    }
    file = write(
        tmp_path / "acme--main--bigcodebench-complete--vllm-0-1_eval_results.json",
        {"date": "2026-01-01 10:00", "eval": problems},
    )

    runs, _ = imported_runs(EvalPlusImporter(), file)

    assert EvalPlusImporter().recognises(tmp_path)
    assert passes(runs) == {"acme--main--bigcodebench-complete--vllm-0-1": [True, False, False]}


# LiveCodeBench


def question(name: str, *graded: object) -> dict[str, Any]:
    return {
        "question_title": "t",
        "question_content": f"what is {name}?",
        "platform": "leetcode",
        "question_id": name,
        "contest_date": "2024-05-01T00:00:00",
        "difficulty": "easy",
        "output_list": ["o"] * len(graded),
        "code_list": ["c"] * len(graded),
        "graded_list": list(graded),
        "pass@1": 0.5,
        "metadata": ["{}"] * len(graded),
    }


class TestLiveCodeBench(ImporterContract):
    def importer(self) -> LiveCodeBenchImporter:
        return LiveCodeBenchImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "GPT-4" / "Scenario.codegeneration_2_0.2_eval_all.json"
        return write(path, [question("1", True, False), question("2", False, False)])


def test_a_graded_sample_of_livecodebench_is_a_run_of_the_model_of_its_folder(tmp_path: Path) -> None:
    name = "Scenario.codegeneration_2_0.2_eval"
    write(tmp_path / "output" / "Small" / f"{name}_all.json", [question("a", True, False)])
    write(tmp_path / "output" / "Small" / f"{name}.json", [{"pass@1": 0.5, "detail": {}}, {}, {}])
    write(tmp_path / "output" / "Large" / f"{name}_all.json", [question("a", True, True)])

    runs, notes = imported_runs(LiveCodeBenchImporter(), tmp_path / "output")

    assert passes(runs) == {"Small": [True, False], "Large": [True, True]}
    assert notes.arm_facts == {"Small": {"accuracy": 0.5}}
    assert by_task(runs, "Small")["a"].family == "leetcode"


def test_scenarios_of_one_model_are_arms_and_custom_outputs_are_called_by_their_files(tmp_path: Path) -> None:
    for scenario in ("codegeneration_1_0.2", "selfrepair_1_0.2"):
        write(tmp_path / "m" / f"Scenario.{scenario}_eval_all.json", [question("a", True)])
    write(tmp_path / "custom" / "phi_codegeneration_output_eval_all.json", [question("a", False)])

    runs, _ = imported_runs(LiveCodeBenchImporter(), tmp_path)

    assert set(passes(runs)) == {"m codegeneration_1_0.2", "m selfrepair_1_0.2", "phi"}


# MLE-bench


def competition(name: str, *, medal: bool, **more: Any) -> dict[str, Any]:
    return {
        "competition_id": name,
        "score": -0.5,
        "gold_threshold": 1.0,
        "any_medal": medal,
        "gold_medal": medal,
        "above_median": True,
        "submission_exists": True,
        "valid_submission": True,
        "is_lower_better": False,
        "created_at": "2024-09-25T14:15:15",
        "submission_path": "x.csv",
    } | more


def grading_report(folder: Path, *reports: dict[str, Any]) -> Path:
    medals = sum(each["any_medal"] for each in reports)
    report = {"total_runs": len(reports), "total_medals": medals, "competition_reports": list(reports)}
    return write(folder / "2024-09-25T14-15-15_grading_report.json", report)


class TestMleBench(ImporterContract):
    def importer(self) -> MleBenchImporter:
        return MleBenchImporter()

    def example(self, folder: Path) -> Path:
        return grading_report(folder / "group", competition("spooky", medal=True), competition("leaf", medal=False))


def test_an_attempt_at_mle_bench_passes_with_a_medal_and_run_groups_of_an_experiment_are_repeats(
    tmp_path: Path,
) -> None:
    runs_folder = tmp_path / "runs"
    for seed, medal in ((1, True), (2, False)):
        grading_report(runs_folder / f"2024-08-0{seed}T10-00-00-UTC_run-group_aide", competition("leaf", medal=medal))
    grading_report(runs_folder / "other-group", competition("leaf", medal=False, valid_submission=False))
    (runs_folder / "run_group_experiments.csv").write_text("experiment_id,run_group\nscaffolding-other,other-group\n")

    runs, notes = imported_runs(MleBenchImporter(), runs_folder)

    assert passes(runs) == {"aide": [True, False], "scaffolding-other": [False]}
    assert notes.arm_facts == {"aide": {"passes": 1}, "scaffolding-other": {"passes": 0}}
    assert by_task(runs, "scaffolding-other")["leaf"].status_detail == "invalid submission"
    assert by_task(runs, "aide")["leaf"].extra["score"] == -0.5


# BFCL


def answer(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "result": "[f()]", "input_token_count": 90, "output_token_count": 20, "latency": 1.5} | more


def bfcl(root: Path, model: str, answers: list[dict[str, Any]], wrong: list[str], category: str = "simple") -> None:
    write_lines(root / "result" / model / "non_live" / f"BFCL_v4_{category}_result.json", *answers)
    total = {"accuracy": 0.5, "correct_count": len(answers) - len(wrong), "total_count": len(answers)}
    errors = [{"id": each, "valid": False, "error": {"error_type": "ast:wrong_count"}} for each in wrong]
    write_lines(root / "score" / model / "non_live" / f"BFCL_v4_{category}_score.json", total, *errors)


class TestBfcl(ImporterContract):
    def importer(self) -> BfclImporter:
        return BfclImporter()

    def example(self, folder: Path) -> Path:
        bfcl(folder, "small", [answer("simple_0"), answer("simple_1")], ["simple_1"])
        return folder


def test_an_answer_to_bfcl_that_is_not_among_the_wrong_ones_is_right(tmp_path: Path) -> None:
    turns = answer("multi_0", output_token_count=[[5, 6], [7]], latency=[[1.0, 0.5], [2.0]])
    bfcl(tmp_path, "small", [answer("simple_0"), answer("simple_1")], ["simple_1"])
    bfcl(tmp_path, "small", [turns], [], "multi_turn_base")
    bfcl(tmp_path, "large", [answer("simple_0"), answer("simple_1")], [])

    runs, notes = imported_runs(BfclImporter(), tmp_path)

    assert passes(runs) == {"small": [True, True, False], "large": [True, True]}
    assert notes.arm_facts == {"small": {"passes": 2}, "large": {"passes": 2}}
    multi = by_task(runs, "small")["multi_0"]
    assert (multi.usage.output_tokens, multi.usage.input_tokens, multi.duration_seconds) == (18, None, 3.5)
    assert multi.family == "multi_turn_base"


def test_wrong_answers_without_the_others_are_refused_with_what_to_name(tmp_path: Path) -> None:
    bfcl(tmp_path, "small", [answer("simple_0")], ["simple_0"])

    with pytest.raises(EvidenceError, match="name the folder that has `result` beside `score`"):
        imported_runs(BfclImporter(), tmp_path / "score")


def test_answers_that_were_not_scored_are_unknown(tmp_path: Path) -> None:
    bfcl(tmp_path, "small", [answer("simple_0")], [])

    runs, notes = imported_runs(BfclImporter(), tmp_path / "result")

    assert passes(runs) == {"small": [None]}
    assert "was not scored" in next(iter(notes.warnings))


def test_a_request_that_the_provider_refused_is_no_answer(tmp_path: Path) -> None:
    refused = answer("simple_0", result="Error during inference: Error code: 429 - rate limit reached")
    crashed = answer("simple_1", result="Error during inference: list index out of range")
    bfcl(tmp_path, "small", [refused, crashed], ["simple_0", "simple_1"])

    runs, _ = imported_runs(BfclImporter(), tmp_path)

    assert [run.status for run in runs] == [Status.INFRA_ERROR, Status.COMPLETED]


# HAL


def upload(folder: Path, agent: str, *, benchmark: str = "usaco", run: str = "r1", **more: Any) -> Path:
    document = {
        "config": {"agent_name": agent, "benchmark_name": benchmark, "run_id": run, "agent_args": {"model_name": "m"}},
        "results": {
            "accuracy": 0.5,
            "successful_tasks": ["1"],
            "failed_tasks": ["2"],
            "total_cost": 0.75,
            "latencies": {"1": {"total_time": 12.5}},
        },
        "raw_eval_results": {"1": {"cost": 0.25}, "2": {"cost": 0.5}},
        "wall_clock_times": {"2": 30.0},
        "task_step_counts": {"1": 7},
    }
    return write(folder / f"{run}_UPLOAD.json", document | more)


class TestHal(ImporterContract):
    def importer(self) -> HalImporter:
        return HalImporter()

    def example(self, folder: Path) -> Path:
        return upload(folder, "Zero Shot (m)")


def test_every_figure_of_hal_is_where_it_belongs(tmp_path: Path) -> None:
    runs, notes = imported_runs(HalImporter(), upload(tmp_path, "Zero Shot (m)"))

    first, second = (by_task(runs, "Zero Shot (m)")[f"usaco/{number}"] for number in (1, 2))
    assert passes(runs) == {"Zero Shot (m)": [True, False]}
    assert (first.cost.usd, first.duration_seconds, first.step_count, first.agent.model) == (0.25, 12.5, 7, "m")
    assert (second.cost.usd, second.duration_seconds, second.step_count) == (0.5, 30.0, None)
    assert notes.arm_facts == {"Zero Shot (m)": {"accuracy": 0.5, "cost_usd": 0.75}}


def test_runs_of_one_agent_on_one_benchmark_are_repeats_and_a_task_on_both_lists_is_unknown(tmp_path: Path) -> None:
    upload(tmp_path / "a", "A", run="r1")
    upload(tmp_path / "b", "A", run="r2", results={"successful_tasks": ["1", "2"], "failed_tasks": ["2"]})

    runs, _ = imported_runs(HalImporter(), tmp_path)

    assert [(run.trial.task_id, run.trial.repeat) for run in runs] == [
        ("usaco/1", 1),
        ("usaco/2", 1),
        ("usaco/1", 2),
        ("usaco/2", 2),
    ]
    assert passes(runs) == {"A": [True, True, False, None]}


def test_without_lists_the_reward_of_a_task_decides(tmp_path: Path) -> None:
    raw = {"1": {"reward": 1.0}, "2": {"reward": 0.4}, "3": {"taken_actions": []}}

    runs, _ = imported_runs(HalImporter(), upload(tmp_path, "A", results={}, raw_eval_results=raw))

    assert passes(runs) == {"A": [True, False, None]}


def test_each_folder_ends_in_a_comparison_in_one_command(outweigh: Outweigh, tmp_path: Path) -> None:
    for number, model in enumerate(("small", "large")):
        passed = "pass" if number else "fail"
        evalplus(tmp_path / "evalplus" / f"{model}_eval_results.json", {"HumanEval/0": [sample("pass", passed)]})
        write(tmp_path / "lcb" / model / "Scenario.codegeneration_1_0.2_eval_all.json", [question("a", bool(number))])
        grading_report(tmp_path / "mle" / model, competition("leaf", medal=bool(number)))
        bfcl(tmp_path / "bfcl", model, [answer("simple_0"), answer("simple_1")], ["simple_1"][number:])
        upload(tmp_path / "hal" / model, model, run=model)

    for folder in ("evalplus", "lcb", "mle", "bfcl", "hal"):
        ended = outweigh("import", str(tmp_path / folder), "-o", str(tmp_path / f"{folder}-runs"))
        assert ended.code == 0, ended.err
        assert "Next: outweigh verdict" in ended.out
