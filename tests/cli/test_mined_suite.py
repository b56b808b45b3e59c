"""A suite that was mined is run like every other: the true change passes, nothing and a search for it do not."""

from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import PRICES, AgentDesk, require_agent
from tests.mining.tally_history import FEATURES, make_tally_history

from outweigh.app.mine_suite import MineRequest, mine_suite
from outweigh.model.run_record import RunRecord
from outweigh.model.toml_writer import write_toml
from outweigh.score.objective import passed
from outweigh.testing.model_server import ModelServer, Script, Turn

pytestmark = pytest.mark.needs_bubblewrap

MINED = 3
MODEL = "claude-sonnet-4-5"
SCRIPT = """\
[default]
solve_probability = {chance}
on_success = [{{ do = "solution" }}]
on_failure = []
duration_seconds = {{ median = 1, spread = 0.1 }}
cost_usd = {{ median = 0.01, spread = 0.1 }}
"""
# Uses whatever it finds of a function of the package, on the whole disk and in all objects of git.
SEARCH = (
    " ".join(
        f"""
for file in $(grep -rl --include=*.py 'def {feature.name}(' / 2>/dev/null | grep -v ^/proc/ | head -1); do
  cp "$file" tally/{feature.name}.py 2>/dev/null; done;
for name in $(git cat-file --batch-all-objects --batch-check | awk '$2 == "blob" {{ print $1 }}'); do
  git cat-file -p $name | grep -q 'def {feature.name}(' && git cat-file -p $name >tally/{feature.name}.py; done;
"""
        for feature in FEATURES[:MINED]
    )
    + "cat >/dev/null; true"
)
# Puts the code where only a search of the whole disk finds it: what is found must then pass.
PLANT = "mkdir -p /tmp/planted; " + "".join(
    f"cat >/tmp/planted/{feature.name}.py <<'EOF'\n{feature.code}EOF\n" for feature in FEATURES[:MINED]
)


@pytest.fixture
def desk(tmp_path: Path) -> AgentDesk:
    desk = AgentDesk(tmp_path, MODEL)
    history = make_tally_history(tmp_path / "tally", features=MINED)
    mined = mine_suite(MineRequest(repository=history, folder=desk.folder / "suite"))
    assert mined.kept == MINED
    return desk


def write_arms(desk: AgentDesk, arms: dict[str, Any], **settings: Any) -> None:
    (desk.suite / "suite.toml").write_text(
        write_toml(
            {
                "name": "mined",
                "tasks": ["tasks/*"],
                "baseline": next(iter(arms)),
                "repeats": 1,
                "arms": arms,
                "sandbox": {"kind": "bubblewrap"},
                "limits": {"timeout_seconds": 240.0},
                **settings,
            }
        )
    )


def solved(runs: list[RunRecord], arm: str) -> list[str]:
    return sorted(run.trial.task_id[11:] for run in runs if run.trial.arm == arm and passed(run).value == 1)


def test_the_true_change_passes_every_task_and_nothing_and_a_search_pass_none(desk: AgentDesk) -> None:
    for name, chance in (("solves", 1.0), ("idles", 0.0)):
        (desk.suite / f"{name}.toml").write_text(SCRIPT.format(chance=chance))
    write_arms(
        desk,
        {
            "solves": {"agent": "scripted", "options": {"script": "solves.toml"}},
            "idles": {"agent": "scripted", "options": {"script": "idles.toml"}},
            "searches": {"agent": "shell", "options": {"command": ["sh", "-c", SEARCH]}},
            "finds": {"agent": "shell", "options": {"command": ["sh", "-c", PLANT + SEARCH]}},
        },
    )

    ended = desk.run()

    runs = desk.records()
    every = sorted(f"add-{each.name.replace('_', '-')}" for each in FEATURES[:MINED])
    assert len(runs) == 4 * MINED, ended.err
    assert solved(runs, "solves") == solved(runs, "finds") == every
    assert solved(runs, "idles") == []
    assert solved(runs, "searches") == []


@pytest.mark.needs_agent
def test_claude_code_works_on_mined_tasks_and_passes_the_one_that_it_solves(desk: AgentDesk) -> None:
    require_agent("claude")
    feature = FEATURES[0]
    work = f"cat >tally/{feature.name}.py <<'EOF'\n{feature.code}EOF\npython -m unittest -q"
    with ModelServer(Script(turn=[Turn(run=work), Turn(text="Done.")])) as server:
        provider = {"url": server.url, "key": ""}
        listed = "".join(f"{name} = {value}\n" for name, value in PRICES.items())
        (desk.suite / "prices.toml").write_text(f'name = "listed"\n[models."{MODEL}"]\n{listed}')
        write_arms(
            desk,
            {
                "plain": {"agent": "claude-code", "model": MODEL},
                "prompted": {"agent": "claude-code", "model": MODEL, "extra_prompt": "Run the tests."},
            },
            gateway={"anthropic": provider, "openai": provider, "gemini": provider, "prices": "prices.toml"},
        )
        ended = desk.run_checked()

    assert solved(desk.records(), "plain") == [f"add-{feature.name.replace('_', '-')}"], ended.err
