"""What a store remembers of its suite, and what it refuses to forget."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import Arms, shell, write_suite

from outweigh.app.choose_policy import PolicyRequest, choose_policy
from outweigh.engine.load_suite import load_suite
from outweigh.errors import UsageError
from outweigh.model.look_plan import plan_even_looks
from outweigh.model.suite import PolicySpec
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, read_experiment, remove_experiment
from outweigh.store.store_set import StoreSet
from outweigh.store.write_experiment import write_experiment
from outweigh.verdict.policy import check_policy

ARMS: Arms = {"a": {**shell("true"), "tier": 0}, "b": {**shell("false"), "tier": 1}}


def remember(
    folder: Path, *, until_decided: bool = False, repeats: int = 2, arms: Arms = ARMS, **settings: Any
) -> ExperimentFile:
    """Write a suite of its own, note it in one and the same store, and read the note."""
    place = folder / f"suite-{len(list(folder.iterdir()))}"
    suite = load_suite(write_suite(place, arms, **settings), check_policy=check_policy)
    store = folder / "store"
    store.mkdir(exist_ok=True)
    looks = plan_even_looks([task.id for task in suite.tasks], repeats) if until_decided else None
    write_experiment(store, suite.spec, suite.tasks, suite.arms, looks=looks)
    found = read_experiment(store)
    assert found is not None
    return found


def test_the_rules_of_the_suite_are_remembered(tmp_path: Path) -> None:
    policy = {"gates": ["pass_rate"], "margins": {"pass_rate": 0.1}}

    experiment = remember(tmp_path, policy=policy, profile="even")

    assert experiment.policy == PolicySpec(gates=["pass_rate"], margins={"pass_rate": 0.1}, version=2)
    assert (experiment.profile, experiment.baseline, experiment.tiers) == ("even", "a", {"a": 0, "b": 1})


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"policy": {"margins": {"pass_rate": 0.2}}}, "policy"),
        ({"profile": "even"}, "profile"),
        ({"arms": {"a": shell("true"), "b": shell("false")}}, "tiers"),
    ],
)
def test_rules_cannot_change_once_runs_may_be_in(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    before = remember(tmp_path)

    with pytest.raises(UsageError, match=f"under other rules: {word} differ"):
        remember(tmp_path, **change)
    assert read_experiment(tmp_path / "store") == before


def test_a_new_experiment_takes_the_current_version_of_its_rule(tmp_path: Path) -> None:
    assert remember(tmp_path).policy.version == 2


def test_an_experiment_that_was_begun_before_versions_goes_on_without_one(tmp_path: Path) -> None:
    remember(tmp_path)
    path = tmp_path / "store" / EXPERIMENT_FILE
    old = msgspec.json.decode(path.read_bytes())
    del old["policy"]["version"]
    path.write_bytes(msgspec.json.encode(old))

    assert remember(tmp_path).policy.version is None
    assert choose_policy(StoreSet.open([path.parent]), PolicyRequest()).arguments.version == 1
    assert choose_policy(StoreSet.open([path.parent]), PolicyRequest(policy="evidence")).arguments.version == 1


def test_a_version_that_the_suite_names_is_kept(tmp_path: Path) -> None:
    assert remember(tmp_path, policy={"version": 1}).policy.version == 1


def test_what_is_forgotten_binds_nobody(tmp_path: Path) -> None:
    remember(tmp_path, seed=1, until_decided=True)

    remove_experiment(tmp_path / "store")
    now = remember(tmp_path, seed=2, profile="even")

    assert (now.profile, now.looked_at) == ("even", None)


def test_another_seed_is_another_experiment(tmp_path: Path) -> None:
    remember(tmp_path)

    with pytest.raises(UsageError, match="another experiment: seed differ"):
        remember(tmp_path, seed=1)


def test_whoever_looked_has_looked(tmp_path: Path) -> None:
    never = remember(tmp_path, tasks=3)
    looked = remember(tmp_path, tasks=3, until_decided=True)
    later = remember(tmp_path, tasks=3)

    assert (never.looked_at, looked.looked_at, later.looked_at) == (None, 3, 3)


def test_looks_are_planned_once(tmp_path: Path) -> None:
    never = remember(tmp_path, tasks=8)
    looked = remember(tmp_path, tasks=8, until_decided=True)
    later = remember(tmp_path, tasks=8, until_decided=True, repeats=5)

    assert never.looks is None
    assert looked.looks is not None
    assert (looked.looks.sizes, looked.looks.repeats) == ((6, 7, 8), 2)
    assert later.looks == looked.looks


def test_fewer_repeats_later_take_nothing_back_of_what_was_planned(tmp_path: Path) -> None:
    suite = load_suite(write_suite(tmp_path / "suite", ARMS), check_policy=check_policy)
    planned = []
    for number in (None, 12, 4, 20):
        write_experiment(tmp_path, suite.spec, suite.tasks, suite.arms, planned_runs=number)
        found = read_experiment(tmp_path)
        assert found is not None
        planned.append(found.planned_runs)

    assert planned == [None, 12, 12, 20]
