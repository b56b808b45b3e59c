"""How long an API asks its clients to wait: every provider says it in another way."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from outweigh.gateway.dialects.loose import decoded, mappings, text

_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RESETS = re.compile(r"^(?P<before>anthropic-ratelimit-[\w-]+-|x-ratelimit-)reset(?P<after>-\w+)?$")


def retry_after_seconds(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """The wait that was asked for; None where nobody asked. A plain request to wait goes before any other sign."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    plain = _milliseconds(lowered.get("retry-after-ms")) or _moment_or_seconds(lowered.get("retry-after"), now)
    if plain is not None:
        return plain
    return _delay_in_body(body) or max(_until_resets(lowered, now), default=None)


def _until_resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    """Seconds until the limits that are used up are filled again, or until all are where nothing tells them apart."""
    resets = [(found, value) for name, value in headers.items() if (found := _RESETS.match(name))]
    left = [headers.get(f"{found['before']}remaining{found['after'] or ''}") for found, _ in resets]
    is_any_used_up = "0" in left
    for (_, value), remaining in zip(resets, left, strict=True):
        if remaining == "0" or not is_any_used_up:
            wait = _span(value) if _span(value) is not None else _moment_or_seconds(value, now)
            if wait is not None:
                yield wait


def _milliseconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(0.0, float(value) / 1000)
    except ValueError:
        return None


def _span(value: str) -> float | None:
    """Durations such as `1s`, `6m0s` and `12ms`."""
    found = _SPAN.findall(value)
    if not found or "".join(number + unit for number, unit in found) != value:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in found)


def _moment_or_seconds(value: str | None, now: datetime) -> float | None:
    """A number of seconds, or a moment in any of the ways that headers have: HTTP's, RFC 3339, seconds since 1970."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        moment = _moment(value)
        return None if moment is None else max(0.0, (moment - now).total_seconds())
    seconds = number - now.timestamp() if number > 1e9 else number
    return max(0.0, seconds) if seconds < float("inf") else None


def _moment(value: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _delay_in_body(body: bytes) -> float | None:
    """Gemini says it among the details of its errors."""
    said = decoded(body)
    for whole in said if isinstance(said, list) else [said]:
        for detail in mappings(whole, "error", "details"):
            if (text(detail, "@type") or "").endswith("RetryInfo"):
                return _span(text(detail, "retryDelay") or "")
    return None
