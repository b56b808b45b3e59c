"""A run with containers that a virtual machine holds, without anything that only Linux has: as on macOS, as far as that
can be tried on Linux.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import require
from tests.sandbox.container_fixtures import HOST_PYTHON, busybox_image, python_folders, working_engine
from tests.sandbox.distant_engine import distant_engine, distant_engine_missing

from outweigh.model.failure import Status
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.store.store import Store
from outweigh.testing.model_server import ModelServer, Script, Turn

PROGRAM = Path(__file__).with_name("without_linux.py")
_AGENT = """
import json, os, urllib.request
body = {"model": "claude-haiku-4-5", "max_tokens": 50, "messages": [{"role": "user", "content": "What is it?"}]}
headers = {"x-api-key": os.environ["OUTWEIGH_MODEL_KEY"], "content-type": "application/json"}
url = os.environ["OUTWEIGH_MODEL_URL"] + "/v1/messages"
answer = json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
open("answer.txt", "w").write(answer["content"][0]["text"])
os.mkdir("closed"); os.chmod("closed", 0)
"""


@pytest.fixture
def engine() -> Iterator[ContainerEngine]:
    require("container", ContainerSandboxProvider().missing())
    require("container", distant_engine_missing(working_engine()))
    with distant_engine(working_engine()) as far:
        yield far


@pytest.mark.needs_container
def test_an_agent_asks_its_model_through_the_gateway_and_its_work_is_checked(
    engine: ContainerEngine, tmp_path: Path
) -> None:
    client = tmp_path / "bin" / "podman"
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\nexec {" ".join(engine.command)} "$@"\n')
    client.chmod(0o755)
    agent = {
        "agent": "shell",
        "model": "claude-haiku-4-5",
        "options": {"command": [HOST_PYTHON, "-Ic", _AGENT], "model_access": True},
    }
    with busybox_image(engine) as image, ModelServer(Script(turn=[Turn(text="42\n")])) as server:
        sandbox = {"kind": "container", "image": image, "read_only": list(python_folders())}
        gateway = {"anthropic": {"url": server.url, "key": ""}}
        suite = write_suite(tmp_path / "suite", {"asks": agent}, repeats=1, sandbox=sandbox, gateway=gateway)
        done = subprocess.run(
            [sys.executable, PROGRAM, "run", "-c", suite, "-o", tmp_path / "store", "--yes"],
            env={"PATH": f"{client.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done.stderr
    (asks,) = (record for record in Store.open(tmp_path / "store").runs() if record.trial.arm == "asks")
    assert (asks.status, asks.status_detail) == (Status.COMPLETED, None)
    assert [check.passed for check in asks.checks or ()] == [True]
    assert asks.metering is not None
