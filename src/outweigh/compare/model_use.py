"""Which models answered, and what share of the tokens each had. A share is known only where all tokens are."""

from collections.abc import Mapping

from msgspec import Struct

from outweigh.model.usage import Metering, Usage


class ModelUse(Struct, frozen=True, kw_only=True):
    """The runs in which a model answered, its tokens of all kinds in them, and their share of all models' tokens."""

    runs: int
    tokens: int | None
    share: float | None


def total_tokens(usage: Usage) -> int | None:
    """The tokens of all kinds; None where one kind is unknown."""
    sent, got, read, written = (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )
    if sent is None or got is None or read is None or written is None:
        return None
    return sent + got + read + written


def token_shares(tokens: Mapping[str, int | None]) -> dict[str, float | None]:
    """Each model's share; unknown for all where the tokens of one are unknown, and where there were none."""
    known = [count for count in tokens.values() if count is not None]
    total = sum(known) if len(known) == len(tokens) else 0
    return {model: (count or 0) / total if total else None for model, count in tokens.items()}


class ModelObserver:
    """Counts the models of one arm's runs as they are read."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._tokens: dict[str, int | None] = {}

    def add(self, metering: Metering) -> None:
        """Count one run that was metered; the others say nothing."""
        runs, tokens = self._runs, self._tokens
        for model, usage in metering.models.items():
            runs[model] = runs.get(model, 0) + 1
            before, more = tokens.get(model, 0), total_tokens(usage)
            tokens[model] = None if before is None or more is None else before + more

    def summary(self) -> dict[str, ModelUse]:
        """What was counted so far, the model with the most tokens first."""
        shares = token_shares(self._tokens)
        by_tokens = sorted(self._tokens, key=lambda model: (-(self._tokens[model] or 0), model))
        return {
            model: ModelUse(runs=self._runs[model], tokens=self._tokens[model], share=shares[model])
            for model in by_tokens
        }
