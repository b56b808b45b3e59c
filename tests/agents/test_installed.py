"""Whatever way a program is installed, a sandbox is shown what it needs and no more."""

from pathlib import Path

import pytest
from tests.agents.programs import a_program

from outweigh.agents.installed_program import find_program


def test_a_single_file_needs_only_itself(tmp_path: Path) -> None:
    program = a_program(tmp_path / "versions" / "1.2.3", "true")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(program)

    found = find_program("agent", str(tmp_path / "bin"))

    assert found is not None
    assert (found.command, found.paths) == ((str(program),), (str(program),))


def test_a_script_of_node_needs_its_packages_and_the_node_beside_it(tmp_path: Path) -> None:
    script = a_program(tmp_path / "lib/node_modules/@a/agent/node_modules/b/cli.js", "", "/usr/bin/env -S node --quiet")
    node = a_program(tmp_path / "node" / "node", "true")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agent").symlink_to(script)
    (tmp_path / "bin" / "node").symlink_to(node)

    found = find_program("agent", f"{tmp_path / 'bin'}:/nowhere")

    assert found is not None
    assert found.command == (str(node), "--quiet", str(script))
    assert found.paths == (str(tmp_path / "lib/node_modules"), str(node))


def test_a_binary_among_packages_needs_its_neighbours(tmp_path: Path) -> None:
    program = a_program(tmp_path / "lib/node_modules/agent/bin/agent", "true")

    found = find_program(str(program), "")

    assert found is not None
    assert (found.command, found.paths) == ((str(program),), (str(tmp_path / "lib/node_modules"),))


def test_a_script_of_node_without_a_node_is_not_there(tmp_path: Path) -> None:
    script = a_program(tmp_path / "bin" / "agent", "", "/usr/bin/env node")

    assert find_program(str(script), "/nowhere") is None


def test_a_program_of_a_virtual_environment_needs_it_and_the_python_below_it(tmp_path: Path) -> None:
    real = tmp_path / "pythons" / "3.12.1"
    a_program(real / "bin" / "python3.12", "true")
    (tmp_path / "pythons" / "3.12").symlink_to("3.12.1")
    environment = tmp_path / "tools" / "agent"
    program = a_program(environment / "bin" / "agent", "true", f"{environment}/bin/python")
    (environment / "pyvenv.cfg").write_text("home = elsewhere\n")
    (environment / "bin" / "python").symlink_to(tmp_path / "pythons" / "3.12" / "bin" / "python3.12")
    (environment / "bin" / "python3").symlink_to("python")

    found = find_program(str(program), "")

    assert found is not None
    assert found.paths == (str(environment), str(tmp_path / "pythons" / "3.12"), str(real))


def test_a_python_right_in_the_users_home_does_not_bring_the_home_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    environment = tmp_path / "agent"
    program = a_program(environment / "bin" / "agent", "true")
    (environment / "pyvenv.cfg").write_text("")
    (environment / "bin" / "python").symlink_to(a_program(tmp_path / "me" / "bin" / "python3", "true"))

    found = find_program(str(program), "")

    assert found is not None
    assert found.paths == (str(environment),)


def test_a_script_right_in_the_users_home_does_not_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    node = a_program(tmp_path / "node", "true")
    script = a_program(tmp_path / "me" / "agent.js", "", "/usr/bin/env node")

    found = find_program(str(script), str(tmp_path))

    assert found is not None
    assert found.paths == (str(script), str(node))


def test_what_every_sandbox_shows_is_not_named() -> None:
    found = find_program("sh", "/usr/bin:/bin")

    assert found is not None
    assert found.paths == ()


def test_a_program_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    assert find_program("no-such-agent", str(tmp_path)) is None


@pytest.mark.parametrize(
    ("script", "version"),
    [
        ("echo 'agent-cli 1.2.3 (build 7)'", "1.2.3"),
        ("echo 'This is agent version 2.4.6.'", "2.4.6"),
        ("echo 1.2.3; exit 1", None),
        ("echo soon", None),
    ],
)
def test_the_version_is_what_the_program_says(tmp_path: Path, script: str, version: str | None) -> None:
    found = find_program(str(a_program(tmp_path / "agent", script)), "")

    assert found is not None
    assert found.version() == version


def test_a_program_that_is_asked_for_its_version_sees_nothing_of_the_callers_home(tmp_path: Path) -> None:
    program = a_program(tmp_path / "agent", f'env >{tmp_path}/seen; echo "$@" >>{tmp_path}/seen; echo 1.0')

    found = find_program(str(program), "")
    assert found is not None
    found.version("--what")

    seen = (tmp_path / "seen").read_text()
    assert "--what" in seen
    assert f"HOME={Path.home()}\n" not in seen
    names = {line.partition("=")[0] for line in seen.splitlines() if "=" in line}
    assert names - {"PWD", "SHLVL", "OLDPWD", "_"} == {"HOME", "LANG", "PATH"}


def test_a_program_of_the_system_is_named_apart_for_images_that_have_a_system_of_their_own() -> None:
    found = find_program("sh", "/usr/bin:/bin")

    assert found is not None
    assert found.paths == ()
    assert found.system_paths == found.command
