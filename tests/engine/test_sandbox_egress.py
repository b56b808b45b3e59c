"""A suite's hosts, from inside every kind of sandbox: what agent and checks reach, and what the record says."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.engine.engine_fixtures import artifact, loaded, open_engine, plan_of, shell
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.engine.attempt import run_attempt
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.store.run_store import FolderRunStore

VARIABLES = [
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    *("all_proxy", "http_proxy", "https_proxy", "no_proxy"),
]
# Speaks to the proxy with what there is: bash in two kinds of sandbox, busybox in the third.
FETCH = """
fetch() {
  place=${http_proxy#http://}
  request="GET $1 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"
  if command -v bash >/dev/null; then
    bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}"; printf "$2" >&3; cat <&3' sh "$place" "$request"
  else
    printf "$request" | nc "${place%:*}" "${place#*:}"
  fi
}
"""


class Registry(BaseHTTPRequestHandler):
    """A host that the suite allows."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a package")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(
    params=[
        "local",
        pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
        pytest.param("container", marks=pytest.mark.needs_container),
    ]
)
def sandboxes(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The dependencies that differ with the kind of sandbox."""
    if request.param == "local":
        yield {"sandboxes": LocalSandboxProvider()}
    elif request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        yield {"sandboxes": BubblewrapSandboxProvider()}
    else:
        require("container", ContainerSandboxProvider().missing())
        with busybox_image(working_engine()) as image:
            yield {"sandboxes": ContainerSandboxProvider(), "sandbox": SandboxSpec(kind="container", image=image)}


@contextmanager
def egress_to(hosts: Sequence[str]) -> Iterator[Callable[[], EgressProxy]]:
    """Egress proxies for which every name resolves to this machine."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        del host, port
        return ["127.0.0.1"]

    with EventLoopThread() as background:
        yield lambda: EgressProxy(hosts, background, resolve=resolve)


def attempt(folder: Path, arm: dict[str, Any], check: str, **parts: Any) -> tuple[RunRecord, FolderRunStore]:
    folder.mkdir()
    checks = [{"type": "command", "name": "check", "run": check}]
    suite = loaded(folder, {"a": arm}, task={"checks": checks})
    with open_engine(suite, folder / "store") as (deps, store):
        planned = next(run for run in plan_of(suite) if run.trial.arm == "a")
        return run_attempt(replace(deps, **parts), planned, 1).record, store


def test_agent_and_checks_reach_what_is_listed_and_nothing_else(
    tmp_path: Path, sandboxes: dict[str, Any], registry: int
) -> None:
    script = f"{FETCH} fetch http://registry.example:{registry}/package; fetch http://elsewhere.example/$0"
    with egress_to([f"registry.example:{registry}"]) as hosts:
        record, store = attempt(tmp_path / "run", shell(script), script, **sandboxes, hosts=hosts)

    assert record.status is Status.COMPLETED, record.status_detail
    for name in ("stdout.txt", "checks/check.stdout"):
        seen = artifact(store, record, name)
        assert b"a package" in seen
        assert b"403 Not in [sandbox] allow_hosts" in seen
    assert artifact(store, record, "refused-hosts.txt") == b"elsewhere.example:80\n"


def test_every_run_has_refusals_of_its_own(tmp_path: Path) -> None:
    refused = []
    with egress_to([]) as hosts:
        for name in ("one", "two"):
            script = f"{FETCH} fetch http://{name}.example/"
            record, store = attempt(tmp_path / name, shell(script), "true", hosts=hosts)
            refused.append(artifact(store, record, "refused-hosts.txt"))

    assert refused == [b"one.example:80\n", b"two.example:80\n"]


def test_the_arm_has_the_last_word_about_its_environment(tmp_path: Path) -> None:
    arm = shell("env", environment={"HTTP_PROXY": "http://of.the.arm:1"})
    with egress_to(["registry.example"]) as hosts:
        record, store = attempt(tmp_path / "run", arm, "env", hosts=hosts)
    agents, checks = (
        dict(line.split("=", 1) for line in artifact(store, record, name).decode().splitlines() if "=" in line)
        for name in ("stdout.txt", "checks/check.stdout")
    )

    assert agents["HTTP_PROXY"] == "http://of.the.arm:1"
    assert sorted(checks.keys() & set(VARIABLES)) == VARIABLES
    assert checks["https_proxy"].startswith("http://127.0.0.1:")
    assert checks["NO_PROXY"] == "127.0.0.1,localhost"


def test_without_allowed_hosts_no_proxy_variables_are_set(tmp_path: Path) -> None:
    record, store = attempt(tmp_path / "run", shell("env"), "env")

    for name in ("stdout.txt", "checks/check.stdout"):
        assert b"proxy" not in artifact(store, record, name).lower()
    assert "refused-hosts.txt" not in record.artifacts


@pytest.mark.needs_bubblewrap
def test_a_real_client_goes_by_the_variables(tmp_path: Path, registry: int) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    if shutil.which("curl", path="/usr/bin") is None:
        require("bubblewrap", "curl is not installed")
    script = f"curl -sS http://registry.example:{registry}/; curl -sS https://elsewhere.example/ || true"
    with egress_to([f"registry.example:{registry}"]) as hosts:
        record, store = attempt(
            tmp_path / "run", shell(script), "true", sandboxes=BubblewrapSandboxProvider(), hosts=hosts
        )

    assert artifact(store, record, "stdout.txt") == b"a package"
    assert b"403" in artifact(store, record, "stderr.txt")
    assert artifact(store, record, "refused-hosts.txt") == b"elsewhere.example:443\n"
