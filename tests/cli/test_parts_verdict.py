"""`outweigh parts verdict`: keep, drop, hurts or not known yet."""

import json
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.cli.part_stores import leave_one_out, part_runs, write_part_store
from tests.cli.promote.promotable import edit_experiment

from outweigh.cli.main import main
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.suite import PolicySpec
from outweigh.stats.designs import plackett_burman

PARTS = ("style", "tests", "layout", "docs")
EFFECTS = {"style": 0.3, "tests": -0.3}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Style helps, tests hurt, layout and docs do nothing; layout and docs were left out together, too."""
    sets = leave_one_out(PARTS, ("layout", "docs"))
    tokens = {"layout": 300, "docs": 50, "tests": 200, "style": 100}
    runs = part_runs(sets, EFFECTS, tasks=70, noise=False, tokens=tokens)
    return write_part_store(tmp_path_factory.mktemp("parts") / "store", runs, sets)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main(["parts", "verdict", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def by_part(payload: Any) -> dict[str, Any]:
    return {row["part"]: row for row in payload["parts"]}


def test_every_part_gets_its_word(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, payload = answer(capsys, store)
    rows = by_part(payload)

    assert code == 0
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "style": "keep",
        "tests": "hurts",
        "layout": "drop",
        "docs": "drop",
    }
    assert {name for name, row in rows.items() if row["may_drop"]} == {"tests", "layout", "docs"}
    assert rows["style"]["decision"] == "regressed"
    assert rows["style"]["family_p"] < 0.001


def test_an_arm_without_several_parts_is_judged_as_well(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, payload = answer(capsys, store)

    (joint,) = payload["joint"]
    assert (joint["arm"], joint["parts"], joint["may_drop"]) == ("without-layout-docs", ["layout", "docs"], True)


def test_tokens_of_a_turn_and_dollars_of_a_month_are_what_the_gateway_metered(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By hand: 300 tokens × 20,000 turns × $3 per million is $18."""
    _, payload = answer(capsys, store, "--turns-per-month", "20000")
    layout = by_part(payload)["layout"]

    assert layout["tokens_per_turn"] == pytest.approx(300)
    assert layout["usd_per_month"] == pytest.approx(18.0)
    assert main(["parts", "verdict", store, "--turns-per-month", "20000"]) == 0
    shown = capsys.readouterr().out
    assert "4 parts: 1 keep, 2 drop, 1 hurts" in shown
    assert "it saves 300 tokens a turn and $18.00 a month" in shown
    assert f"outweigh parts apply {store} --drop layout,docs --patch smaller.patch" in shown


def test_what_is_missing_before_all_can_go_together_is_said_as_lines_of_the_suite(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["parts", "verdict", store])
    shown = capsys.readouterr().out

    assert '[arms.without-tests-layout-docs]\n  extends = "all-parts"\n  without = ["tests", "layout", "docs"]' in shown
    assert f"outweigh run -o {store}" in shown


def test_few_tasks_leave_parts_unknown_and_say_what_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = leave_one_out(PARTS)
    code, payload = answer(capsys, write_part_store(tmp_path / "s", part_runs(sets, {}, tasks=12, repeats=3), sets))

    assert code == 3
    assert {row["verdict"] for row in payload["parts"]} == {"not_known"}
    assert all(row["needs_tasks"] > 12 and row["needs_repeats"] == 3 for row in payload["parts"])
    assert payload["joint"] == []


def test_adding_a_part_is_read_the_other_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets: dict[str, tuple[str, ...]] = {"none": (), "with-style": ("style",), "with-tests": ("tests",)}
    runs = part_runs(sets, EFFECTS, tasks=40)
    _, payload = answer(capsys, write_part_store(tmp_path / "s", runs, sets, "add-one"))
    rows = by_part(payload)

    assert {name: row["verdict"] for name, row in rows.items()} == {"style": "keep", "tests": "hurts"}
    assert not any(row["may_drop"] for row in rows.values())


def test_scripted_runs_decide_and_allow_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = leave_one_out(("tests", "style"))
    agent = AgentIdentity(kind=AgentKind.SCRIPTED, name="shell", version="1", model=None)
    runs = part_runs(sets, EFFECTS, tasks=40, agent=agent)
    store = write_part_store(tmp_path / "s", runs, sets)
    _, payload = answer(capsys, store, "--turns-per-month", "1000")
    row = by_part(payload)["tests"]

    assert (row["verdict"], row["may_drop"], row["usd_per_month"]) == ("hurts", False, None)
    assert any("scripted" in blocker for blocker in row["blockers"])


def test_a_full_factorial_gives_interactions_with_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = [[part for part, there in zip(PARTS[:3], row, strict=True) if there] for row in product((1, 0), repeat=3)]
    named = {("all-parts" if len(held) == 3 else f"part-set-{place:02}"): held for place, held in enumerate(kept)}
    sets = dict(reversed(named.items()))
    runs = part_runs(sets, EFFECTS, tasks=40)
    _, payload = answer(capsys, write_part_store(tmp_path / "s", runs, sets, "factorial"))
    quality = payload["effects"]["metrics"][0]
    effects = {tuple(map(tuple, each["terms"])): each for each in quality["effects"]}

    assert list(effects) == [
        (("style",),),
        (("tests",),),
        (("layout",),),
        (("style", "tests"),),
        (("style", "layout"),),
        (("tests", "layout"),),
    ]
    style = effects[(("style",),)]
    assert style["simultaneous"][0] < style["interval"][0] < 0.3 < style["interval"][1] < style["simultaneous"][1]
    assert by_part(payload)["style"]["verdict"] == "keep"
    assert payload["baseline"] == "all-parts", "parts are left out of the whole set-up, whatever the baseline is"


def test_aliases_are_shown_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    kept = [[part for part, there in zip(PARTS[:3], row, strict=True) if there] for row in rows]
    sets = {("all-parts" if len(held) == 3 else f"part-set-{place:02}"): held for place, held in enumerate(kept)}
    store = write_part_store(tmp_path / "s", part_runs(sets, EFFECTS), sets, "fractional")

    assert main(["parts", "verdict", store]) == 3
    shown = capsys.readouterr().out
    assert "style + tests × layout" in shown
    assert "effects in one line are aliases" in shown
    assert "style: no arm differs from all-parts in this part alone; a leave-one-out design makes one." in shown


def test_a_store_without_parts_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = {"old": (), "new": ()}
    store = write_part_store(tmp_path / "s", part_runs(sets, {}, tasks=6), sets)

    assert main(["parts", "verdict", store]) == 2
    assert "no arm of these records is made of parts" in capsys.readouterr().err


def test_a_policy_without_inference_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = leave_one_out(("style",))
    runs = part_runs(sets, {}, tasks=6)
    store = write_part_store(tmp_path / "s", runs, sets, policy=PolicySpec(name="gates"))

    assert main(["parts", "verdict", store]) == 2
    assert "parts are judged by policy evidence, not by gates; add --policy evidence" in capsys.readouterr().err


EIGHT = tuple(f"part-{number}" for number in range(1, 9))


def screen_of(parts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {
        f"screen-{place:02}": tuple(part for part, there in zip(parts, row, strict=True) if there)
        for place, row in enumerate(plackett_burman(len(parts)), start=1)
    }


def test_a_screen_ranks_and_names_the_lines_that_confirm_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets = {"all-parts": EIGHT, **screen_of(EIGHT)}
    runs = part_runs(sets, {"part-3": 0.3, "part-7": -0.2}, tasks=40, repeats=1)
    store = write_part_store(tmp_path / "s", runs, sets, "screen")
    code, payload = answer(capsys, store)

    assert code == 3
    assert payload["screen"]["ranking"][:2] == payload["screen"]["shortlist"] == ["part-3", "part-7"]
    assert {row["verdict"] for row in payload["parts"]} == {"not_known"}
    assert main(["parts", "verdict", store]) == 3
    shown = capsys.readouterr().out
    assert 'kind = "leave-one-out"\n  arm = "all-parts"\n  parts = ["part-3", "part-7"]' in shown
    assert f"outweigh run -o {store}" in shown


def test_a_screen_of_arms_without_a_whole_set_up_names_one_to_confirm_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"plain": (), **screen_of(EIGHT)}
    runs = part_runs(sets, {"part-3": 0.3}, tasks=20, repeats=1)
    main(["parts", "verdict", write_part_store(tmp_path / "s", runs, sets, "screen")])

    every = ", ".join(f'"{part}"' for part in EIGHT)
    lines = f'[arms.all-parts]\n  extends = "plain"\n  parts = [{every}]\n  \n  [[designs]]'
    assert lines in capsys.readouterr().out


def test_no_run_of_a_screen_enters_the_confirmation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The screen says the opposite of what the pairs say, and changes none of their figures."""
    paired = {"all-parts": EIGHT, "without-part-3": tuple(part for part in EIGHT if part != "part-3")}
    confirmation = part_runs(paired, {"part-3": 0.3}, tasks=40)
    screen = part_runs(screen_of(EIGHT), {"part-3": -0.3}, tasks=40, repeats=1)
    alone = write_part_store(tmp_path / "alone", confirmation, paired)
    both = write_part_store(
        tmp_path / "both", [*confirmation, *screen], {**paired, **screen_of(EIGHT)}, "leave-one-out", "screen"
    )
    (_, without), (_, with_screen) = answer(capsys, alone), answer(capsys, both)

    assert by_part(without)["part-3"] == by_part(with_screen)["part-3"]
    assert by_part(with_screen)["part-3"]["verdict"] == "keep"
    assert with_screen["effects"] == without["effects"]
    assert with_screen["screen"]["metrics"][0]["effects"][2]["estimate"] < 0


def test_after_a_confirmed_screen_one_arm_is_to_judge_all_parts_that_it_ranks_low(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paired = {"all-parts": EIGHT, **{f"without-{part}": tuple(set(EIGHT) - {part}) for part in ("part-3", "part-7")}}
    effects = {"part-3": 0.3, "part-7": 0.2}
    runs = [
        *part_runs(paired, effects, base=0.3, tasks=40),
        *part_runs(screen_of(EIGHT), effects, base=0.3, tasks=40, repeats=1),
    ]
    sets = {**paired, **screen_of(EIGHT)}
    main(["parts", "verdict", write_part_store(tmp_path / "s", runs, sets, "leave-one-out", "screen")])

    low = ", ".join(f'"part-{number}"' for number in (1, 2, 4, 5, 6, 8))
    assert f'extends = "all-parts"\n  without = [{low}]' in capsys.readouterr().out


def test_an_arm_of_a_screen_judges_nothing_even_where_it_lacks_one_part_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sets = {"all-parts": ("style", "tests"), "screen-01": ("style",), "screen-02": ("tests",)}
    runs = part_runs(sets, EFFECTS, tasks=40)
    _, payload = answer(capsys, write_part_store(tmp_path / "s", runs, sets, "screen"))

    assert {row["verdict"] for row in payload["parts"]} == {"not_known"}
    assert all("a screen only ranks it" in row["reason"] for row in payload["parts"])


def test_arms_that_confirm_a_screen_later_are_the_first_that_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twelve arms of a screen before it would correct an improvement for 169 candidates."""
    paired = {"all-parts": EIGHT, "without-part-3": tuple(part for part in EIGHT if part != "part-3")}
    now = datetime(2026, 1, 2, tzinfo=UTC)
    runs = [
        *part_runs(paired, {"part-3": -0.08}, tasks=40, seed=4, started_at=now),
        *part_runs(screen_of(EIGHT), {"part-3": -0.13}, tasks=40, repeats=1),
    ]
    version = {"without-part-3": {"arm": "without-part-3", "number": 1, "begun_at": "2026-01-01T00:00:00Z"}}
    sets = {**paired, **screen_of(EIGHT)}
    store = write_part_store(tmp_path / "s", runs, sets, "leave-one-out", "screen")
    edit_experiment(tmp_path / "s", versions=version, current={name: name for name in sets})
    _, payload = answer(capsys, store)

    assert by_part(payload)["part-3"]["verdict"] == "hurts"


def test_tasks_that_were_set_aside_after_they_had_been_run_cannot_make_a_part_droppable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without style twenty of eighty tasks fail, and those are in quarantine now."""
    sets = leave_one_out(("style",))
    lost = {f"task-{number}" for number in range(20)}
    failed = part_runs(sets, {"style": 0.0}, base=-1.0, tasks=80, noise=False)
    passed = part_runs(sets, {"style": 0.0}, base=2.0, tasks=80, noise=False)
    runs = [
        bad if bad.trial.arm == "without-style" and bad.trial.task_id in lost else good
        for bad, good in zip(failed, passed, strict=True)
    ]
    store = write_part_store(tmp_path / "s", runs, sets)
    before = by_part(answer(capsys, store)[1])["style"]
    aside = [{"task": task, "reason": "flaky", "since": "2026-01-01"} for task in sorted(lost)]
    edit_experiment(tmp_path / "s", quarantine=aside)
    after = by_part(answer(capsys, store)[1])["style"]

    assert (before["verdict"], after["verdict"], after["may_drop"]) == ("keep", "drop", False)
    assert any("set aside after they had been run" in blocker for blocker in after["blockers"])
