"""What `outweigh ladder` prints and puts on its page: two levels, one screen by default, methods from the records."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.stores import write_store

from outweigh.model.codec import encode
from outweigh.model.failure import Status
from outweigh.model.usage import Component, ComponentTokens
from outweigh.testing.builders import a_judgment, a_run

SCREEN_LINES, SCREEN_COLUMNS = 40, 100


def write_ladder_store(folder: Path, tiers: dict[str, int], *, tasks: int = 4, judged: bool = False) -> str:
    """Two repeats of every task in every arm; one run of the last arm failed for reasons that say nothing."""
    runs = [
        a_run(
            f"task-{task}",
            arm,
            repeat,
            passed=(task + repeat + place) % 3 > 0,
            components=(ComponentTokens(component=Component.SYSTEM_PROMPT, input_tokens=900, output_tokens=100),),
        )
        for place, arm in enumerate(tiers)
        for task in range(tasks)
        for repeat in (1, 2)
    ]
    runs.append(a_run("task-0", list(tiers)[-1], 3, status=Status.INFRA_ERROR))
    store = write_store(folder, runs, list(tiers), tiers=tiers)
    if judged:
        answers = [
            a_judgment(run, 0.5 + place % 5 / 10, judge=judge)
            for place, run in enumerate(runs[:-1])
            for judge in ("opus", "haiku")
        ]
        Path(store, "judgments-engine.jsonl").write_bytes(b"".join(encode(answer) + b"\n" for answer in answers))
    return store


def test_seven_tiers_of_twenty_sub_arms_fit_a_screen(outweigh: Any, tmp_path: Path) -> None:
    tiers = {f"T{tier}-sub-arm-{number:02}": tier for tier in range(7) for number in range(20)}

    printed = outweigh("ladder", write_ladder_store(tmp_path / "store", tiers, judged=True)).out

    assert len(printed.splitlines()) <= SCREEN_LINES
    assert max(map(len, printed.splitlines())) <= SCREEN_COLUMNS
    assert "tier 6" in printed


def test_a_hundred_tiers_are_cut_and_counted(outweigh: Any, tmp_path: Path) -> None:
    tiers = {f"arm-{number:03}": number for number in range(100)}

    printed = outweigh("ladder", write_ladder_store(tmp_path / "store", tiers, tasks=2)).out

    assert len(printed.splitlines()) <= SCREEN_LINES
    assert "and 80 more" in printed


def test_everything_is_printed_when_asked_and_the_brief_answer_says_how(outweigh: Any, tmp_path: Path) -> None:
    tiers = {"plain": 0, "skills": 1, "tools": 1}
    store = write_ladder_store(tmp_path / "store", tiers)

    brief, whole = outweigh("ladder", store).out, outweigh("ladder", store, "--verbose").out

    assert "--verbose" in brief
    assert "1/tools" not in brief
    assert "1/tools" in whole
    assert "Spread over tiers" in whole
    assert "What was done" in whole


def test_the_methods_say_what_was_done_and_what_was_not_is_not_said(outweigh: Any, tmp_path: Path) -> None:
    tiers = {"plain": 0, "skills": 1, "tools": 1}
    judged, plain = (
        outweigh(
            "ladder", write_ladder_store(tmp_path / name, tiers, judged=name == "judged"), "--format", "json"
        ).json()["methods"]
        for name in ("judged", "plain")
    )

    for methods in (judged, plain):
        assert "3 arms on 2 tiers were run on 4 tasks of the suite 'trial suite' with 2 repeats each" in methods
        assert "24 counted runs" in methods
        assert "1 run was excluded: 1 infra error." in methods
        assert "order" not in methods, "the records have no positions"
        assert "simulated" not in methods
        assert "quarantine" not in methods
    assert "2 judges (haiku and opus) gave 48 judgments." in judged
    assert "a composite of 0.5 passed and 0.5 judge score" in judged
    assert "judges" not in plain
    assert "No run was judged" in plain


@pytest.mark.parametrize("judged", [True, False])
def test_figures_are_drawn_of_what_is_known(outweigh: Any, tmp_path: Path, judged: bool) -> None:
    store = write_ladder_store(tmp_path / "store", {"plain": 0, "skills": 1, "tools": 1}, judged=judged)
    outweigh("ladder", store, "-o", f"{tmp_path}/out/")

    drawn = {path.stem for path in (tmp_path / "out" / "figures").glob("*.svg")}
    always = {"steps", "uplift", "contrasts", "uplift-of-sub-arms", "cost-quality", "tokens-by-component"}
    assert drawn == (always | {"judge-agreement"} if judged else always)
    quality = (tmp_path / "out" / "figures" / "steps.csv").read_text().splitlines()[0]
    assert quality == f"level,tier,name,{'composite' if judged else 'pass_rate'},low,high,grade"


def test_the_methods_say_that_lost_judgments_were_filled_in_only_where_they_were(outweigh: Any, tmp_path: Path) -> None:
    store = write_ladder_store(tmp_path / "store", {"plain": 0, "skills": 1, "tools": 1}, tasks=8, judged=True)
    complete = outweigh("ladder", store, "--format", "json").json()["methods"]
    answers = Path(store, "judgments-engine.jsonl")
    answers.write_bytes(b"".join(answers.read_bytes().splitlines(keepends=True)[:-1]))

    lossy = outweigh("ladder", store, "--format", "json").json()["methods"]

    assert "filled in" not in complete
    assert "1 of 48 judged runs (2.1 %) lack an answer of a judge. It is filled in" in lossy


def write_two_tiers(folder: Path, better: bool) -> str:
    """Twelve tasks of mixed difficulty on two tiers, of which the second solves many more, or as many."""
    runs = [
        a_run(
            f"task-{task}", arm, repeat, passed=(task * 7 + repeat * 3) % 10 < (8 if arm == "skills" and better else 3)
        )
        for arm in ("plain", "skills")
        for task in range(12)
        for repeat in range(1, 6)
    ]
    return write_store(folder, runs, ["plain", "skills"], tiers={"plain": 0, "skills": 1})


def test_a_tier_is_called_better_only_where_chance_does_not_explain_it(outweigh: Any, tmp_path: Path) -> None:
    clear, same = (
        " ".join(outweigh("ladder", write_two_tiers(tmp_path / name, better=name == "clear")).out.split())
        for name in ("clear", "same")
    )

    assert "Better than 0. plain beyond what chance explains: 1. skills" in clear
    assert "No tier is shown to differ from 0. plain" in same


def test_the_methods_name_the_tests_that_were_made(outweigh: Any, tmp_path: Path) -> None:
    store = write_two_tiers(tmp_path / "store", better=True)

    methods = outweigh("ladder", store, "--format", "json").json()["methods"]

    assert "Whether tiers differ at all was tested by Friedman's test over tasks" in methods
    assert "1 contrast of tiers was tested together by max-t from 2,000 bootstrap draws, seed 0" in methods
    assert "shares of 2,000 bootstrap draws of tasks" in methods


def test_one_task_gives_no_test_and_no_sentence_about_one(outweigh: Any, tmp_path: Path) -> None:
    runs = [a_run("task", arm, repeat, passed=repeat > 1) for arm in ("plain", "skills") for repeat in (1, 2, 3)]
    store = write_store(tmp_path / "store", runs, ["plain", "skills"], tiers={"plain": 0, "skills": 1})

    page = outweigh("ladder", store, "--format", "json").json()["methods"]

    assert "max-t" not in page
    assert "Friedman" not in page
    assert "Probabilities" not in page
    assert outweigh("ladder", store, "-o", f"{tmp_path}/out/").code == 0


def test_a_single_tier_has_a_page(outweigh: Any, tmp_path: Path) -> None:
    store = write_store(tmp_path / "store", [a_run("task", "plain", 1)], ["plain"], tiers={"plain": 0})

    assert outweigh("ladder", store, "-o", f"{tmp_path}/out/").code == 0
    assert outweigh("ladder", store).out.startswith("1 tier from 0. plain")
