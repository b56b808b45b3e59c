"""Sources as people really have them: traps, copies, halves, mixtures. Each is read right or refused in a sentence."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.agent_ab.test_collected import a_folder
from tests.interop.harbor.harbor_jobs import a_job, a_trial
from tests.interop.skill_creator.test_skill_creator_importer import HELD, run_folder
from tests.interop.test_benches import REPORT, tb_run, tb_trial
from tests.interop.test_tau import a_simulation
from tests.interop.test_tau import written as tau_results

from outweigh.interop.result_files import WHOLE_LIMIT
from outweigh.model.codec import decode
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import UNREAD_ROW_LIMIT
from outweigh.store.zip_archive import DIRECTORY_LIMIT

HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "task_id": "x", "eval_id": "e"}}
SUMMARY = {"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}, "model_usage": {}, "total_time": 2.5}
Members = Sequence[tuple[str, bytes]]
WHOLE: Members = (("header.json", json.dumps(HEADER).encode()), ("summaries.json", json.dumps([SUMMARY]).encode()))


def archive(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return path


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else msgspec.json.encode(content))
    return path


def left(folder: Path) -> list[str]:
    """What an import left, beside the lock that it held."""
    return sorted(path.name for path in folder.iterdir() if path.name != "lock") if folder.exists() else []


def records(folder: Path) -> list[RunRecord]:
    lines = [line for file in folder.glob("runs-*.jsonl") for line in file.read_bytes().splitlines(keepends=True)]
    return [record for record in map(decode, lines) if isinstance(record, RunRecord)]


@pytest.fixture
def refused(outweigh: Any, tmp_path: Path) -> Callable[..., str]:
    """Import something that must be refused: one paragraph, exit code 3, nothing written."""

    def run(*arguments: object) -> str:
        answer = outweigh("import", *map(str, arguments), "-o", str(tmp_path / "runs"))
        assert answer.code == 3, answer.err
        assert not (tmp_path / "runs").exists()
        assert answer.err.startswith("outweigh: ")
        message: str = answer.err.removeprefix("outweigh: ").strip()
        return message.replace(f"{tmp_path}/", "")

    return run


@pytest.fixture
def imported(outweigh: Any, tmp_path: Path) -> Callable[..., tuple[list[RunRecord], str]]:
    """Import something that can be read, and give back its runs and what was said about them on stderr."""

    def run(*arguments: object) -> tuple[list[RunRecord], str]:
        answer = outweigh("import", *map(str, arguments), "-o", str(tmp_path / "runs"))
        assert answer.code == 0, answer.err
        return records(tmp_path / "runs"), answer.err.replace(f"{tmp_path}/", "")

    return run


# Archives that are traps.


def test_a_bomb_is_refused(refused: Any, tmp_path: Path) -> None:
    bomb = archive(tmp_path / "log.eval", [*WHOLE, ("samples/1_epoch_1.json", b" " * 2**24)])

    assert refused("inspect", bomb) == (
        "log.eval: 'samples/1_epoch_1.json' would unpack to 16,777,216 bytes; it looks like an attack and is not read."
    )


def test_a_bomb_that_lies_about_its_size_is_refused(refused: Any, tmp_path: Path) -> None:
    bomb = archive(tmp_path / "log.eval", [WHOLE[0], ("summaries.json", b" " * 2**24)])
    size = (2**24).to_bytes(4, "little")
    bomb.write_bytes(bomb.read_bytes().replace(size, (5000).to_bytes(4, "little")))

    assert refused("inspect", bomb).startswith("log.eval: 'summaries.json' is broken: ")


def test_a_bomb_of_zstandard_unpacks_no_further_than_it_claims(refused: Any, tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = zstandard.ZstdCompressor().compress(b" " * 2**26)
    bomb = archive(tmp_path / "log.eval", [WHOLE[0]])
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_STORED) as opened:
        opened.writestr("summaries.json", packed)
    content = bytearray(bomb.read_bytes())
    place = content.rindex(b"PK\x01\x02")
    content[place + 10 : place + 12] = (93).to_bytes(2, "little")
    bomb.write_bytes(bytes(content))

    assert refused("inspect", bomb) == ("log.eval: 'summaries.json' is broken: what it holds is not what was put in.")


def test_an_endless_list_of_members_is_refused_before_it_is_read(refused: Any, tmp_path: Path) -> None:
    bomb = archive(tmp_path / "log.eval", WHOLE)
    content = bytearray(bomb.read_bytes())
    place = content.rindex(b"PK\x05\x06")
    content[place + 12 : place + 16] = (DIRECTORY_LIMIT + 1).to_bytes(4, "little")
    bomb.write_bytes(bytes(content))

    assert refused("inspect", bomb) == (
        "log.eval has a list of members of 67,108,865 bytes; it looks like an attack and is not read."
    )


@pytest.mark.parametrize("name", ["../../out.json", "/etc/out.json", "samples/../../out.json", "C:/out.json"])
def test_a_name_that_leads_out_of_an_archive_is_refused(refused: Any, tmp_path: Path, name: str) -> None:
    sentence = refused("inspect", archive(tmp_path / "log.eval", [*WHOLE, (name, b"{}")]))

    assert sentence == f"log.eval holds {name!r}, a name that leads out of it; it is not read."
    assert not (tmp_path.parent / "out.json").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_stands_twice_in_an_archive_is_refused(refused: Any, tmp_path: Path) -> None:
    other = ("summaries.json", json.dumps([SUMMARY | {"total_time": 9}]).encode())

    assert refused("inspect", archive(tmp_path / "log.eval", [*WHOLE, other])) == (
        "log.eval holds 'summaries.json' twice, so it is not clear which is meant; it is not read."
    )


def test_an_encrypted_archive_is_refused(refused: Any, tmp_path: Path) -> None:
    content = bytearray(archive(tmp_path / "log.eval", WHOLE).read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1

    assert refused("inspect", write(tmp_path / "log.eval", bytes(content))) == "log.eval is encrypted; unpack it first."


def test_an_archive_that_breaks_off_is_refused(refused: Any, tmp_path: Path) -> None:
    whole = archive(tmp_path / "log.eval", WHOLE).read_bytes()

    assert refused("inspect", write(tmp_path / "log.eval", whole[:-30])) == (
        "log.eval cannot be read as a zip archive: File is not a zip file."
    )


# Texts that are not what they seem.


def test_a_table_in_cp1252_is_read_and_said_to_be(imported: Any, tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "task_id,arm,success\nDatenträger,günstig,true\n".encode("cp1252"))

    (run,), said = imported(table)

    assert (run.trial.task_id, run.trial.arm) == ("Datenträger", "günstig")
    assert "t.csv is not UTF-8; it was read as Windows' Latin text (cp1252)." in said


def test_a_document_in_cp1252_is_read_and_said_to_be(imported: Any, tmp_path: Path) -> None:
    trial = json.dumps(a_trial(1, "Gerät"), ensure_ascii=False).encode("cp1252")

    (run,), said = imported("harbor", write(tmp_path / "job" / "one" / "result.json", trial).parent.parent)

    assert run.trial.task_id == "Gerät"
    assert "result.json is not UTF-8; it was read as Windows' Latin text (cp1252)." in said


def test_a_file_whose_name_is_no_utf8_is_imported(imported: Any, tmp_path: Path) -> None:
    table = write(tmp_path / "r\udce9sultats.csv", b"task_id,arm,success\na,b,true\n")

    (run,), _ = imported(table)

    assert run.trial.arm == "b"
    assert "r\\\\udce9sultats.csv" in (tmp_path / "runs" / "imports.json").read_text()


def test_a_folder_whose_name_is_no_utf8_can_be_an_arm(imported: Any, tmp_path: Path) -> None:
    report = {"a__a-1": {"resolved": True, "tests_status": {}}}
    write(tmp_path / "logs" / "run" / "mod\udce8le" / "a__a-1" / "report.json", report)

    (run,), _ = imported("swe-bench", tmp_path / "logs")

    assert run.trial.arm == "modèle"


def test_milliseconds_that_are_called_seconds_are_asked_about(imported: Any, tmp_path: Path) -> None:
    row = "a,b,true,2026-01-01T00:00:00Z,2026-01-01T00:01:00Z,60000\n"
    table = write(tmp_path / "t.csv", f"task_id,arm,success,started_at,finished_at,duration_seconds\n{row}".encode())

    _, said = imported(table)

    assert said == (
        "outweigh: duration_seconds is a thousand times the time from start to end; map it as duration_ms.\n"
    )


@pytest.mark.parametrize("moment", [1767225600, 1767225600000, "2026-01-01T00:00:00Z", "1767225600000"])
def test_a_moment_is_the_same_in_seconds_and_in_milliseconds(imported: Any, tmp_path: Path, moment: object) -> None:
    row = {"task_id": "a", "arm": "b", "success": True, "started_at": moment}

    (run,), _ = imported("table", write(tmp_path / "t.jsonl", msgspec.json.encode(row) + b"\n"))

    assert run.started_at is not None
    assert run.started_at.isoformat() == "2026-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("arguments", "name", "text"),
    [
        (("promptfoo",), "output.json", '{"results": [{"success": true, "cost": 1, "cost": 2}]}'),
        (("harbor",), "result.json", '{"trial_name": "a", "task_name": "b", "cost": 1, "cost": 2}'),
        (("collected",), "collected.jsonl", '{"task_id": "a", "arm": "b", "repeat": 1, "cost": 1, "cost": 2}\n'),
        (("tau",), "sims.jsonl", '{"task_id": "a", "trial": 0, "cost": 1, "cost": 2}\n'),
        (("table",), "t.json", '[{"task_id": "a", "arm": "b", "success": true, "cost": 1, "cost": 2}]'),
    ],
)
def test_of_two_figures_under_one_key_none_is_chosen(
    refused: Any, tmp_path: Path, arguments: tuple[str, ...], name: str, text: str
) -> None:
    sentence = refused(*arguments, write(tmp_path / name, text.encode()))

    assert "'cost' stands for two values, so it is not clear which is meant" in sentence


def test_a_document_that_breaks_off_is_refused(refused: Any, tmp_path: Path) -> None:
    assert refused("promptfoo", write(tmp_path / "output.json", b'{"results": [{"success": true}')).startswith(
        "output.json is not valid JSON: "
    )


@pytest.mark.parametrize("format_name", ["promptfoo", "aider-leaderboard"])
def test_a_folder_in_the_place_of_a_file_is_refused(refused: Any, tmp_path: Path, format_name: str) -> None:
    (tmp_path / "results").mkdir()

    assert refused(format_name, tmp_path / "results") == (
        "results is a folder; name the file in it that holds the results."
    )


# Copies.


def a_scored_folder(tmp_path: Path) -> Path:
    for arm in ("with_skill", "without_skill"):
        run_folder(tmp_path / "work" / "eval-0" / arm / "run-1", HELD, total_duration_seconds=len(arm))
    return tmp_path / "work"


def swe_logs(tmp_path: Path) -> Path:
    report = {"a__a-1": {"resolved": True, "tests_status": {}}}
    write(tmp_path / "logs" / "run" / "model" / "a__a-1" / "report.json", report)
    return tmp_path / "logs"


def sessions(tmp_path: Path) -> Path:
    for number in (1, 2):
        line = {"type": "user", "sessionId": f"s{number}", "message": {"role": "user", "content": "Fix it."}}
        write(tmp_path / "sessions" / f"{number}.jsonl", msgspec.json.encode(line) + b"\n")
    return tmp_path / "sessions"


def a_batch(tmp_path: Path) -> Path:
    document = {"trajectory_format": "mini-swe-agent-1.1", "info": {}, "messages": []}
    write(tmp_path / "batch" / "a__a-1" / "a__a-1.traj.json", document)
    return tmp_path / "batch"


COPIED: dict[str, tuple[Callable[[Path], Path], int, str | None]] = {
    "harbor": (lambda path: a_job(path / "job", [a_trial(1, "one"), a_trial(2, "two")]), 2, "results are there twice"),
    "collected": (lambda path: a_folder(path / "results"), 1, None),
    "terminal-bench": (
        lambda path: tb_run(path / "runs-of-tb" / "one", tb_trial("x", 1)).parent,
        1,
        "was not counted again",
    ),
    "skill-creator": (a_scored_folder, 2, "was not counted again"),
    "swe-bench": (swe_logs, 1, "as a copy would; it is left out"),
    "claude-code": (sessions, 2, "was not counted again"),
    "mini-swe-agent": (a_batch, 1, "was not counted again"),
}


@pytest.mark.parametrize("format_name", COPIED)
def test_a_folder_that_was_copied_into_itself_counts_once(outweigh: Any, tmp_path: Path, format_name: str) -> None:
    make, expected, words = COPIED[format_name]
    source = make(tmp_path)
    outweigh("import", format_name, str(source), "-o", str(tmp_path / "before"))
    deepest = max(
        (path for path in source.rglob("*") if path.is_dir()), key=lambda path: len(path.parts), default=source
    )
    shutil.copytree(source, tmp_path / "copy")
    shutil.move(tmp_path / "copy", deepest / "copy")

    answer = outweigh("import", format_name, str(source), "-o", str(tmp_path / "runs"))

    assert answer.code == 0, answer.err
    assert len(records(tmp_path / "runs")) == expected
    assert {run.trial.arm for run in records(tmp_path / "runs")} == {
        run.trial.arm for run in records(tmp_path / "before")
    }
    assert (words or "the same: before, or in a copy.") in answer.err + answer.out


def test_a_log_that_was_copied_counts_once(imported: Any, tmp_path: Path) -> None:
    log = archive(write(tmp_path / "logs" / "one.eval", b""), WHOLE)
    shutil.copy(log, tmp_path / "logs" / "copy.eval")

    runs, said = imported("inspect", tmp_path / "logs")

    assert len(runs) == 1
    assert "is the same evaluation, retried or converted." in said


# One id, two contents.


def two_contents(tmp_path: Path) -> dict[str, Path]:
    harbor = a_job(tmp_path / "harbor" / "one", [a_trial(1, "one")]).parent
    a_job(harbor / "two", [a_trial(1, "one", 0)])
    tau = tau_results(write(tmp_path / "tau" / "a.json", b""), a_simulation()).parent
    tau_results(tau / "b.json", a_simulation(duration=99.0))
    collected = a_folder(tmp_path / "collected")
    a_folder(tmp_path / "elsewhere", success=False)
    shutil.copytree(tmp_path / "elsewhere", collected / "elsewhere")
    rows = [{"task_id": "a", "arm": "b", "run_id": "r", "repeat": 1, "success": success} for success in (True, False)]
    table = write(tmp_path / "t.jsonl", b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return {
        "harbor": harbor,
        "tau": tau,
        "collected": collected,
        "table": table,
    }


@pytest.mark.parametrize("format_name", ["harbor", "tau", "collected", "table"])
def test_one_id_with_two_contents_is_refused(refused: Any, tmp_path: Path, format_name: str) -> None:
    sentence = refused(format_name, two_contents(tmp_path)[format_name])

    assert "stands for two different results, in it or in what was imported before. Nothing was imported" in sentence


def test_two_evaluations_of_a_model_by_swe_bench_are_two_arms(imported: Any, tmp_path: Path) -> None:
    logs = swe_logs(tmp_path / "swe")
    other = {"a__a-1": {"resolved": False, "tests_status": {}}}
    write(logs / "second" / "model" / "a__a-1" / "report.json", other)

    runs, _ = imported("swe-bench", logs)

    assert sorted((run.trial.arm, run.checks[0].passed) for run in runs) == [
        ("model run", True),
        ("model second", False),
    ]


# Several versions at once.


def test_reports_of_both_versions_of_swe_bench_go_into_one_folder(imported: Any, tmp_path: Path) -> None:
    first = {key: value for key, value in REPORT.items() if "failure" not in key} | {"schema_version": 1}
    old = write(tmp_path / "old.one.json", first)
    new = write(tmp_path / "new.two.json", REPORT)

    runs, _ = imported("swe-bench", old, new)

    undecided = sorted(run.trial.arm for run in runs if run.checks and run.checks[0].passed is None)
    assert len(runs) == 14
    assert undecided == ["new", "new"]


def test_outputs_of_several_versions_of_promptfoo_go_into_one_folder(imported: Any, tmp_path: Path) -> None:
    row = {"success": True, "vars": {"q": "1"}, "latencyMs": 1500, "gradingResult": {"pass": True, "reason": "ok"}}
    second = {"version": 2, "results": [row | {"provider": {"id": "old"}, "prompt": {"raw": "p"}}]}
    fourth = {"version": 3, "results": [row | {"provider": {"id": "new"}, "prompt": {"raw": "p"}, "failureReason": 0}]}
    paths = [
        write(tmp_path / "v2.json", second),
        write(tmp_path / "v4.json", {"evalId": "eval-x", "results": fourth, "config": {}}),
    ]

    runs, _ = imported("promptfoo", *paths)

    assert sorted((run.trial.arm, run.trial.task_id, run.duration_seconds) for run in runs) == [
        ("new", "q=1", 1.5),
        ("old", "q=1", 1.5),
    ]


def test_trials_of_several_versions_of_harbor_in_one_job_are_read(imported: Any, tmp_path: Path) -> None:
    old = a_trial(1, "one")
    own = old.pop("agent_result")
    steps = a_trial(2, "two", step_results=[{"step_name": "all", "agent_result": own}])
    steps.pop("agent_result")

    runs, _ = imported("harbor", a_job(tmp_path / "job", [old, steps, a_trial(3, "three")]))

    assert {run.trial.task_id: run.usage.output_tokens for run in runs} == {
        "one": None,
        "two": own["n_output_tokens"],
        "three": own["n_output_tokens"],
    }


# Nothing, and not yet everything.


@pytest.mark.parametrize(
    ("format_name", "sentence"),
    [
        ("harbor", "job holds no result of a trial. Import it when there is one."),
        ("collected", "job has neither collected.jsonl nor a run_meta.json below it; is it the folder of the results?"),
        ("terminal-bench", "job holds no results.json of terminal-bench."),
        ("skill-creator", "job has neither runs with and without a skill nor a summary of them."),
        *(
            (name, "job holds no result; is it the right one, and is anything finished?")
            for name in ("atif", "claude-code", "codex", "inspect", "mini-swe-agent", "swe-bench", "tau")
        ),
    ],
)
def test_an_empty_job_is_refused(refused: Any, tmp_path: Path, format_name: str, sentence: str) -> None:
    (tmp_path / "job").mkdir()

    assert refused(format_name, tmp_path / "job") == sentence


@pytest.mark.parametrize(
    ("format_name", "name", "content"),
    [
        ("promptfoo", "output.json", {"results": []}),
        ("tau", "results.json", []),
        ("terminal-bench", "results.json", {"results": []}),
        ("inspect", "log.json", HEADER | {"samples": []}),
        ("swe-bench", "model.run.json", {"total_instances": 0, "resolved_ids": []}),
    ],
)
def test_results_without_a_run_are_refused(
    refused: Any, tmp_path: Path, format_name: str, name: str, content: object
) -> None:
    assert refused(format_name, write(tmp_path / name, content)) == (
        f"{name} holds no result; is it the right one, and is anything finished?"
    )


def test_a_job_of_harbor_that_still_runs_is_read_as_far_as_it_is(imported: Any, tmp_path: Path) -> None:
    job = a_job(tmp_path / "job", [a_trial(1, "one")])
    write(job / "result.json", {"n_total_trials": 3, "stats": {"n_running_trials": 1, "n_pending_trials": 1}})

    runs, said = imported(job)

    assert len(runs) == 1
    assert "the job is still running, or was ended: 2 trials have no result." in said


def test_a_log_of_inspect_that_still_runs_is_read_as_far_as_it_is(imported: Any, tmp_path: Path) -> None:
    start = json.dumps(HEADER | {"status": "started"}).encode()
    journal = ("_journal/summaries/1.json", json.dumps([SUMMARY]).encode())

    runs, said = imported("inspect", archive(tmp_path / "log.eval", [("_journal/start.json", start), journal]))

    assert len(runs) == 1
    assert said == ("outweigh: log.eval breaks off: still running, or crashed. The 1 samples that it holds are read.\n")


def test_results_of_tau_that_are_still_written_are_read_as_far_as_they_are(imported: Any, tmp_path: Path) -> None:
    runs, said = imported(tau_results(tmp_path / "results.json", a_simulation()))

    assert len(runs) == 1
    assert said == "outweigh: results.json holds 1 of 2 simulations: it was still running, or was ended.\n"


def test_a_transcript_that_is_still_written_says_so_itself(imported: Any, tmp_path: Path) -> None:
    stream = b'{"type":"thread.started","thread_id":"t"}\n{"type":"turn.comp'

    (run,), _ = imported("codex", write(tmp_path / "one.jsonl", stream))

    assert run.warnings == ("the agent's output breaks off in the middle of a line",)


def test_a_row_that_is_still_written_is_refused(refused: Any, tmp_path: Path) -> None:
    rows = b'{"task_id":"a","arm":"b","success":true}\n{"task_id":"a","ar'

    assert refused("table", write(tmp_path / "t.jsonl", rows)).startswith(
        "t.jsonl: 1 row cannot be read: t.jsonl:2: the file ends in the middle of a line. Nothing was imported"
    )


# Folders that lead astray.


def test_links_in_a_circle_are_not_followed(imported: Any, tmp_path: Path) -> None:
    job = a_job(tmp_path / "job", [a_trial(1, "one")])
    (job / "again").symlink_to(job)
    (job / "result.json").unlink(missing_ok=True)
    (job / "result.json").symlink_to("result.json")

    runs, _ = imported("harbor", job)

    assert len(runs) == 1


def test_folders_without_end_are_refused(refused: Any, tmp_path: Path) -> None:
    (tmp_path / "job" / "/".join("d" * 30)).mkdir(parents=True)

    assert refused("harbor", tmp_path / "job").endswith("is 12 folders deep; name the folder with the results itself.")


# What cannot be held.


def test_what_is_of_another_format_is_given_up(refused: Any, tmp_path: Path) -> None:
    row = b'{"task_id":"a","arm":"b","repeat":1,"success":true}\n'
    log = write(tmp_path / "collected.jsonl", row + b"a line of some log\n" * (UNREAD_ROW_LIMIT + 5))

    assert refused("collected", log) == (
        "collected.jsonl is given up: more than 100,000 rows cannot be read, the first because it is not valid JSON. "
        "Is it of the format that it is read as?"
    )


def test_of_many_warnings_the_first_are_shown(imported: Any, tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / "sessions" / f"copy-{number:02}" / "one.jsonl", b'{"type":"thread.started","thread_id":"t"}\n')

    runs, said = imported("codex", tmp_path / "sessions")

    assert len(runs) == 1
    assert len(said.splitlines()) == 31
    assert said.endswith("outweigh: imports.json has 10 more warnings.\n")


def test_a_document_that_cannot_be_held_is_refused_without_being_read(refused: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "output.json", b'{"results": [')
    os.truncate(path, WHOLE_LIMIT + 1)

    assert refused("promptfoo", path) == (
        "output.json has more than 512 MiB and would have to be held whole. Split it, or write its runs as JSON Lines."
    )


def test_a_pipe_is_refused_before_anybody_waits_for_it(outweigh: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    answer = outweigh("import", "table", str(tmp_path / "pipe"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "is neither a file nor a folder, and it is read more than once: write it into a file." in answer.err


LONG = "x" * 20_000
ROWS: dict[str, tuple[str, str, Callable[[int], str]]] = {
    "JSON Lines": ("table", "t.jsonl", lambda n: f'{{"task_id":"t{n}","arm":"a","success":true,"note":"{LONG}"}}'),
    "CSV": ("table", "t.csv", lambda n: f"t{n},a,true,{LONG}" if n else "task_id,arm,success,note"),
    "collected": ("collected", "c.jsonl", lambda n: f'{{"task_id":"t{n}","arm":"a","repeat":1,"note":"{LONG}"}}'),
    "tau": ("tau", "s.jsonl", lambda n: f'{{"id":"{n}","task_id":"{n}","trial":0,"note":"{LONG}"}}'),
    "SWE-bench": ("swe-bench", "s.jsonl", lambda n: f'{{"instance_id":"a__a-{n}","model_patch":"{LONG}"}}'),
}
# A process that starts the import and measures it: what a process is born with counts as its own.
MEASURING = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "outweigh", *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(format_name: str, path: Path, target: Path) -> int:
    command = [sys.executable, "-c", MEASURING, "import", format_name, str(path), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    code, peak = map(int, done.stdout.split())
    assert code == 0, done.stderr
    return peak


@pytest.mark.parametrize("kind", ROWS)
def test_a_file_of_rows_takes_the_same_memory_whatever_its_size(tmp_path: Path, kind: str) -> None:
    format_name, name, row = ROWS[kind]
    peaks = []
    for size in (400, 1600):
        path = write(tmp_path / str(size) / name, b"")
        with path.open("w") as stream:
            stream.writelines(f"{row(number)}\n" for number in range(size))
        peaks.append(peak_memory(format_name, path, tmp_path / f"runs-{size}"))

    assert peaks[1] < 1.25 * peaks[0]
