"""outweigh's own prices of what genai-prices lacks: a dated file that names the source of every figure."""

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from outweigh.model.base import Amount, Spec
from outweigh.model.pricing import ModelPrices, UsdRange


class SupplementEntry(Spec, frozen=True):
    """Further prices of some models of a provider, with the published page that they are from.

    `models` are patterns of the model ids of genai-prices. A later entry wins over an earlier one.
    """

    provider: str
    models: tuple[str, ...]
    source: str
    tier_factors: dict[str, Amount] = {}  # noqa: RUF012 - msgspec copies defaults
    region_factors: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd_per_request: dict[str, Amount] = {}  # noqa: RUF012
    hosted_usd_range: dict[str, UsdRange] = {}  # noqa: RUF012

    def applies_to(self, provider: str, model: str) -> bool:
        """Whether it is about this model."""
        return provider == self.provider and any(fnmatchcase(model, pattern) for pattern in self.models)


class Supplement(Spec, frozen=True):
    """The whole file. `retrieved` is the day on which its figures were read from the published pages."""

    retrieved: str
    entries: tuple[SupplementEntry, ...]


_TABLES = ("tier_factors", "region_factors", "hosted_usd", "hosted_usd_per_request", "hosted_usd_range")


@cache
def read_supplement() -> Supplement:
    """The file that comes with outweigh."""
    return msgspec.toml.decode(Path(__file__).with_name("supplement.toml").read_bytes(), type=Supplement)


def supplement_date() -> str:
    """The day of its figures, which identifies the supplement."""
    return read_supplement().retrieved


def add_supplement(prices: ModelPrices, provider: str, model: str) -> ModelPrices:
    """The prices with what the supplement has about this model."""
    for entry in read_supplement().entries:
        if entry.applies_to(provider, model):
            prices = replace(prices, **{name: getattr(prices, name) | getattr(entry, name) for name in _TABLES})
    return prices
