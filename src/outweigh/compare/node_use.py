"""Whether the arms of a comparison ran on the same machines: a slow node counts as a difference between the arms."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import sqrt
from statistics import NormalDist

from outweigh.compare.setup_summary import NODE, SetupSummary

NODE_ERROR = 0.001
"""How often arms that hosts were given to at random are taken for uneven."""

NODE_TOLERANCE = 0.1
"""Shares of the runs on a node that differ by less than this are even enough, however many runs there are."""


def node_warnings(setups: Mapping[str, SetupSummary]) -> Iterator[str]:
    """A sentence for every arm whose runs are spread over nodes in another way than those of the arm before it."""
    counts = {
        arm: {item.name: runs for item, runs in setup.items.items() if item.kind == NODE}
        for arm, setup in setups.items()
    }
    for one, other in pairwise(arm for arm, nodes in counts.items() if nodes):
        if (node := _uneven_node(counts[one], counts[other])) is not None:
            ours, theirs = (counts[arm].get(node, 0) / sum(counts[arm].values()) for arm in (one, other))
            yield (
                f"{100 * theirs:.0f} % of the runs of {other} were made on the node {node}, and {100 * ours:.0f} % of "
                f"those of {one}, so what differs between nodes counts as a difference between the arms; run both "
                "arms on the same hosts"
            )


def _uneven_node(ours: Mapping[str, int], theirs: Mapping[str, int]) -> str | None:
    """The node whose share differs most, where that is more than chance."""
    nodes = sorted(ours.keys() | theirs.keys())
    limit = NormalDist().inv_cdf(1 - NODE_ERROR / (2 * len(nodes)))
    shares = {
        node: (ours.get(node, 0) / sum(ours.values()), theirs.get(node, 0) / sum(theirs.values())) for node in nodes
    }
    node = max(nodes, key=lambda name: abs(shares[name][0] - shares[name][1]))
    gap = abs(shares[node][0] - shares[node][1])
    pooled = (ours.get(node, 0) + theirs.get(node, 0)) / (sum(ours.values()) + sum(theirs.values()))
    error = sqrt(pooled * (1 - pooled) * (1 / sum(ours.values()) + 1 / sum(theirs.values())))
    return node if gap > NODE_TOLERANCE and gap > limit * error else None
