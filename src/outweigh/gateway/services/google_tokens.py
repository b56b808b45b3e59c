"""Access tokens of Google Cloud: made from a service account's key or from a login's refresh token, and renewed."""

import asyncio
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from outweigh.errors import UsageError, requires_extra
from outweigh.gateway.outgoing_request import FORM, UpstreamError
from outweigh.model.base import Spec
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import str_at

if TYPE_CHECKING:
    from aiohttp import ClientSession

CREDENTIALS_VARIABLE = "GOOGLE_APPLICATION_CREDENTIALS"
_LOGIN_FILE = ".config/gcloud/application_default_credentials.json"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"
_LIFETIME_SECONDS = 3600
_RENEWED_BEFORE_SECONDS = 300.0


class ServiceAccountKey(Spec, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The file of a service account's key, as Google writes it."""

    client_email: str
    private_key: str
    private_key_id: str | None = None
    token_uri: str = _TOKEN_ADDRESS


class UserLogin(Spec, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The file that `gcloud auth application-default login` writes."""

    client_id: str
    client_secret: str
    refresh_token: str
    token_uri: str = _TOKEN_ADDRESS


GoogleCredentials = ServiceAccountKey | UserLogin


def find_credentials(variable: str, environment: Mapping[str, str], owner: str) -> GoogleCredentials:
    """The credentials in the file that a variable names, else in that of gcloud's login; UsageError where none is."""
    stated = environment.get(variable)
    path = Path(stated) if stated else Path(environment.get("HOME") or Path.home()) / _LOGIN_FILE
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise UsageError(
            f"{owner} needs credentials of Google Cloud, and {path} cannot be read: {fault.strerror}. Run `gcloud auth "
            f"application-default login`, or export {variable} with the path of a service account's key."
        ) from None
    try:
        credentials = _read_credentials(try_decode_json(content))
    except msgspec.ValidationError as fault:
        raise UsageError(
            f"{owner}: {path} is neither a service account's key nor a login of gcloud ({fault}). Run `gcloud auth "
            "application-default login`, or create a key of a service account."
        ) from None
    if isinstance(credentials, ServiceAccountKey):
        _load_key(credentials, owner)  # a key that cannot sign is told before any run
    return credentials


def _read_credentials(content: object) -> GoogleCredentials:
    kind = str_at(content, "type")
    if kind == "service_account":
        return msgspec.convert(content, ServiceAccountKey)
    if kind == "authorized_user":
        return msgspec.convert(content, UserLogin)
    raise msgspec.ValidationError(f"its type is {kind!r}")


def _load_key(credentials: ServiceAccountKey, owner: str) -> Any:
    with requires_extra("a service account of Google Cloud", "vertex"):
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - an extra
    try:
        return load_pem_private_key(credentials.private_key.encode(), password=None)
    except (ValueError, TypeError) as fault:
        raise UsageError(f"{owner}: the private key of {credentials.client_email} cannot be read: {fault}.") from None


class GoogleTokens:
    """The access token of one identity; used only in the gateway's thread."""

    def __init__(self, credentials: GoogleCredentials, proxy: str | None, now: Callable[[], float] = time.time) -> None:
        self._credentials = credentials
        self._proxy = proxy
        self._now = now
        self._turn = asyncio.Lock()
        self._token = ""
        self._expires_at = 0.0

    @property
    def secrets(self) -> tuple[str, ...]:
        """The current token, and what tokens are made from."""
        held = self._credentials
        return (self._token, *(() if isinstance(held, ServiceAccountKey) else (held.refresh_token, held.client_secret)))

    async def token(self, session: "ClientSession") -> str:
        """A token that is valid for minutes; raise UpstreamError where Google gives none."""
        async with self._turn:
            if self._now() > self._expires_at - _RENEWED_BEFORE_SECONDS:
                await self._renew(session)
            return self._token

    async def _renew(self, session: "ClientSession") -> None:
        from aiohttp import ClientError, ClientTimeout  # noqa: PLC0415 - heavy, and loaded with the gateway

        asked_at, limit = self._now(), ClientTimeout(total=30)
        try:
            address, form = self._credentials.token_uri, self._grant(int(asked_at))
            async with session.post(
                address, data=form, headers=FORM, proxy=self._proxy, timeout=limit, allow_redirects=False
            ) as answer:
                content, status = try_decode_json(await answer.read()), answer.status
        except (ClientError, TimeoutError, OSError, ValueError) as fault:
            message = f"no access token of Google Cloud: its address cannot be reached: {fault}"
            raise UpstreamError(make_failure(FailureKind.CONNECTION_REFUSED, message)) from fault
        token = str_at(content, "access_token")
        if status != 200 or not token:
            why = str_at(content, "error_description") or str_at(content, "error") or f"HTTP {status}"
            message = f"Google gave no access token: {why}. Log in again, or use another key. Nothing was sent."
            raise UpstreamError(make_failure(FailureKind.UNAUTHORIZED, message))
        lifetime = content.get("expires_in") if isinstance(content, dict) else None
        self._token = token
        self._expires_at = asked_at + (lifetime if isinstance(lifetime, int) else _LIFETIME_SECONDS)

    def _grant(self, at: int) -> dict[str, str]:
        held = self._credentials
        if isinstance(held, ServiceAccountKey):
            return {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": _assertion(held, at)}
        return {
            "grant_type": "refresh_token",
            "client_id": held.client_id,
            "client_secret": held.client_secret,
            "refresh_token": held.refresh_token,
        }


def _assertion(credentials: ServiceAccountKey, at: int) -> str:
    """A signed statement (a JSON Web Token, RS256) that asks for a token."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - likewise

    header = {"alg": "RS256", "typ": "JWT", "kid": credentials.private_key_id}
    claims = {
        "iss": credentials.client_email,
        "scope": _SCOPE,
        "aud": credentials.token_uri,
        "iat": at,
        "exp": at + _LIFETIME_SECONDS,
    }
    said = b".".join(urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=") for part in (header, claims))
    signature = _load_key(credentials, "the provider").sign(said, PKCS1v15(), SHA256())
    return (said + b"." + urlsafe_b64encode(signature).rstrip(b"=")).decode()
