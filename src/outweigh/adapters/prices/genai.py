"""Prices from the genai-prices data package: bundled figures, no network."""

from datetime import UTC, datetime

from outweigh.record.usage import Usage
from outweigh.stats.quantity import Quantity, known, unknown

# The package would ask the clock for an undated run; the newest listed price keeps the answer the same tomorrow.
_NEWEST = datetime(9999, 1, 1, tzinfo=UTC)


class GenaiPrices:
    """The bundled price list. Loaded on first use: most records bring their own cost."""

    @property
    def name(self) -> str:
        """Package and version, which dates the prices."""
        from genai_prices import __version__  # noqa: PLC0415 - heavy, and rarely needed

        return f"genai-prices-{__version__}"

    def price(self, model: str, usage: Usage, at: datetime | None) -> Quantity:
        """Price a run; a provider prefix such as `anthropic/` is understood."""
        from genai_prices import Usage as PricedUsage  # noqa: PLC0415
        from genai_prices import calc_price  # noqa: PLC0415

        counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        if any(tokens is None for tokens in counts):
            return unknown("a token count is unknown, so the run cannot be priced")
        uncached, output, read, written = (tokens or 0 for tokens in counts)
        provider, _, bare = model.rpartition("/")
        try:
            price = calc_price(
                # This package counts cached tokens inside the input, as the providers' bills do.
                PricedUsage(
                    input_tokens=uncached + read + written,
                    output_tokens=output,
                    cache_read_tokens=read,
                    cache_write_tokens=written,
                ),
                model_ref=bare,
                provider_id=provider or None,
                genai_request_timestamp=at or _NEWEST,
            )
        except LookupError:
            return unknown(f"no price is known for model {model!r}; list it in a price file and pass --prices")
        return known(float(price.total_price))
