"""Claims about arms that ran on other nodes."""

from msgspec.structs import replace

from outweigh.compare.node_use import node_warnings
from outweigh.compare.setup_summary import SetupObserver, SetupSummary
from outweigh.model.run_record import HOST_LABEL, RunRecord
from outweigh.testing.builders import a_run


def seen(**runs_on: int) -> SetupSummary:
    """An arm with so many runs on each node."""
    observer = SetupObserver()
    repeat = 0
    for node, runs in runs_on.items():
        for _ in range(runs):
            repeat += 1
            observer.add([on_node(a_run("task", "arm", repeat), node)])
    return observer.summary()


def on_node(run: RunRecord, node: str) -> RunRecord:
    return replace(run, extra={HOST_LABEL: {"node": node, "kernel": "6.1", "load": 0.5}})


def test_an_arm_that_ran_on_a_node_of_its_own_is_named_with_the_shares() -> None:
    [warning] = node_warnings({"plain": seen(east=20), "skill": seen(west=20)})

    assert "100 % of the runs of skill were made on the node" in warning or "0 % of the runs of skill" in warning
    assert "run both arms on the same hosts" in warning


def test_arms_that_share_their_nodes_evenly_or_by_chance_are_not_named() -> None:
    assert list(node_warnings({"plain": seen(east=22, west=18), "skill": seen(east=17, west=23)})) == []
    assert list(node_warnings({"plain": seen(east=40), "skill": seen(east=40)})) == []


def test_a_small_difference_is_not_named_however_many_runs_there_are() -> None:
    assert list(node_warnings({"plain": seen(east=2100, west=1900), "skill": seen(east=1900, west=2100)})) == []


def test_runs_that_do_not_say_where_they_were_made_are_not_named() -> None:
    assert list(node_warnings({"plain": seen(), "skill": seen(east=20)})) == []
