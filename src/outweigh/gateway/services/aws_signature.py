"""AWS Signature Version 4: the header by which AWS knows who sent a request, and that no one changed it on the way."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from urllib.parse import parse_qsl, quote, urlsplit

_ALGORITHM = "AWS4-HMAC-SHA256"
_UNRESERVED = "-_.~"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsCredentials:
    """The keys of an AWS identity. `session_token` belongs to keys that expire."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsScope:
    """The service that a signature is for, and its region."""

    region: str
    service: str


def amz_date(at: datetime) -> str:
    """A moment in UTC as the header `x-amz-date` has it."""
    return at.strftime("%Y%m%dT%H%M%SZ")


def authorization_header(
    credentials: AwsCredentials,
    scope: AwsScope,
    *,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    at: datetime,
) -> str:
    """The header `authorization` of a request; `headers` are those that it signs, with `host` and `x-amz-date`.

    The path of the address is percent-encoded already, and is encoded once more for the signature, as all services but
    S3 want it.
    """
    signed = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    names = ";".join(sorted(signed))
    address = urlsplit(url)
    query = sorted(
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED))
        for name, value in parse_qsl(address.query, keep_blank_values=True)
    )
    canonical = "\n".join(
        (
            method,
            quote(address.path or "/", safe=f"/{_UNRESERVED}"),
            "&".join(f"{name}={value}" for name, value in query),
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            sha256(body).hexdigest(),
        )
    )
    day = at.strftime("%Y%m%d")
    place = f"{day}/{scope.region}/{scope.service}/aws4_request"
    to_sign = "\n".join((_ALGORITHM, amz_date(at), place, sha256(canonical.encode()).hexdigest()))
    signature = hmac.new(_signing_key(credentials, scope, day), to_sign.encode(), sha256).hexdigest()
    return f"{_ALGORITHM} Credential={credentials.access_key_id}/{place}, SignedHeaders={names}, Signature={signature}"


def _signing_key(credentials: AwsCredentials, scope: AwsScope, day: str) -> bytes:
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in (day, scope.region, scope.service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
