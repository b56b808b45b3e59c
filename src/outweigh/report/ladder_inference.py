"""How sure a ladder is, as JSON: tests of its tiers, standings, contenders, and the noise of its replicates."""

from collections.abc import Iterable

from outweigh.compare.ladder import Ladder
from outweigh.compare.ladder_contrasts import TierContrast
from outweigh.compare.ladder_ranks import Standing
from outweigh.report.json_output import Payload, finite_or_none, interval_payload
from outweigh.stats.estimate import Estimate, Significance
from outweigh.stats.max_t import Contrast


def inference_payload(ladder: Ladder) -> Payload:
    """The keys of `ladder --format json` that say how sure its order is."""
    tests = ladder.tests
    two_way = tests.omnibus.scheirer_ray_hare
    names = {tier.number: tier.name for tier in ladder.levels}
    return {
        "seed": ladder.seed,
        "profile": ladder.profile.name,
        "weights": {dimension.value: weight for dimension, weight in ladder.profile.weights},
        "omnibus": {
            "friedman": significance_payload(tests.omnibus.friedman),
            "kruskal_wallis": significance_payload(tests.omnibus.kruskal_wallis),
            "scheirer_ray_hare": {
                "tier": significance_payload(two_way.first),
                "task": significance_payload(two_way.second),
                "interaction": significance_payload(two_way.interaction),
            },
        },
        "critical_t": tests.critical,
        "steps": [_contrast_of_tiers(step, names) for step in tests.steps],
        "against_first": [_contrast_of_tiers(contrast, names) for contrast in tests.against_first],
        "best_values": list(ladder.contenders.best_values),
        "possible_frontier": list(ladder.contenders.possible_frontier),
        "best_value_tiers": list(ladder.tier_contenders.best_values),
        "frontier_tiers": list(ladder.tier_contenders.frontier),
        "possible_frontier_tiers": list(ladder.tier_contenders.possible_frontier),
        "replicates": [
            {
                "name": noise.name,
                "arms": list(noise.arms),
                "pass_rate": _ends(noise.pass_rate),
                "quality": _ends(noise.quality),
                "cost_of_pass_usd": _ends(noise.cost_of_pass_usd),
                "pairs": noise.pairs,
                "pairs_called_different": noise.called,
            }
            for noise in ladder.replicates
        ],
    }


def standing_payload(standing: Standing) -> Payload:
    """The standing of one tier or configuration."""
    return {
        "rank": standing.rank,
        "rank_interval": None if standing.ranks is None else list(standing.ranks),
        "chance_best": standing.chance_best,
        "chance_on_frontier": standing.chance_on_frontier,
        "chance_of_grade": dict(standing.grades),
        "median": estimate_payload(standing.median),
        "uplift": estimate_payload(standing.uplift),
    }


def contrast_payload(contrast: Contrast) -> Payload:
    """One contrast; `interval` holds by itself, `simultaneous_interval` together with all of its family."""
    return {
        "difference": contrast.estimate,
        "interval": interval_payload(contrast.interval),
        "simultaneous_interval": interval_payload(contrast.simultaneous),
        "p_value": contrast.p_value,
        "adjusted_p_value": contrast.adjusted,
        "holm_p_value": contrast.holm,
        "notes": [] if contrast.reason is None else [contrast.reason],
    }


def estimate_payload(estimate: Estimate) -> Payload:
    """A figure with its interval, or with the reason why it has none."""
    return {
        "value": estimate.point,
        "interval": interval_payload(estimate.interval),
        "n": estimate.n,
        "unit": estimate.unit.value,
        "method": estimate.method,
        "notes": list(estimate.warnings),
    }


def significance_payload(test: Significance) -> Payload:
    """A p-value with what it was computed from."""
    return {
        "p_value": test.p_value,
        "statistic": test.statistic,
        "n": test.n,
        "unit": test.unit.value,
        "method": test.method,
        "notes": list(test.warnings),
    }


def _contrast_of_tiers(contrast: TierContrast, names: dict[int, str]) -> Payload:
    return {
        "tier": contrast.tier,
        "name": names[contrast.tier],
        "reference": contrast.reference,
        "reference_name": names[contrast.reference],
        **contrast_payload(contrast.difference),
        "shown": contrast.shown,
        "wilcoxon": significance_payload(contrast.wilcoxon),
        "price_of_one_more_pass_usd": estimate_payload(contrast.price_of_one_more_pass),
    }


def _ends(ends: Iterable[float] | None) -> list[float | None] | None:
    return None if ends is None else [finite_or_none(end) for end in ends]
