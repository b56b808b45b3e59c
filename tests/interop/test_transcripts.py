"""What the path of a transcript says about its task and arm."""

from pathlib import Path

import pytest

from outweigh.interop.transcripts import label_transcript


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
