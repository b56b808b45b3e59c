"""The wheel in a clean environment: what it brings, and that the commands of the README work there."""

import subprocess
import urllib.request
from pathlib import Path

import pytest
from tests.packaging.installed import ROOT, CleanEnvironment

RECORDED = ROOT / "examples" / "recorded" / "runs.jsonl"
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")


def test_the_core_is_at_most_eight_packages_and_seventy_megabytes(core: CleanEnvironment) -> None:
    assert sorted(package.name for package in core.packages) == ["msgspec", "numpy", "outweigh"]
    assert core.megabytes < 70


def test_the_demo_runs_the_whole_flow_without_any_extra(core: CleanEnvironment) -> None:
    done = core.run("demo", "-o", "store")

    assert done.returncode == 0, done.stderr
    assert "1 of 3 candidates improved on plain" in done.stdout
    assert (core.folder.parent / "store" / "report.html").is_file()


def test_a_verdict_needs_no_extra(core: CleanEnvironment) -> None:
    done = core.run("verdict", RECORDED, *ARMS)

    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("REGRESSED  T1-skill against T0-plain (6 tasks × 5 repeats, simulated agent)")


@pytest.mark.parametrize("suffix", ["html", "md", "json", "xml", "csv"])
def test_a_report_needs_no_extra(core: CleanEnvironment, suffix: str) -> None:
    done = core.run("report", RECORDED, *ARMS, "-o", f"report.{suffix}")

    assert done.returncode == 0, done.stderr
    assert (core.folder.parent / f"report.{suffix}").stat().st_size > 1000


def test_the_viewer_serves_pages_with_all_extras(everything: CleanEnvironment, tmp_path: Path) -> None:
    with subprocess.Popen(
        [everything.program, "view", RECORDED], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as serving:
        try:
            assert serving.stdout is not None
            url = serving.stdout.readline().strip()
            with urllib.request.urlopen(url, timeout=30) as answer:
                page = answer.read().decode()
        finally:
            serving.terminate()

    assert answer.status == 200
    assert "outweigh" in page


def test_all_extras_together_read_and_write_every_format(everything: CleanEnvironment) -> None:
    written = everything.run("store", "export", RECORDED, "-o", "runs.parquet")
    read = everything.run("verdict", "runs.parquet", *ARMS)
    imported = everything.run("import", ROOT / "examples" / "inspect", "-o", "imported")

    assert (written.returncode, read.returncode, imported.returncode) == (0, 1, 0), imported.stderr


def test_doctor_finds_the_price_list_with_all_extras(everything: CleanEnvironment) -> None:
    assert "genai-prices-" in everything.run("doctor").stdout
