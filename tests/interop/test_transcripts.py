"""What the path of a transcript says about its task and arm."""

from pathlib import Path

import pytest

from outweigh.interop.transcript_labels import TranscriptFolder, label_transcript


@pytest.mark.parametrize(
    ("path", "task", "arm"),
    [
        ("plain/adds/transcript.jsonl", "adds", "plain"),
        ("plain/adds/run1.jsonl", "adds", "plain"),
        ("plain/adds/claude.jsonl", "adds", "plain"),
        ("plain/adds/2/claude.jsonl", "adds", "plain"),
        ("plain/adds/run_02/transcript.jsonl", "adds", "plain"),
        ("plain/adds/1-attempt-2/trajectory.json", "adds", "plain"),
        ("plain/maths/adds/transcript.jsonl", "maths/adds", "plain"),
        ("plain/adds.jsonl", "adds", "plain"),
        ("plain/1.jsonl", "1", "plain"),
        ("adds/transcript.jsonl", "adds", None),
        ("adds.jsonl", "adds", None),
        ("transcript.jsonl", "all", None),
        ("2026/05/04/rollout-2026-05-04T10-00-00-x.jsonl", "rollout-2026-05-04T10-00-00-x", None),
        ("plain/2026/05/04/rollout-x.jsonl", "plain", None),
        ("plain/adds/2026/05/04/rollout-x.jsonl", "adds", "plain"),
    ],
)
def test_the_first_folder_is_the_arm_and_the_next_the_task(
    tmp_path: Path, path: str, task: str, arm: str | None
) -> None:
    file = tmp_path / "all" / path
    file.parent.mkdir(parents=True)
    file.touch()

    place = label_transcript(file, tmp_path / "all")

    assert (place.task, place.arm) == (task, arm)


def test_files_of_the_same_names_in_several_folders_are_tasks_and_the_folders_arms(tmp_path: Path) -> None:
    files = [
        tmp_path / "results" / arm / "traces" / f"{task}.session.jsonl" for arm in ("opus", "codex") for task in "ab"
    ]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    folder = TranscriptFolder(tmp_path, files)

    labels = [folder.label(file) for file in files]

    assert [(each.arm, each.task) for each in labels] == [("opus", "a"), ("opus", "b"), ("codex", "a"), ("codex", "b")]


@pytest.mark.parametrize(
    "paths",
    [
        ("plain/one/run_1.jsonl", "plain/one/run_2.jsonl", "notes/one/run_1.jsonl", "notes/one/run_2.jsonl"),
        ("plain/one/session.jsonl", "plain/two/session.jsonl", "notes/one/session.jsonl", "notes/two/session.jsonl"),
        ("plain/one/a.jsonl", "plain/two/b.jsonl", "notes/one/a.jsonl", "notes/two/b.jsonl"),
    ],
)
def test_folders_of_tasks_stay_the_tasks(tmp_path: Path, paths: tuple[str, ...]) -> None:
    files = [tmp_path / path for path in paths]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    folder = TranscriptFolder(tmp_path, files)

    assert [folder.label(file) for file in files] == [label_transcript(file, tmp_path) for file in files]
