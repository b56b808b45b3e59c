"""Suites with parts and designs, as a user meets them: planned, run, resumed, extended, decided and compared."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.store.experiment_file import ExperimentFile, read_experiment

LINE = "grep -qs solve CLAUDE.md && echo 42 >answer.txt; :"
PARTS = {"solve": {"instructions": "Always solve."}, "idle": {"instructions": "Think of zebras."}}
LEAVE_ONE_OUT = {"kind": "leave-one-out"}


class PartsDesk:
    """A suite whose tasks are solved by the part `solve` alone, and its store."""

    def __init__(self, folder: Path, outweigh: Any) -> None:
        self.suite, self.store, self.outweigh = folder / "suite", folder / "store", outweigh

    def write(self, *designs: dict[str, Any], parts: dict[str, Any] | None = None, **settings: Any) -> None:
        arms = {"plain": {**shell(LINE), "parts": settings.pop("own", [])}}
        known = {"repeats": 2, "parts": parts or PARTS, "designs": list(designs)}
        shutil.rmtree(self.suite, ignore_errors=True)
        write_suite(self.suite, arms, tasks=6, **(known | settings))

    def run(self, *more: str) -> Any:
        return self.outweigh("run", "-c", str(self.suite), "-o", str(self.store), *more)

    def runs(self) -> Counter[str]:
        return Counter(record.trial.arm for record in records(self.store))

    @property
    def experiment(self) -> ExperimentFile:
        found = read_experiment(self.store)
        assert found is not None
        return found


@pytest.fixture
def desk(tmp_path: Path, outweigh: Any) -> PartsDesk:
    return PartsDesk(tmp_path, outweigh)


def test_a_design_is_planned_run_decided_and_compared_like_arms_that_are_written_out(
    desk: PartsDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(LEAVE_ONE_OUT, own=["solve", "idle"])
    assert "6 tasks × 2 repeats" in desk.outweigh("plan", "-c", str(desk.suite)).out
    assert "6 tasks × 3 arms, 36 runs" in desk.run("--dry-run").out
    assert desk.run().code == 0
    assert desk.runs() == {"plain": 12, "without-solve": 12, "without-idle": 12}
    monkeypatch.chdir(desk.suite)
    assert "6 tasks × 3 arms × 2 repeats (plain, without-solve, without-idle)" in desk.outweigh().out

    verdict = desk.outweigh("verdict", str(desk.store), "--gates", "pass_rate", "--format", "json").json()
    decisions = {each["candidate"]: each["decision"] for each in verdict["verdicts"]}
    assert decisions["without-solve"] == "regressed"
    assert decisions["without-idle"] != "regressed"
    compared = desk.outweigh("diff", str(desk.store), "task-1/plain/1", "task-1/without-solve/1")
    assert compared.code in (0, 1)
    assert "answer.txt" in compared.out
    assert desk.experiment.parts == {"plain": ("solve", "idle"), "without-solve": ("idle",), "without-idle": ("solve",)}
    (design,) = desk.experiment.designs
    assert (design.kind, design.full, design.arms) == (
        "leave-one-out",
        "plain",
        ("plain", "without-solve", "without-idle"),
    )


def test_a_changed_baseline_and_the_aliases_of_a_fraction_are_said_before_anything_is_paid(desk: PartsDesk) -> None:
    desk.write(LEAVE_ONE_OUT, {"kind": "fractional"}, parts={**PARTS, "more": {"instructions": "Sing to them."}})
    planned = desk.outweigh("plan", "-c", str(desk.suite), "--verbose", "--tasks", "6")
    for shown in (desk.run("--dry-run").out, planned.out):
        words = " ".join(shown.split())
        assert "the baseline is all-parts, the arm with all parts" in words
        assert "solve = idle×more; idle = solve×more; more = solve×idle" in words


def test_arms_of_a_screen_have_their_own_repeats_and_a_shorter_run_is_resumed(
    desk: PartsDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write({"kind": "screen", "model": "cheap", "repeats": 1})
    monkeypatch.chdir(desk.suite)
    assert "6 tasks × 5 arms × 1 to 2 repeats" in desk.outweigh().out
    assert desk.run().code == 0
    assert desk.runs() == {"plain": 12, **{f"screen-0{number}": 6 for number in range(1, 5)}}
    before = desk.experiment
    assert (before.designs[0].model, before.designs[0].repeats) == ("cheap", 1)
    assert {run.agent.model for run in records(desk.store) if run.trial.arm == "screen-01"} == {"cheap"}
    assert "to run: 0" in desk.run("--dry-run").out
    assert desk.run("-k", "2").code == 0
    assert set(desk.runs().values()) == {12}
    assert desk.experiment.designs == before.designs


def test_a_store_that_is_extended_by_a_part_or_a_changed_one_still_says_what_every_arm_is_made_of(
    desk: PartsDesk,
) -> None:
    add_one = {"kind": "add-one"}
    desk.write(add_one)
    assert desk.run("-k", "1").code == 0
    changed = {**PARTS, "idle": {"instructions": "Think of giraffes."}, "extra": {"instructions": "Sing to them."}}
    desk.write(add_one, parts=changed)
    assert desk.run("-k", "1").code == 0
    assert desk.runs() == {"plain": 6, "with-solve": 6, "with-idle": 6, "with-idle@2": 6, "with-extra": 6}
    assert desk.experiment.parts == {
        "with-solve": ("solve",),
        "with-idle": ("idle",),
        "with-idle@2": ("idle",),
        "with-extra": ("extra",),
    }
    assert [design.arms for design in desk.experiment.designs] == [
        ("plain", "with-solve", "with-idle"),
        ("plain", "with-solve", "with-idle@2", "with-extra"),
    ]


def test_stopping_early_needs_the_same_repeats_for_every_arm(desk: PartsDesk) -> None:
    desk.write({"kind": "screen", "model": "cheap", "repeats": 1})
    refused = desk.run("--until-decided")
    assert refused.code == 2
    assert "--until-decided counts whole tasks, so every arm needs the same repeats" in refused.err
    assert desk.run("--until-decided", "-k", "1", "--dry-run").code == 0
