"""The suites of docs/agents.md run as they are written there, with the real agents; only the model is scripted."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import which
from subprocess import run

import pytest
from tests.cli.agent_experiment import INSTALLED, require_agent
from tests.cli.engines import records
from tests.gateway.login_fixtures import a_jwt, claude_file
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.model.failure import Status
from outweigh.model.run_record import ObservedSetup, RunRecord
from outweigh.model.usage import CostProvenance
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import ModelServer, Script, Turn

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "agents.md").read_text()
FILES = {found[1]: found[2] for found in re.finditer(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S)}
SOLVED = Script(turn=[Turn(run="echo 59 >answer.txt"), Turn(text="The total is 59.")])
SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"
CONTAINERS = {name: value for name, value in os.environ.items() if name == "CONTAINERS_CONF"}
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-dummy", "OPENAI_API_KEY": "sk-dummy"}


@pytest.fixture
@needs("agent", "bubblewrap", "python")
def model(tmp_path: Path) -> Iterator[ModelServer]:
    """The files of the page in one folder, and a scripted model."""
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    require("python", None if which("python3", path=SANDBOX_PATH) else f"no python3 in {SANDBOX_PATH}")
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    with ModelServer(SOLVED, kept_body_bytes=2**20) as server:
        yield server


def run_suite(folder: Path, suite: str, server: ModelServer) -> dict[str, RunRecord]:
    """Run a suite of the page once, whatever it says about repeats; its providers are where the scripted model is."""
    file = folder / suite
    text = re.sub(r'^url = "[^"]+"', f'url = "{server.url}"', file.read_text(), flags=re.MULTILINE)
    for provider, key in (("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")):
        text += f'\n[gateway.{provider}]\nurl = "{server.url}"\nkey = "{key}"\n'
    file.write_text(text)
    done = run(
        [sys.executable, "-m", "outweigh", "run", "-c", suite, "-k", "1", "-o", "store"],
        cwd=folder,
        env={"PATH": f"{INSTALLED}:{os.environ['PATH']}", "HOME": str(folder), **KEYS, **CONTAINERS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "both apply as declared" in done.stderr
    found = {record.trial.arm: record for record in records(folder / "store")}
    for record in found.values():
        assert (record.status, record.status_detail) == (Status.COMPLETED, None)
        assert [check.passed for check in record.checks or ()] == [True]
    return found


def loaded(runs: dict[str, RunRecord], arm: str) -> ObservedSetup:
    setup = runs[arm].loaded
    assert setup is not None
    return setup


def test_every_suite_of_the_page_is_run_here() -> None:
    suites = {name for name in FILES if "/" not in name and "[arms." in FILES[name]}

    assert suites == {"skill.toml", "claude-md.toml", "mcp.toml", "models.toml", "login.toml", "images.toml"}


def test_the_skill_is_loaded_in_one_arm(model: ModelServer, tmp_path: Path) -> None:
    require_agent("claude")
    runs = run_suite(tmp_path, "skill.toml", model)

    assert "tables" in (loaded(runs, "skilled").skills or ())
    assert "tables" not in (loaded(runs, "plain").skills or ())


def test_each_arm_has_its_own_version_of_the_instructions(model: ModelServer, tmp_path: Path) -> None:
    require_agent("claude")
    run_suite(tmp_path, "claude-md.toml", model)

    sent = [(entry.body or b"").decode() for entry in model.ledger]
    new = "Read a file before you answer a question about it."
    assert {new in body for body in sent if "Write short answers." in body} == {True, False}


def test_the_tool_server_is_offered_in_one_arm(model: ModelServer, tmp_path: Path) -> None:
    require_agent("claude")
    runs = run_suite(tmp_path, "mcp.toml", model)

    assert [server.name for server in loaded(runs, "served").mcp_servers or ()] == ["tables"]
    assert not loaded(runs, "plain").mcp_servers


def test_each_arm_asks_its_own_model_and_provider(model: ModelServer, tmp_path: Path) -> None:
    require_agent("codex")
    runs = run_suite(tmp_path, "models.toml", model)

    asked = {entry.model: entry.api_key for entry in model.ledger}
    assert asked.keys() == {"gpt-5", "qwen3-coder:30b"}
    assert asked["gpt-5"] == KEYS["OPENAI_API_KEY"] != asked["qwen3-coder:30b"]
    assert runs["openai"].cost.usd
    assert (runs["local"].cost.usd, runs["local"].cost.price_table) == (0.0, "free")


def test_both_arms_use_the_login_of_the_plan_and_no_key(model: ModelServer, tmp_path: Path) -> None:
    require_agent("claude")
    token = a_jwt(9_999_999_999)
    claude_file(tmp_path, token, expires_at=9_999_999_999)
    runs = run_suite(tmp_path, "login.toml", model)

    assert {entry.api_key for entry in model.ledger} == {token}
    assert {run.cost.provenance for run in runs.values()} == {CostProvenance.PLAN}


@pytest.mark.needs_container
def test_the_task_is_run_in_its_own_image(model: ModelServer, tmp_path: Path) -> None:
    require_agent("claude")
    require("container", load_adapter("sandbox", "container").missing())
    dockerfile = tmp_path / "images" / "total" / "environment" / "Dockerfile"
    with busybox_image(working_engine(), str((INSTALLED / "claude").resolve())) as image:
        stored = f"FROM localhost/{image}\nLABEL {image.replace(':', '.')}=1"
        dockerfile.write_text(dockerfile.read_text().replace("FROM debian:stable-slim", stored))
        try:
            runs = run_suite(tmp_path, "images.toml", model)
        finally:
            built = working_engine().run("images", "--quiet", f"--filter=label={image.replace(':', '.')}").out.split()
            working_engine().run("rmi", "--force", *built)

    assert built
    assert {run.agent.name for run in runs.values()} == {"claude-code"}


def test_the_tool_of_the_page_s_server_sums_a_column(tmp_path: Path) -> None:
    (tmp_path / "table_server.py").write_text(FILES["server/table_server.py"])
    (tmp_path / "visitors.csv").write_text(FILES["tasks/total/environment/visitors.csv"])
    call = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": '
        '{"name": "sum_column", "arguments": {"path": "visitors.csv", "column": "visitors"}}}\n'
    )

    done = run(
        [sys.executable, "-I", "table_server.py"], cwd=tmp_path, input=call, capture_output=True, text=True, check=True
    )

    assert '"text": "59"' in done.stdout
