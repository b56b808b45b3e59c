"""Price tables: the user's own price file, genai-prices, and outweigh's supplement of what genai-prices lacks.

genai-prices and the supplement are loaded on first use. Imports no other adapter package.
"""

from pathlib import Path

from outweigh.errors import UsageError
from outweigh.model.pricing import PriceFile, PriceTables, UserPriceTable
from outweigh.model.source_document import SourceDocument
from outweigh.prices.bundled_prices import GenaiPrices, listed_models

__all__ = ["GenaiPrices", "listed_models", "price_tables", "read_prices"]


def price_tables(path: str | None) -> PriceTables:
    """The user's prices first, then the bundled ones."""
    return PriceTables(GenaiPrices()) if path is None else PriceTables(read_prices(path), GenaiPrices())


def read_prices(path: str) -> UserPriceTable:
    """Read a price file; it overrides the bundled prices for the models that it lists."""
    try:
        document = SourceDocument(Path(path).read_bytes(), path)
        content = document.convert(PriceFile)
    except OSError as fault:
        raise UsageError(f"--prices {path} cannot be read: {fault.strerror}.") from fault
    except UsageError as error:
        raise UsageError(
            f'{error} A price file needs a name and, for each model, a table [models."MODEL"] with '
            "input_usd_per_million and output_usd_per_million (and the same for cache_read, cache_write)."
        ) from None
    return UserPriceTable(content.name, content.models, content.hosted_usd)
