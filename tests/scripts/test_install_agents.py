"""`make agents` installs what the adapters start, and touches nothing that is there."""

from pathlib import Path

import pytest
from scripts.install_agents import HARNESSES, READERS, RECIPES, RUNNERS, Recipe, Workbench

from outweigh.plugins import load_adapter

MAKEFILE = Path(__file__).parents[2] / "Makefile"


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_for_an_adapter_and_links_its_program(name: str) -> None:
    assert load_adapter("agent", name).program == RECIPES[name].program


@pytest.mark.parametrize(
    ("variable", "recipes"),
    [("AGENTS", RECIPES), ("READERS", READERS), ("HARNESSES", HARNESSES), ("RUNNERS", RUNNERS)],
)
def test_make_installs_every_one_of_them(variable: str, recipes: dict[str, Recipe]) -> None:
    (line,) = [line for line in MAKEFILE.read_text().splitlines() if line.startswith(f"{variable} :=")]

    assert set(line.removeprefix(f"{variable} :=").split()) == recipes.keys()


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    recipe = RECIPES["codex"]
    (tmp_path / "codex").mkdir()
    (tmp_path / "codex" / ".installed").write_text(recipe.stamp)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / recipe.program).write_text("")

    assert Workbench(tmp_path).install("codex") == "agents: codex is there"


def test_what_cannot_be_had_is_told_and_stops_nothing(tmp_path: Path) -> None:
    # Without a Node in the folder nothing of npm's can be installed.
    assert Workbench(tmp_path).install("codex").startswith("agents: codex could not be installed: ")
