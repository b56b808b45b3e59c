"""Price tables: the user's own TOML file, and genai-prices, an optional package that is loaded on first use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from outweigh.errors import UsageError, install_command
from outweigh.model.pricing import (
    PER_MILLION,
    PRICES_NOT_INSTALLED,
    ModelPrices,
    PriceFile,
    PriceTables,
    UserPriceTable,
)
from outweigh.model.source_document import SourceDocument


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


# For undated runs, instead of the current time, so that results do not change from day to day. At noon, because some
# providers give a discount at night.
_NEWEST = datetime(9999, 1, 1, 12, tzinfo=UTC)

# Small, because some models cost more per token in very long requests, and a run consists of many shorter ones.
_SAMPLE = 1000


class GenaiPrices:
    """The price list of genai-prices. Loaded on first use: most records bring their own cost.

    Without the extra it lists no model and says so, because an unknown cost is not a reason to refuse records.
    """

    hosted_usd: Mapping[str, float] = MappingProxyType({})

    def __init__(self) -> None:
        self._found: dict[tuple[str, datetime], ModelPrices | None] = {}

    @property
    def name(self) -> str:
        """The package and its version, which identifies the prices."""
        from genai_prices import __version__  # noqa: PLC0415 - heavy, and rarely needed

        return f"genai-prices-{__version__}"

    @property
    def unavailable(self) -> str | None:
        """How to get the package, where it is not installed."""
        if find_spec("genai_prices") is not None:
            return None
        return f"{PRICES_NOT_INSTALLED}: {install_command('prices')}"

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        """The prices of each kind of token, found by pricing a sample; `anthropic/` before a name is the provider."""
        key = (model, at or _NEWEST)
        if key not in self._found:
            self._found[key] = None if self.unavailable else _look_up(*key)
        return self._found[key]


_PROVIDER_IDS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}


def listed_models(provider: str | None) -> tuple[str, ...]:
    """The models of a provider in genai-prices, by the provider's name under `[gateway]`; none where it is unknown."""
    if provider not in _PROVIDER_IDS or GenaiPrices().unavailable:
        return ()
    from genai_prices.data import providers  # noqa: PLC0415 - heavy, and rarely needed

    return tuple(model.id for each in providers if each.id == _PROVIDER_IDS[provider] for model in each.models)


def _look_up(model: str, at: datetime) -> ModelPrices | None:
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - heavy, and rarely needed

    provider, _, bare = model.rpartition("/")

    def per_million(**tokens: int) -> float:
        price = calc_price(Usage(**tokens), model_ref=bare, provider_id=provider or None, genai_request_timestamp=at)
        return float(price.total_price) / _SAMPLE / PER_MILLION

    try:
        return ModelPrices(
            input_usd_per_million=per_million(input_tokens=_SAMPLE),
            output_usd_per_million=per_million(output_tokens=_SAMPLE),
            # This package counts cached tokens as part of the input, as providers' invoices do.
            cache_read_usd_per_million=per_million(input_tokens=_SAMPLE, cache_read_tokens=_SAMPLE),
            cache_write_usd_per_million=per_million(input_tokens=_SAMPLE, cache_write_tokens=_SAMPLE),
        )
    except LookupError:
        return None
