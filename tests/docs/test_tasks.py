"""The commands of docs/tasks.md work as they are written, in a repository with a history."""

import re
import shlex
from pathlib import Path

import pytest
from tests.conftest import Outweigh
from tests.mining.tally_history import make_tally_history
from tests.prerequisites import needs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("outweigh ")
]


def test_the_page_shows_the_way_from_a_repository_to_a_verdict() -> None:
    verbs = [shlex.split(line)[1] for line in COMMANDS]
    assert [verbs.index(verb) for verb in ("init", "plan", "try")] == sorted(
        verbs.index(verb) for verb in ("init", "plan", "try")
    )


@needs("bubblewrap")
def test_the_commands_of_the_page_work(outweigh: Outweigh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_tally_history(tmp_path / "tally", features=3))
    for line in COMMANDS:
        words = shlex.split(line, comments=True)[1:]
        if words[0] != "try":  # docs/try.md is about that, and its commands are executed there
            answer = outweigh(*words)
            assert answer.code == 0, f"{line}: {answer.err}"
