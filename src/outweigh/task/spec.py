"""What everything that people write in a suite or task file shares: strict, frozen, keyword-only."""

from typing import Annotated

import msgspec
from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f/\\]+$")]
Seconds = Annotated[float, Meta(gt=0, le=1e6)]
Dollars = Annotated[float, Meta(gt=0, le=1e6)]
Weight = Annotated[float, Meta(ge=0, le=1e6)]
Repeats = Annotated[int, Meta(ge=1, le=10_000)]


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything a person writes down for outweigh; an unknown key is a mistake, not an extension."""
