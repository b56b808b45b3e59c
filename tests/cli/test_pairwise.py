"""`outweigh judge --pairwise` with a program as judge: both orders, nothing asked twice, failures kept apart."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.cli.main import main
from outweigh.model.rubric import BinaryCriterion, Rubric
from outweigh.model.suite import JudgeSpec
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.judging_file import JudgedTask, JudgingFile, write_judging
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import runs_of_arm

RUBRIC = Rubric(criteria=[BinaryCriterion(name="works", description="It works.")])
ARMS = ("--baseline", "old", "--candidate", "new")


def a_store(folder: Path, program: str, **judge: Any) -> Path:
    """Three tasks in two arms; the diff of `new` says GOOD. Every call of the judge leaves a line in `calls`."""
    mend(folder, program)
    with FolderRunStore.open(folder / "store") as store:
        for arm, diff in (("old", b"+BAD\n"), ("new", b"+GOOD\n")):
            digest = store.keep(diff)
            for run in runs_of_arm(arm, [[True]] * 3, artifacts={"diff.patch": digest}):
                store.append(run)
    remember(folder / "store", folder / "judge.py", RUBRIC, **judge)
    return folder / "store"


def mend(folder: Path, program: str) -> None:
    """Let the judge be another program; it is the same judge to outweigh."""
    calls = f"open({str(folder / 'calls')!r}, 'a').write('x\\n')\n"
    (folder / "judge.py").write_text(f"import json, sys\n{calls}{program}")


def remember(store: Path, script: Path, rubric: Rubric, **fields: Any) -> None:
    options = {"command": [sys.executable, str(script)]}
    judge = JudgeSpec(name="judge", backend="command", retries=0, options=options, **fields)
    task = JudgedTask(checksum="-", instruction="Do it.", rubric=rubric, solution=None)
    tasks = {f"task-{number}": task for number in (1, 2, 3)}
    write_judging(store, JudgingFile(judges=(judge,), tasks=tasks, tell_tales=()))


def say(choice: str) -> str:
    return (
        f"question = json.load(sys.stdin)\nprompt = question['prompt']\nchoice = {choice}\n"
        "print(json.dumps({'answers': [{'id': 'works', 'evidence': 'diff', 'choice': choice}], "
        "'overall': choice, 'confidence': 0.9}))\n"
    )


HONEST = say("'first' if prompt.index('GOOD') < prompt.index('BAD') else 'second'")


def pairwise(store: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, Any]:
    code = main(["judge", str(store), "--pairwise", *ARMS, "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_every_pair_is_shown_in_both_orders_and_nothing_is_asked_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = a_store(tmp_path, HONEST)
    code, first = pairwise(store, capsys)
    calls = (tmp_path / "calls").read_text()

    again, second = pairwise(store, capsys)

    assert (code, again) == (0, 0)
    assert len(calls.splitlines()) == 6
    assert (tmp_path / "calls").read_text() == calls
    assert first == second
    (judge,) = first["judges"]
    assert (judge["wins"], judge["ties"], judge["losses"]) == (3, 0, 0)
    assert judge["first_share"]["value"] == 0.5


def name_baseline(store: Path, baseline: str) -> None:
    """Write down what the store is for, as `outweigh run` does."""
    write_store(store.parent / "made", [], ("new", "old"), baseline=baseline)
    (store.parent / "made" / EXPERIMENT_FILE).rename(store / EXPERIMENT_FILE)


@pytest.mark.parametrize(("baseline", "wins"), [("old", 3), ("new", 0)])
def test_the_arms_of_a_suite_need_no_naming(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], baseline: str, wins: int
) -> None:
    store = a_store(tmp_path, HONEST)
    name_baseline(store, baseline)

    code = main(["judge", str(store), "--pairwise", "--format", "json"])

    assert code == 0
    assert json.loads(capsys.readouterr().out)["judges"][0]["wins"] == wins


def test_without_a_suite_the_direction_is_not_guessed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["judge", str(a_store(tmp_path, HONEST)), "--pairwise"])

    assert code == 2
    assert "name them with --baseline and --candidate: 'old', 'new'" in capsys.readouterr().err


def test_a_judge_that_always_takes_the_first_is_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, payload = pairwise(a_store(tmp_path, say("'first'")), capsys)

    (judge,) = payload["judges"]
    assert (judge["wins"], judge["ties"], judge["losses"]) == (0, 3, 0)
    assert judge["first_share"]["value"] == 1


def test_answers_that_cannot_be_used_are_no_ties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, payload = pairwise(a_store(tmp_path, "print('first!')\n"), capsys)

    (judge,) = payload["judges"]
    assert code == 3
    assert (judge["pairs"], judge["incomplete"], judge["invalid"]) == (0, 3, 6)


def test_answers_that_could_not_be_used_are_asked_for_again_only_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = a_store(tmp_path, "print('first!')\n")
    _, failed = pairwise(store, capsys)
    mend(tmp_path, HONEST)

    code, untouched = pairwise(store, capsys)
    again, mended = pairwise(store, capsys, "--retry-invalid")

    assert "6 answers could not be used; --retry-invalid asks again: unusable answer" in failed["warnings"][0]
    assert (code, untouched) == (3, failed)
    assert (again, mended["warnings"]) == (0, [])
    (judge,) = mended["judges"]
    assert (judge["wins"], judge["incomplete"], judge["invalid"]) == (3, 0, 0)


def test_a_judge_that_fails_now_and_then_stays_one_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = json.dumps({"answers": [{"id": "works", "evidence": "diff", "choice": "tie"}]})
    signed = f'print(json.dumps({{"answer": {answers}, "version": "v1"}}))\n'
    store = a_store(tmp_path, f"if open({str(tmp_path / 'calls')!r}).read().count('x') == 1: sys.exit(1)\n{signed}")

    _, payload = pairwise(store, capsys, "-j", "1")

    (judge,) = payload["judges"]
    assert (judge["version"], judge["pairs"], judge["incomplete"], judge["invalid"]) == ("v1", 2, 1, 1)


def test_answers_by_another_rubric_are_not_mixed_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = a_store(tmp_path, HONEST)
    pairwise(store, capsys)
    other = Rubric(criteria=[BinaryCriterion(name="works", description="It works well.")])
    remember(store, tmp_path / "judge.py", other)
    mend(tmp_path, say("'first' if prompt.index('GOOD') > prompt.index('BAD') else 'second'"))

    _, payload = pairwise(store, capsys)

    (judge,) = payload["judges"]
    assert (judge["wins"], judge["ties"], judge["losses"]) == (0, 0, 3)


def test_a_judge_that_cannot_go_on_is_named_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dear = 'print(json.dumps({"refusal": "no", "cost_usd": 1.0}))\n'
    store = a_store(tmp_path, dear, budget_usd=0.5)

    code = main(["judge", str(store), "--pairwise", *ARMS, "-j", "1"])

    shown = capsys.readouterr().out
    assert code == 3
    assert "5 questions still open" in shown
    assert "judge 'judge' is set aside: its budget is used up" in shown


def test_preferences_beside_the_runs_disturb_no_other_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = a_store(tmp_path, HONEST)
    pairwise(store, capsys)

    assert main(["compare", str(store), *ARMS]) == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--pairwise"], "name them with --baseline and --candidate"),
        (["--pairwise", "--baseline", "old", "--candidate", "old"], "both 'old'"),
        (["--pairwise", "--baseline", "old", "--candidate", "newer"], "no arm 'newer'"),
        (["--baseline", "old"], "belong to --pairwise"),
    ],
)
def test_arms_are_named_and_never_guessed(
    tmp_path: Path, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", str(a_store(tmp_path, HONEST)), *options]) == 2
    assert complaint in capsys.readouterr().err
