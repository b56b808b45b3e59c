"""Claims about plans that are divided: every part in a store of its own, and all of them read together."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import Ended, Engine, records
from tests.cli.test_run import scripted, timeless_hash
from tests.engine.engine_fixtures import shell, write_suite

ARMS = {"a": scripted(0.3), "b": scripted(0.9)}
PARTS = 3


class Divided:
    """A suite, and stores of its parts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.whole = folder / "whole"
        self.parts = [folder / f"part-{number}" for number in range(1, PARTS + 1)]

    def run(self, *arguments: str) -> Ended:
        (self.folder / "tmp").mkdir(exist_ok=True)
        engine = Engine("-c", str(self.folder / "suite"), *arguments, temporary=self.folder / "tmp", folder=self.folder)
        try:
            return engine.wait()
        finally:
            engine.close()

    def run_part(self, number: int, *arguments: str) -> Ended:
        return self.run("-o", str(self.parts[number - 1]), "--shard", f"{number}/{PARTS}", *arguments)


@pytest.fixture
def divided(tmp_path: Path) -> Divided:
    write_suite(tmp_path / "suite", ARMS, tasks=7, repeats=4, seed=5)
    return Divided(tmp_path)


def keys(*stores: Path) -> list[Any]:
    return sorted((record.trial.key, record.trial.seed) for store in stores for record in records(store))


def test_parts_read_together_give_the_trials_seeds_and_verdict_of_the_whole(divided: Divided, outweigh: Any) -> None:
    assert divided.run("-o", str(divided.whole)).code == 0
    for number in range(1, PARTS + 1):
        assert divided.run_part(number).code == 0
    joined = divided.folder / "joined"
    for part in divided.parts:
        shutil.copytree(part, joined, dirs_exist_ok=True)

    whole, parts, copied = (
        outweigh("verdict", *map(str, stores), "--format", "json").json()
        for stores in ([divided.whole], divided.parts, [joined])
    )

    assert keys(*divided.parts) == keys(divided.whole)
    assert whole["verdict_sha256"] == parts["verdict_sha256"] == copied["verdict_sha256"]
    assert whole["warnings"] == parts["warnings"] == copied["warnings"]
    # Only the moments differ: with these left out, it is the same evidence to the byte.
    assert timeless_hash(divided.whole) == timeless_hash(joined)


def test_every_part_has_whole_blocks_so_that_arms_stay_side_by_side(divided: Divided) -> None:
    divided.run_part(1)

    arms: dict[tuple[str, int], set[str]] = {}
    for record in records(divided.parts[0]):
        arms.setdefault((record.trial.task_id, record.trial.repeat), set()).add(record.trial.arm)
    assert set(map(frozenset, arms.values())) == {frozenset({"a", "b"})}


def test_missing_parts_are_named_and_block_a_promotion(divided: Divided, outweigh: Any) -> None:
    divided.run_part(1)
    divided.run_part(3)
    named = "shard 2/3 of the experiment is missing, so the results of 2 of 3 shards are shown."

    verdict = outweigh("verdict", str(divided.parts[0]), str(divided.parts[2]), "--format", "json").json()

    assert any(named in words for words in verdict["warnings"])
    assert any(named in words for words in verdict["blockers"])
    for verb in ("compare", "ladder"):
        shown = outweigh(verb, str(divided.parts[0]), str(divided.parts[2]), "--format", "json").json()
        assert any(named in words for words in shown["warnings"])
    ended = outweigh("store", "show", str(divided.parts[0]), str(divided.parts[2]))
    assert named in ended.err
    assert "1/3" in ended.out


def test_a_part_that_is_there_twice_is_refused_by_every_verb(divided: Divided, outweigh: Any) -> None:
    divided.run_part(1)
    shutil.copytree(divided.parts[0], divided.parts[1])

    for verb in (["verdict"], ["compare"], ["report", "-o", str(divided.folder / "page.html")], ["ladder"]):
        ended = outweigh(verb[0], *map(str, divided.parts[:2]), *verb[1:])

        assert ended.code == 3
        assert f"shard 1/3 of the experiment is in {divided.parts[0]} and in {divided.parts[1]}" in ended.err


def test_parts_of_different_plans_are_not_read_as_one(divided: Divided, outweigh: Any) -> None:
    divided.run_part(1)
    divided.run_part(2, "-k", "5")

    ended = outweigh("verdict", *map(str, divided.parts[:2]))

    assert ended.code == 3
    assert "hold shards of different plans" in ended.err


def test_the_budget_is_divided(tmp_path: Path) -> None:
    dear = shell("""printf '{"cost_usd": 1.0}' >"$OUTWEIGH_USAGE"; echo 42 >answer.txt""")
    write_suite(
        tmp_path / "suite",
        {"a": dear, "b": {**dear, "same_as": "a"}},
        tasks=6,
        repeats=1,
        limits={"budget_usd": 1.0},
    )

    ended = Divided(tmp_path).run_part(1, "--budget", "6", "-j", "1")

    assert ended.code == 4
    assert len(records(tmp_path / "part-1")) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--shard", "2/3", "--until-decided"], "--until-decided looks at the results of all tasks"),
        (["--shard", "4/3"], "this is shard 4 of 3"),
        (["--shard", "3"], "write I/N"),
    ],
)
def test_what_cannot_be_divided_is_refused_before_anything_is_written(
    divided: Divided, arguments: list[str], words: str
) -> None:
    ended = divided.run("-o", str(divided.whole), *arguments)

    assert ended.code == 2
    assert words in ended.err
    assert not divided.whole.exists()


def test_a_folder_holds_a_whole_plan_or_parts_of_one_division(divided: Divided) -> None:
    divided.run_part(1)
    first = str(divided.parts[0])

    whole = divided.run("-o", first)
    other = divided.run("-o", first, "--shard", "1/2")

    assert (whole.code, other.code) == (2, 2)
    assert "holds shard 1/3 of a divided plan; name the shard with --shard" in whole.err
    assert "holds shard 1/3, and this is shard 1/2" in other.err
    assert divided.run("-o", first, "--shard", "2/3").code == 0
    assert json.loads((divided.parts[0] / "shard-2-of-3.json").read_text())["index"] == 2


def test_a_store_that_was_begun_whole_cannot_be_divided(divided: Divided) -> None:
    divided.run("-o", str(divided.whole), "-k", "1")

    ended = divided.run("-o", str(divided.whole), "-k", "1", "--shard", "1/2")

    assert ended.code == 2
    assert "was begun without --shard" in ended.err


def test_a_part_says_how_all_parts_are_read_and_gives_no_verdict_of_its_own(divided: Divided) -> None:
    ended = divided.run("--shard", "1/3")

    assert ended.code == 0
    assert ended.out == ""
    assert "next: when all 3 shards have ended" in ended.err
    assert "outweigh verdict outweigh-runs/suite-shard-*" in ended.err
