"""Claims about code of the project itself among its dependencies."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from outweigh.mining.own_copies import (
    connect_project,
    installed_copies,
    later_copies,
    move_node_modules,
    site_packages,
    system_copies,
)


def node_package(folder: Path, name: str, version: str | None) -> None:
    folder.mkdir(parents=True)
    stated = {"name": name} if version is None else {"name": name, "version": version}
    (folder / "package.json").write_text(json.dumps(stated))


def later(copies: Iterator[tuple[str, str]], version: str | None) -> list[str]:
    return list(later_copies(dict(copies), version))


class TestLaterCopies:
    @pytest.mark.parametrize(
        ("copy", "own", "is_hidden"),
        [
            ("2.20.3", "9.1.0", False),
            ("9.1.0", "9.1.0", True),
            ("9.10.0", "9.9.0", True),
            ("10.0.0", "9.9.0", True),
            ("10.0.0-1", "9.9.0", True),
            (None, "9.9.0", True),
            ("1.0.0", None, True),
        ],
    )
    def test_a_copy_that_a_tool_brings_along_is_hidden_unless_it_is_surely_earlier(
        self, tmp_path: Path, copy: str | None, own: str | None, is_hidden: bool
    ) -> None:
        place = "node/node_modules/mocha/node_modules/commander"
        node_package(tmp_path / place, "commander", copy)
        node_package(tmp_path / "node/node_modules/commander-fork", "commander-fork", "99.0.0")

        assert later(installed_copies(tmp_path, {"node": "commander"}), own) == ([place] if is_hidden else [])

    def test_a_name_with_a_scope_is_found(self, tmp_path: Path) -> None:
        node_package(tmp_path / "node/node_modules/@tea/kettle", "@tea/kettle", "3.0.0")

        copies = installed_copies(tmp_path, {"node": "@tea/kettle"})
        assert later(copies, "2.0.0") == ["node/node_modules/@tea/kettle"]

    def test_vendored_copies_of_a_python_package_are_hidden(self, tmp_path: Path) -> None:
        (tmp_path / "venv/lib/python3.11/site-packages/pip/_vendor/tea_kettle").mkdir(parents=True)
        (tmp_path / "venv/lib/python3.11/site-packages/tea_kettle_plugin").mkdir()

        found = later(installed_copies(tmp_path, {"python": "Tea.Kettle"}), "1.0")

        assert found == ["venv/lib/python3.11/site-packages/pip/_vendor/tea_kettle"]


class TestSystemCopies:
    def test_copies_of_the_machine_itself_are_found_unless_they_are_surely_earlier(self, tmp_path: Path) -> None:
        packages = tmp_path / "lib/python3/dist-packages"
        for name in ("kettle", "kettle-2.0.dist-info", "other/_vendor/kettle"):
            (packages / name).mkdir(parents=True)
        compiled = tmp_path / "local/lib/python3.11/site-packages/__pycache__"
        compiled.mkdir(parents=True)
        (compiled.parent / "kettle.py").touch()
        (compiled / "kettle.cpython-311.pyc").touch()
        (compiled / "kettle_lid.cpython-311.pyc").touch()
        node_package(tmp_path / "share/nodejs/kettle", "kettle", "2.0.0")
        node_package(tmp_path / "lib/node_modules/npm/node_modules/kettle", "kettle", "0.9.0")
        names = {"python": "kettle", "node": "kettle"}

        before, after = (
            [str(Path(path).relative_to(tmp_path)) for path in later(system_copies(names, tmp_path), version)]
            for version in ("1.0.0", "3.0.0")
        )

        vendored = "lib/python3/dist-packages/other/_vendor/kettle"
        unversioned = [
            "local/lib/python3.11/site-packages/kettle.py",
            "local/lib/python3.11/site-packages/__pycache__/kettle.cpython-311.pyc",
        ]
        assert before == sorted(
            ["share/nodejs/kettle", vendored, "lib/python3/dist-packages/kettle", *unversioned],
        )
        assert after == sorted([vendored, *unversioned])


class TestConnecting:
    def test_a_project_that_no_tool_installed_is_found_by_its_path_and_has_a_version(self, tmp_path: Path) -> None:
        connect_project(tmp_path, "tea-kettle", "1.2", ("/ws/src", "/ws"))

        assert (tmp_path / "_workspace.pth").read_text() == "/ws/src\n/ws\n"
        assert "Version: 1.2" in (tmp_path / "tea_kettle-1.2.dist-info" / "METADATA").read_text()

    def test_a_record_that_leads_outside_removes_nothing_there(self, tmp_path: Path) -> None:
        packages = tmp_path / "packages"
        (packages / "kettle-1.0.dist-info").mkdir(parents=True)
        (tmp_path / "outside").write_text("kept\n")
        (packages / "kettle.py").write_text("code\n")
        record = packages / "kettle-1.0.dist-info" / "RECORD"
        record.write_text(f"../outside,,\n{tmp_path}/outside,,\nkettle.py,,\n")

        connect_project(packages, "kettle", "1.0", ("/ws",))

        assert (tmp_path / "outside").read_text() == "kept\n"
        assert not (packages / "kettle.py").exists()

    def test_links_that_lead_outside_are_not_followed(self, tmp_path: Path) -> None:
        packages, outside = tmp_path / "packages", tmp_path / "outside"
        info = packages / "kettle-1.0.dist-info"
        info.mkdir(parents=True)
        outside.mkdir()
        (outside / "file").write_text("Name: x\n\nkept\n")
        (packages / "linked").symlink_to(outside)
        (info / "RECORD").write_text("linked/file,,\n")
        (info / "METADATA").symlink_to(outside / "file")
        (packages / "_workspace.pth").symlink_to(outside / "file")

        connect_project(packages, "kettle", "1.0", ("/ws",))

        assert (outside / "file").read_text() == "Name: x\n\nkept\n"
        assert (packages / "_workspace.pth").read_text() == "/ws\n"

    def test_an_environment_behind_a_link_is_not_touched(self, tmp_path: Path) -> None:
        (tmp_path / "outside/lib/python3.11/site-packages").mkdir(parents=True)
        (tmp_path / "venv").symlink_to(tmp_path / "outside")

        assert site_packages(tmp_path / "venv") is None

    def test_packages_are_not_moved_through_a_link(self, tmp_path: Path) -> None:
        node_package(tmp_path / "ws/node_modules/mug", "mug", "1.0.0")
        (tmp_path / "outside").mkdir()
        (tmp_path / "node").symlink_to(tmp_path / "outside")

        assert move_node_modules(tmp_path / "ws", tmp_path / "node") == ["node_modules"]
        assert list((tmp_path / "outside").iterdir()) == []
        assert (tmp_path / "node/node_modules/mug/package.json").is_file()

    def test_a_link_is_kept_and_its_long_description_removed(self, tmp_path: Path) -> None:
        info = tmp_path / "kettle-1.0.dist-info"
        info.mkdir()
        (info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
        (info / "METADATA").write_text("Name: kettle\nVersion: 1.0\nDescription: a\n        b\nLicense: x\n\nlater\n")

        connect_project(tmp_path, "kettle", "1.0", ("/ws",))

        assert (info / "METADATA").read_text() == "Name: kettle\nVersion: 1.0\nLicense: x\n"
        assert not (tmp_path / "_workspace.pth").exists()
