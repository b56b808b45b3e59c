"""Base structures and constrained types: `Spec` for what people write, `Stored` for what is written to disk.

Both are frozen, keyword-only and refuse unknown fields; nothing stored is NaN or infinite.
"""

from datetime import datetime
from math import isfinite
from typing import Annotated, Any

import msgspec
from msgspec import Meta

_NAME = "a name of 1 to 200 characters, without slashes or control characters"
SafeName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f/\\]+$", description=_NAME)]
Seconds = Annotated[float, Meta(gt=0, le=1e6)]
Dollars = Annotated[float, Meta(gt=0, le=1e6)]
Weight = Annotated[float, Meta(ge=0, le=1e6)]
Repeats = Annotated[int, Meta(ge=1, le=10_000)]
VariableName = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="the name of an environment variable")
]


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything a person writes down for outweigh; an unknown key is a mistake, not an extension."""


Name = Annotated[str, Meta(min_length=1, max_length=500)]
RunId = Annotated[str, Meta(min_length=1, max_length=1100)]
# Far above real values, and small enough that a sum of a million of them neither overflows nor loses precision.
Count = Annotated[int, Meta(ge=0, le=10**15)]
Ordinal = Annotated[int, Meta(ge=1, le=10**15)]
Amount = Annotated[float, Meta(ge=0, le=1e12)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Json = dict[str, Any]
Moment = Annotated[datetime, Meta(tz=True)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Stored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base of everything that is written to disk; no measured field has a default."""


def require_finite(owner: str, **amounts: float | None) -> None:
    """Reject NaN and infinity when a structure is built: JSON cannot represent them and would store null."""
    for name, amount in amounts.items():
        if amount is not None and not isfinite(amount):
            raise ValueError(f"{owner}.{name} must be finite, not {amount}; store None where it is unknown")
