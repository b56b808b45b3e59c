"""A table with its own column names becomes a verdict in one command, without an import."""

import csv
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outweigh.cli.main import main

HEADER = ("Case", "Variant", "Try", "Solved?", "latency (ms)", "Cost ($)", "remarks")


def rows(*, baseline: str = "baseline") -> Iterator[tuple[object, ...]]:
    """Twelve tasks, five times each: the other arm solves far more, at the same speed and cost."""
    draw = Random(1)
    for task in range(12):
        for arm, rate in ((baseline, 0.3), ("with-notes", 0.9)):
            for repeat in range(1, 6):
                took, cost = int(draw.gauss(50_000, 1_000)), round(draw.gauss(0.1, 0.001), 5)
                yield f"case-{task}", arm, repeat, "yes" if draw.random() < rate else "no", took, cost, "fine"


def write(file: Path, header: Sequence[str], table: Iterator[tuple[object, ...]], delimiter: str = ",") -> str:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([header, *table])
    return str(file)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data.csv", HEADER, rows())


GATES = ("--gates", "pass_rate,duration,cost")


def test_a_table_becomes_a_verdict_in_one_command(outweigh: Any, data: str) -> None:
    answer = outweigh("verdict", data, *GATES)

    assert answer.code == 0
    assert answer.out.startswith("IMPROVED  with-notes against baseline")


def test_the_mapping_is_shown_on_standard_error_and_nowhere_else(outweigh: Any, data: str) -> None:
    answer = outweigh("verdict", data, *GATES, "--format", "json")

    assert answer.err.splitlines() == [
        f"outweigh: {data} is read as a table with one run per row:",
        "  task_id      Case",
        "  arm          Variant (baseline, with-notes)",
        "  repeat       Try",
        "  success      Solved?",
        "  duration_ms  latency (ms)",
        "  cost_usd     Cost ($)",
        "  not used     remarks",
        "  (--map FIELD=COLUMN sets a column, --map FIELD= leaves one out)",
        "outweigh: 'baseline' is the baseline, by its name",
    ]
    assert answer.json()["decision"] == "improved"


def test_the_verdict_is_that_of_an_import_with_the_same_columns(outweigh: Any, data: str, tmp_path: Path) -> None:
    columns = ("task_id=Case", "arm=Variant", "repeat=Try", "success=Solved?", "duration_ms=latency (ms)")
    options = [word for column in (*columns, "cost_usd=Cost ($)") for word in ("--map", column)]
    outweigh("import", data, "-o", str(tmp_path / "runs"), *options)

    imported = outweigh("verdict", str(tmp_path / "runs"), *GATES, "--format", "json").json()
    read = outweigh("verdict", data, *GATES, "--format", "json").json()

    assert read == imported


@pytest.mark.parametrize("verb", [("verdict",), ("compare",), ("store", "arms")])
def test_a_folder_of_such_lines_is_refused_with_an_import_that_keeps_their_costs(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    for arm in ("plain", "skill"):
        lines = [
            {"task_id": f"t{task}", "arm": arm, "repeat": 1, "success": task % 3 > 0, "cost_usd": 0.5}
            for task in range(8)
        ]
        (folder / f"{arm}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    refused = outweigh(*verb, "results")
    *_, command = refused.err.splitlines()
    imported = outweigh(*shlex.split(command)[1:])

    assert refused.code == 2
    assert "results/plain.jsonl is a table with columns that collected runs do not have" in refused.err
    assert imported.code == 0
    assert imported.out.count("$4.00") == 2


def test_lines_that_resemble_collected_runs_are_judged_as_they_are_imported(outweigh: Any, tmp_path: Path) -> None:
    names = ("task_id", "arm", "repeat", "passed", "duration_ms", "cost_usd")
    lines = [json.dumps(dict(zip(names, row, strict=False))) for row in rows()]
    data, runs = tmp_path / "data.jsonl", str(tmp_path / "runs")
    data.write_text("\n".join(lines))

    told = outweigh("import", str(data), "-o", runs)
    imported = outweigh("verdict", runs, *GATES, "--format", "json").json()
    read = outweigh("verdict", str(data), *GATES, "--format", "json").json()

    assert " read as table" in told.out
    assert read == imported
    assert read["decision"] == "improved"


@pytest.mark.parametrize("verb", ["compare", "report", "ladder", "plan --tasks 12 --repeats 5"])
def test_other_verbs_read_the_same_table(outweigh: Any, data: str, verb: str) -> None:
    answer = outweigh(*verb.split(), data)

    assert answer.code == 0
    assert "is read as a table" in answer.err


def test_a_table_of_another_locale_gives_the_same_verdict(outweigh: Any, data: str, tmp_path: Path) -> None:
    table = (tuple(str(cell).replace(".", ",") if isinstance(cell, float) else cell for cell in row) for row in rows())
    other = write(tmp_path / "locale.csv", HEADER, table, delimiter=";")

    one, two = (outweigh("verdict", file, *GATES, "--format", "json").json() for file in (data, other))

    assert one == two


def as_objects(table: Iterator[tuple[object, ...]]) -> list[Mapping[str, object]]:
    return [dict(zip(HEADER, row, strict=True)) for row in table]


def test_rows_of_json_give_the_same_verdict(outweigh: Any, data: str, tmp_path: Path) -> None:
    lines, array = tmp_path / "rows.jsonl", tmp_path / "rows.json"
    lines.write_text("".join(json.dumps(row) + "\n" for row in as_objects(rows())), encoding="utf-8")
    array.write_text(json.dumps(as_objects(rows())), encoding="utf-8")

    answers = [outweigh("verdict", str(file), *GATES, "--format", "json").json() for file in (data, lines, array)]

    assert answers[0] == answers[1] == answers[2]


def test_a_parquet_file_gives_the_same_verdict(outweigh: Any, data: str, tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(as_objects(rows())), tmp_path / "rows.parquet")

    one, two = (
        outweigh("verdict", str(file), *GATES, "--format", "json").json() for file in (data, tmp_path / "rows.parquet")
    )

    assert one == two


def test_an_empty_cell_is_unknown_and_not_zero(outweigh: Any, tmp_path: Path) -> None:
    table = ((*row[:5], "" if row[1] == "with-notes" else row[5], row[6]) for row in rows())

    answer = outweigh("verdict", write(tmp_path / "data.csv", HEADER, table), *GATES, "--format", "json").json()

    assert answer["decision"] == "inconclusive"
    assert next(gate for gate in answer["gates"] if gate["name"] == "cost")["state"] == "unknown"


def test_what_the_table_does_not_have_is_left_out_by_the_next_command(
    outweigh: Any, data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(data).parent)
    answer = outweigh("verdict", "data.csv")
    command = next(line.strip() for line in answer.out.splitlines() if line.strip().startswith("outweigh verdict"))

    assert answer.out.startswith("INCONCLUSIVE")
    assert "decide without non-cache tokens, which the records do not have" in " ".join(answer.out.split())
    assert command == "outweigh verdict data.csv --gates pass_rate,duration,cost"
    assert outweigh(*command.split()[1:]).out.startswith("IMPROVED")


@pytest.mark.parametrize("repeats_are_numbered", [True, False])
def test_the_names_that_are_shown_can_be_typed_after_map(
    outweigh: Any, tmp_path: Path, repeats_are_numbered: bool
) -> None:
    table = (row if repeats_are_numbered else (*row[:2], *row[3:]) for row in rows())
    header = HEADER if repeats_are_numbered else (*HEADER[:2], *HEADER[3:])
    file = write(tmp_path / "data.csv", header, table)

    first = outweigh("verdict", file, *GATES)
    shown = [line.split(maxsplit=1) for line in first.err.splitlines() if line.startswith("  ") and "--map" not in line]
    options = [f"{field}={column.partition(' (b')[0]}" for field, column in shown if field != "not"]
    again = outweigh("verdict", file, *GATES, *(word for option in options for word in ("--map", option)))

    assert len(options) == 6 - (not repeats_are_numbered)
    assert (again.code, again.err) == (0, first.err)


@pytest.mark.parametrize("verb", ["verdict", "import"])
def test_a_wrong_field_is_a_usage_error_with_all_fields_and_the_nearest(
    outweigh: Any, data: str, tmp_path: Path, verb: str
) -> None:
    target = ("-o", str(tmp_path / "runs")) if verb == "import" else ()
    answer = outweigh(verb, data, *target, "--map", "pased=Solved?")

    assert answer.code == 2
    assert "--map pased=Solved?: there is no such field; there is task_id, arm" in answer.err
    assert "Did you mean success?" in answer.err


def test_all_missing_columns_are_asked_for_at_once_and_the_command_can_be_pasted(
    outweigh: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("data.csv"), ("Aufgabe", "Womit", "Mal", "Ging es", *HEADER[4:]), rows())

    refused = outweigh("verdict", "data.csv", *GATES)
    command = refused.err.splitlines()[-1].strip()

    assert refused.code == 2
    assert "no column could be the task, whether a run passed or the arm. It has" in refused.err
    assert command == (
        "outweigh verdict data.csv --gates pass_rate,duration,cost "
        "--map task_id=Aufgabe --map 'success=Ging es' --map arm=Womit"
    )
    assert outweigh(*shlex.split(command)[1:]).out.startswith("IMPROVED")


def test_arms_whose_names_say_nothing_get_both_commands(outweigh: Any, tmp_path: Path) -> None:
    file = write(tmp_path / "data.csv", HEADER, rows(baseline="plain"))

    answer = outweigh("verdict", file)

    assert answer.code == 2
    assert f"outweigh verdict {file} --baseline plain --candidate with-notes\n" in answer.err
    assert f"outweigh verdict {file} --baseline with-notes --candidate plain\n" in answer.err


def test_a_column_can_be_named_or_left_out(outweigh: Any, tmp_path: Path) -> None:
    header = ("Case", "Variant", "Try", "grade", "latency", "Cost ($)", "remarks")
    file = write(tmp_path / "data.csv", header, rows())

    refused = outweigh("verdict", file)
    read = outweigh("verdict", file, "--map", "success=grade", "--map", "duration_ms=latency", "--map", "cost_usd=")

    assert (refused.code, "does not say its unit" in refused.err) == (2, True)
    assert "not used     Cost ($), remarks" in read.err


def test_a_score_becomes_a_pass_where_the_user_says_it_begins(outweigh: Any, tmp_path: Path) -> None:
    table = ((*row[:3], 0.9 if row[3] == "yes" else 0.4, *row[4:]) for row in rows())
    file = write(tmp_path / "data.csv", ("Case", "Variant", "Try", "Points", *HEADER[4:]), table)

    answer = outweigh("verdict", file, *GATES, "--map", "success=Points>=0.8", "--format", "json")
    percent = outweigh("verdict", file, *GATES, "--map", "success=Points>=80")

    assert answer.json()["decision"] == "improved"
    assert (percent.code, "seems to be a percentage" in percent.err) == (2, True)


def test_a_row_that_cannot_be_read_is_refused_with_its_place_or_skipped_and_counted(outweigh: Any, data: str) -> None:
    with Path(data).open("a", encoding="utf-8") as stream:
        stream.write("case-0,baseline,6,yes\n")

    refused = outweigh("verdict", data)
    skipped = outweigh("verdict", data, *GATES, "--skip-invalid", "--format", "json").json()

    assert refused.code == 3
    assert f"{data}:122" in refused.err
    assert skipped["may_promote"] is False


def test_results_of_another_harness_are_sent_to_the_import(outweigh: Any) -> None:
    answer = outweigh("verdict", "examples/promptfoo/output.json")

    assert answer.code != 0
    assert "outweigh import examples/promptfoo/output.json" in answer.err


def test_records_of_ours_are_no_table(outweigh: Any) -> None:
    answer = outweigh("verdict", "examples/recorded/runs.jsonl", "--baseline", "T0-plain", "--candidate", "T1-skill")

    assert "table" not in answer.err


def test_a_mapping_needs_a_table(outweigh: Any) -> None:
    answer = outweigh("ladder", "examples/recorded/runs.jsonl", "--map", "arm=arm")

    assert answer.code == 2
    assert "--map is about the columns of a table" in answer.err


def test_a_name_in_a_table_cannot_move_the_terminal(outweigh: Any, tmp_path: Path) -> None:
    header = (*HEADER[:6], "remarks\x1b[2J\noutweigh: forged")
    answer = outweigh("verdict", write(tmp_path / "data.csv", header, rows()), *GATES)

    assert answer.code == 0
    assert "\x1b" not in answer.err
    assert "\noutweigh: forged" not in answer.err


CELLS = st.sampled_from(
    ["a", "b", "yes", "no", "1", "0", "0.5", "", "nan", "-1", "1e400", "1,234", "9,5", "2026-01-01", "é", "5%"]
)
COLUMNS = st.sampled_from(
    ["task", "arm", "model", "passed", "score", "status", "cost", "latency", "run", "end", "id", "x", ""]
)


@settings(max_examples=60)
@given(
    names=st.lists(COLUMNS, min_size=1, max_size=6),
    table=st.lists(st.lists(CELLS, min_size=6, max_size=6), max_size=8),
    delimiter=st.sampled_from(",;\t|"),
)
def test_no_table_ends_in_a_bug(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], table: list[list[str]], delimiter: str
) -> None:
    file = tmp_path_factory.mktemp("table") / "data.csv"
    write(file, names, (tuple(row[: len(names)]) for row in table), delimiter)

    assert main(["verdict", str(file)]) in (0, 1, 2, 3)


def test_output_is_json_that_a_program_can_read(outweigh_process: Any, data: str) -> None:
    answer = outweigh_process("verdict", data, *GATES, "--format", "json")

    assert msgspec.json.decode(answer.out)["candidate"] == "with-notes"
