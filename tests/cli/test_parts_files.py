"""`outweigh parts verdict -o`: pages, tables and the figures of effects and interactions."""

import csv
from itertools import product
from pathlib import Path
from typing import Any

from tests.cli.part_stores import leave_one_out, part_runs, write_part_store
from tests.report.test_render_tex import read_strictly

EFFECTS = {"good": 0.3, "hooks": 0.0}


def write_factorial(folder: Path) -> str:
    """All four sets of two parts, of which one helps."""
    sets = {
        "all-parts": ("good", "hooks"),
        **{
            f"part-set-{number}": tuple(part for part, held in zip(EFFECTS, choice, strict=True) if held)
            for number, choice in enumerate(product((False, True), repeat=2))
            if not all(choice)
        },
    }
    return write_part_store(folder, part_runs(sets, EFFECTS), sets, "factorial")


def test_a_folder_has_the_forest_of_effects_and_the_matrix_of_interactions(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("parts", "verdict", write_factorial(tmp_path / "store"), "-o", f"{tmp_path}/out/")

    assert "(8 files)" in answer.out
    assert {path.name for path in (tmp_path / "out").glob("parts.*")} == {
        "parts.html",
        "parts.md",
        "parts.json",
        "parts.tex",
    }
    read_strictly((tmp_path / "out" / "parts.tex").read_text())
    payload = outweigh("parts", "verdict", str(tmp_path / "store"), "--format", "json").json()
    rows = list(csv.DictReader((tmp_path / "out" / "figures" / "effects.csv").read_text().splitlines()))
    good = next(row for row in rows if row["name"] == "good")
    assert good["state"] == "better"
    assert f'"schema": "{payload["schema"]}"' in (tmp_path / "out" / "parts.json").read_text()
    (pair,) = csv.DictReader((tmp_path / "out" / "figures" / "interactions.csv").read_text().splitlines())
    assert {pair["part"], pair["other_part"]} == {"good", "hooks"}
    assert float(pair["low"]) < float(pair["effect"]) < float(pair["high"])


def test_a_design_without_interactions_has_no_matrix_and_text_is_as_before(outweigh: Any, tmp_path: Path) -> None:
    sets = leave_one_out(("good", "hooks", "style"))
    store = write_part_store(tmp_path / "store", part_runs(sets, EFFECTS), sets)

    outweigh("parts", "verdict", store, "-o", f"{tmp_path}/out/")

    assert {path.name for path in (tmp_path / "out" / "figures").iterdir()} == {"effects.svg", "effects.csv"}
    assert "├" not in outweigh("parts", "verdict", store).out


def test_a_format_that_parts_do_not_have_is_refused_before_anything_is_read(outweigh: Any) -> None:
    answer = outweigh("parts", "verdict", "nowhere", "-o", "parts.pdf")

    assert answer.code == 2
    assert "must end in one of .html, .md, .json, .tex" in " ".join(answer.err.split())
