"""Instructions take the words that the user typed, and those of a model, where the user asks for it."""

from pathlib import Path

import msgspec
import pytest
from tests.mining.tally_history import FEATURES, make_tally_history
from tests.prerequisites import needs

from outweigh.app.mine_suite import MineRequest, mine_suite
from outweigh.errors import UsageError
from outweigh.testing.model_server import ModelServer, Script, Turn

FEATURE = FEATURES[0]


def instruction_of(folder: Path) -> str:
    (task,) = (folder / "tasks").iterdir()
    return (task / "instruction.md").read_text()


@needs("bubblewrap")
def test_what_was_typed_to_the_agent_that_made_a_change_is_its_instruction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = make_tally_history(tmp_path / "tally", features=1)
    session = tmp_path / "home/.claude/projects/tally/session.jsonl"
    session.parent.mkdir(parents=True)
    wanted = f"Please write {FEATURE.name}: the distance from the smallest to the largest of some values."
    calls = [
        {"type": "tool_use", "id": "1", "name": "Write", "input": {"file_path": f"{history}/{path}", "content": "x"}}
        for path in (f"tally/{FEATURE.name}.py", f"tests/test_{FEATURE.name}.py")
    ]
    lines = [
        {
            "type": role,
            "timestamp": at,
            "cwd": str(history),
            "sessionId": "s",
            "message": {"role": role, "content": said},
        }
        for role, at, said in (
            ("user", "2026-03-02T11:00:00.000Z", wanted),
            ("assistant", "2026-03-02T11:30:00.000Z", calls),
        )
    ]
    session.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    mined = mine_suite(MineRequest(repository=history, folder=tmp_path / "mined", from_sessions=True))

    assert mined.kept == 1
    assert "the distance from the smallest to the largest" in instruction_of(tmp_path / "mined")


@needs("bubblewrap")
def test_a_model_writes_an_issue_report_and_what_it_cost_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = make_tally_history(tmp_path / "tally", features=1)
    report = {"title": "How far apart are values?", "report": "I need to know how far apart the values of a list are."}
    with ModelServer(Script(turn=[Turn(text=msgspec.json.encode(report).decode())])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
        request = MineRequest(repository=history, folder=tmp_path / "mined", rewrite="anthropic:claude-haiku-4-5")
        mined = mine_suite(request)

    text = instruction_of(tmp_path / "mined")
    assert text.startswith("# How far apart are values?")
    assert f"def {FEATURE.name}(values)" in text
    assert mined.rewriter is not None
    assert (mined.rewriter.asked, mined.rewriter.rewritten) == (1, 1)
    assert (mined.rewriter.cost_usd or 0) > 0


@pytest.mark.parametrize("named", ["claude-haiku-4-5", "anthropic:", ":model", "nobody:model"])
def test_a_judge_that_does_not_exist_is_refused_and_nothing_is_left(tmp_path: Path, named: str) -> None:
    history = make_tally_history(tmp_path / "tally", features=1)
    with pytest.raises(UsageError):
        mine_suite(MineRequest(repository=history, folder=tmp_path / "mined", rewrite=named))
    assert not (tmp_path / "mined").exists()
