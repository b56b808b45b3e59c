"""Logins that agents keep in the caller's home: what their files hold, and how a token in them is renewed.

A renewed token is written back: the one before it stops working, so the agent's own program would be logged out.
"""

import os
import re
from base64 import urlsafe_b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Protocol

import msgspec

from outweigh.errors import UsageError
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import as_dict, count_at, dict_at, str_at

CLAUDE_TOKEN_VARIABLE = "CLAUDE_CODE_OAUTH_TOKEN"  # the name of a variable, not a token


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginTokens:
    """The tokens of a login. `expires_at` is in seconds since 1970, None where it is unknown.

    Without a `refresh` token it cannot be renewed. `account` is what some providers want beside the token.
    """

    access: str = field(repr=False)
    refresh: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    account: str | None = None


class LoginFile(Protocol):
    """Where an agent keeps its login, and who renews it."""

    program: str
    """What logs in again."""
    token_url: str
    sends_form: bool
    """Whether tokens are asked for by a form, else by JSON."""

    @property
    def place(self) -> str:
        """Where the login is, as a message names it."""

    def read(self) -> LoginTokens:
        """The tokens; UsageError where there are none."""

    def write(self, tokens: LoginTokens, answer: Mapping[str, Any]) -> None:
        """Keep renewed tokens, with what else the provider answered; nothing else of the file changes."""

    def grant(self, refresh: str) -> Mapping[str, str] | None:
        """What asks for new tokens; None where they cannot be asked for."""


class ClaudeLogin:
    """A Claude subscription: the file of `claude`, or the token of `claude setup-token` in a variable."""

    program = "claude"
    sends_form = False

    def __init__(
        self, environment: Mapping[str, str], token_url: str = "https://platform.claude.com/v1/oauth/token"
    ) -> None:
        home = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME') or Path.home()}/.claude"
        self._path = Path(home, ".credentials.json")
        self._fixed = environment.get(CLAUDE_TOKEN_VARIABLE)
        self.token_url = token_url

    @property
    def place(self) -> str:
        """The variable, or the file."""
        return CLAUDE_TOKEN_VARIABLE if self._fixed else str(self._path)

    def read(self) -> LoginTokens:
        """The tokens under `claudeAiOauth`; its time of expiry is in milliseconds."""
        if self._fixed:
            return LoginTokens(access=self._fixed)
        login = dict_at(_read_json(self._path), "claudeAiOauth")
        access = str_at(login, "accessToken")
        if not access:
            raise UsageError(
                f"there is no Claude login in {self._path}. Run `claude` and log in, or run `claude setup-token` and "
                f"export {CLAUDE_TOKEN_VARIABLE}."
            )
        expires = count_at(login, "expiresAt")
        return LoginTokens(
            access=access,
            refresh=str_at(login, "refreshToken"),
            expires_at=None if expires is None else expires / 1000,
        )

    def write(self, tokens: LoginTokens, answer: Mapping[str, Any]) -> None:  # noqa: ARG002 - the protocol's signature
        """Keep them under `claudeAiOauth`."""
        content = as_dict(_read_json(self._path)) or {}
        login = {
            **(dict_at(content, "claudeAiOauth") or {}),
            "accessToken": tokens.access,
            "refreshToken": tokens.refresh,
            **({} if tokens.expires_at is None else {"expiresAt": int(tokens.expires_at * 1000)}),
        }
        _write_json(self._path, {**content, "claudeAiOauth": login})

    def grant(self, refresh: str) -> Mapping[str, str]:
        """Claude Code's own name at the provider, and the refresh token."""
        client = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
        return {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": client}


class ChatGptLogin:
    """A ChatGPT plan: the file of `codex login`."""

    program = "codex login"
    sends_form = False

    def __init__(self, environment: Mapping[str, str], token_url: str = "https://auth.openai.com/oauth/token") -> None:
        home = environment.get("CODEX_HOME") or f"{environment.get('HOME') or Path.home()}/.codex"
        self._path = Path(home, "auth.json")
        self.token_url = token_url

    @property
    def place(self) -> str:
        """The file."""
        return str(self._path)

    def read(self) -> LoginTokens:
        """The tokens under `tokens`; the access token says itself when it expires."""
        tokens = dict_at(_read_json(self._path), "tokens")
        access, account = str_at(tokens, "access_token"), str_at(tokens, "account_id")
        if not access or not account:
            raise UsageError(f"there is no ChatGPT login in {self._path}. Run `codex login` first.")
        return LoginTokens(
            access=access,
            refresh=str_at(tokens, "refresh_token"),
            expires_at=_expiry_of_jwt(access),
            account=account,
        )

    def write(self, tokens: LoginTokens, answer: Mapping[str, Any]) -> None:
        """Keep them under `tokens`, with the id token that came with them and the time."""
        content = as_dict(_read_json(self._path)) or {}
        kept = {**(dict_at(content, "tokens") or {}), "access_token": tokens.access, "refresh_token": tokens.refresh}
        if (identity := str_at(answer, "id_token")) is not None:
            kept["id_token"] = identity
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        _write_json(self._path, {**content, "tokens": kept, "last_refresh": now})

    def grant(self, refresh: str) -> Mapping[str, str]:
        """Codex's own name at the provider, and the refresh token."""
        client = "app_EMoamEEZ73f0CkXaXp7hrann"
        return {"client_id": client, "grant_type": "refresh_token", "refresh_token": refresh}


class GeminiLogin:
    """The login of a Google account: the file of `gemini`. Its installed program says who may renew it."""

    program = "gemini"
    sends_form = True

    def __init__(
        self,
        environment: Mapping[str, str],
        installed: Path | None,
        token_url: str = "https://oauth2.googleapis.com/token",
    ) -> None:
        home = environment.get("GEMINI_CLI_HOME") or environment.get("HOME") or Path.home()
        self._path = Path(home, ".gemini", "oauth_creds.json")
        self._installed = installed
        self.token_url = token_url

    @property
    def place(self) -> str:
        """The file."""
        return str(self._path)

    def read(self) -> LoginTokens:
        """The tokens; their time of expiry is in milliseconds."""
        login = _read_json(self._path)
        access, expires = str_at(login, "access_token"), count_at(login, "expiry_date")
        if not access:
            raise UsageError(f"there is no Gemini login in {self._path}. Run `gemini` and log in with Google.")
        return LoginTokens(
            access=access,
            refresh=str_at(login, "refresh_token"),
            expires_at=None if expires is None else expires / 1000,
        )

    def write(self, tokens: LoginTokens, answer: Mapping[str, Any]) -> None:
        """Keep them, with the id token that came with them."""
        content = as_dict(_read_json(self._path)) or {}
        kept = {**content, "access_token": tokens.access, "refresh_token": tokens.refresh}
        if tokens.expires_at is not None:
            kept["expiry_date"] = int(tokens.expires_at * 1000)
        if (identity := str_at(answer, "id_token")) is not None:
            kept["id_token"] = identity
        _write_json(self._path, kept)

    def grant(self, refresh: str) -> Mapping[str, str] | None:
        """The name and the word by which the installed program is known to Google, and the refresh token."""
        client = None if self._installed is None else _find_google_client(self._installed)
        if client is None:
            return None
        return {
            "grant_type": "refresh_token",
            "client_id": client[0],
            "client_secret": client[1],
            "refresh_token": refresh,
        }


_CLIENT_ID = re.compile(rb"\bOAUTH_CLIENT_ID\w* ?= ?[\"']([\w.-]+\.apps\.googleusercontent\.com)[\"']")
_CLIENT_SECRET = re.compile(rb"\bOAUTH_CLIENT_SECRET\w* ?= ?[\"']([\w-]+)[\"']")


def _find_google_client(program: Path) -> tuple[str, str] | None:
    """How a program names itself when it asks Google for tokens, as its files state it for everyone to read."""
    for file in sorted(program.parent.rglob("*.js")):
        content = file.read_bytes()
        name, word = _CLIENT_ID.search(content), _CLIENT_SECRET.search(content)
        if name and word:
            return name[1].decode(), word[1].decode()
    return None


def _read_json(path: Path) -> object:
    try:
        return try_decode_json(path.read_bytes())
    except OSError:
        return None


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a file in one step, readable for its owner alone as before."""
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(msgspec.json.format(msgspec.json.encode(content), indent=2))
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)


def _expiry_of_jwt(token: str) -> float | None:
    """When a JSON Web Token expires by its own claims, which are read and not verified."""
    parts = token.split(".")
    try:
        claims = try_decode_json(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (IndexError, Base64Error, ValueError):
        return None
    expires = count_at(claims, "exp")
    return None if expires is None else float(expires)
