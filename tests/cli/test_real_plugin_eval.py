"""A plugin's evals, run by `claude plugin eval` itself and by outweigh, on one scripted model: their scores agree."""

import os
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import INSTALLED, AgentDesk, require_agent
from tests.cli.engines import records
from tests.engine.plugin_arms import write_files
from tests.interop.plugin_eval.plugins import CASE, FILES, a_plugin

from outweigh.model.run_record import RunRecord
from outweigh.score.objective import objective, passed
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When
from outweigh.testing.model_server.model_script import CallSpec

READ = CallSpec(name="Read", arguments={"file_path": "data.csv"})
WRITE = CallSpec(name="Write", arguments={"file_path": "report.md", "content": "anna\n"})
SKILL = CallSpec(name="Skill", arguments={"skill": "tiny:haiku"})
SCRIPT = Script(
    conversation=[
        Conversation(
            when=When(contains="Write report.md"),
            turn=[Turn(tool_calls=[READ]), Turn(tool_calls=[WRITE]), Turn(text="Done.")],
        ),
        Conversation(
            when=When(contains="Use when a greeting is asked for."),
            turn=[Turn(tool_calls=[SKILL]), Turn(text="HELLO")],
        ),
    ],
    turn=[Turn(text="Hi.")],
)


def plugin_without_judges(folder: Path) -> Path:
    """The plugin with the graders of both cases that need no model, and no shell, which its own sandbox may lack."""
    case = "".join(line for line in CASE.splitlines(keepends=True) if "baseline" not in line)
    changed: dict[str, str | None] = {"evals__deep__report__case_dot_yaml": case.replace(', "Bash(ls:*)"', "")}
    left_out = [path for path in FILES if path.startswith(("evals/mocks", "evals/results")) or "polite" in path]
    changed |= {path.replace("/", "__").replace(".", "_dot_"): None for path in left_out}
    return a_plugin(folder, **changed)


def evaluate(plugin: Path, server: ModelServer, home: Path) -> None:
    """`claude plugin eval` with a clean environment and the scripted model."""
    environment = {
        "HOME": str(home),
        "PATH": f"{INSTALLED}:{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": server.url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    options = ("--trust-plugin", "--no-publish", "--scaffold", "--allow-tools", "Write", "--runs", "1", "-j", "2")
    subprocess.run(
        ["claude", "plugin", "eval", ".", *options], cwd=plugin, env=environment, capture_output=True, check=False
    )


def scores(runs: Iterable[RunRecord]) -> dict[tuple[str, str], list[Any]]:
    """By task and arm: the objective score, whether it passed, and every check that is scored."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for run in runs:
        checks = {
            check.name.replace(" ", "-"): (check.passed, check.weight) for check in run.checks or () if check.weight
        }
        task = run.trial.task_id.replace(" ", "-")
        found[task, run.trial.arm].append((objective(run).share.value, passed(run).value, checks))
    return found


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_the_same_evals_have_the_same_scores_case_by_case(outweigh_process: Any, tmp_path: Path) -> None:
    require_agent("claude")
    desk = AgentDesk(tmp_path, "claude-opus-4-5")
    plugin = plugin_without_judges(tmp_path / "plugin")
    with ModelServer(SCRIPT) as server:
        evaluate(plugin, server, tmp_path)
        imported = outweigh_process("import", str(plugin), "-o", str(tmp_path / "theirs"))
        written = outweigh_process("init", str(desk.folder / "suite"), "--from", str(plugin))
        with (desk.folder / "suite/suite.toml").open("a") as file:
            file.write(f'\n[gateway]\nanthropic = {{ url = "{server.url}", key = "" }}\n')
            file.write('\n[sandbox]\nkind = "bubblewrap"\n')
        desk.run("-k", "1")
        back = write_files(tmp_path / "back", {path: text for path, text in FILES.items() if "evals/" not in path})
        outweigh_process("suite", "export", str(desk.folder / "suite"), "-o", str(back / "evals"))
        evaluate(back, server, tmp_path)
        outweigh_process("import", str(back), "-o", str(tmp_path / "again"))
    judged = outweigh_process("verdict", str(tmp_path / "theirs"))

    assert (imported.code, written.code) == (0, 0), imported.err + written.err
    assert judged.out.startswith("INCONCLUSIVE  with against without (2 tasks × 1 repeat)")
    theirs, ours = scores(records(tmp_path / "theirs")), scores(desk.records())
    assert theirs == ours
    assert scores(records(tmp_path / "again")) == ours
    assert {key: runs[0][0] for key, runs in ours.items()} == {
        ("write-report", "without"): 0.875,
        ("write-report", "with"): 0.875,
        ("greeting", "without"): 0.0,
        ("greeting", "with"): 1.0,
    }
    fired = {
        run.trial.arm: run.loaded.skills_used for run in desk.records() if run.loaded and "greet" in run.trial.task_id
    }
    assert fired == {"without": (), "with": ("tiny:haiku",)}
