"""No reader takes another's format for its own, or a suite of ours for a foreign one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.interop.foreign_suites import ab_suite, scylla_suite, skill_with_scenarios, skillci_suite
from tests.interop.plugin_eval.plugins import a_plugin
from tests.interop.skill_creator.skills import a_skill

from outweigh.app.starter_suite import starter_files
from outweigh.plugins import adapter_names, load_adapter

EXAMPLES: dict[str, Callable[[Path], Path]] = {
    "agent-ab": ab_suite,
    "plugin-eval": a_plugin,
    "scylla": scylla_suite,
    "skill-creator": a_skill,
    "skill-validator": skill_with_scenarios,
    "skillci": skillci_suite,
}


def recognised_by(path: Path) -> list[str]:
    return [name for name in adapter_names("suite reader") if load_adapter("suite reader", name).recognises(path)]


def test_every_reader_has_an_example_here() -> None:
    assert adapter_names("suite reader") == sorted(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_of_one_format_only(tmp_path: Path, name: str) -> None:
    assert recognised_by(EXAMPLES[name](tmp_path / "source")) == [name]


def test_a_suite_of_ours_is_nobody_elses(tmp_path: Path) -> None:
    for path, content in starter_files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)

    assert recognised_by(tmp_path) == []
    assert recognised_by(tmp_path / "suite.toml") == []
