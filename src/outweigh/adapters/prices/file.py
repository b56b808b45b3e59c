"""The user's own prices, from a TOML file."""

from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.record.pricing import ListedPrices, PriceFile


def read_prices(path: str) -> ListedPrices:
    """Read a price file; it wins over the bundled prices for the models it lists."""
    try:
        content = msgspec.toml.decode(Path(path).read_bytes(), type=PriceFile)
    except OSError as fault:
        raise UsageError(f"--prices {path} cannot be read: {fault.strerror}.") from fault
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as fault:
        raise UsageError(
            f'--prices {path}: {fault}. It needs a name and, for each model, a table [models."MODEL"] with '
            "input_usd_per_million and output_usd_per_million (and the same for cache_read, cache_write)."
        ) from fault
    return ListedPrices(content.name, content.models)
