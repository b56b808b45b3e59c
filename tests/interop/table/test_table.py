"""Any table becomes runs: the user says what its columns are, and a doubtful cell is never guessed."""

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.table.importer import TableImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

COLUMNS = {"task_id": "case", "arm": "config.name", "success": "ok"}


def a_row(**more: Any) -> dict[str, Any]:
    return {"case": "greets", "config": {"name": "plain"}, "ok": True} | more


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(TableImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def one(tmp_path: Path, columns: dict[str, str] | None = None, **more: Any) -> RunRecord:
    path = lines(tmp_path / "runs.jsonl", a_row(**more))
    (run,), notes = runs_of(path, columns=COLUMNS | (columns or {}))
    assert not notes.unreadable
    return run


class TestCsv(ImporterContract):
    def importer(self) -> TableImporter:
        return TableImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "runs.csv"
        path.write_text(
            "task_id,arm,repeat,success,duration_seconds,note\n"
            'greets,plain,1,yes,1.5,"two\nlines"\n'
            "greets,skill,1,no,2.5,\n"
            "adds,plain,1,,,N/A\n"
        )
        return path


class TestJsonLines(ImporterContract):
    def importer(self) -> TableImporter:
        return TableImporter()

    def example(self, folder: Path) -> Path:
        return lines(
            folder / "runs.jsonl",
            {"task_id": "greets", "arm": "plain", "success": True, "started_at": "2026-01-02T03:04:05Z"},
            {"task_id": "greets", "arm": "plain", "success": False, "started_at": "2026-01-02T03:05:05Z"},
        )


class TestJsonArray(ImporterContract):
    def importer(self) -> TableImporter:
        return TableImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "runs.json"
        path.write_bytes(msgspec.json.encode([{"task_id": "greets", "arm": "plain", "success": 1, "cost_usd": 0.5}]))
        return path


def test_a_table_without_a_map_is_read_by_columns_that_are_clear(tmp_path: Path) -> None:
    path = lines(tmp_path / "runs.jsonl", a_row(durationMs=5, costUsd=1, prompt_tokens=9))

    (run,), notes = runs_of(path)

    assert (run.trial.task_id, run.trial.arm, run.duration_seconds, run.cost.usd) == ("greets", "plain", 0.005, 1)
    assert "task_id=case, arm=config.name" in next(iter(notes.warnings))


def test_a_table_whose_columns_are_not_clear_proposes_a_command_for_all(tmp_path: Path, outweigh: Any) -> None:
    path, target = tmp_path / "my runs.csv", str(tmp_path / "runs")
    path.write_text("Task,Fuss,Passed,wall_time_sec\ngreets,plain,yes,3\ngreets,skill,no,4\n")

    refused = outweigh("import", str(path), "-o", target)
    proposed = next(shlex.split(line) for line in refused.err.splitlines() if line.startswith("  outweigh"))
    words = {"RUNS": target, "NAME": "mine"}
    done = outweigh(*(words.get(word, word) for word in proposed[1:]))

    assert (refused.code, done.code) == (3, 0)
    assert proposed[6:] == [
        *("--map", "task_id=Task", "--map", "success=Passed", "--map", "duration_seconds=wall_time_sec"),
        *("--arm", "NAME"),
    ]
    assert "2 runs" in done.out


PUBLISHED = {
    "mcp_evals": {
        "run_id": [*"12345678"],
        "ts_start": ["2026-01-20T22:56:07+00:00"] * 8,
        "agent_id": ["codex"] * 4 + ["claude"] * 4,
        "scenario": ["shell", "mcp"] * 4,
        "task_id": ["one", "one", "two", "two"] * 2,
        "success": ["True", "False", "True", "True"] * 2,
        "wall_time_sec": ["12.5"] * 8,
        "uncached_input_tokens": ["10"] * 8,
        "cached_read_tokens": ["200"] * 8,
        "cache_write_tokens": ["0"] * 8,
        "output_tokens": ["7"] * 8,
        "billed_cost_usd": ["0.25"] * 8,
        "cold_equivalent_cost_usd": ["0.5"] * 8,
    },
    "eval-analysis": {
        "run_id": ["1", "2", "3", "4"],
        "task_id": ["one", "two"] * 2,
        "alias": ["Claude", "Claude", "GPT", "GPT"],
        "model": ["c3o", "c3o", "gpt-4o", "gpt-4o"],
        "task_family": ["f"] * 4,
        "score_cont": ["0.1", "0.2", "0.3", "1"],
        "score_binarized": ["0", "1", "0", "1"],
        "human_minutes": ["5"] * 4,
        "generation_cost": ["0.25"] * 4,
    },
}


def table_file(path: Path, columns: dict[str, list[str]]) -> Path:
    rows = [",".join(columns), *(",".join(row) for row in zip(*columns.values(), strict=True))]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return path


def test_a_published_table_is_read_by_its_usual_names(tmp_path: Path, outweigh: Any) -> None:
    table_file(tmp_path / "set" / "runs.csv", PUBLISHED["eval-analysis"])
    (tmp_path / "set" / "README.md").write_text("Runs")

    answer = outweigh("import", str(tmp_path / "set"), "-o", str(tmp_path / "runs"))

    assert (answer.code, "4 runs of 2 arms on 2 tasks" in answer.out) == (0, True)
    assert "arm=alias, run_id=run_id, model=model, family=task_family, success=score_binarized" in answer.err
    assert "cost_usd=generation_cost" in answer.err


def test_arms_that_two_columns_tell_apart_are_read_with_one_command_that_says_so(tmp_path: Path, outweigh: Any) -> None:
    path = table_file(tmp_path / "runs.csv", PUBLISHED["mcp_evals"])

    answer = outweigh("import", str(path), "-o", str(tmp_path / "runs"))
    runs, _ = runs_of(path)

    assert (answer.code, "together they are the arm; --map arm=agent_id" in answer.err) == (0, True)
    assert {run.trial.arm for run in runs} == {"codex/shell", "codex/mcp", "claude/shell", "claude/mcp"}
    assert {(run.duration_seconds, run.cost.usd) for run in runs} == {(12.5, 0.25)}
    assert {(run.usage.input_tokens, run.usage.cache_read_tokens) for run in runs} == {(10, 200)}
    assert {run.started_at is None for run in runs} == {False}


def test_only_rows_with_the_values_that_are_named_are_read(tmp_path: Path, outweigh: Any) -> None:
    path = table_file(tmp_path / "runs.csv", PUBLISHED["mcp_evals"])
    options = ("import", str(path), "-o", str(tmp_path / "runs"))

    read = outweigh(*options, "--where", "scenario=mcp", "--where", "task_id=two")
    misnamed = outweigh(*options, "--where", "scenari=mcp")
    none = outweigh(*options, "--where", "scenario=none")

    assert (read.code, "2 runs of 2 arms on 1 task" in read.out) == (0, True)
    assert (misnamed.code, "Did you mean 'scenario'?" in misnamed.err) == (2, True)
    assert (none.code, "has no row where scenario is 'none'" in none.err) == (3, True)


def test_arrays_in_a_document_are_read_by_their_place(tmp_path: Path) -> None:
    document = {
        "suite": "s",
        "arms": [
            {"arm": "plain", "runs": [{"task_id": "a", "success": True}, {"task_id": "b", "success": False}]},
            {"arm": "skill", "runs": [{"task_id": "a", "success": True}]},
        ],
        "notes": [{"text": "x"}],
    }
    path = tmp_path / "report.json"
    path.write_bytes(msgspec.json.encode(document))

    runs, _ = runs_of(path, rows="arms.runs")

    assert [(run.trial.arm, run.trial.task_id) for run in runs] == [("plain", "a"), ("plain", "b"), ("skill", "a")]
    with pytest.raises(EvidenceError, match=r"has no rows at 'arms\.none'"):
        runs_of(path, rows="arms.none")


def test_the_only_place_with_results_needs_no_name(tmp_path: Path) -> None:
    runs = [{"task_id": task, "success": task == "a", "graders": [{"name": "g", "passed": True}]} for task in "ab"]
    path = tmp_path / "report.json"
    path.write_bytes(msgspec.json.encode({"arms": [{"arm": "plain", "runs": runs}], "notes": [{"text": "x"}]}))

    found, _ = runs_of(path)

    assert [(run.trial.arm, run.trial.task_id) for run in found] == [("plain", "a"), ("plain", "b")]


def test_of_several_arrays_one_must_be_named_where_nothing_says_which_has_results(tmp_path: Path) -> None:
    several = tmp_path / "several.json"
    several.write_bytes(msgspec.json.encode({"arms": [{"text": "x"}], "notes": [{"text": "x"}]}))
    rows = [{"task_id": "a", "arm": "x", "success": True}]
    both = tmp_path / "both.json"
    both.write_bytes(msgspec.json.encode({"version": 1, "dev": rows, "test": rows}))

    with pytest.raises(EvidenceError, match=r"--rows arms` or `outweigh import table .* --rows notes"):
        runs_of(several)
    with pytest.raises(EvidenceError, match=r"--rows dev` or `outweigh import table .* --rows test"):
        runs_of(both)


def test_every_key_of_an_object_can_be_a_part_of_the_place(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(msgspec.json.encode({"plain": {"a": {"success": True}}, "skill": {"a": {"success": False}}}))

    runs, _ = runs_of(path, rows="*.*", columns={"arm": "key", "task_id": "key2"})

    assert [(run.trial.arm, run.trial.task_id) for run in runs] == [("plain", "a"), ("skill", "a")]


def test_a_bad_time_is_unknown_and_the_run_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    times = ("2026-01-20T22:56:07Z", "soon", 0.0, 12.5, None)
    rows = [
        {"task_id": f"t{place}", "arm": "x", "success": True, "started_at": time} for place, time in enumerate(times)
    ]
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))

    runs, notes = runs_of(path)

    assert [run.started_at is not None for run in runs] == [True, False, False, False, False]
    assert notes.unreadable == []
    assert "started_at has values that are no time, such as 'soon'; it is unknown there." in notes.warnings


def test_tables_with_the_same_columns_are_read_together_and_the_file_is_the_arm(tmp_path: Path, outweigh: Any) -> None:
    for arm in ("plain", "skill"):
        table_file(tmp_path / "tables" / f"{arm}.csv", {"task": ["one", "two"], "passed": ["yes", "no"]})

    answer = outweigh("import", str(tmp_path / "tables"), "-o", str(tmp_path / "runs"))

    assert answer.code == 0
    assert "4 runs of 2 arms on 2 tasks" in answer.out
    assert "arm=file" in answer.err


def test_a_map_can_be_kept_in_a_file(tmp_path: Path, outweigh: Any) -> None:
    path, kept = lines(tmp_path / "runs.jsonl", a_row()), tmp_path / "map.toml"
    kept.write_text('task_id = "case"\narm = "config.name"\n')
    into = ("import", "table", str(path), "-o", str(tmp_path / "runs"), "--map")

    done = outweigh(*into, str(kept), "--map", "success=ok")
    kept.write_text("task_id = 3\n")
    refused = outweigh(*into, str(kept))

    assert (done.code, refused.code) == (0, 2)
    assert 'task_id must name a column, such as task_id = "config.name"' in refused.err


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = lines(tmp_path / "runs.jsonl", a_row())

    with pytest.raises(
        UsageError, match=r"no column 'cases'; there is 'case', 'config\.name', 'ok'.* Did you mean 'case'"
    ):
        runs_of(path, columns=COLUMNS | {"task_id": "cases"})
    with pytest.raises(UsageError, match=r"no such field.* Did you mean task_id\?"):
        runs_of(path, columns=COLUMNS | {"tasks": "case"})


def test_several_columns_can_make_up_a_name(tmp_path: Path) -> None:
    run = one(tmp_path, {"task_id": "suite+case"}, suite=7)

    assert run.trial.task_id == "7/greets"


def test_units_are_said_by_the_field(tmp_path: Path) -> None:
    run = one(tmp_path, {"duration_ms": "took", "started_at": "when"}, took=1500, when=1743272210096)

    assert run.duration_seconds == 1.5
    assert run.started_at is not None
    assert run.started_at.isoformat() == "2025-03-29T18:16:50.096000+00:00"


def test_milliseconds_are_noticed_where_both_ends_are_known(tmp_path: Path) -> None:
    path = lines(tmp_path / "runs.jsonl", a_row(start=1743272210096, end=1743272253383, duration=43287))

    assert [run.duration_seconds for run in runs_of(path)[0]] == [43.287]
    ends = {"started_at": "start", "finished_at": "end", "duration_seconds": "duration"}
    _, notes = runs_of(path, columns=COLUMNS | ends)

    assert any("map it as duration_ms" in warning for warning in notes.warnings)


def test_a_duration_follows_from_both_ends(tmp_path: Path) -> None:
    run = one(tmp_path, {"started_at": "a", "finished_at": "b"}, a="2026-01-02T03:04:05Z", b="2026-01-02T03:04:09Z")

    assert run.duration_seconds == 4.0


def test_input_is_kept_without_what_came_from_the_cache(tmp_path: Path) -> None:
    columns = {"input_tokens_with_cache": "prompt", "cache_read_tokens": "cached"}

    assert one(tmp_path, columns, prompt=100, cached=70).usage.input_tokens == 30
    assert one(tmp_path, columns, prompt=100, cached=None).usage.input_tokens is None


def test_an_empty_cell_is_unknown_and_zero_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task_id,arm,success,cost_usd,output_tokens\na,x,,NaN,0\nb,x,n/a,,\n")

    (first, second), _ = runs_of(path)

    assert (first.cost.usd, first.usage.output_tokens) == (None, 0)
    assert (second.cost.usd, second.usage.output_tokens) == (None, None)
    assert [run.checks[0].passed for run in (first, second) if run.checks] == [None, None]


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("success", "0.5", "success is '0.5', which is neither a pass nor a failure"),
        ("cost_usd", "-1", "which is no amount"),
        ("cost_usd", "1,000", "which may mean thousands or decimals"),
        ("output_tokens", "1.5", "which is not a count"),
        ("status", "error", "which is none of completed, timeout"),
        ("repeat", "", "does not say its repeat"),
        ("task_id", "", "does not say its task"),
    ],
)
def test_a_doubtful_cell_is_a_row_with_its_place(tmp_path: Path, column: str, cell: str, reason: str) -> None:
    path = tmp_path / "runs.csv"
    row = {"task_id": "a", "arm": "x", column: cell}
    path.write_text(",".join(row) + "\n" + ",".join(f'"{value}"' for value in row.values()) + "\n")

    runs, notes = runs_of(path)

    assert runs == []
    (unread,) = notes.unreadable
    assert unread.line == 2
    assert reason in unread.reason


def test_a_row_with_too_many_cells_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task_id,arm,success\na,x,1\nb,x,1,2\n")

    runs, notes = runs_of(path)

    assert [run.trial.task_id for run in runs] == ["a"]
    assert [(row.line, row.reason) for row in notes.unreadable] == [(3, "4 cells under 3 columns")]


def test_a_status_says_whose_doing_an_end_was(tmp_path: Path) -> None:
    assert one(tmp_path, {"status": "end"}, end="Timed out").status is Status.TIMEOUT
    assert one(tmp_path, {"status": "end"}, end="infra_error").status is Status.INFRA_ERROR


def test_repeats_are_numbered_in_order_of_time_where_nobody_did(tmp_path: Path) -> None:
    rows = (a_row(at="2026-01-02T00:00:00Z", id="late"), a_row(at="2026-01-01T00:00:00Z", id="early"))
    path = lines(tmp_path / "runs.jsonl", *rows, a_row(case="adds", at="2026-01-01T00:00:00Z", id="alone"))

    runs, _ = runs_of(path, columns=COLUMNS | {"started_at": "at", "run_id": "id"})

    assert {run.run_id: run.trial.repeat for run in runs} == {"late": 2, "early": 1, "alone": 1}
    assert [run.extra.get("repeat_label") for run in runs] == ["arbitrary", "arbitrary", None]


def test_what_is_not_mapped_is_kept_beside_the_run(tmp_path: Path) -> None:
    assert one(tmp_path, reviewer="sam", config={"name": "plain"}).extra == {"reviewer": "sam"}


def test_an_arm_that_never_cost_anything_is_asked_about(tmp_path: Path) -> None:
    path = lines(tmp_path / "runs.jsonl", a_row(usd=0), a_row(case="adds", usd=0.0))

    _, notes = runs_of(path, columns=COLUMNS | {"cost_usd": "usd"})

    assert any("every run of 'plain' cost 0" in warning for warning in notes.warnings)


def test_semicolons_marks_and_other_encodings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(b"\xef\xbb\xbftask_id;arm;success\r\ncaf\xe9;x;1\r\n")

    (run,), notes = runs_of(path)

    assert run.trial.task_id == "café"
    assert any("cp1252" in warning for warning in notes.warnings)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("task_id,arm,arm\na,x,y\n")

    with pytest.raises(EvidenceError, match="more than one column 'arm'"):
        runs_of(path)


def test_a_folder_with_a_file_for_each_run_is_a_table(tmp_path: Path) -> None:
    for name in ("plain", "skill"):
        (tmp_path / f"run-{name}.json").write_bytes(msgspec.json.encode(a_row(config={"name": name})))
    (tmp_path / "broken.json").write_text("{")

    runs, notes = runs_of(tmp_path, columns=COLUMNS)

    assert [run.trial.arm for run in runs] == ["plain", "skill"]
    assert len({run.run_id for run in runs}) == 2
    assert [Path(row.source).name for row in notes.unreadable] == ["broken.json"]


def test_parquet_is_read_where_its_reader_is_installed(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "runs.parquet"
    rows = [{"task_id": "greets", "arm": "plain", "success": True, "cost_usd": float("nan"), "config": {"name": "a"}}]
    parquet.write_table(arrow.Table.from_pylist(rows), path)

    (run,), _ = runs_of(path)

    assert (run.trial.task_id, run.cost.usd, run.extra) == ("greets", None, {"config": {"name": "a"}})
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(EvidenceError, match="not a Parquet file"):
        runs_of(path)


def test_a_header_of_nothing_but_commas_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "commas.csv"
    path.write_bytes(b"," * 2**20 + b"\n")

    with pytest.raises(EvidenceError, match="1,048,577 columns"):
        read_all(TableImporter(), path, arm="mine")


def test_a_key_that_one_of_the_first_rows_states_twice_is_looked_for_in_all(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    once, twice = b'{"task_id": "a", "arm": "b", "cost_usd": 1}\n', b'{"task_id": "a", "cost_usd": 2, "cost_usd": 3}\n'
    path.write_bytes(once + twice + 300 * once + twice)

    runs, notes = read_all(TableImporter(), path)

    assert len(runs) == 301
    assert [row.line for row in notes.unreadable] == [2, 303]


def test_a_table_of_which_nothing_can_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b"{'task_id': 'a'}\n" * 3)

    with pytest.raises(EvidenceError, match=r"broken\.jsonl:1: not valid JSON"):
        read_all(TableImporter(), path)


def test_the_only_rows_in_an_object_are_read(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(msgspec.json.encode({"version": 3, "my rows": [a_row()], "none": []}))

    assert len(runs_of(path)[0]) == 1


@pytest.mark.parametrize("document", [{"task_id": {"0": "a"}}, 3, {}])
def test_a_document_without_rows_says_how_to_write_them(tmp_path: Path, document: object) -> None:
    (tmp_path / "report.json").write_bytes(msgspec.json.encode(document))

    with pytest.raises(EvidenceError, match=r'is not an array of rows; .* in pandas by to_json\(orient="records"\)'):
        runs_of(tmp_path / "report.json")
