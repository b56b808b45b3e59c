"""Transcripts of Inspect's samples: kept as trajectories where they are asked for, whatever form the log has."""

import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.conftest import Outweigh
from tests.interop.inspect_ai.inspect_logs import eval_log, header, summary

from outweigh.interop.inspect_ai.importer import InspectImporter
from outweigh.interop.inspect_ai.sample_messages import trajectory_of_sample
from outweigh.model.run_record import RunRecord
from outweigh.store.scan_file import read_scan
from outweigh.testing.importer_contract import read_all
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.trajectory_file import read_trajectory

MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "Fix it."}, {"type": "image", "image": "x"}]},
    {
        "role": "assistant",
        "content": [{"type": "reasoning", "reasoning": "How?"}, {"type": "text", "text": "I look."}],
        "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "git log --all"}, "type": "function"}],
    },
    {"role": "tool", "tool_call_id": "c1", "function": "bash", "content": "denied", "error": {"message": "denied"}},
    {"role": "assistant", "content": "Done."},
]


def as_archive(folder: Path, *samples: dict[str, Any]) -> Path:
    summaries = [{key: value for key, value in sample.items() if key != "messages"} for sample in samples]
    members = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    return eval_log(folder / "log.eval", {"header.json": header(), "summaries.json": summaries, **members})


def as_json(folder: Path, *samples: dict[str, Any]) -> Path:
    path = folder / "log.json"
    path.write_bytes(msgspec.json.encode(header() | {"samples": samples}))
    return path


def as_lenient_json(folder: Path, *samples: dict[str, Any]) -> Path:
    """Inspect writes NaN, which only the lenient decoder reads."""
    path = as_json(folder, *samples)
    path.write_bytes(path.read_bytes().replace(b'"total_time":2.5', b'"total_time":NaN'))
    return path


def trajectories(path: Path, **options: object) -> list[AtifTrajectory | None]:
    kept: dict[str, bytes] = {}

    def keep(content: bytes) -> str:
        digest = sha256(content).hexdigest()
        kept[digest] = content
        return digest

    runs, _ = read_all(InspectImporter(), path, keep=keep, **options)
    digests = [run.artifacts.get("trajectory.json") for run in runs if isinstance(run, RunRecord)]
    return [None if digest is None else read_trajectory(kept[digest]) for digest in digests]


@pytest.mark.parametrize("write", [as_archive, as_json, as_lenient_json])
def test_messages_are_kept_as_a_trajectory(tmp_path: Path, write: Callable[..., Path]) -> None:
    (found,) = trajectories(write(tmp_path, summary(messages=MESSAGES)), transcripts=True)

    assert found is not None
    assert [(step.source, step.message) for step in found.steps] == [
        ("system", "Be kind."),
        ("user", "Fix it.\n[image]"),
        ("agent", "I look."),
        ("agent", "Done."),
    ]
    looked = found.steps[2]
    assert looked.reasoning_content == "How?"
    assert [(call.function_name, call.arguments) for call in looked.tool_calls or ()] == [
        ("bash", {"cmd": "git log --all"})
    ]
    assert looked.observation is not None
    (result,) = looked.observation.results
    assert (result.content, result.extra) == ("denied", {"is_error": True})


@pytest.mark.parametrize("write", [as_archive, as_json])
def test_nothing_is_kept_unless_it_is_asked_for(tmp_path: Path, write: Callable[..., Path]) -> None:
    assert trajectories(write(tmp_path, summary(messages=MESSAGES))) == [None]


def test_every_sample_has_its_own(tmp_path: Path) -> None:
    def saying(words: str) -> list[dict[str, Any]]:
        return [{"role": "assistant", "content": words}]

    samples = [summary("a", 1, messages=saying("one")), summary("a", 2, messages=saying("two")), summary("b", 1)]

    found = trajectories(as_archive(tmp_path, *samples), transcripts=True)

    assert [each and each.steps[0].message for each in found] == ["one", "two", None]


@pytest.mark.parametrize(
    "messages",
    [None, 7, [], [None], [{}], [{"role": "assistant", "tool_calls": "x", "content": 5}], [{"role": "tool"}]],
)
def test_messages_that_make_no_sense_break_nothing(messages: object) -> None:
    found = trajectory_of_sample(msgspec.json.encode({"messages": messages}), None, None)

    assert found is None or read_trajectory(found).steps


def test_an_import_with_transcripts_is_scanned(outweigh: Outweigh, tmp_path: Path) -> None:
    log = as_archive(tmp_path, summary(messages=MESSAGES))

    outweigh("import", str(log), "-o", str(tmp_path / "runs"), "--transcripts")

    found = read_scan(tmp_path / "runs")
    assert found is not None
    assert [finding.rule for scan in found.runs for finding in scan.findings] == ["git-history-beyond"]


def test_transcripts_are_refused_where_they_mean_nothing(outweigh: Outweigh, tmp_path: Path) -> None:
    rows = tmp_path / "preds.jsonl"
    rows.write_text('{"instance_id": "a__a-1", "model_name_or_path": "m", "model_patch": "diff"}\n')

    answer = outweigh("import", str(rows), "-o", str(tmp_path / "runs"), "--transcripts")

    assert answer.code == 2
    assert "--transcripts is not used by swe-bench; leave it out" in answer.err


def exported_samples(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*.eval")):
        with zipfile.ZipFile(path) as opened:
            names = [name for name in opened.namelist() if name.startswith("samples/")]
            found += [msgspec.json.decode(opened.read(name)) for name in names]
    return found


def test_inputs_and_messages_survive_an_import_and_an_export(tmp_path: Path, outweigh: Outweigh) -> None:
    text = "Why is the sky blue? " * 300
    samples = [
        summary("short", input="Fix it.", target=["a", "b"], messages=MESSAGES),
        summary("long", input=text, target="4", messages=[{"role": "user", "content": text}, MESSAGES[-1]]),
    ]
    as_archive(tmp_path, *samples)

    runs, logs = str(tmp_path / "runs"), str(tmp_path / "logs")
    outweigh("import", str(tmp_path / "log.eval"), "-o", runs, "--transcripts")
    exported = outweigh("store", "export", runs, "--inspect", "-o", logs)

    short, long = exported_samples(tmp_path / "logs")
    assert exported.code == 0
    assert "no input" not in exported.err
    assert (short["input"], short["target"], long["input"], long["target"]) == ("Fix it.", ["a", "b"], text, "4")
    assert [(each["role"], each["content"]) for each in short["messages"]] == [
        ("system", "Be kind."),
        ("user", "Fix it.\n[image]"),
        ("assistant", [{"type": "reasoning", "reasoning": "How?"}, {"type": "text", "text": "I look."}]),
        ("tool", "denied"),
        ("assistant", "Done."),
    ]
    assert short["messages"][2]["tool_calls"] == MESSAGES[2]["tool_calls"]
    assert (short["messages"][3]["tool_call_id"], short["messages"][3]["function"]) == ("c1", "bash")


def test_inputs_survive_without_transcripts(tmp_path: Path, outweigh: Outweigh) -> None:
    as_archive(tmp_path, summary("short", input="Fix it.", target="4"))

    outweigh("import", str(tmp_path / "log.eval"), "-o", str(tmp_path / "runs"))
    outweigh("store", "export", str(tmp_path / "runs"), "--inspect", "-o", str(tmp_path / "logs"))

    (sample,) = exported_samples(tmp_path / "logs")
    assert (sample["input"], sample["target"]) == ("Fix it.", "4")
