"""Work grows with a source and no faster, counted in calls, so that a slow machine fails no test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.harbor.harbor_jobs import TRAJECTORY, a_job, a_trial
from tests.interop.plugin_eval.results import a_case, a_result
from tests.interop.plugin_eval.results import written as written_result
from tests.interop.skill_creator.test_skill_creator_importer import listed_run
from tests.interop.test_benches import tb_run, tb_trial
from tests.interop.test_tau import a_simulation, written

from outweigh.plugins import load_adapter
from outweigh.testing.importer_contract import limit_calls, read_all


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def document(path: Path, content: object) -> Path:
    path.write_bytes(msgspec.json.encode(content))
    return path


def aider(folder: Path, size: int) -> Path:
    path = folder / "board.yml"
    path.write_text("".join(f"- dirname: d{number}\n  pass_rate_1: 5.0\n" for number in range(size)))
    return path


def atif(folder: Path, size: int) -> Path:
    step = TRAJECTORY["steps"][2]  # type: ignore[index]  # of the builder's plain values
    steps = [step | {"step_id": number} for number in range(1, size + 1)]
    return document(folder / "one.json", TRAJECTORY | {"steps": steps})


def claude(folder: Path, size: int) -> Path:
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "a"}]}
    rows = [
        {"type": "assistant", "sessionId": "s", "uuid": str(number), "message": message | {"id": f"m{number}"}}
        for number in range(size)
    ]
    return lines(folder / "one.jsonl", rows)


def codex(folder: Path, size: int) -> Path:
    items = [{"type": "item.completed", "item": {"id": str(n), "type": "agent_message"}} for n in range(size)]
    return lines(folder / "one.jsonl", [{"type": "thread.started", "thread_id": "t"}, *items])


def collected(folder: Path, size: int) -> Path:
    return lines(folder / "c.jsonl", [{"task_id": f"t{n}", "arm": "a", "repeat": 1} for n in range(size)])


def inspect(folder: Path, size: int) -> Path:
    spec = {"task": "t", "model": "m", "task_id": "x", "eval_id": "e"}
    samples = [{"id": n, "epoch": 1, "scores": {"m": {"value": "C"}}, "model_usage": {}} for n in range(size)]
    return document(folder / "log.json", {"version": 2, "status": "success", "eval": spec, "samples": samples})


def mini(folder: Path, size: int) -> Path:
    messages = [{"role": "assistant", "content": "```bash\nls\n```"}] * size
    return document(folder / "a.traj.json", {"trajectory_format": "mini-swe-agent-1.1", "messages": messages})


def promptfoo(folder: Path, size: int) -> Path:
    return document(
        folder / "o.json", {"results": [{"success": True, "testIdx": n, "vars": {"q": n}} for n in range(size)]}
    )


def skill(folder: Path, size: int) -> Path:
    return document(folder / "benchmark.json", {"runs": [listed_run("with_skill", n + 1) for n in range(size)]})


def swe(folder: Path, size: int) -> Path:
    return lines(folder / "r.jsonl", [{"instanceId": f"a__a-{n}", "resolved": True} for n in range(size)])


SOURCES: dict[str, Callable[[Path, int], Path]] = {
    "aider-leaderboard": aider,
    "atif": atif,
    "claude-code": claude,
    "codex": codex,
    "collected": collected,
    "harbor": lambda folder, size: a_job(folder / "job", [a_trial(n, "one") for n in range(size)]),
    "inspect": inspect,
    "mini-swe-agent": mini,
    "plugin-eval": lambda folder, size: written_result(
        folder / "r.json", a_result(*(a_case(f"c{number}") for number in range(size)))
    ),
    "promptfoo": promptfoo,
    "skill-creator": skill,
    "swe-bench": swe,
    "table": lambda folder, size: lines(folder / "t.jsonl", [{"task_id": "a", "arm": "b"} for _ in range(size)]),
    "tau": lambda folder, size: written(folder / "r.json", *(a_simulation(number) for number in range(size))),
    "terminal-bench": lambda folder, size: tb_run(folder / "r", *(tb_trial(f"t{n}", 1) for n in range(size))),
}


@pytest.mark.parametrize("name", SOURCES)
def test_four_times_the_source_is_at_most_five_times_the_work(tmp_path: Path, name: str) -> None:
    calls = []
    for size in (60, 240):
        folder = tmp_path / str(size)
        folder.mkdir()
        path = SOURCES[name](folder, size)
        read_all(load_adapter("importer", name), path)
        with limit_calls() as work:
            found, notes = read_all(load_adapter("importer", name), path)
        assert found or notes.aggregates
        calls.append(work.calls)

    assert calls[1] < 5 * calls[0]
