"""Commits of public histories: their tests pass with what was installed for them as of their time."""

from dataclasses import replace
from pathlib import Path

import pytest
from scripts.install_history_samples import HISTORIES, SAMPLES, installed_sample, opened_history
from tests.prerequisites import require

from outweigh.mining.dependencies import DependencyError
from outweigh.mining.install_dependencies import InstallSetting
from outweigh.ports.sandboxes import Mount
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request

INSTALLED = Path(__file__).resolve().parents[2] / ".histories"
CASES = [(name, commit, command) for name, samples in SAMPLES.items() for commit, command in samples.items()]


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize(("name", "commit", "command"), CASES, ids=lambda value: str(value).split()[0])
def test_the_tests_of_a_commit_pass_with_its_dependencies(name: str, commit: str, command: str, tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    if not (HISTORIES / f"{name}.bundle").is_file():
        pytest.skip("the public histories are not beside the project")
    offline = InstallSetting(sandboxes=BubblewrapSandboxProvider(), variables={"UV_OFFLINE": "1"}, hosts=())
    tree = tmp_path / "tree"
    with opened_history(name, INSTALLED) as history:
        if not any((INSTALLED / name).glob("*.toml")):
            pytest.skip("nothing is installed for histories; `make samples` does that")
        try:
            installed = installed_sample(history, commit, INSTALLED / name, offline, tree)
        except DependencyError as fault:
            require("bubblewrap", f"run `make samples`: {fault}")
            raise
    assert installed is not None
    request = replace(
        a_sandbox_request(tmp_path / "run"),
        workspace=tree,
        mounts=(Mount(source=installed.folder, target="/opt/dependencies"),),
    )

    with BubblewrapSandboxProvider().open(request) as sandbox:
        line = " && ".join((*installed.setup, command))
        done = sandbox.exec(["sh", "-c", line], environment=installed.variables, timeout_seconds=300.0)

    assert done.exit_code == 0, (done.stdout + done.stderr).decode(errors="replace")[-3000:]
    assert installed.hidden == ()
