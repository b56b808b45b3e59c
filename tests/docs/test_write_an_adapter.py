"""The package that docs/write-an-adapter.md builds works, and imports nothing of outweigh but `outweigh.authoring`."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import which

import pytest
from tests.prerequisites import needs, require

from outweigh.model.codec import decode_lines, refuse_invalid
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.testing.model_server import ModelServer, Script, parse_script
from outweigh.testing.model_server.model_script import EXAMPLE_SCRIPT

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "write-an-adapter.md").read_text()
FILES = {found[1]: found[2] for found in re.finditer(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S)}
SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
@needs("python")
def package(tmp_path: Path) -> Path:
    """The files of the page, registered as an installed distribution."""
    require("python", None if which("python3", path=SANDBOX_PATH) else f"no python3 in {SANDBOX_PATH}")
    for name, content in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (tmp_path / "bin" / "tiny").chmod(0o755)
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    metadata = tmp_path / f"outweigh_tiny-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = (f"{name} = {value}" for name, value in project["entry-points"]["outweigh.agents"].items())
    (metadata / "entry_points.txt").write_text("\n".join(("[outweigh.agents]", *points)) + "\n")
    return tmp_path


def run(package: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        "PATH": f"{package / 'bin'}:{os.environ['PATH']}",
        "HOME": str(package),
        "PYTHONPATH": os.pathsep.join([str(package), *filter(None, sys.path)]),
    }
    return subprocess.run(
        [sys.executable, *command], cwd=package, env=environment, capture_output=True, text=True, check=False
    )


def test_the_files_of_the_page_import_nothing_of_outweigh_but_authoring() -> None:
    imported = set(re.findall(r"^\s*(?:from|import) (outweigh(?!_)[\w.]*)", "\n".join(FILES.values()), re.M))

    assert imported == {"outweigh.authoring"}


def test_the_agent_of_the_page_keeps_the_contract(package: Path) -> None:
    done = run(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_outweigh_tiny.py")

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b5 passed", done.stdout), done.stdout


def test_the_agents_of_the_page_run_in_its_suite(package: Path) -> None:
    script: Script = parse_script(EXAMPLE_SCRIPT.encode(), "example")
    with ModelServer(script) as server:
        suite = package / "suite.toml"
        suite.write_text(suite.read_text().replace("127.0.0.1:8765", f"127.0.0.1:{server.port}"))
        done = run(package, "-m", "outweigh", "run", "-c", "suite.toml", "-o", "runs")

    assert done.returncode == 0, done.stdout + done.stderr
    (stored,) = (package / "runs").glob("runs-*.jsonl")
    with stored.open("rb") as lines:
        records = [located.record for located in decode_lines(lines, str(stored), refuse_invalid)]
    runs = {record.trial.arm: record for record in records if isinstance(record, RunRecord)}
    assert {arm: run.status for arm, run in runs.items()} == dict.fromkeys(("plain", "greeting"), Status.COMPLETED)
    assert [check.passed for arm in ("plain", "greeting") for check in runs[arm].checks or ()] == [True, False]
    assert runs["plain"].usage.cache_read_tokens == 4000
    assert runs["plain"].metering is not None
    assert (runs["greeting"].agent.name, runs["greeting"].metering) == ("greeter", None)


TOLD = """
[arms.told]
extends = "plain"
instructions = "Greet every zebra by its full name."
skills = ["skills/tidy"]
[arms.deaf]
extends = "told"
options.program = "deaf"
"""


def test_skills_and_instructions_go_where_the_adapter_says_and_are_proven_there(package: Path) -> None:
    skill = package / "skills" / "tidy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tidy\ndescription: Puts every zebra back into its stable.\n---\nCount the stripes.\n")
    deaf = package / "bin" / "deaf"
    deaf.write_text(FILES["bin/tiny"].replace("TINY.md", "NO.md").replace(".tiny", ".no"))
    deaf.chmod(0o755)
    with ModelServer(parse_script(EXAMPLE_SCRIPT.encode(), "example")) as server:
        suite = package / "suite.toml"
        suite.write_text(suite.read_text().replace("127.0.0.1:8765", f"127.0.0.1:{server.port}") + TOLD)
        run(package, "-m", "outweigh", "run", "-c", "suite.toml", "-o", "runs", "-y")

    (stored,) = (package / "runs").glob("runs-*.jsonl")
    with stored.open("rb") as lines:
        records = [located.record for located in decode_lines(lines, str(stored), refuse_invalid)]
    runs = {record.trial.arm: record for record in records if isinstance(record, RunRecord)}
    assert (runs["told"].status, runs["told"].status_detail) == (Status.COMPLETED, None)
    assert runs["told"].loaded is not None
    assert (runs["told"].loaded.skills, runs["told"].loaded.memory_files) == (("tidy",), ("TINY.md",))
    assert runs["deaf"].status is Status.ARM_NOT_APPLIED
    assert runs["deaf"].status_detail == (
        "the skill 'tidy' is declared and was not loaded; "
        "the instructions in TINY.md are declared and were not sent to the model"
    )


def test_importing_authoring_loads_neither_the_contracts_nor_a_server(package: Path) -> None:
    script = "import sys, outweigh.authoring; print({'outweigh.testing', 'aiohttp', 'pytest'} & set(sys.modules))"

    assert run(package, "-c", script).stdout == "set()\n"
