"""The proxy that leads from a sandbox to allowed hosts: what passes, what does not, and who is kept waiting."""

import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from outweigh.gateway.egress_proxy import EgressLimits, EgressProxy, HostResolver, resolve_host
from outweigh.gateway.event_loop_thread import EventLoopThread

PATIENCE_SECONDS = 60.0
LONG_BODY = bytes(range(256)) * 2**13


LONG_HEAD = b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"


class Upstream(BaseHTTPRequestHandler):
    """Says what it was asked, and counts what it was sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = LONG_BODY if self.path == "/long" else f"{self.path} {sorted(self.headers.items())}".encode()
        self._answer(body)

    def do_POST(self) -> None:
        self._answer(str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def background() -> Iterator[EventLoopThread]:
    with EventLoopThread() as entered:
        yield entered


@contextmanager
def proxy(egress: EgressProxy) -> Iterator[int]:
    """The port of a proxy that is being served."""
    listening = socket.create_server(("127.0.0.1", 0))
    with closing(listening), egress.proxy_port().serve(listening):
        yield listening.getsockname()[1]


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that does something with the first who calls."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take_one() -> None:
            caller, _ = listening.accept()
            with caller:
                answer(caller)

        thread = Thread(target=take_one, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(PATIENCE_SECONDS)


def get(port: int, url: str, data: bytes | None = None) -> bytes:
    """Ask for an address as programs that heed HTTP_PROXY do."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{port}"}))
    with opener.open(url, data, timeout=PATIENCE_SECONDS) as answer:
        content: bytes = answer.read()
        return content


def tunnel(port: int, target: str) -> tuple[socket.socket, bytes]:
    """Ask for a line of one's own; what came back."""
    line = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
    line.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return line, line.recv(4096)


def raw(port: int, head: bytes) -> bytes:
    """Everything that comes back for these bytes."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as line, line.makefile("rb") as answer:
        line.sendall(head)
        return answer.read()


def test_a_plain_request_passes_and_is_told_to_the_host_as_if_there_were_no_proxy(
    background: EventLoopThread, upstream: int
) -> None:
    with proxy(EgressProxy([f"127.0.0.1:{upstream}"], background)) as port:
        seen = get(port, f"http://127.0.0.1:{upstream}/path?query=1#part").decode()

    assert seen.startswith("/path?query=1 [")
    assert f"('Host', '127.0.0.1:{upstream}')" in seen
    assert "('Connection', 'close')" in seen
    assert "proxy" not in seen.lower()


@pytest.mark.parametrize(
    ("sent", "heard"),
    [
        (b"HTTP/1.1 200 OK\r\nX: 1\r\n\r\nbody", b"HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\n\r\nbody"),
        (
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nX: 1\r\n\r\nbody",
            b"HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\n\r\nbody",
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nX: cut", b"HTTP/1.1 200 OK\r\nX: cut"),
        (LONG_HEAD, LONG_HEAD),
    ],
)
def test_a_program_is_told_that_its_connection_ends_with_the_response(
    sent: bytes, heard: bytes, background: EventLoopThread
) -> None:
    def answer_without_a_word(caller: socket.socket) -> None:
        caller.recv(4096)
        caller.sendall(sent)

    with serving(answer_without_a_word) as host, proxy(EgressProxy([f"127.0.0.1:{host}"], background)) as port:
        assert raw(port, f"GET http://127.0.0.1:{host}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode()) == heard


def test_bodies_arrive_whole_in_both_directions(background: EventLoopThread, upstream: int) -> None:
    with proxy(EgressProxy([f"127.0.0.1:{upstream}"], background)) as port:
        assert get(port, f"http://127.0.0.1:{upstream}/long") == LONG_BODY
        assert get(port, f"http://127.0.0.1:{upstream}/", LONG_BODY) == str(len(LONG_BODY)).encode()


def test_a_tunnel_carries_whatever_is_said(background: EventLoopThread, upstream: int) -> None:
    with proxy(EgressProxy([f"localhost:{upstream}"], background)) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        client.set_tunnel("LOCALHOST", upstream)
        for _ in range(2):  # a tunnel stays open
            client.request("GET", "/long")
            assert client.getresponse().read() == LONG_BODY
        client.close()


def test_what_one_side_has_said_last_is_told_to_the_other_which_may_go_on(background: EventLoopThread) -> None:
    def answer_at_the_end(caller: socket.socket) -> None:
        with caller.makefile("rb") as words:
            caller.sendall(words.read()[::-1])

    with serving(answer_at_the_end) as host, proxy(EgressProxy([f"127.0.0.1:{host}"], background)) as port:
        line, answered = tunnel(port, f"127.0.0.1:{host}")
        with line, line.makefile("rb") as heard:
            line.sendall(b"stressed")
            line.shutdown(socket.SHUT_WR)

            assert answered.startswith(b"HTTP/1.1 200 ")
            assert heard.read() == b"desserts"


def test_a_host_that_is_not_listed_is_refused_and_remembered_once(background: EventLoopThread, upstream: int) -> None:
    egress = EgressProxy(["hub.test"], background)
    with proxy(egress) as port:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError) as refusal:
                get(port, f"http://127.0.0.1:{upstream}/", LONG_BODY)
            assert refusal.value.code == 403
            assert b"[sandbox] allow_hosts" in refusal.value.read()
        line, answered = tunnel(port, "[2001:db8::1]:22")
        line.close()

    assert answered.startswith(b"HTTP/1.1 403 Not in [sandbox] allow_hosts\r\n")
    assert egress.refused() == (f"127.0.0.1:{upstream}", "[2001:db8::1]:22")


def test_what_is_remembered_is_bounded(background: EventLoopThread) -> None:
    egress = EgressProxy([], background)
    with proxy(egress) as port:
        for number in range(1100):
            raw(port, f"CONNECT host-{number}.example:443 HTTP/1.1\r\n\r\n".encode())

    assert egress.refused() == tuple(f"host-{number}.example:443" for number in range(1000))


def _leading_to(*addresses: str) -> HostResolver:
    async def resolve(host: str, port: int) -> Sequence[str]:
        del host, port
        return addresses

    return resolve


def test_a_name_below_a_wildcard_that_leads_inside_is_refused(background: EventLoopThread, upstream: int) -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return await resolve_host("127.0.0.1", port)

    egress = EgressProxy([f"*.example.org:{upstream}"], background, resolve=resolve)
    with proxy(egress) as port, pytest.raises(urllib.error.HTTPError) as refusal:
        get(port, f"http://a.example.org:{upstream}/")

    assert (asked, refusal.value.code) == (["a.example.org"], 403)
    assert b"127.0.0.1" in refusal.value.read()
    assert egress.refused() == (f"a.example.org:{upstream}",)


def test_a_name_listed_as_it_stands_may_lead_inside_and_is_looked_up_outside(
    background: EventLoopThread, upstream: int
) -> None:
    egress = EgressProxy([f"intern.example:{upstream}"], background, resolve=_leading_to("127.0.0.1"))
    with proxy(egress) as port:
        assert b"intern.example" in get(port, f"http://intern.example:{upstream}/")


def test_the_next_address_is_tried_when_one_does_not_answer(background: EventLoopThread, upstream: int) -> None:
    egress = EgressProxy([f"intern.example:{upstream}"], background, resolve=_leading_to("127.0.0.2", "127.0.0.1"))
    with proxy(egress) as port:
        assert b"intern.example" in get(port, f"http://intern.example:{upstream}/")


@pytest.mark.parametrize(
    ("head", "status", "said"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400, b"this is a proxy"),
        (b"GET https://hub.test/ HTTP/1.1\r\n\r\n", 400, b"CONNECT"),
        (b"GET http://user@hub.test/ HTTP/1.1\r\n\r\n", 400, b"no host"),
        (b"CONNECT hub.test:https HTTP/1.1\r\n\r\n", 400, b"no host"),
        (b"GET http://127.0.0.1:9/ HTTP/1.1\r\nX: y\nHost: other\r\n\r\n", 400, b"header"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400, b"not an HTTP/1 request"),
        (b"GET http://hub.test/" + b"x" * 40_000 + b" HTTP/1.1\r\n\r\n", 431, b"too long"),
        (b"CONNECT " + b"a" * 80 + b".example:443 HTTP/1.1\r\n\r\n", 502, b"cannot be reached"),
        (b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n", 502, b"cannot be reached"),
    ],
)
def test_what_cannot_be_passed_on_is_answered_with_a_reason(
    background: EventLoopThread, head: bytes, status: int, said: bytes
) -> None:
    egress = EgressProxy(["*.example", "127.0.0.1:9"], background)
    with proxy(egress) as port:
        answer = raw(port, head)

    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert said in answer
    assert egress.refused() == ()


def _silent(over: Event) -> Callable[[socket.socket], None]:
    def wait(caller: socket.socket) -> None:
        del caller
        over.wait(PATIENCE_SECONDS)

    return wait


def test_a_line_on_which_nothing_moves_is_closed(background: EventLoopThread) -> None:
    over = Event()
    limits = EgressLimits(idle_seconds=0.1)
    with (
        serving(_silent(over)) as host,
        proxy(EgressProxy([f"127.0.0.1:{host}"], background, limits=limits)) as port,
    ):
        line, answered = tunnel(port, f"127.0.0.1:{host}")
        with line:
            assert answered.startswith(b"HTTP/1.1 200 ")
            assert line.recv(1) == b""
        over.set()


def test_who_never_says_what_he_wants_is_not_waited_for(background: EventLoopThread) -> None:
    with proxy(EgressProxy([], background, limits=EgressLimits(head_seconds=0.1))) as port:
        assert raw(port, b"CONNECT ") == b""


def test_a_program_that_does_not_read_blocks_neither_memory_nor_others(
    background: EventLoopThread, upstream: int
) -> None:
    sent = [0]

    def flood(caller: socket.socket) -> None:
        try:
            while sent[0] < 2**30:
                sent[0] += caller.send(bytes(2**20))
        except OSError:
            pass

    with (
        serving(flood) as host,
        proxy(EgressProxy([f"127.0.0.1:{host}", f"127.0.0.1:{upstream}"], background)) as port,
    ):
        line, _ = tunnel(port, f"127.0.0.1:{host}")
        with line:
            _wait_until_settled(sent)
            taken = sent[0]
            others = get(port, f"http://127.0.0.1:{upstream}/long")

    assert 0 < taken < 2**28
    assert others == LONG_BODY


def _wait_until_settled(count: list[int]) -> None:
    deadline, before = monotonic() + PATIENCE_SECONDS, -1
    while (before != count[0] or not before) and monotonic() < deadline:
        before = count[0]
        sleep(0.3)


def test_connections_are_bounded_and_those_that_end_make_room(background: EventLoopThread, upstream: int) -> None:
    limits = EgressLimits(connections=2)
    with proxy(EgressProxy([f"127.0.0.1:{upstream}"], background, limits=limits)) as port:
        held = [tunnel(port, f"127.0.0.1:{upstream}")[0] for _ in range(2)]
        assert _turned_away(port)
        for line in held:
            line.close()
        deadline = monotonic() + PATIENCE_SECONDS
        while _turned_away(port) and monotonic() < deadline:
            sleep(0.02)
        assert not _turned_away(port)


def _turned_away(port: int) -> bool:
    try:
        return raw(port, b"CONNECT hub.test:443 HTTP/1.1\r\n\r\n") == b""
    except ConnectionError:
        return True


def test_closing_the_port_ends_open_connections(background: EventLoopThread) -> None:
    over = Event()
    with serving(_silent(over)) as host:
        with proxy(EgressProxy([f"127.0.0.1:{host}"], background)) as port:
            line, _ = tunnel(port, f"127.0.0.1:{host}")
        with line:
            assert _is_cut(line)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        over.set()


def _is_cut(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True
