"""Prompt tokens of one turn: what a part of a set-up adds to every request to the model, as the gateway metered it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.pricing import PriceTables, price_usage
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage, sum_usage
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.means import mean_interval


class ArmTurns(Struct, frozen=True, kw_only=True):
    """What the requests of one arm were made of: prompt tokens of a turn by task, and the price of a prompt token.

    `usd_per_token` is at the mix of cached and other tokens that these runs had; None where a price is not known.
    """

    tokens: Mapping[str, float]
    usd_per_token: float | None


def read_turns(records: Iterable[RunRecord], prices: PriceTables) -> Mapping[str, ArmTurns]:
    """The turns of every arm, from the metered runs that count; an arm without such runs is left out."""
    tokens: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    used: dict[str, dict[str, list[Usage]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        metering = record.metering
        if metering is None or record.status in EXCLUDED_STATUSES:
            continue
        answered = metering.requests - metering.failed_requests
        prompts = [_prompt_tokens(usage) for usage in metering.models.values()]
        known = [prompt for prompt in prompts if prompt is not None]
        if answered > 0 and len(known) == len(prompts):
            tokens[record.trial.arm][record.trial.task_id].append(sum(known) / answered)
            for model, usage in metering.models.items():
                used[record.trial.arm][model].append(usage)
    return {
        arm: ArmTurns(
            tokens={task: fmean(values) for task, values in by_task.items()},
            usd_per_token=_price(used[arm], prices),
        )
        for arm, by_task in tokens.items()
    }


def turn_tokens_saved(more: ArmTurns, less: ArmTurns) -> Estimate:
    """How many fewer prompt tokens a turn of the one arm has than of the other, over the tasks of both."""
    return mean_interval(
        [tokens - less.tokens[task] for task, tokens in more.tokens.items() if task in less.tokens],
        level=0.95,
        unit=Unit.TASK,
    )


def _prompt_tokens(usage: Usage) -> int | None:
    """All tokens that were sent, cached or not; None where a count is not known."""
    counts = usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _price(by_model: Mapping[str, Sequence[Usage]], prices: PriceTables) -> float | None:
    tokens, dollars = 0, 0.0
    for model, usages in by_model.items():
        listed = prices.prices(model)
        if listed is None:
            return None
        sent = replace(sum_usage(list(usages)), output_tokens=0)
        cost, prompt = price_usage(sent, listed).value, _prompt_tokens(sent)
        if cost is None or prompt is None:
            return None
        tokens, dollars = tokens + prompt, dollars + cost
    return dollars / tokens if tokens else None
