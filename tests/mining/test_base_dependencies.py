"""A base has what its change needs, and nothing that is made of the change."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.mining.small_history import make_history

from outweigh.mining.base_dependencies import for_base, tree_with_manifests, with_runner
from outweigh.mining.dependencies import DependencyOptions, DependencySet
from outweigh.mining.plan_dependencies import plan_dependencies
from outweigh.mining.pythons import InstalledPython
from outweigh.mining.repository import open_history
from outweigh.mining.runners.python_runners import PytestRunner, UnittestRunner
from outweigh.mining.runners.runner import Runner

SETUP = "setup(name='kettle', install_requires=[%s], ext_modules=[Extension('fast', ['fast.c'])])\n"
BEFORE = {"setup.py": SETUP % "", "fast.c": "int boil() { return 0; }\n", "kettle.py": "BOILS = 0\n"}
AFTER = {**BEFORE, "setup.py": SETUP % "'water'", "fast.c": "int boil() { return 100; }\n"}


def planned(files: Mapping[str, str], options: DependencyOptions | None = None) -> DependencySet:
    found = plan_dependencies(
        tuple(files),
        {path: content.encode() for path, content in files.items()}.get,
        datetime(2023, 5, 10, tzinfo=UTC),
        options or DependencyOptions(),
        pythons=[InstalledPython((3, 11), "/usr/bin/python3.11")],
    )
    assert found is not None
    return found


def test_what_is_compiled_is_the_base_s_and_shared_with_no_commit_that_compiles_something_else(tmp_path: Path) -> None:
    before, after = planned(BEFORE), planned(AFTER)
    history = make_history(tmp_path / "repository", BEFORE, AFTER)
    tree = tmp_path / "base"
    tree.mkdir()
    for path, content in BEFORE.items():
        (tree / path).write_text(content)

    wanted = for_base(before, after)
    with open_history(history.repository.folder) as opened:
        built = tree_with_manifests(opened, history.fix, wanted, tree, tmp_path)

    assert (built / "setup.py").read_text() == AFTER["setup.py"]
    assert (built / "fast.c").read_text() == BEFORE["fast.c"]
    assert wanted.manifests["fast.c"] == before.manifests["fast.c"]
    assert wanted.key not in (before.key, after.key)


def test_without_compiled_code_a_base_shares_what_its_change_needs_with_others() -> None:
    before, after = planned({"setup.py": "setup(name='kettle')"}), planned({"setup.py": "setup(name='kettle2')"})

    assert for_base(before, after).key == after.key
    assert for_base(None, after).key == after.key


@pytest.mark.parametrize(("runner", "has_pytest"), [(PytestRunner(), True), (UnittestRunner(), False), (None, False)])
def test_a_base_has_the_runner_of_the_change_whatever_it_uses_itself(runner: Runner | None, has_pytest: bool) -> None:
    files = {"setup.py": "setup(name='kettle', install_requires=['water'])", "test_kettle.py": "import unittest"}

    wanted = planned(files, with_runner(DependencyOptions(), runner))

    assert any("pytest" in command for command in wanted.commands) is has_pytest
