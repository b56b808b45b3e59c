"""Columns are guessed by their names only where one column fits; everything else is an error with the way out."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.column_names import match_name
from outweigh.interop.table.guess_columns import GuessedColumns, guess_columns

ARMS = ("plain", "none")
CELLS: dict[str, list[str]] = {
    "task_id": [f"t{task}" for task in range(3) for _ in range(4)],
    "arm": [arm for _ in range(3) for arm in ARMS for _ in range(2)],
    "repeat": [str(repeat) for _ in range(6) for repeat in (1, 2)],
    "success": ["yes", "no"] * 6,
    "duration": [str(10 + row) for row in range(12)],
    "cost_usd": [f"0.{10 + row}" for row in range(12)],
    "input_tokens": [str(100 + row) for row in range(12)],
    "output_tokens": [str(50 + row) for row in range(12)],
}
"""A table by field; a duration stands for both of its units."""

NAMES = {
    "task_id": ["task_id", "task", "Case", "test name", "problemId", "instance_id", "SCENARIO", "question", "issueId"],
    "arm": ["arm", "variant", "config.name", "Condition", "setup", "treatment", "model", "prompt_version", "cohort"],
    "repeat": ["repeat", "run", "Trial", "epoch", "rep", "run_number", "try", "sample_index"],
    "success": ["success", "passed", "OK", "resolved", "isCorrect", "result", "score", "pass/fail"],
    "duration_seconds": ["duration_seconds", "latency_s", "Duration (s)", "elapsedSec", "seconds", "total time [secs]"],
    "duration_ms": ["duration_ms", "latencyMs", "Elapsed (ms)", "wall_time_millis", "response_time_ms"],
    "cost_usd": [
        "cost_usd",
        "cost",
        "Cost ($)",
        "total_cost_usd",
        "usd",
        "metrics.cost",
        "price_usd",
        "API cost",
        "cost per run",
    ],
    "input_tokens": ["input_tokens", "tokens_in", "prompt_tokens", "usage.inputTokens"],
    "output_tokens": ["output_tokens", "completion_tokens", "TokensOut"],
}
UNUSED = {
    "notes": ["long text"] * 12,
    "seed": [str(7 * row) for row in range(12)],
    "judge.cost": ["0.5"] * 12,
    "judge_cost_usd": ["0.5"] * 12,
    "cost_eur": ["0.4"] * 12,
    "Cost (€)": ["0.4"] * 12,
    "timeout_s": ["600"] * 12,
    "time_to_first_token_ms": ["600"] * 12,
    "cost per token": ["0.4"] * 12,
    "cost_cents": ["40"] * 12,
    "pass_rate": ["0.4"] * 12,
    "tests_passed": ["4"] * 12,
    "max_duration_ms": ["600"] * 12,
    "total_tokens": ["900"] * 12,
    "pass %": ["50"] * 12,
    "failed": ["no", "yes"] * 6,
    "expected": ["42"] * 12,
    "attempt": ["1"] * 12,
}
"""Columns that are near a field and mean something else."""


def write_table(file: Path, columns: Mapping[str, Sequence[Any]], delimiter: str = ",") -> Path:
    if file.suffix == ".jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return file
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return file


def guess(folder: Path, columns: Mapping[str, Sequence[Any]], asked: Mapping[str, str] | None = None) -> GuessedColumns:
    return guess_columns(write_table(folder / "data.csv", columns), asked or {}, "outweigh verdict data.csv")


def table(**renamed: str) -> dict[str, list[str]]:
    """The needed columns by their own names, and others by the name that is given."""
    names = {"task_id": "task_id", "arm": "arm", "success": "success"} | renamed
    cells = CELLS | {"duration_seconds": CELLS["duration"], "duration_ms": CELLS["duration"]}
    return {name: cells[field] for field, name in names.items()}


def refusal(folder: Path, columns: Mapping[str, Sequence[Any]], asked: Mapping[str, str] | None = None) -> str:
    with pytest.raises((UsageError, EvidenceError)) as refused:
        guess(folder, columns, asked)
    return str(refused.value)


@given(data=st.data())
def test_renamed_and_shuffled_columns_are_found_among_others(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    duration = data.draw(st.sampled_from(["duration_seconds", "duration_ms"]))
    fields = ["task_id", "arm", "success", *data.draw(st.sets(st.sampled_from(["repeat", duration, "cost_usd"])))]
    if data.draw(st.booleans()):
        fields += ["input_tokens", "output_tokens"]
    chosen = {field: data.draw(st.sampled_from(NAMES[field]), label=field) for field in fields}
    cells = CELLS | {duration: CELLS["duration"], "success": ["1", "0"] * 6}
    columns = {chosen[field]: cells[field] for field in fields}
    columns |= {name: UNUSED[name] for name in data.draw(st.sets(st.sampled_from(sorted(UNUSED))))}
    order = data.draw(st.permutations(list(columns)))
    file = tmp_path_factory.mktemp("table") / f"data.{data.draw(st.sampled_from(['csv', 'tsv', 'jsonl']))}"
    write_table(file, {name: columns[name] for name in order}, data.draw(st.sampled_from(",;\t|")))

    guessed = guess_columns(file, {}, "command")

    assert dict(guessed.fields) == chosen
    assert guessed.arms == ARMS
    assert set(guessed.unused) == set(columns) - set(chosen.values())


@given(name=st.text(max_size=30))
def test_no_name_breaks_the_guess(name: str) -> None:
    assert len({match.field for match in match_name(name)}) == len(match_name(name))


@pytest.mark.parametrize("name", ["latency", "duration", "elapsed", "time", "run time", "metrics.duration"])
def test_a_duration_without_a_unit_is_refused_with_both_commands(tmp_path: Path, name: str) -> None:
    said = refusal(tmp_path, table(duration_seconds=name))

    assert f"column {name!r} does not say its unit" in said
    for option in (f"duration_seconds={name}", f"duration_ms={name}", "duration_seconds="):
        assert f"outweigh verdict data.csv --map {option}" in said.replace("'", "")


@pytest.mark.parametrize(
    ("unit", "column"), [("duration_seconds", "latency"), ("duration_ms", "latency"), ("duration_seconds", "")]
)
def test_the_user_settles_the_unit(tmp_path: Path, unit: str, column: str) -> None:
    guessed = guess(tmp_path, table(duration_seconds="latency"), {unit: column})

    assert {field: spec for field, spec in guessed.fields.items() if field.startswith("dur")} == (
        {unit: column} if column else {}
    )


@pytest.mark.parametrize("name", ["minutes", "duration_min", "latency_us", "elapsed_hours"])
def test_a_duration_in_another_unit_is_not_used(tmp_path: Path, name: str) -> None:
    guessed = guess(tmp_path, table(duration_seconds=name))

    assert (name in guessed.unused, guessed.fields.keys() & {"duration_seconds", "duration_ms"}) == (True, set())


def test_start_and_end_need_no_duration(tmp_path: Path) -> None:
    times = {name: [f"2026-01-01T00:{minute}:00Z"] * 12 for name, minute in (("start", "10"), ("end", "11"))}

    guessed = guess(tmp_path, table(duration_seconds="latency") | times)

    assert (guessed.fields["started_at"], guessed.fields["finished_at"]) == ("start", "end")
    assert guessed.unused == ("latency",)


def test_numbers_that_count_from_a_start_are_no_moments(tmp_path: Path) -> None:
    guessed = guess(tmp_path, table() | {"start": ["1.5"] * 12, "end": ["9.5"] * 12})

    assert guessed.unused == ("start", "end")


@pytest.mark.parametrize(
    ("columns", "option"),
    [
        (table() | {"passed": ["no", "yes"] * 6}, "success=passed"),
        (
            {**table(), "case": CELLS["repeat"], "problem": CELLS["task_id"]} | {"task_id": ["x"] * 12},
            "task_id=problem",
        ),
        (table(arm="variant") | {"config": CELLS["repeat"]}, "arm=config"),
        (table(cost_usd="cost") | {"total_cost": ["0.5"] * 12}, "cost_usd=total_cost"),
        (table(duration_seconds="latency_s") | {"duration_s": ["5"] * 12}, "duration_seconds=duration_s"),
        (table(duration_seconds="latency_s") | {"duration_ms": ["5"] * 12}, "duration_ms=duration_ms"),
        (table(arm="model") | {"prompt": CELLS["repeat"]}, "arm=prompt"),
    ],
)
def test_two_columns_that_fit_are_an_error_that_names_the_option(
    tmp_path: Path, columns: dict[str, list[str]], option: str
) -> None:
    said = refusal(tmp_path, columns)

    assert "more than one column could be" in said
    assert f"outweigh verdict data.csv --map {option}" in said


def test_two_columns_that_say_the_same_are_no_conflict(tmp_path: Path) -> None:
    columns = table(cost_usd="cost") | {
        "total_cost": [f"${cost}" for cost in CELLS["cost_usd"]],
        "passed": ["1", "0"] * 6,
    }

    assert guess(tmp_path, columns).fields["success"] in ("success", "passed")


@pytest.mark.parametrize(
    ("missing", "what"), [("task_id", "the task"), ("arm", "the arm"), ("success", "whether a run passed")]
)
def test_a_missing_column_is_asked_for_with_those_that_are_there(tmp_path: Path, missing: str, what: str) -> None:
    columns = {("unknown name" if name == missing else name): cells for name, cells in table().items()}

    said = refusal(tmp_path, columns)

    assert f"no column could be {what}. It has" in said
    assert "  unknown name" in said
    assert said.splitlines()[-1] == f"  outweigh verdict data.csv --map '{missing}=unknown name'"


def test_a_field_that_no_column_fits_is_left_to_the_user(tmp_path: Path) -> None:
    columns = {"notes": ["long text"] * 12, "arm": CELLS["arm"], "points": ["0.5", "0.7"] * 6}

    said = refusal(tmp_path, columns | {"status": ["ok", "error"] * 6, "where": CELLS["task_id"]})

    assert "Name a column for each COLUMN, and run:" in said
    assert "outweigh verdict data.csv --map task_id=where --map success=COLUMN\n" in said
    assert "--map 'success=SCORE>=0.8'" in said


def test_a_missing_and_an_ambiguous_column_are_one_error(tmp_path: Path) -> None:
    columns = {"where": CELLS["task_id"], "arm": CELLS["arm"], "passed": ["1", "0"] * 6, "solved": ["0", "1"] * 6}

    said = refusal(tmp_path, columns)

    assert "no column could be the task. It has" in said
    assert "more than one column could be whether a run passed: 'passed', 'solved'." in said
    assert said.endswith("outweigh verdict data.csv --map task_id=where --map success=passed")


@pytest.mark.parametrize(
    ("name", "field", "column"),
    [
        ("passed", "success", "success"),
        ("ok", "success", "success"),
        ("task", "task_id", "task_id"),
        ("variant", "arm", "arm"),
        ("cost", "cost_usd", "dear"),
        ("duration", "duration_seconds", "secs"),
        ("duration", "duration_ms", "took ms"),
        ("seconds", "duration_seconds", "dear"),
        ("tokens_in", "input_tokens", "count"),
        ("completion_tokens", "output_tokens", "count"),
    ],
)
def test_a_field_may_be_called_what_a_column_of_it_is_called(
    tmp_path: Path, name: str, field: str, column: str
) -> None:
    numbers = CELLS["input_tokens"]
    columns = table() | {"dear": numbers, "secs": numbers, "count": numbers} | {"took ms": numbers}
    others = {"duration_seconds": "", "duration_ms": ""} if field not in ("duration_seconds", "duration_ms") else {}
    others |= {"duration_seconds": ""} if field == "duration_ms" else {}
    others |= {"duration_ms": ""} if field == "duration_seconds" else {}

    assert guess(tmp_path, columns, {name: column} | others).fields[field] == column


def test_a_duration_has_the_unit_of_its_column_or_none(tmp_path: Path) -> None:
    said = refusal(tmp_path, table(duration_seconds="latency"), {"duration": "latency"})

    assert "column 'latency' does not say its unit" in said
    assert "--map duration_seconds=latency or --map duration_ms=latency" in said
    assert "duration_seconds" not in guess(tmp_path, table(duration_seconds="secs"), {"duration": ""}).fields


def test_two_names_of_one_field_must_agree(tmp_path: Path) -> None:
    columns = table() | {"other": CELLS["success"]}

    assert "two columns, 'success' and 'other'" in refusal(tmp_path, columns, {"success": "success", "passed": "other"})
    assert guess(tmp_path, columns, {"success": "other", "passed": "other"}).fields["success"] == "other"


@pytest.mark.parametrize(
    "spelled", [("true", "false"), ("TRUE", "False"), ("PASSED", "failed"), ("1", "0"), ("Y", "n"), ("✓", "✗")]
)
def test_passes_may_be_spelled_in_many_ways(tmp_path: Path, spelled: tuple[str, str]) -> None:
    columns = table() | {"success": [*spelled] * 6}

    assert guess(tmp_path, columns).fields["success"] == "success"


@pytest.mark.parametrize("score", ["0.85", "85", "85%", "3"])
@pytest.mark.parametrize("name", ["passed", "score"])
def test_a_score_is_no_pass(tmp_path: Path, name: str, score: str) -> None:
    said = refusal(tmp_path, table(success=name) | {name: [score, "0"] * 6})

    assert "--map 'success=SCORE>=0.8'" in said


@pytest.mark.parametrize(
    ("status", "is_taken"), [(("passed", "failed"), True), (("success", "failure"), False), (("ok", "error"), False)]
)
def test_a_status_is_a_result_only_in_words_for_a_result(
    tmp_path: Path, status: tuple[str, str], is_taken: bool
) -> None:
    columns = table(success="status") | {"status": [*status] * 6}

    if is_taken:
        assert guess(tmp_path, columns).fields["success"] == "status"
    else:
        assert "no column could be whether a run passed" in refusal(tmp_path, columns)


def test_the_user_says_where_a_pass_begins(tmp_path: Path) -> None:
    columns = table(success="score") | {"score": ["0.85", "0.2"] * 6}

    assert guess(tmp_path, columns, {"success": "score>=0.8"}).unused == ()
    assert "80 seems to be a percentage" in refusal(tmp_path, columns, {"success": "score>=80"})


def test_one_arm_is_nothing_to_compare(tmp_path: Path) -> None:
    said = refusal(tmp_path, table() | {"arm": ["only"] * 12})

    assert "column 'arm' names one arm, 'only'" in said
    assert "--map arm=COLUMN" in said


def test_tasks_that_no_two_arms_share_are_no_tasks(tmp_path: Path) -> None:
    said = refusal(tmp_path, table() | {"task_id": [f"run-{row}" for row in range(12)]})

    assert "no task of column 'task_id' was run by two arms of column 'arm'" in said


def test_a_model_is_the_arm_only_where_it_differs_and_nothing_else_does(tmp_path: Path) -> None:
    columns = table(arm="model") | {"agent": ["claude"] * 12}

    assert (guess(tmp_path, columns).fields["arm"], guess(tmp_path, columns).fields["agent"]) == ("model", "agent")


def test_a_number_that_repeats_within_a_trial_is_no_repeat(tmp_path: Path) -> None:
    guessed = guess(tmp_path, table() | {"run": ["1"] * 12})

    assert guessed.unused == ("run",)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (["9,5", "12.345"], "it is not clear which mark is the decimal one"),
        (["1,234", "1,5"], "may mean thousands or decimals"),
        (["cheap", "dear"], "'cheap', which is no amount of US dollars"),
        (["0,10 €", "0,20 €"], "which is no amount of US dollars"),
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_refused(tmp_path: Path, cost: list[str], expected: str) -> None:
    assert expected in refusal(tmp_path, table(cost_usd="cost") | {"cost": cost * 6})


def test_decimal_commas_in_one_column_and_points_in_another_are_refused(tmp_path: Path) -> None:
    columns = table(cost_usd="cost", duration_seconds="latency_s")

    said = refusal(tmp_path, columns | {"cost": ["0,5"] * 12, "latency_s": ["12.345"] * 12})

    assert "it is not clear which mark is the decimal one" in said


def test_a_field_or_column_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "there is no column 'nothing'" in refusal(tmp_path, table(), {"arm": "nothing"})
    said = refusal(tmp_path, table(), {"colour": "arm"})
    assert "there is no such field" in said
    assert "Did you mean" not in said


def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    assert "has no row that can be read" in refusal(tmp_path, {name: [] for name in table()})


def test_an_import_leaves_a_measure_out_that_two_columns_could_be_and_says_so(tmp_path: Path, outweigh: Any) -> None:
    names = "case,agent_name,passed,total_cost_usd,agent_cost_usd,latency\n"
    rows = [f"t{task},{arm},{task % 2},0.{task},0.2,1{task}.5\n" for arm in ("plain", "notes") for task in range(1, 7)]
    path = tmp_path / "runs.csv"
    path.write_text(names + "".join(rows))

    answer = outweigh("import", str(path), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert "12 runs of 2 arms on 6 tasks" in answer.out
    assert (
        "cost_usd is unknown, because 'total_cost_usd', 'agent_cost_usd' differ and each could be it; "
        "--map cost_usd=total_cost_usd or --map cost_usd=agent_cost_usd takes one."
    ) in answer.err
    assert (
        "duration is unknown, because column 'latency' does not say its unit; --map duration_seconds=latency or "
        "--map duration_ms=latency takes one."
    ) in answer.err


def test_columns_of_two_costs_beside_the_names_of_fields_are_left_out_and_said(tmp_path: Path, outweigh: Any) -> None:
    names = "task_id,arm,success,total_cost_usd,agent_cost_usd,duration_ms,wall_time_s\n"
    rows = [f"t{task},{arm},{task % 2},0.{task},0.2,900,5\n" for arm in ("plain", "notes") for task in range(1, 7)]
    path = tmp_path / "runs.csv"
    path.write_text(names + "".join(rows))

    answer = outweigh("import", str(path), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert "cost_usd is unknown, because 'total_cost_usd', 'agent_cost_usd' differ and each could be it" in answer.err
