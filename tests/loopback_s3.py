"""A real server of the S3 API on loopback (moto's), as a process of its own that is stopped by its id."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

MOST_SECONDS = 60.0
"""How long a start may take before the test gives up; nothing depends on how fast it is."""

_SIGNED = "AWS4-HMAC-SHA256 Credential=AKIDLOOPBACK/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
"""The server asks for a signature, and does not check it."""

SECRET = "a-secret-key-of-the-bucket"


@dataclass(frozen=True)
class Bucket:
    """One bucket, reached without the code under test."""

    endpoint: str
    name: str

    def environment(self, home: Path) -> dict[str, str]:
        """What a process needs to reach it, with a home folder and a cache of its own."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "AKIDLOOPBACK",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
        }

    def make(self) -> None:
        self._ask("PUT", "")

    def get(self, key: str) -> bytes:
        return self._ask("GET", key)

    def put(self, key: str, content: bytes) -> None:
        self._ask("PUT", key, content)

    def remove(self, key: str) -> None:
        self._ask("DELETE", key)

    def keys(self, prefix: str = "") -> list[str]:
        """Every key that begins so; up to a thousand."""
        listed = ElementTree.fromstring(self._ask("GET", "", query=f"?list-type=2&prefix={quote(prefix)}"))
        return [found.text or "" for found in listed.iter("{http://s3.amazonaws.com/doc/2006-03-01/}Key")]

    def put_folder(self, prefix: str, folder: Path) -> None:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                self.put(f"{prefix}/{file.relative_to(folder).as_posix()}", file.read_bytes())

    def _ask(self, method: str, key: str, content: bytes | None = None, query: str = "") -> bytes:
        address = f"{self.endpoint}/{self.name}/{quote(key)}{query}"
        headers = {"Content-Type": "application/octet-stream", "Authorization": _SIGNED}
        asked = urllib.request.Request(address, data=content, headers=headers, method=method)
        with urllib.request.urlopen(asked) as answer:
            found: bytes = answer.read()
        return found


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """The address of a server, for as long as the context lasts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "s3.log").open("wb")
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with log, subprocess.Popen(command, stdout=log, stderr=log, env=environment) as server:
        try:
            _wait(port, server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _wait(port: int, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + MOST_SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server of the S3 API did not start")
