"""Claims about installing dependencies, in real sandboxes and without any registry."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Timer
from typing import Any

import pytest
from tests.mining.small_packages import write_project
from tests.prerequisites import needs, require

from outweigh.mining.dependencies import (
    SYSTEM_PATH,
    DependencyError,
    DependencyOptions,
    DependencySet,
    InstalledDependencies,
)
from outweigh.mining.dependency_cache import DependencyCache
from outweigh.mining.install_dependencies import InstallLimits, InstallSetting
from outweigh.mining.install_tools import find_uv, missing_tool
from outweigh.mining.plan_dependencies import plan_dependencies
from outweigh.mining.pythons import find_pythons
from outweigh.ports.sandboxes import Mount
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request

DAY = datetime(2026, 5, 10, tzinfo=UTC)
OFFLINE = {"UV_DEFAULT_INDEX": "file:///ws/index", "npm_config_offline": "true"}
LIMITS = InstallLimits(seconds=120.0, disk_mb=200, memory_mb=1024, processes=200)


@pytest.fixture
@needs("bubblewrap")
def setting() -> InstallSetting:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    require("bubblewrap", None if find_uv() else "uv is not installed")
    return InstallSetting(sandboxes=BubblewrapSandboxProvider(), variables=OFFLINE, hosts=(), limits=LIMITS)


def planned(tree: Path, version: str | None = None, **options: Any) -> DependencySet:
    files = {path.relative_to(tree).as_posix(): path for path in tree.rglob("*") if path.is_file()}
    pythons = find_pythons()  # one that sandboxes show need not be copied
    found = plan_dependencies(
        tuple(files),
        lambda path: files[path].read_bytes() if path in files else None,
        DAY,
        DependencyOptions(**options),
        version=version,
        pythons=pythons if "python" in options else [each for each in pythons if each.is_shown] or pythons,
    )
    assert found is not None
    return found


def by_command(command: str, key: str = "k1") -> DependencySet:
    return DependencySet(key=key, commands=(command,), manifests={}, before=None)


def used(installed: InstalledDependencies, tree: Path, script: str, folder: Path) -> tuple[int | None, str]:
    """What a script says in a sandbox as a task has it: another workspace, and the dependencies read-only."""
    request = replace(
        a_sandbox_request(folder, "uses"),
        workspace=tree,
        mounts=(Mount(source=installed.folder, target="/opt/dependencies"),),
    )
    with BubblewrapSandboxProvider().open(request) as sandbox:
        joined = " && ".join((*installed.setup, script))
        done = sandbox.exec(["sh", "-c", joined], environment=installed.variables, timeout_seconds=60.0)
    return done.exit_code, (done.stdout + done.stderr).decode().strip()


class TestPython:
    def test_the_project_is_imported_from_the_workspace_with_the_version_of_the_commit(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        tree, later = write_project(tmp_path / "base"), write_project(tmp_path / "other")
        (later / "src" / "kettle" / "__init__.py").write_text("boils = 'of this workspace'\n")

        installed = DependencyCache(tmp_path / "dependencies", setting).get(planned(tree, "2.3.0"), tree)

        script = (
            "import kettle, kettle._version, importlib.metadata as m; "
            "print(kettle.boils, kettle._version.version, m.version('kettle'), 'later' in str(m.metadata('kettle')))"
        )
        code, said = used(installed, later, f'python -c "{script}"', tmp_path / "use")
        assert (code, said) == (0, "of this workspace 2.3.0 2.3.0 False")
        assert sorted(path.name for path in (tmp_path / "base" / "src" / "kettle").iterdir()) == ["__init__.py"]

    def test_versions_are_those_of_the_month_of_the_commit(self, tmp_path: Path, setting: InstallSetting) -> None:
        tree = write_project(tmp_path / "base")

        installed = DependencyCache(tmp_path / "dependencies", setting).get(planned(tree), tree)

        assert used(installed, tree, "python -c 'import kettle; print(kettle.boils)'", tmp_path / "use") == (0, "1.0")
        recipe = (tmp_path / "dependencies" / f"{installed.key}.toml").read_text()
        assert 'before = "2026-05-01"' in recipe
        assert "notes = []" in recipe

    def test_entry_points_are_those_of_each_workspace(self, tmp_path: Path, setting: InstallSetting) -> None:
        tree, other = write_project(tmp_path / "base"), write_project(tmp_path / "other")
        manifest = (other / "pyproject.toml").read_text()
        (other / "pyproject.toml").write_text(manifest.replace('flat = "kettle:lid"', 'round = "kettle:lid"'))
        cache = DependencyCache(tmp_path / "dependencies", setting)
        first, second = cache.get(planned(tree), tree), cache.get(planned(other), other)

        names = "(point.name for point in importlib.metadata.entry_points(group='kettle.lids'))"
        script = f'python -c "import importlib.metadata; print(*{names})"'
        assert first.folder == second.folder
        assert used(first, tree, script, tmp_path / "use") == (0, "flat")
        assert used(second, other, script, tmp_path / "use") == (0, "round")

    def test_a_setup_command_with_pip_gets_the_versions_of_the_month_too(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        tree = write_project(tmp_path / "base")
        wanted = planned(tree, setup="pip install -e .")
        unseeded = replace(wanted, commands=(wanted.commands[0].replace("--seed ", ""), *wanted.commands[1:]))

        installed = DependencyCache(tmp_path / "dependencies", setting).get(unseeded, tree)

        assert used(installed, tree, "python -c 'import kettle; print(kettle.boils)'", tmp_path / "use") == (0, "1.0")
        assert 'before = "2026-05-01"' in (tmp_path / "dependencies" / f"{installed.key}.toml").read_text()

    def test_a_copy_of_the_project_is_replaced_by_a_link(self, tmp_path: Path, setting: InstallSetting) -> None:
        tree, other = write_project(tmp_path / "base"), write_project(tmp_path / "other")
        (other / "src" / "kettle" / "__init__.py").write_text("boils = 'of this workspace'\n")
        wanted = planned(tree)
        copied = replace(wanted, commands=(wanted.commands[0], "uv pip install -q ."), fallbacks=())

        installed = DependencyCache(tmp_path / "dependencies", setting).get(copied, tree)

        code, said = used(installed, other, "python -c 'import kettle; print(kettle.boils)'", tmp_path / "use")
        assert (code, said) == (0, "of this workspace")
        assert list(installed.folder.rglob("kettle/__init__.py")) == []

    def test_an_interpreter_that_sandboxes_lack_becomes_part_of_the_dependencies(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        other = next((each for each in find_pythons() if not each.is_shown), None)
        if other is None:
            pytest.skip("this machine has no Python but the system's own")
        tree = write_project(tmp_path / "base")

        wanted = planned(tree, python=other.name)
        installed = DependencyCache(tmp_path / "dependencies", setting).get(wanted, tree)

        script = "import sys, ssl, water; print(sys.version_info[:2] == tuple(map(int, sys.argv[1].split('.'))))"
        code, said = used(installed, tree, f'python -c "{script}" {other.name}', tmp_path / "use")
        assert (code, said) == (0, "True")
        without_variables = f'env -i "$(command -v python)" -c "{script}" {other.name}'
        assert used(installed, tree, without_variables, tmp_path / "again") == (0, "True")

    def test_what_fails_is_tried_in_another_way_and_the_recipe_says_so(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        tree = write_project(tmp_path / "base")
        with (tree / "pyproject.toml").open("a") as file:
            file.write('[dependency-groups]\ntests = ["no-such-package"]\n')

        installed = DependencyCache(tmp_path / "dependencies", setting).get(planned(tree), tree)

        assert used(installed, tree, "python -c 'import kettle'", tmp_path / "use")[0] == 0
        recipe = (tmp_path / "dependencies" / f"{installed.key}.toml").read_text()
        assert "The first choice of commands failed" in recipe
        assert "--group tests" not in recipe


class TestNode:
    def test_packages_and_their_programs_are_found_from_the_workspace_and_caches_can_be_written(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        require("bubblewrap", None if Path("/usr/bin/npm").exists() else "npm is not where sandboxes look for it")
        tree = tmp_path / "base"
        (tree / "tools" / "mug").mkdir(parents=True)
        (tree / "tools" / "mug" / "package.json").write_text(
            '{"name": "mug", "version": "1.0.0", "main": "i.js", "bin": {"weigh-mug": "weigh.js"}}'
        )
        (tree / "tools" / "mug" / "weigh.js").write_text("#!/usr/bin/env node\nconsole.log('heavy')\n")
        (tree / "tools" / "mug" / "weigh.js").chmod(0o755)
        (tree / "tools" / "mug" / "i.js").write_text("module.exports = 'full'")
        (tree / "package.json").write_text(
            '{"name": "kettle", "version": "1.0.0", "devDependencies": {"mug": "file:./tools/mug"}}'
        )

        installed = DependencyCache(tmp_path / "dependencies", setting).get(planned(tree), tree)

        script = "node -e 'console.log(require(\"mug\"))' && mkdir node_modules/.cache && weigh-mug"
        assert used(installed, tree, script, tmp_path / "use") == (0, "full\nheavy")


class TestContainment:
    def test_it_reaches_no_host_that_is_not_allowed_and_the_error_names_the_host(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        command = "python3 -c 'import urllib.request as u; u.urlopen(\"http://example.com\")'"
        cache = DependencyCache(tmp_path / "dependencies", replace(setting, hosts=("localhost:1",)))

        with pytest.raises(DependencyError, match=r"It wanted to reach example\.com:80; allow that with --allow-host"):
            cache.get(by_command(command), small_tree(tmp_path))

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ("head -c 400000000 /dev/zero > /opt/dependencies/zeros", "disk quota"),
            ("head -c 400000000 /dev/zero > /opt/cache/zeros; sleep 5", "disk quota"),
            ("f() { f | f & }; f; sleep 1; exit 3", "ended with exit code|ended with exit code 3|resource"),
            ("echo planted > /usr/bin/planted", "Read-only file system|Permission denied"),
            ("echo the reason >&2; exit 4", "`echo the reason >&2; exit 4` ended with exit code 4: the reason"),
        ],
        ids=["fills the disk", "fills the cache", "forks for ever", "writes to the system", "fails"],
    )
    def test_a_hostile_command_ends_with_one_line_and_leaves_nothing(
        self, tmp_path: Path, setting: InstallSetting, command: str, said: str
    ) -> None:
        folder = tmp_path / "dependencies"

        with pytest.raises(DependencyError) as raised:
            DependencyCache(folder, setting).get(by_command(command), small_tree(tmp_path))

        assert re.search(said, str(raised.value) + raised.value.output)
        assert "\n" not in str(raised.value)
        assert [path.name for path in folder.iterdir()] == [".work"]
        assert sorted(path.name for path in (folder / ".work").iterdir()) == ["cache", "k1.lock"]


@pytest.mark.parametrize(
    ("command", "in_image", "named"),
    [
        ("no-such-program of the repository", False, None),
        ("git --version", False, None),
        ("CARGO_HOME=/x cargo-of-nobody fetch", False, None),
        ("CARGO_HOME=/opt/x CARGO_NET_OFFLINE=true cargo fetch", False, "cargo"),
        ("true && cargo fetch", False, "cargo"),
        ("cargo fetch", True, None),
    ],
)
def test_a_program_that_installs_and_that_sandboxes_lack_is_named_with_the_way_out(
    command: str, in_image: bool, named: str | None
) -> None:
    if named is not None and shutil.which(named, path=SYSTEM_PATH) is not None:
        pytest.skip(f"this machine has {named} for sandboxes")
    said = missing_tool([command], in_image=in_image)

    assert (said is None) is (named is None)
    assert said is None or (said.startswith(f"{named} is not in /usr/local/bin, ") and "an --image" in said)


class TestCache:
    def test_it_installs_once_for_all_who_ask_at_the_same_time(self, tmp_path: Path, setting: InstallSetting) -> None:
        tree = small_tree(tmp_path)
        wanted = by_command("echo x >> /opt/cache/count; sleep 0.3; echo tool > /opt/dependencies/tool")
        caches = [DependencyCache(tmp_path / "dependencies", setting) for _ in range(2)]

        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda number: caches[number % 2].get(wanted, tree), range(4)))

        assert {(each.folder / "tool").read_text() for each in found} == {"tool\n"}
        assert (tmp_path / "dependencies/.work/cache/count").read_text() == "x\n"

    def test_a_failure_is_remembered_while_the_program_runs(self, tmp_path: Path, setting: InstallSetting) -> None:
        cache, tree = DependencyCache(tmp_path / "dependencies", setting), small_tree(tmp_path)
        for _ in range(2):
            with pytest.raises(DependencyError):
                cache.get(by_command("echo x >> /opt/cache/count; exit 1"), tree)

        assert (tmp_path / "dependencies/.work/cache/count").read_text() == "x\n"

    @pytest.mark.parametrize(
        "said",
        [
            "npm error code ETARGET: No matching version found for mug@^1 with a date before 5/1/2016",
            "npm error code ENOVERSIONS: No versions available for mug",
        ],
    )
    def test_a_day_of_which_the_registry_has_no_versions_is_not_asked_for_again(
        self, tmp_path: Path, setting: InstallSetting, said: str
    ) -> None:
        dated = f"echo x >> /opt/cache/count; echo '{said}' >&2; exit 1"
        tries = [f"{dated} # npm install --before={day}" for day in ("2016-05-01", "2016-05-01 --force", "2016-06-01")]
        wanted = replace(by_command(tries[0]), fallbacks=((tries[1],), (tries[2],), ("true",)))

        DependencyCache(tmp_path / "dependencies", setting).get(wanted, small_tree(tmp_path))

        assert (tmp_path / "dependencies/.work/cache/count").read_text() == "x\nx\n"

    def test_where_a_lock_cannot_be_installed_each_month_has_its_own_and_the_lock_is_tried_once(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        cache, tree = DependencyCache(tmp_path / "dependencies", setting), small_tree(tmp_path)
        locked = by_command("echo x >> /opt/cache/count; exit 1", "locked")
        may, june = by_command("echo 5 > /opt/dependencies/month", "may"), by_command("exit 1", "june")

        installed = cache.get(replace(locked, otherwise=may), tree)
        with pytest.raises(DependencyError, match="echo x >> /opt/cache/count; exit 1"):
            cache.get(replace(locked, otherwise=june), tree)

        assert (installed.key, (installed.folder / "month").read_text()) == ("may", "5\n")
        assert (tmp_path / "dependencies/.work/cache/count").read_text() == "x\n"

    def test_copies_of_the_project_are_hidden_from_each_commit_to_which_they_are_later(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        """Commits before and after a release may share what is installed."""
        cache, tree = DependencyCache(tmp_path / "dependencies", setting), small_tree(tmp_path)
        inside = "node_modules/mocha/node_modules/kettle"
        package = '{"name": "kettle", "version": "2.0.0"}'
        wanted = replace(
            by_command(f"mkdir -p {inside} && echo '{package}' > {inside}/package.json"), names={"node": "kettle"}
        )

        after = cache.get(replace(wanted, project_version="3.0.0"), tree)
        before = cache.get(replace(wanted, project_version="1.9.0"), tree)

        assert (after.hidden, before.hidden) == ((), (f"node/{inside}",))

    def test_an_interrupted_installation_leaves_nothing_and_can_be_made_again(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        cancel, tree, folder = Event(), small_tree(tmp_path), tmp_path / "dependencies"
        slow = by_command("echo part > /opt/dependencies/part; sleep 60")
        stop = Timer(1.0, cancel.set)
        stop.start()
        with pytest.raises(DependencyError, match="was cancelled"):
            DependencyCache(folder, replace(setting, cancel=cancel)).get(slow, tree)
        stop.join()
        left = {path.name for path in folder.rglob("*")}

        installed = DependencyCache(folder, setting).get(by_command("echo all > /opt/dependencies/all"), tree)

        assert left == {".work", "cache", "k1.lock"}
        assert [path.name for path in installed.folder.iterdir()] == ["all"]

    def test_what_a_killed_installation_left_is_not_taken_for_installed(
        self, tmp_path: Path, setting: InstallSetting
    ) -> None:
        folder, tree = tmp_path / "dependencies", small_tree(tmp_path)
        (folder / ".work" / "k1" / "dependencies").mkdir(parents=True)
        (folder / "k1.toml").write_text('key = "k1"\ncommands = []\n')

        installed = DependencyCache(folder, setting).get(by_command("echo all > /opt/dependencies/all"), tree)

        assert [path.name for path in installed.folder.iterdir()] == ["all"]

    def test_the_recipe_says_how_they_are_used(self, tmp_path: Path, setting: InstallSetting) -> None:
        folder, tree = tmp_path / "dependencies", write_project(tmp_path / "base")
        first = DependencyCache(folder, setting).get(planned(tree, "2.3.0"), tree)

        again = DependencyCache(folder, setting).get(planned(tree, "2.3.0"), tmp_path / "not-needed")

        assert again == first
        assert again.setup[0] == "cp -R /opt/dependencies/generated/. ."


def small_tree(folder: Path) -> Path:
    tree = folder / "base"
    tree.mkdir()
    (tree / "file").write_text("x\n")
    return tree
