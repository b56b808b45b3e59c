"""`outweigh import`: each source once, each run once, all or nothing."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.harbor.harbor_jobs import a_job, a_trial, leave_trajectory

from outweigh.model.codec import decode
from outweigh.model.run_record import RunRecord


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Two agents on two tasks."""
    trials = [
        a_trial(number, task, reward, skills=skills)
        for number, (task, reward, skills) in enumerate(
            [("one", 1, []), ("two", 0, []), ("one", 1, ["skills/review"]), ("two", 1, ["skills/review"])], start=1
        )
    ]
    folder = a_job(tmp_path / "job", trials)
    leave_trajectory(folder, trials[0])
    return folder


def manifest(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode((folder / "imports.json").read_bytes())["imports"]
    return found


def records(folder: Path) -> list[RunRecord]:
    lines = [line for file in folder.glob("runs-*.jsonl") for line in file.read_bytes().splitlines(keepends=True)]
    return [record for record in map(decode, lines) if isinstance(record, RunRecord)]


def test_the_format_is_found_and_the_next_command_works(outweigh: Any, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs"

    answer = outweigh("import", str(job), "-o", str(target))

    assert (answer.code, answer.err) == (0, "")
    assert "4 runs of 2 arms on 2 tasks read as harbor" in answer.out
    first, second = dict.fromkeys(run.trial.arm for run in records(target))
    compared = outweigh("compare", str(target), "--baseline", first, "--candidate", second, "--format", "json").json()
    assert [compared["arms"][arm]["successes"] for arm in (first, second)] == [1, 2]


def test_importing_twice_adds_nothing_and_says_so(outweigh: Any, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    outweigh("import", "harbor", str(job), "-o", str(target))
    before = sorted((file.name, file.read_bytes()) for file in target.glob("*.json*"))

    answer = outweigh("import", str(job), "-o", str(target))

    assert answer.code == 0
    assert "nothing to add (4 runs)" in answer.out
    assert sorted((file.name, file.read_bytes()) for file in target.glob("*.json*")) == before


def test_the_manifest_says_where_every_figure_comes_from(outweigh: Any, job: Path, tmp_path: Path) -> None:
    outweigh("import", str(job), "-o", str(tmp_path / "runs"))

    (entry,) = manifest(tmp_path / "runs")
    assert (entry["format"], entry["source"], entry["runs"]) == ("harbor", "job", 4)
    assert (entry["fields"]["cost"], entry["fields"]["usage"], entry["fields"]["milestones"]) == (
        "reported",
        "derived",
        "unknown",
    )
    assert len(entry["source_sha256"]) == 64


def test_what_was_added_to_a_source_is_added_and_the_rest_is_known(outweigh: Any, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    outweigh("import", str(job), "-o", str(target))
    later = a_trial(9, "three")
    (job / later["trial_name"]).mkdir()
    (job / later["trial_name"] / "result.json").write_bytes(msgspec.json.encode(later))

    answer = outweigh("import", str(job), "-o", str(target))

    assert "1 run of 1 arm on 1 task" in answer.out
    assert "4 records were there already" in answer.out
    assert len(records(target)) == 5


def test_one_id_with_two_contents_is_refused(outweigh: Any, job: Path, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    outweigh("import", str(job), "-o", str(target))
    changed = a_trial(1, "one", 0)
    (job / changed["trial_name"] / "result.json").write_bytes(msgspec.json.encode(changed))

    answer = outweigh("import", str(job), "-o", str(target))

    assert answer.code == 3
    assert "two different results" in answer.err
    assert (len(records(target)), len(manifest(target))) == (4, 1)


def test_two_runs_of_one_trial_are_refused_with_the_way_out(outweigh: Any, tmp_path: Path) -> None:
    target = tmp_path / "runs"
    for number, folder in enumerate(("first", "second"), start=1):
        answer = outweigh("import", str(a_job(tmp_path / folder, [a_trial(number, "one")])), "-o", str(target))

    assert answer.code == 3
    assert "name the folder that holds both" in answer.err
    assert len(records(target)) == 1


def test_rows_that_cannot_be_read_are_refused_or_remembered(outweigh: Any, job: Path, tmp_path: Path) -> None:
    (job / "torn").mkdir()
    (job / "torn" / "result.json").write_bytes(b'{"trial_name": "torn')
    target = tmp_path / "runs"

    refused = outweigh("import", str(job), "-o", str(target))
    taken = outweigh("import", str(job), "-o", str(target), "--skip-invalid")

    assert refused.code == 3
    assert f"{job}: 1 row cannot be read: {job}/torn/result.json: " in refused.err
    assert taken.code == 0
    assert "imports.json has the places" in taken.err
    (entry,) = manifest(target)
    assert "not valid JSON" in entry["unreadable"][0]["reason"]
    first, second = dict.fromkeys(run.trial.arm for run in records(target))
    verdict = outweigh("verdict", str(target), "--baseline", first, "--candidate", second, "--format", "json").json()
    assert verdict["may_promote"] is False
    assert any("skipped" in warning for warning in verdict["warnings"])


def test_repeats_numbered_by_us_are_warned_about(outweigh: Any, tmp_path: Path) -> None:
    trials = [a_trial(number, "one", skills=["s"] if number > 2 else []) for number in range(1, 5)]
    outweigh("import", str(a_job(tmp_path / "job", trials)), "-o", str(tmp_path / "runs"))
    first, second = dict.fromkeys(run.trial.arm for run in records(tmp_path / "runs"))

    compared = outweigh("compare", str(tmp_path / "runs"), "--baseline", first, "--candidate", second)

    assert "repeats were numbered when they were imported" in compared.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("harbour", "x"), "Did you mean 'harbor'?"),
        (("harbor",), "needs a PATH"),
        (("missing-file",), "there is no missing-file"),
        (("harbor", "missing-file"), "there is no missing-file"),
    ],
)
def test_a_slip_gets_the_way_out(outweigh: Any, tmp_path: Path, arguments: tuple[str, ...], expected: str) -> None:
    answer = outweigh("import", *arguments, "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert expected in answer.err
    assert not (tmp_path / "runs").exists()


def test_what_nobody_recognises_must_be_named(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))

    answer = outweigh("import", str(tmp_path / "noise.bin"), "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "is of no format that is known here" in answer.err


def test_an_option_that_would_be_ignored_is_refused(outweigh: Any, job: Path, tmp_path: Path) -> None:
    answer = outweigh("import", str(job), "--map", "arm=x", "-o", str(tmp_path / "runs"))

    assert answer.code == 2
    assert "--map is not used by harbor" in answer.err


def test_a_file_is_no_place_for_an_import(outweigh: Any, job: Path, tmp_path: Path) -> None:
    answer = outweigh("import", str(job), "-o", str(tmp_path / "runs.jsonl"))

    assert answer.code == 2
    assert "name a folder" in answer.err


CODEX_STREAM = """\
{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done in %s."}}
{"type":"turn.completed","usage":{"input_tokens":1200,"cached_input_tokens":0,"output_tokens":1000}}
"""


def test_codex_streams_are_priced_by_the_model_that_is_named(outweigh: Any, tmp_path: Path) -> None:
    for arm in ("base", "skill"):
        (tmp_path / "streams" / arm / "fix").mkdir(parents=True)
        (tmp_path / "streams" / arm / "fix" / "stream.jsonl").write_text(CODEX_STREAM % arm)
    target = str(tmp_path / "runs")

    answer = outweigh("import", "codex", str(tmp_path / "streams"), "-o", target, "--model", "gpt-5.4")

    assert answer.code == 0
    compared = outweigh("compare", target, "--baseline", "base", "--candidate", "skill", "--format", "json").json()
    # 1,200 tokens at $2.50 a million and 1,000 at $15.
    assert [compared["arms"][arm]["mean_cost_usd"] for arm in ("base", "skill")] == [pytest.approx(0.018)] * 2
    assert manifest(tmp_path / "runs")[0]["options"] == {"model": "gpt-5.4"}


def test_a_model_without_a_name_and_one_for_a_format_that_names_its_own_are_refused(
    outweigh: Any, job: Path, tmp_path: Path
) -> None:
    target = str(tmp_path / "runs")

    unnamed = outweigh("import", str(job), "-o", target, "--model", " ")
    unused = outweigh("import", str(job), "-o", target, "--model", "gpt-5.4")

    assert (unnamed.code, unused.code) == (2, 2)
    assert "--model needs the name of a model" in unnamed.err
    assert "--model is not used by harbor; leave it out" in unused.err
