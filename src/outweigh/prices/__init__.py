"""Price tables: the user's own price file, genai-prices, and outweigh's supplement of what genai-prices lacks.

genai-prices and the supplement are loaded on first use. Imports no other adapter package.
"""

from outweigh.prices.bundled_prices import GenaiPrices, listed_models
from outweigh.prices.price_tables import price_tables, read_prices

__all__ = ["GenaiPrices", "listed_models", "price_tables", "read_prices"]
