"""Without an extra, a command that needs it names the packages to install in one sentence, and exits with 2."""

import json
from pathlib import Path

import pytest
from tests.engine.engine_fixtures import shell, write_suite
from tests.packaging.installed import ROOT, CleanEnvironment

RECORDED = ROOT / "examples" / "recorded" / "runs.jsonl"
ARMS = ("--baseline", "T0-plain", "--candidate", "T1-skill")
LEADERBOARD = "- dirname: a\n  pass_rate_1: 3\n"
SCRIPT = '[[turn]]\ntext = "Done."\n'
RUBRIC = {"criteria": [{"type": "binary", "name": "works", "description": "It works."}]}


PACKAGES = {
    "completion": "shtab",
    "dask": "aiohttp",
    "inspect": "zstandard",
    "judge": "anthropic",
    "parquet": "pyarrow",
    "prices": "genai-prices",
    "run": "aiohttp",
    "web": "starlette",
    "yaml": "pyyaml",
}
"""The first package of every extra. Hints name these, because outweigh itself is not on PyPI."""


def hint(extra: str) -> str:
    return f"uv pip install '{PACKAGES[extra]}>="


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("view", RECORDED), "web"),
        (("store", "export", RECORDED, "-o", "runs.parquet"), "parquet"),
        (("verdict", "some.parquet", *ARMS), "parquet"),
        (("import", "some.parquet", "-o", "imported"), "parquet"),
        (("import", ROOT / "examples" / "inspect", "-o", "imported"), "inspect"),
        (("import", "leaderboard.yml", "-o", "imported"), "yaml"),
        (("dev", "model-server", "script.toml"), "run"),
        (("dev", "completion", "bash"), "completion"),
        (("dev", "host", "tcp://127.0.0.1:8786"), "dask"),
    ],
    ids=lambda value: " ".join(map(str, value[:2])).replace(str(ROOT), "") if isinstance(value, tuple) else value,
)
def test_a_command_names_the_extra_that_it_needs(
    core: CleanEnvironment, arguments: tuple[str | Path, ...], extra: str
) -> None:
    beside = core.folder.parent
    (beside / "some.parquet").write_bytes(b"PAR1")
    (beside / "leaderboard.yml").write_text(LEADERBOARD)
    (beside / "script.toml").write_text(SCRIPT)

    done = core.run(*arguments)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert hint(extra) in done.stderr


def test_no_hint_names_outweigh_itself_which_is_not_published(core: CleanEnvironment) -> None:
    named = core.run("dev", "completion", "bash").stderr.partition("uv pip install ")[2]

    assert named == "'shtab>=1.13'.\n"


def test_the_options_of_every_verb_are_shown_without_extras(core: CleanEnvironment) -> None:
    done = core.run("dev", "man")

    assert (done.returncode, done.stderr) == (0, "")
    assert ".SS dev model\\-server" in done.stdout


def test_a_run_that_asks_a_model_names_the_extra_before_anything_is_run(core: CleanEnvironment, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 2.1.0\n")
    program.chmod(0o755)
    arm = {"agent": "claude-code", "model": "claude-sonnet-4-5", "options": {"program": str(program)}}
    suite = write_suite(tmp_path / "suite", {"plain": arm})

    done = core.run("run", "-c", suite, "-o", tmp_path / "store", "-y", environment={"ANTHROPIC_API_KEY": "dummy"})

    assert done.returncode == 2
    assert hint("run") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rubric_in_yaml_names_the_extra(core: CleanEnvironment, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite", {"plain": shell("true")}, task={"rubric_file": "rubric.yaml"})
    (suite / "task-1" / "rubric.yaml").write_text(json.dumps(RUBRIC))

    done = core.run("run", "-c", suite, "-o", tmp_path / "store")

    assert done.returncode == 2
    assert hint("yaml") in done.stderr


def test_a_judge_that_needs_an_sdk_names_the_extra(core: CleanEnvironment, tmp_path: Path) -> None:
    judge = {"name": "sdk", "backend": "anthropic", "model": "claude-haiku-4-5"}
    suite = write_suite(tmp_path / "suite", {"plain": shell("true")}, task={"rubric": RUBRIC}, judges=[judge])
    core.run("run", "-c", suite, "-o", tmp_path / "store")

    done = core.run("judge", tmp_path / "store")

    assert done.returncode == 2
    assert hint("judge") in done.stdout + done.stderr


class TestACostThatNeedsThePriceList:
    """Unknown, with a reason that names the extra; and unknown is not zero, nor a gate that is left out."""

    @pytest.fixture
    def runs(self, tmp_path: Path) -> Path:
        path = tmp_path / "runs.jsonl"
        path.write_text("".join(map(_without_cost, RECORDED.read_text().splitlines())))
        return path

    def test_is_unknown_for_a_reason_that_names_the_extra(self, core: CleanEnvironment, runs: Path) -> None:
        done = core.run("compare", runs, *ARMS, "--format", "json")
        compared = json.loads(done.stdout)

        assert [arm["total_cost_usd"] for arm in compared["arms"].values()] == [None, None]
        assert f"the price list is not installed: {hint('prices')}" in done.stdout

    def test_is_gated_as_unknown_so_that_a_smaller_installation_is_not_more_lenient(
        self, core: CleanEnvironment, everything: CleanEnvironment, runs: Path
    ) -> None:
        without, priced = (where.run("verdict", runs, *ARMS, "--verbose") for where in (core, everything))

        assert (without.returncode, priced.returncode) == (3, 1)
        assert (
            "gate cost is unknown: more than 5% of the runs of T0-plain and T1-skill have no cost_usd" in without.stdout
        )
        assert hint("prices") in without.stdout
        assert "cost got worse" in priced.stdout

    def test_is_known_from_a_price_file_without_the_extra(
        self, core: CleanEnvironment, runs: Path, tmp_path: Path
    ) -> None:
        kinds = ("input", "output", "cache_read", "cache_write")
        listed = "".join(f"{kind}_usd_per_million = 1.0\n" for kind in kinds)
        prices = tmp_path / "prices.toml"
        prices.write_text(f'name = "mine"\n[models."claude-sonnet-4-5"]\n{listed}')

        done = core.run("compare", runs, *ARMS, "--prices", prices, "--format", "json")

        assert all(arm["total_cost_usd"] > 0 for arm in json.loads(done.stdout)["arms"].values())


def _without_cost(line: str) -> str:
    record = json.loads(line)
    if record["schema"] == "outweigh.run/1":
        record["cost"] = {"usd": None, "provenance": "unknown", "price_table": None}
        record["agent"]["model"] = "claude-sonnet-4-5"
    return json.dumps(record) + "\n"
