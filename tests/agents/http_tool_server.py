"""A tool server that is reached by address (MCP's streamable HTTP), and remembers the headers it was sent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

ADDRESS = "127.0.0.2"
"""Of this machine, and not among the addresses that a sandbox reaches without its proxy."""
TOOL = {"name": "pet", "description": "Pets it.", "inputSchema": {"type": "object", "properties": {}}}


@dataclass
class HttpToolServer:
    """A server under way. Requests without the right `authorization` are refused."""

    port: int
    authorization: str
    seen: set[str | None] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.port}/mcp"

    @property
    def host(self) -> str:
        """The entry of `allow_hosts` for it."""
        return f"{ADDRESS}:{self.port}"


@contextmanager
def http_tool_server(authorization: str) -> Iterator[HttpToolServer]:
    state = HttpToolServer(port=0, authorization=authorization)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            state.seen.add(self.headers.get("Authorization"))
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.headers.get("Authorization") != state.authorization:
                self.respond(401, {})
            elif "id" not in asked:
                self.respond(202, None)
            else:
                self.respond(200, {"jsonrpc": "2.0", "id": asked["id"], **_answer(asked)})

        def do_GET(self) -> None:
            self.respond(405, None)

        def do_DELETE(self) -> None:
            self.respond(200, None)

        def respond(self, status: int, body: dict[str, Any] | None) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if self.headers.get("Connection") == "close":
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer((ADDRESS, 0), Handler)
    state.port = server.server_port
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    match asked["method"]:
        case "initialize":
            about = {"name": "far", "version": "1"}
            version = asked["params"]["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
        case "tools/list":
            return {"result": {"tools": [TOOL]}}
        case "ping":
            return {"result": {}}
        case _:
            return {"error": {"code": -32601, "message": "unknown method"}}
