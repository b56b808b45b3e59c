"""The prices that come with outweigh: those of genai-prices, an optional package, with outweigh's supplement.

genai-prices lists tokens, long contexts, service tiers and searches; the supplement has what it lacks.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from outweigh.errors import install_command
from outweigh.model.pricing import PRICES_NOT_INSTALLED, LongContextPrices, ModelPrices, TierPrices
from outweigh.prices.supplement import add_supplement, supplement_date

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, PriceVariant, Tier

_NOON = time(12, tzinfo=UTC)
"""Some providers give a discount at night."""

_TOKEN_KEYS = {
    "input_usd_per_million": ("input_mtok",),
    "output_usd_per_million": ("output_mtok",),
    # Cached tokens are a part of the input, as on providers' invoices: without their own price they cost the same.
    "cache_read_usd_per_million": ("cache_read_mtok", "input_mtok"),
    "cache_write_usd_per_million": ("cache_write_mtok", "input_mtok"),
    "cache_write_hour_usd_per_million": ("cache_write_1h_mtok",),
}
"""The keys of genai-prices for each of our prices, the first that is listed."""

_HOSTED_KEYS = {
    "web_search": "web_searches_kcount",
    "google_search": "web_searches_kcount",
    "x_search": "social_searches_kcount",
    "file_search": "storage_searches_kcount",
}
"""The keys of genai-prices for the uses of hosted tools, in dollars per thousand."""


class GenaiPrices:
    """The price list of genai-prices with the supplement. Loaded on first use: most records bring their own cost.

    Without the extra it lists no model and says so, because an unknown cost is not a reason to refuse records.
    """

    hosted_usd: Mapping[str, float] = MappingProxyType({})

    def __init__(self) -> None:
        self._at_moment: dict[tuple[str, datetime], ModelPrices | None] = {}
        self._on_day: dict[tuple[str, date], ModelPrices | None] = {}

    @property
    def name(self) -> str:
        """The package and its version with the date of the supplement, which identify the prices."""
        from genai_prices import __version__  # noqa: PLC0415 - heavy, and rarely needed

        return f"genai-prices-{__version__}+{supplement_date()}"

    @property
    def unavailable(self) -> str | None:
        """How to get the package, where it is not installed."""
        if find_spec("genai_prices") is not None:
            return None
        return f"{PRICES_NOT_INSTALLED}: {install_command('prices')}"

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        """The prices of a model at a time; `anthropic/` before a name is the provider."""
        # An undated run has the prices of the supplement's day, so that results do not change from day to day, and
        # prices that are announced for later do not count yet.
        moment = at or datetime.combine(date.fromisoformat(supplement_date()), _NOON)
        day = model, moment.astimezone(UTC).date()
        if day not in self._on_day and (model, moment) not in self._at_moment:
            found = _NOT_LISTED if self.unavailable else _look_up(model, moment)
            if found.holds_all_day:
                self._on_day[day] = found.prices
            else:
                self._at_moment[model, moment] = found.prices
        return self._on_day[day] if day in self._on_day else self._at_moment[model, moment]


class _FoundPrices(NamedTuple):
    """The prices of a model at a moment, and whether they are the same all day by UTC, as most are."""

    prices: ModelPrices | None
    holds_all_day: bool


_NOT_LISTED = _FoundPrices(None, holds_all_day=True)


_PROVIDER_IDS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}


def listed_models(provider: str | None) -> tuple[str, ...]:
    """The models of a provider in genai-prices, by the provider's name under `[gateway]`; none where it is unknown."""
    if provider not in _PROVIDER_IDS or GenaiPrices().unavailable:
        return ()
    from genai_prices.data import providers  # noqa: PLC0415 - heavy, and rarely needed

    return tuple(model.id for each in providers if each.id == _PROVIDER_IDS[provider] for model in each.models)


def _look_up(model: str, at: datetime) -> _FoundPrices:
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - heavy, and rarely needed

    provider, _, bare = model.rpartition("/")
    try:
        found = calc_price(Usage(), model_ref=bare, provider_id=provider or None, genai_request_timestamp=at)
    except LookupError:
        return _NOT_LISTED
    standard = _tier_prices(found.model_price)
    listed = ModelPrices(
        **{name: getattr(standard, name) for name in standard.__struct_fields__},
        tiers=dict(_tiers(found.model, at)),
        hosted_usd=dict(_hosted_prices(found.model_price)),
    )
    return _FoundPrices(add_supplement(listed, found.provider.id, found.model.id), not _changes_by_hour(found.model))


def _changes_by_hour(model: "ModelInfo") -> bool:
    """Whether some price of a model depends on the time of day."""
    listed = model.prices if isinstance(model.prices, list) else []
    conditions = [each.constraint for each in (*listed, *(model.price_variants or ()))]
    return any(hasattr(condition, "start_time") for condition in conditions)


def _tier_prices(listed: "ModelPrice") -> TierPrices:
    starts = {tier.start for keys in _TOKEN_KEYS.values() for key in keys for tier in _size_tiers(listed, key)}
    return TierPrices(
        **_at_size(listed, 0),
        long_context=tuple(
            LongContextPrices(above_tokens=start, **_at_size(listed, start + 1)) for start in sorted(starts)
        ),
    )


def _size_tiers(listed: "ModelPrice", key: str) -> "list[Tier]":
    found: list[Tier] = getattr(getattr(listed, key), "tiers", [])
    return found


def _at_size(listed: "ModelPrice", prompt_tokens: int) -> dict[str, float]:
    prices: dict[str, float] = {"input_usd_per_million": 0.0, "output_usd_per_million": 0.0}
    for name, keys in _TOKEN_KEYS.items():
        key = next((key for key in keys if getattr(listed, key) is not None), None)
        if key is None:
            continue
        price = getattr(listed, key)
        exceeded = [tier for tier in _size_tiers(listed, key) if prompt_tokens > tier.start]
        largest = max(exceeded, key=lambda tier: tier.start, default=None)
        prices[name] = float(getattr(price, "base", price) if largest is None else largest.price)
    return prices


def _hosted_prices(listed: "ModelPrice") -> Iterator[tuple[str, float]]:
    for tool, key in _HOSTED_KEYS.items():
        if (price := getattr(listed, key)) is not None:
            yield tool, float(price) / 1000


def _tiers(model: "ModelInfo", at: datetime) -> Iterator[tuple[str, TierPrices]]:
    """The prices of a model's other service tiers.

    The list has many of them only since the day on which it began to record them. Before that day they are known as
    long as the standard prices were the same.
    """
    variants = model.price_variants or ()
    for name in dict.fromkeys(filter(None, map(_tier_name, variants))):
        context = {"processing": name} if name == "batch" else {"service_tier": name}
        starts = [_start(variant, at) for variant in variants if variant.when == context]
        moment = at if at in starts else min(starts)
        if model.get_prices(moment) == model.get_prices(at):
            yield name, _tier_prices(model.get_prices(moment, context))


def _tier_name(variant: "PriceVariant") -> str | None:
    """The name of a tier as responses state it; None for a standard one, and for what responses do not state."""
    if set(variant.when) - {"processing", "service_tier"} or len(variant.when) != 1:
        return None
    (name,) = variant.when.values()
    return None if name in ("default", "standard") else name


def _start(variant: "PriceVariant", at: datetime) -> datetime:
    """The moment from which a variant is known: this one if it is already, else its first day."""
    if variant.constraint is None or variant.constraint.active(at):
        return at
    first = getattr(variant.constraint, "start_date", None)
    return at if first is None else datetime.combine(first, _NOON)
