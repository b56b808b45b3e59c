"""Clouds on loopback, in front of a scripted model: they verify what authorises a request, and refuse what clouds do.

Each takes its own form of request, hands the plain one to the scripted model, and answers in its own form again.
"""

import hmac
import re
import struct
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote
from zlib import crc32

import msgspec
from aiohttp import ClientSession, web
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.gateway.upstreams import an_upstream

from outweigh.testing.model_server import ModelServer

AWS_KEYS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "AWS_SESSION_TOKEN": "session-token-0123456789",
}
REGION = "eu-west-1"
BEDROCK_MODEL = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
_AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\S+), SignedHeaders=(\S+), Signature=(\w{64})")


def aws_signature(request: web.BaseRequest, body: bytes, secret: str) -> str | None:
    """The signature that a request must have, by what it says that it has signed; None where it signs too little."""
    found = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
    if found is None:
        return None
    place, names = found[2], found[3].split(";")
    if not {"host", "x-amz-date", "x-amz-security-token"} <= set(names):
        return None
    path = request.raw_path.partition("?")[0]
    lines = [request.method, quote(path, safe="/-_.~"), "", *(f"{name}:{request.headers[name]}" for name in names)]
    canonical = "\n".join([*lines, "", ";".join(names), sha256(body).hexdigest()])
    text = f"AWS4-HMAC-SHA256\n{request.headers['x-amz-date']}\n{place}\n{sha256(canonical.encode()).hexdigest()}"
    key = b"AWS4" + secret.encode()
    for step in place.split("/"):
        key = hmac.new(key, step.encode(), "sha256").digest()
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def frame(payload: bytes, **headers: str) -> bytes:
    """One frame of AWS's event streams."""
    named = b"".join(
        bytes([len(name) + 1])
        + b":"
        + name.replace("_", "-").encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
        for name, value in headers.items()
    )
    start = struct.pack(">II", 16 + len(named) + len(payload), len(named))
    whole = start + struct.pack(">I", crc32(start)) + named + payload
    return whole + struct.pack(">I", crc32(whole))


def chunk_frame(event: bytes) -> bytes:
    """A frame that carries one event of Anthropic's API."""
    payload = msgspec.json.encode({"bytes": b64encode(event).decode(), "p": "abcd"})
    return frame(payload, event_type="chunk", content_type="application/json", message_type="event")


class BedrockFront:
    """Bedrock's `InvokeModel`, by signature or by API key."""

    def __init__(self, server: ModelServer, bearer: str | None = None) -> None:
        self._server = server
        self._bearer = bearer
        self.refused: list[str] = []
        self.paths: list[str] = []
        self.bodies: list[Mapping[str, Any]] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        wanted = aws_signature(request, body, AWS_KEYS["AWS_SECRET_ACCESS_KEY"])
        given = request.headers.get("authorization", "")
        is_known = given == f"Bearer {self._bearer}" if self._bearer else bool(wanted) and given.endswith(str(wanted))
        found = re.fullmatch(r"/model/([^/]+)/(invoke(?:-with-response-stream)?)", request.raw_path)
        content = msgspec.json.decode(body)
        self.paths.append(request.raw_path)
        self.bodies.append(content)
        fault = None if found and is_known else "the signature does not match"
        if {"model", "stream"} & content.keys() or content.get("anthropic_version") != "bedrock-2023-05-31":
            fault = "malformed input request"
        if set(content.get("anthropic_beta", ())) - {"interleaved-thinking-2025-05-14", "effort-2025-11-24"}:
            fault = "invalid beta flag"
        if fault is not None or found is None:
            self.refused.append(f"{fault}: {given}")
            return web.json_response({"message": fault}, status=403)
        content |= {"model": unquote(found[1]), "stream": found[2] != "invoke"}
        content.pop("anthropic_version")
        return await self._ask(request, content)

    async def _ask(self, request: web.BaseRequest, content: dict[str, Any]) -> web.StreamResponse:
        async with (
            ClientSession() as session,
            session.post(f"{self._server.url}/v1/messages", json=content, headers={"x-api-key": "k"}) as answer,
        ):
            whole = await answer.read()
            if not content["stream"] or answer.status != 200:
                return web.Response(status=answer.status, body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "application/vnd.amazon.eventstream"})
        await response.prepare(request)
        framed = b"".join(map(chunk_frame, events_in(whole)))
        for start in range(0, len(framed), 100):  # pieces that tear frames
            await response.write(framed[start : start + 100])
        return response


def events_in(stream: bytes) -> list[bytes]:
    """The data of server-sent events."""
    return [line.removeprefix(b"data: ") for line in stream.splitlines() if line.startswith(b"data: ")]


class VertexFront:
    """Vertex AI and Google's address for tokens, which takes a service account's statement or a refresh token."""

    def __init__(self, server: ModelServer, lifetime: int = 3600) -> None:
        self._server = server
        self._lifetime = lifetime
        self.private_key: RSAPrivateKey = generate_private_key(public_exponent=65537, key_size=2048)
        self.given: list[str] = []
        self.refused: list[str] = []
        self.paths: list[str] = []
        self.url = ""

    def service_account(self) -> dict[str, str]:
        """The file of a key for it."""
        pem = self.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return {
            "type": "service_account",
            "client_email": "robot@ours.iam.gserviceaccount.com",
            "private_key": pem,
            "private_key_id": "1",
            "token_uri": f"{self.url}/token",
        }

    def user_login(self) -> dict[str, str]:
        """The file of a login."""
        return {
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": "client-secret-0123456789",
            "refresh_token": "refresh-token-0123456789",
            "token_uri": f"{self.url}/token",
        }

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/token":
            return await self._give_token(request)
        self.paths.append(str(request.rel_url))
        if not self.given or request.headers.get("authorization") != f"Bearer {self.given[-1]}":
            self.refused.append(str(request.headers.get("authorization")))
            return web.json_response({"error": {"code": 401, "message": "no token"}}, status=401)
        place = r"/projects/our-project/locations/europe-west1/publishers"
        gemini = re.fullmatch(rf"/v1beta1{place}/google/models/([^/]+)", request.path)
        claude = re.fullmatch(rf"/v1{place}/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)", request.path)
        body = msgspec.json.decode(await request.read())
        if gemini:
            query = f"?{request.query_string}" if request.query_string else ""
            return await self._ask(request, f"/v1beta/models/{gemini[1]}{query}", body)
        if claude is None or (claude[1] != "count-tokens" and body.pop("anthropic_version", "") != "vertex-2023-10-16"):
            self.refused.append(request.path)
            return web.json_response({"error": {"code": 404, "message": "not found"}}, status=404)
        if claude[1] == "count-tokens":
            return await self._ask(request, "/v1/messages/count_tokens", body)
        return await self._ask(request, "/v1/messages", {**body, "model": unquote(claude[1])})

    async def _give_token(self, request: web.BaseRequest) -> web.StreamResponse:
        assert request.content_type == "application/x-www-form-urlencoded"
        form = dict(part.split("=", 1) for part in (await request.text()).split("&"))
        is_known = form.get("refresh_token") == "refresh-token-0123456789"
        if "assertion" in form:
            said, _, signature = form["assertion"].rpartition(".")
            claims = msgspec.json.decode(_unpadded(said.split(".")[1]))
            is_known = (claims["iss"], claims["aud"]) == ("robot@ours.iam.gserviceaccount.com", f"{self.url}/token")
            self.private_key.public_key().verify(_unpadded(signature), said.encode(), PKCS1v15(), SHA256())
        if not is_known:
            return web.json_response({"error": "invalid_grant", "error_description": "Token revoked"}, status=400)
        self.given.append(f"ya29.access-token-number-{len(self.given) + 1:04}")
        return web.json_response({"access_token": self.given[-1], "expires_in": self._lifetime})

    async def _ask(self, request: web.BaseRequest, path: str, body: Any) -> web.StreamResponse:
        async with (
            ClientSession() as session,
            session.post(self._server.url + path, json=body, headers={"x-api-key": "k"}) as answer,
        ):
            response = web.StreamResponse(
                status=answer.status, headers={"content-type": answer.headers["content-type"]}
            )
            await response.prepare(request)
            await response.write(await answer.read())
            return response


def _unpadded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@contextmanager
def a_vertex(server: ModelServer, lifetime: int = 3600) -> Iterator[VertexFront]:
    """Vertex AI in front of a scripted model."""
    front = VertexFront(server, lifetime)
    with an_upstream(front.answer) as url:
        front.url = url
        yield front
