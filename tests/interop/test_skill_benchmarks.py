"""Results of tools that compare set-ups or skills: ablate, agent-crucible, CodeProbe, skillevaluation and others."""

import json
from pathlib import Path
from typing import Any

from tests.interop.imported import SAMPLES, copied_sample, imported_runs, passes

from outweigh.interop.ablate import AblateImporter
from outweigh.interop.agent_crucible import AgentCrucibleImporter
from outweigh.interop.codeprobe import CodeProbeImporter
from outweigh.interop.skillevaluation import SkillevaluationImporter
from outweigh.interop.skillgrade import SkillgradeImporter
from outweigh.interop.waza import WazaImporter
from outweigh.model.failure import Status
from outweigh.testing.importer_contract import ImporterContract


def a_trial(variant: str = "A", replicate: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "trial_id": f"fix-{variant}-r{replicate}",
        "run_id": "20260726T140211Z",
        "task_id": "fix",
        "variant_id": variant,
        "variant_hash": f"sha256:{variant}",
        "replicate": replicate,
        "agent": "claude-code",
        "agent_version": "2.1.220",
        "model": "claude-sonnet-5",
        "started_at": "2026-07-26T14:02:11Z",
        "duration_s": 55.1,
        "telemetry": {
            "input_tokens": 4467,
            "output_tokens": 2680,
            "cache_read": 75942,
            "cache_write": 6254,
            "cost_usd": 0.3524,
            "turns": 7,
            "tool_calls": 14,
        },
        "assertions": [
            {"id": "tests", "type": "exit_code", "passed": True, "required": True, "detail": "", "value": 3}
        ],
        "passed": True,
        "error": None,
    } | more


def ablate_run(folder: Path, *trials: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    variants = [{"id": "A", "source": "CLAUDE.md", "text": "# Rules"}, {"id": "B", "source": "/dev/null", "text": None}]
    (folder / "manifest.json").write_text(json.dumps({"run_id": "r", "variants": variants}))
    (folder / "trials.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in trials))
    return folder


class TestAblate(ImporterContract):
    def importer(self) -> AblateImporter:
        return AblateImporter()

    def example(self, folder: Path) -> Path:
        return ablate_run(folder / "run", a_trial("A"), a_trial("A", 2), a_trial("B", passed=False))


def test_variants_of_ablate_are_called_by_their_files(tmp_path: Path) -> None:
    broken = a_trial("B", 2, passed=False, error="Not logged in")
    runs, _ = imported_runs(AblateImporter(), ablate_run(tmp_path, a_trial("A"), a_trial("B", passed=False), broken))

    assert [(run.trial.arm, run.trial.repeat, run.status) for run in runs] == [
        ("CLAUDE.md", 1, Status.COMPLETED),
        ("no configuration", 1, Status.COMPLETED),
        ("no configuration", 2, Status.INFRA_ERROR),
    ]
    assert (runs[0].usage.input_tokens, runs[0].usage.cache_read_tokens, runs[0].cost.usd) == (4467, 75942, 0.3524)
    assert (runs[0].step_count, runs[0].tool_call_count, runs[0].duration_seconds) == (7, 14, 55.1)


class TestAgentCrucible(ImporterContract):
    def importer(self) -> AgentCrucibleImporter:
        return AgentCrucibleImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("agent_crucible", folder)


def test_a_record_of_agent_crucible_has_two_arms() -> None:
    runs, _ = imported_runs(AgentCrucibleImporter(), SAMPLES / "agent_crucible")

    assert passes(runs) == {"without_skill": [True, True, False, False], "with_skill": [True] * 4}
    first = runs[0]
    assert (first.usage.input_tokens, first.usage.output_tokens, first.usage.cache_read_tokens) == (12, 34, None)
    assert (first.agent.version, first.step_count, first.extra["tokens"]) == ("2.1.220", 3, 166)


def test_versions_of_a_skill_are_separate_arms(tmp_path: Path) -> None:
    folder = copied_sample("agent_crucible", tmp_path) / "runs"
    (file,) = folder.iterdir()
    changed = json.loads(file.read_text()) | {"timestamp": "20261119T000000Z", "fingerprint": "0123456789abcdef"}
    (folder / "later.json").write_text(json.dumps(changed))

    runs, _ = imported_runs(AgentCrucibleImporter(), folder)

    assert sorted({run.trial.arm for run in runs}) == [
        "with_skill@0123456789abcdef",
        "with_skill@4d4334c8e9c96d87",
        "without_skill",
    ]
    assert max(run.trial.repeat for run in runs if run.trial.arm == "without_skill") == 4


class TestCodeProbe(ImporterContract):
    def importer(self) -> CodeProbeImporter:
        return CodeProbeImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("codeprobe", folder)


def test_configurations_of_codeprobe_are_arms() -> None:
    runs, notes = imported_runs(CodeProbeImporter(), SAMPLES / "codeprobe")
    counted = [run for run in runs if run.status is Status.COMPLETED]

    assert passes(counted) == {"baseline": [True, True, False, False], "with-mcp": [True] * 4}
    assert [run.status_detail for run in runs if run.status is Status.INFRA_ERROR] == ["quota", "quota"]
    assert (counted[0].usage.input_tokens, counted[0].agent.model) == (20, "claude-haiku-4-5")
    assert notes.arm_facts["baseline"] == {"mean score": 0.625, "cost_usd": 0.18}


class TestSkillevaluation(ImporterContract):
    def importer(self) -> SkillevaluationImporter:
        return SkillevaluationImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("skillevaluation", folder)


def test_cases_of_skillevaluation_have_both_arms() -> None:
    runs, notes = imported_runs(SkillevaluationImporter(), SAMPLES / "skillevaluation")

    assert passes(runs) == {"without_skill": [True, True], "with_skill": [True, True]}
    assert notes.arm_facts == {"without_skill": {"pass_rate": 1.0}, "with_skill": {"pass_rate": 1.0}}
    assert {(run.step_count, run.tool_call_count, run.duration_seconds) for run in runs} == {(4, 3, 2.4), (2, 1, 1.2)}


class TestSkillgrade(ImporterContract):
    def importer(self) -> SkillgradeImporter:
        return SkillgradeImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("skillgrade", folder)


def test_trials_of_skillgrade_are_repeats_and_their_estimated_tokens_are_not_used(tmp_path: Path) -> None:
    with_skill = copied_sample("skillgrade", tmp_path)
    without = tmp_path / "skillgrade" / "plain" / "tally" / "results"
    without.parent.mkdir(parents=True)
    (with_skill / "tally" / "results").rename(without)

    runs, _ = imported_runs(SkillgradeImporter(), tmp_path / "skillgrade")

    assert passes(runs) == {"with tally": [True, True, False, False]}
    assert {(run.usage.output_tokens, run.trial.repeat) for run in runs} == {(None, 1), (None, 2)}


def test_folders_tell_apart_what_reports_of_skillgrade_do_not_name(tmp_path: Path) -> None:
    for name in ("haiku", "opus"):
        copied_sample("skillgrade", tmp_path / name).rename(tmp_path / name / "out")

    runs, _ = imported_runs(SkillgradeImporter(), tmp_path)

    assert {run.trial.arm for run in runs} == {"haiku/out with tally", "opus/out with tally"}


def a_waza_outcome(**more: Any) -> dict[str, Any]:
    run = {
        "run_number": 1,
        "attempts": 1,
        "status": "passed",
        "duration_ms": 1500,
        "validations": {"answer": {"identifier": "answer", "type": "text", "passed": True, "score": 1, "weight": 1}},
        "session_digest": {"tool_call_count": 2, "tools_used": ["bash"], "errors": []},
        "usage": {
            "turns": 3,
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
            "premium_requests": 1,
        },
        "final_output": "ready",
    }
    failed = run | {"run_number": 2, "status": "failed"}
    broken = run | {"run_number": 3, "status": "error", "error_msg": "context deadline exceeded"}
    return {
        "eval_id": "eval-1",
        "skill": "notes",
        "eval_name": "notes",
        "timestamp": "2026-01-01T00:00:00Z",
        "config": {"runs_per_test": 3, "model_id": "gpt-5", "engine_type": "copilot-sdk", "timeout_sec": 30},
        "summary": {"total_tests": 1, "succeeded": 1, "failed": 0, "errors": 0},
        "metrics": {},
        "tasks": [{"test_id": "t1", "display_name": "T1", "status": "failed", "runs": [run, failed, broken]}],
    } | more


def waza_file(path: Path) -> Path:
    without = a_waza_outcome(is_baseline=True, eval_id="eval-0")
    path.write_text(json.dumps(a_waza_outcome(baseline_outcome=without)))
    return path


class TestWaza(ImporterContract):
    def importer(self) -> WazaImporter:
        return WazaImporter()

    def example(self, folder: Path) -> Path:
        return waza_file(folder / "results.json")


def test_waza_has_an_arm_with_the_skill_and_one_without(tmp_path: Path) -> None:
    runs, _ = imported_runs(WazaImporter(), waza_file(tmp_path / "results.json"))

    assert {run.trial.arm for run in runs} == {"gpt-5 with notes", "gpt-5 without skill"}
    assert [run.status for run in runs[:3]] == [Status.COMPLETED, Status.COMPLETED, Status.TIMEOUT]
    first = runs[0]
    assert (first.usage.input_tokens, first.usage.output_tokens, first.step_count, first.tool_call_count) == (
        100,
        20,
        3,
        2,
    )
    assert first.duration_seconds == 1.5
