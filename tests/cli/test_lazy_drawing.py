"""Drawing takes longer than deciding, so a format that shows no image must not draw one."""

import subprocess
import sys
from pathlib import Path

import pytest

RECORDED = Path(__file__).resolve().parents[2] / "examples" / "recorded" / "runs.jsonl"
LOADED_DRAWING = """
import sys
from outweigh.cli.main import main

main(sys.argv[1:])
print(sorted(name for name in sys.modules if name.startswith("outweigh.report.svg")), file=sys.stderr)
"""


def drawing_modules_after(*command: str) -> str:
    arms = ("--baseline", "T0-plain", "--candidate", "T1-skill")
    done = subprocess.run(
        [sys.executable, "-c", LOADED_DRAWING, *command, str(RECORDED), *arms],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("style", ["text", "json", "markdown"])
def test_a_verdict_without_images_does_not_load_the_code_that_draws(style: str) -> None:
    assert drawing_modules_after("verdict", "--format", style) == "[]"


def test_a_report_for_the_browser_does(tmp_path: Path) -> None:
    loaded = drawing_modules_after("report", "-o", str(tmp_path / "report.html"))

    assert "outweigh.report.svg.intervals" in loaded
