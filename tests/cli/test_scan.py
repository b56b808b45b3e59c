"""Claims about `outweigh store scan`, and about findings beside a verdict: shown, counted by arm, never deciding."""

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.cli.test_run import Desk
from tests.conftest import Outweigh
from tests.engine.engine_fixtures import shell
from tests.trajectories import Runs, a_patch, a_step, a_trajectory, store_of

from outweigh.store.scan_file import SCAN_FILE, read_scan
from outweigh.testing.builders import a_run

ARMS = ("--baseline", "old", "--candidate", "new")
HONEST = {"diff.patch": a_patch("src/app.py", "x = 1")}
CHEAT = {
    "diff.patch": a_patch("conftest.py", "def pytest_runtest_makereport(item, call):", "    rep.outcome = 'passed'"),
    "trajectory.json": a_trajectory(a_step("Bash", {"command": "git log --all"})),
}
NOTHING_KEPT: dict[str, bytes] = {}


def runs_of(cheats: int, tasks: int = 8) -> Runs:
    names = [f"task-{number}" for number in range(tasks)]
    old = [(a_run(name, "old", 1), HONEST) for name in names]
    return [*old, *((a_run(name, "new", 1), CHEAT if n < cheats else HONEST) for n, name in enumerate(names))]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(store_of(tmp_path / "store", runs_of(cheats=8)))


def test_it_lists_every_finding_with_its_place_and_counts_them_by_arm(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("store", "scan", store)

    assert answer.code == 0
    assert f"8 of 16 scanned runs of {store} have suspicious findings" in answer.out
    assert "rewrote the outcome of tests (high)" in answer.out
    assert "conftest.py:2" in answer.out
    assert "suspicious findings are more frequent in runs of new (8 of 8) than in those of old (0 of 8)" in answer.out
    assert "It decides nothing" in answer.out


def test_its_json_has_every_flagged_run(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("store", "scan", store, "--format", "json").json()

    assert answer["schema"] == "outweigh.findings/1"
    assert answer["arms"]["old"]["flagged"] == 0
    assert answer["arms"]["new"]["suspicious"] == 8
    assert {run["arm"] for run in answer["runs"]} == {"new"}
    rules = {finding["rule"] for finding in answer["runs"][0]["findings"]}
    assert rules == {"conftest-changed", "test-hook-added", "report-rewritten", "git-history-beyond"}


def test_runs_without_transcript_and_diff_are_named_as_not_scanned(outweigh: Outweigh, tmp_path: Path) -> None:
    foreign = a_run(check_command_count=None)
    store = store_of(tmp_path / "store", [(foreign, NOTHING_KEPT)])

    answer = outweigh("store", "scan", str(store))

    assert "0 of 0 scanned runs" in answer.out
    assert "1 of 1 runs of baseline kept neither transcript nor diff" in answer.out


def test_a_run_is_scanned_once_by_the_same_rules(outweigh: Outweigh, store: str) -> None:
    first = outweigh("store", "scan", store).out
    shutil.rmtree(Path(store) / "artifacts")

    assert outweigh("store", "scan", store).out == first


def test_findings_by_other_rules_are_made_again(outweigh: Outweigh, store: str) -> None:
    outweigh("store", "scan", store)
    kept = Path(store) / SCAN_FILE
    now = kept.read_text()
    before = now.replace("rewrote the outcome of tests", "another title")
    found = read_scan(Path(store))
    assert found is not None
    kept.write_text(before.replace(found.rules_sha256, "0" * 64))

    outweigh("store", "scan", store)

    assert kept.read_text() == now


def test_findings_decide_nothing_and_change_no_evidence(outweigh: Outweigh, store: str) -> None:
    before = outweigh("verdict", store, *ARMS, "--format", "json").json()
    outweigh("store", "scan", store)
    after = outweigh("verdict", store, *ARMS, "--format", "json").json()

    assert before.pop("scan") == {"arms": {}, "difference": None}
    scan = after.pop("scan")
    assert before == after
    assert scan["arms"]["new"]["suspicious"] == 8
    assert scan["difference"].startswith("suspicious findings are more frequent in runs of new (8 of 8)")


def test_the_verdict_has_a_line_about_findings_and_with_verbose_the_table(outweigh: Outweigh, store: str) -> None:
    assert "Findings" not in outweigh("verdict", store, *ARMS).out
    outweigh("store", "scan", store)

    brief = " ".join(outweigh("verdict", store, *ARMS).out.split())
    whole = outweigh("verdict", store, *ARMS, "--verbose").out

    assert "Findings old 0 of 8 runs suspicious, 0 with any finding; new 8 of 8 runs suspicious" in brief
    assert "Signs of cheating, by runs" in whole
    assert "look at these runs before you trust the difference between the arms" in " ".join(whole.split())


def test_a_clean_scan_adds_nothing_to_the_text(outweigh: Outweigh, tmp_path: Path) -> None:
    store = str(store_of(tmp_path / "clean", runs_of(cheats=0)))
    before = outweigh("verdict", store, *ARMS).out
    outweigh("store", "scan", store)

    assert outweigh("verdict", store, *ARMS).out == before


def test_the_report_shows_counts_and_every_finding(outweigh: Outweigh, store: str, tmp_path: Path) -> None:
    outweigh("store", "scan", store)
    page = tmp_path / "report.html"

    assert outweigh("report", store, *ARMS, "-o", str(page)).code == 0

    text = page.read_text()
    assert "Signs of cheating, by runs" in text
    assert "Where the signs of cheating are" in text
    assert "rep.outcome = " in text


def test_diff_shows_the_findings_of_both_runs(outweigh: Outweigh, store: str) -> None:
    text = outweigh("diff", store, "task-0/old/1", "task-0/new/1").out
    both = outweigh("diff", store, "task-0/old/1", "task-0/new/1", "--format", "json").json()

    assert "Signs of cheating in B" in text
    assert "Signs of cheating in A" not in text
    assert "rewrote the outcome of tests (high), conftest.py:2: rep.outcome = 'passed'" in text
    assert both["a"]["findings"] == []
    assert len(both["b"]["findings"]) == 4


def test_a_damaged_scan_is_as_if_there_were_none(outweigh: Outweigh, store: str) -> None:
    outweigh("store", "scan", store)
    (Path(store) / SCAN_FILE).write_text('{"schema": "outweigh.scan/1", "runs": [')

    assert outweigh("verdict", store, *ARMS, "--format", "json").json()["scan"]["arms"] == {}
    assert "8 of 16 scanned runs" in outweigh("store", "scan", store).out


def test_a_file_of_records_is_answered_with_what_to_name(outweigh: Outweigh, store: str) -> None:
    answer = outweigh("store", "scan", str(Path(store) / "runs-engine.jsonl"))

    assert answer.code == 2
    assert "is not a folder; name the store" in answer.err


def test_imported_transcripts_are_scanned_as_they_come(outweigh: Outweigh, tmp_path: Path) -> None:
    source = tmp_path / "sessions" / "fix" / "trajectory.json"
    source.parent.mkdir(parents=True)
    source.write_bytes(a_trajectory(a_step("Bash", {"command": "cat /solution/solve.sh"})))

    outweigh("import", str(source.parent.parent), "-o", str(tmp_path / "runs"))

    found = read_scan(tmp_path / "runs")
    assert found is not None
    assert [finding.rule for scan in found.runs for finding in scan.findings] == ["solution-read"]


@pytest.mark.needs_bubblewrap
def test_runs_are_scanned_when_they_have_ended(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    cheat = "echo 42 >answer.txt; printf 'import os\\nos._exit(0)\\n' >app.py"
    desk.write({"plain": shell("echo 42 >answer.txt"), "cheat": shell(cheat)}, tasks=1, repeats=1)
    with desk.held:
        desk.run()

    found = read_scan(desk.store)

    assert found is not None
    assert {scan.run_id.split("/")[1]: [finding.rule for finding in scan.findings] for scan in found.runs} == {
        "plain": [],
        "cheat": ["hard-exit"],
    }


def imported_findings(outweigh: Outweigh, source: Path, runs: Path) -> dict[str, list[str]]:
    outweigh("import", str(source), "-o", str(runs))
    found = read_scan(runs)
    assert found is not None
    return {scan.run_id: [finding.rule for finding in scan.findings] for scan in found.runs}


def test_predictions_of_swe_bench_are_scanned(outweigh: Outweigh, tmp_path: Path) -> None:
    patches = {"a__a-1": a_patch("src/app.py", "os._exit(0)"), "a__a-2": a_patch("src/app.py", "x = 1")}
    rows = [
        {"instance_id": name, "model_name_or_path": "m", "model_patch": patch.decode()}
        for name, patch in patches.items()
    ]
    source = tmp_path / "preds.jsonl"
    source.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    assert imported_findings(outweigh, source, tmp_path / "runs") == {
        "swe-bench/m/a__a-1": ["hard-exit"],
        "swe-bench/m/a__a-2": [],
    }


def test_patches_in_the_logs_of_swe_bench_are_scanned(outweigh: Outweigh, tmp_path: Path) -> None:
    folder = tmp_path / "run_evaluation" / "r" / "m" / "a__a-1"
    folder.mkdir(parents=True)
    (folder / "report.json").write_bytes(msgspec.json.encode({"a__a-1": {"resolved": True, "tests_status": {}}}))
    (folder / "patch.diff").write_bytes(a_patch("sitecustomize.py", "import sys"))

    found = imported_findings(outweigh, tmp_path / "run_evaluation", tmp_path / "runs")

    assert found == {"swe-bench/m/a__a-1": ["runner-replaced"]}


def test_trajectories_beside_a_report_of_swe_bench_are_scanned(outweigh: Outweigh, tmp_path: Path) -> None:
    action = {"command": "git reflog", "tool_call_id": "c"}
    trajectory = {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted"},
        "messages": [
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "I look.", "extra": {"actions": [action]}},
        ],
    }
    (tmp_path / "a__a-1").mkdir()
    (tmp_path / "a__a-1" / "a__a-1.traj.json").write_bytes(msgspec.json.encode(trajectory))
    report = {"total_instances": 1, "resolved_ids": ["a__a-1"], "unresolved_ids": [], "schema_version": 2}
    (tmp_path / "m.r.json").write_bytes(msgspec.json.encode(report))

    found = imported_findings(outweigh, tmp_path / "m.r.json", tmp_path / "runs")

    assert found == {"swe-bench/m/a__a-1": ["git-history-beyond"]}
