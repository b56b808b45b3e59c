"""Writes small results in the formats of seven harnesses: twelve tasks, with and without a change. All is made up."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TASKS = (
    *("retries", "parser", "cache", "login", "export", "search"),
    *("upload", "quota", "audit", "theme", "rename", "batch"),
)
ARMS = {"plain": (0.4, 1.0), "with-notes": (0.9, 0.75)}
"""How often an arm passes, and how much it uses."""


def runs(repeats: int = 2) -> Iterator[tuple[str, str, int, bool, float]]:
    """Arm, task, repeat, whether it passed, and its size; the same at every call."""
    chance = random.Random(20)
    for arm, (passes, share) in ARMS.items():
        for task in TASKS:
            for repeat in range(repeats):
                yield arm, task, repeat, chance.random() < passes, round(share * chance.uniform(0.8, 1.2), 3)


def write(path: str, document: Any) -> None:
    """One JSON file."""
    target = HERE / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document) + "\n", encoding="utf-8")


def write_swe_bench() -> None:
    """A final report of each model."""
    for arm in ARMS:
        passed = [f"acme__{task}-1" for each, task, _, ok, _ in runs(1) if each == arm and ok]
        failed = [f"acme__{task}-1" for each, task, _, ok, _ in runs(1) if each == arm and not ok]
        report = {"total_instances": 12, "submitted_instances": 12, "completed_instances": 12}
        counts = {"resolved_instances": len(passed), "unresolved_instances": len(failed), "schema_version": 2}
        ids = {"resolved_ids": passed, "unresolved_ids": failed, "error_ids": [], "empty_patch_ids": []}
        write(f"swe-bench/{arm}.nightly.json", report | counts | ids | {"incomplete_ids": []})


def write_terminal_bench() -> None:
    """A run of each agent."""
    for arm in ARMS:
        results: list[dict[str, Any]] = [
            {
                "id": f"{arm}-{task}-{repeat}",
                "trial_name": f"{task}.{repeat + 1}-of-2.{arm}",
                "task_id": task,
                "instruction": "…",
                "is_resolved": ok,
                "failure_mode": "unset",
                "total_input_tokens": int(40_000 * size),
                "total_output_tokens": int(4_000 * size),
                "agent_started_at": "2026-05-04T10:00:00+00:00",
                "agent_ended_at": f"2026-05-04T10:0{int(4 * size)}:30+00:00",
            }
            for each, task, repeat, ok, size in runs()
            if each == arm
        ]
        resolved = sum(each["is_resolved"] for each in results)
        summary = {"n_resolved": resolved, "n_unresolved": len(results) - resolved, "accuracy": resolved / len(results)}
        write(f"terminal-bench/{arm}/results.json", {"results": results, **summary})
        write(
            f"terminal-bench/{arm}/run_metadata.json",
            {"run_id": arm, "agent_name": "terminus", "model_name": f"acme/{arm}", "agent_kwargs": {}},
        )


def write_mlflow() -> None:
    """A table of an evaluation of each prompt."""
    columns = ["inputs", "outputs", "correct/score", "latency"]
    for arm in ARMS:
        rows = [[f"Fix {task}", "done", ok, 30 * size] for each, task, _, ok, size in runs() if each == arm]
        write(f"mlflow/{arm}.json", {"columns": columns, "data": rows})


def write_tau_bench() -> None:
    """Simulations of each agent."""
    for arm in ARMS:
        simulations = [
            {
                "id": f"{arm}-{task}-{trial}",
                "task_id": task,
                "start_time": "2026-05-04T10:00:00",
                "duration": 60 * size,
                "termination_reason": "user_stop",
                "agent_cost": 0.05 * size,
                "user_cost": 0.01,
                "reward_info": {"reward": float(ok)},
                "messages": [
                    {
                        "role": "assistant",
                        "content": "Done.",
                        "tool_calls": None,
                        "usage": {"prompt_tokens": int(9_000 * size), "completion_tokens": int(700 * size)},
                    }
                ],
                "trial": trial,
                "seed": 1,
            }
            for each, task, trial, ok, size in runs()
            if each == arm
        ]
        info = {
            "num_trials": 2,
            "user_info": {"implementation": "user_simulator", "llm": "gpt-4.1"},
            "agent_info": {"implementation": "llm_agent", "llm": f"acme-{arm}", "llm_args": {}},
            "environment_info": {"domain_name": "airline"},
        }
        tasks = [{"id": task, "user_scenario": "wants it done"} for task in TASKS]
        write(f"tau-bench/{arm}.json", {"timestamp": "2026", "info": info, "tasks": tasks, "simulations": simulations})


def write_skill_creator() -> None:
    """The benchmark of a skill."""
    names = {"plain": "without_skill", "with-notes": "with_skill"}
    listed = [
        {
            "eval_id": TASKS.index(task),
            "eval_name": task,
            "configuration": names[arm],
            "run_number": repeat + 1,
            "result": {"passed": int(ok), "total": 1, "time_seconds": 40 * size, "tokens": int(9_000 * size)},
            "expectations": [{"text": "it is done", "passed": ok, "evidence": "the report"}],
        }
        for arm, task, repeat, ok, size in runs()
    ]
    metadata = {"skill_name": "release-notes", "executor_model": "claude-opus-4-5"}
    write("skill-creator/benchmark.json", {"metadata": metadata, "runs": listed})


def write_plugin_eval() -> None:
    """The result of `claude plugin eval`, which runs the cases with and without a plugin."""
    names = {"plain": "without", "with-notes": "with"}
    cases: dict[str, dict[str, list[dict[str, Any]]]] = {task: {"with": [], "without": []} for task in TASKS}
    for minute, (arm, task, _, ok, size) in enumerate(runs(3)):
        grade = {"name": "done", "passed": ok, "weight": 1, "explanation": "", "withOnly": False, "scored": True}
        cases[task][names[arm]].append(
            {
                "score": float(ok),
                "passed": ok,
                "turns": 4,
                "costUsd": round(0.03 * size, 4),
                "judgeCostUsd": 0,
                "durationSeconds": round(20 * size, 1),
                "startedAt": f"2026-05-04T{10 + minute // 60}:{minute % 60:02}:00.000Z",
                "error": None,
                "tracePath": None,
                "skippedPaidGraders": False,
                "graders": [grade],
            }
        )
    config = {"target": "last_message", "pattern": "done"}
    listed = [
        {
            "name": task,
            "dir": f"evals/{task}",
            "source": "prose",
            "promptMarkdown": f"Fix {task}.",
            "runsPerCase": 3,
            "timeoutSeconds": 300,
            "maxTurns": 10,
            "graders": [{"name": "done", "type": "regex", "weight": 1, "config": config}],
            "arms": arms,
            "aggregates": {},
        }
        for task, arms in cases.items()
    ]
    plugin = {"name": "notes", "path": "notes", "version": "1.0.0"}
    suite = {"root": "notes", "ablation": "with-without", "threshold": 1, "concurrency": 1, "plugins": [plugin]}
    about = {"schemaVersion": 1, "claudeVersion": "2.1.325", "startedAt": "2026-05-04T10:00:00.000Z", "partial": False}
    write("plugin-eval/aggregate-result.json", about | {"suite": suite, "cases": listed, "aggregates": {}})


def write_claude_code() -> None:
    """What `claude -p --output-format json` printed, by arm and task."""
    for arm, task, repeat, _, size in runs():
        used = {"inputTokens": int(800 * size), "outputTokens": int(2_000 * size)}
        cached = {"cacheReadInputTokens": int(60_000 * size), "cacheCreationInputTokens": int(5_000 * size)}
        usage = {"input_tokens": used["inputTokens"], "output_tokens": used["outputTokens"]}
        write(
            f"claude-code/{arm}/{task}/run_{repeat + 1}.json",
            {
                "type": "result",
                "subtype": "success",
                "is_error": False,
                "duration_ms": int(90_000 * size),
                "num_turns": 9,
                "result": "Done.",
                "session_id": f"{arm}-{task}-{repeat}",
                "total_cost_usd": round(0.12 * size, 4),
                "usage": usage,
                "modelUsage": {"claude-opus-4-5": {**used, **cached, "costUSD": round(0.12 * size, 4)}},
            },
        )


def main() -> None:
    """All of them."""
    write_swe_bench()
    write_terminal_bench()
    write_mlflow()
    write_tau_bench()
    write_skill_creator()
    write_plugin_eval()
    write_claude_code()


if __name__ == "__main__":
    main()
