"""One small protocol per kind of adapter: the page an adapter author reads."""

from collections.abc import Iterator
from typing import Protocol

from outweigh.record.codec import Located, OnInvalid
from outweigh.record.pricing import PriceTable
from outweigh.report.document import Report

__all__ = ["PriceTable", "Reporter", "Store"]


class Store(Protocol):
    """Where records are kept."""

    def records(self, on_invalid: OnInvalid) -> Iterator[Located]:
        """Read every run and judgment; what cannot be read goes to `on_invalid`."""


class Reporter(Protocol):
    """Turns an answer into text."""

    def render(self, report: Report) -> str:
        """The whole output, ending in a line feed."""
