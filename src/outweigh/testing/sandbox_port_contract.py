"""The contract of the forwarded ports of sandboxes, a part of that of sandboxes."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from socket import create_connection, create_server

from outweigh.ports.sandboxes import CommandEnding, ForwardedPort, SandboxError, SandboxRequest
from outweigh.testing.sandbox_fixtures import (
    COMMAND_TIMEOUT_SECONDS,
    SHORT_TIMEOUT_SECONDS,
    EchoServer,
    SandboxContractBase,
    a_sandbox_request,
    dial_script,
    run_shell,
)


class SandboxPortContract(SandboxContractBase):
    """Claims about the forwarded ports of a sandbox."""

    def with_ports(self, ports: Sequence[ForwardedPort], folder: str = "own") -> SandboxRequest:
        """A request for a sandbox with these ports."""
        other = a_sandbox_request(self.folder() / folder)
        return replace(self.request(), workspace=other.workspace, home=other.home, ports=tuple(ports))

    def test_ports_lead_to_the_servers_behind_them(self) -> None:
        """Each port to its own server, from every command."""
        one, other = EchoServer("one"), EchoServer("other")
        with self.provider().open(self.with_ports([one.port, other.port])) as sandbox:
            for word in ("first", "second"):
                asked = dial_script(sandbox.port("one"), word), dial_script(sandbox.port("other"), word)
                done = run_shell(sandbox, "; ".join(asked))

                assert done.stdout.decode() == f"one heard {word}\nother heard {word}\n", done.stderr

    def test_ports_are_open_before_the_command_begins(self) -> None:
        """A command that connects at once is never refused."""
        server = EchoServer("one")
        with self.provider().open(self.with_ports([server.port])) as sandbox:
            for _ in range(5):
                assert run_shell(sandbox, dial_script(sandbox.port("one"), "hi")).stdout == b"one heard hi\n"

    def test_ports_are_closed_when_the_sandbox_is_left(self) -> None:
        """No server answers and no socket stays open, even after an exception."""
        server = EchoServer("one")
        with suppress(LookupError), self.provider().open(self.with_ports([server.port])) as sandbox:
            run_shell(sandbox, ":")
            raise LookupError

        assert server.sockets
        assert not server.is_answering
        assert {listening.fileno() for listening in server.sockets} == {-1}

    def test_ports_outlast_neither_a_timeout_nor_a_cancellation(self) -> None:
        """After a timeout the next command finds them open again; after a cancellation they stay closed."""
        server = EchoServer("one")
        request = self.with_ports([server.port])
        with self.provider().open(request) as sandbox:
            late = run_shell(sandbox, f"{dial_script(sandbox.port('one'), 'hi')}; sleep 60", SHORT_TIMEOUT_SECONDS)
            again = run_shell(sandbox, dial_script(sandbox.port("one"), "again"))
            ended = sandbox.exec(
                ["sh", "-c", "echo begun; sleep 600"],
                environment={},
                timeout_seconds=COMMAND_TIMEOUT_SECONDS,
                on_output=lambda _: request.cancel.set(),
            )

        assert (late.ending, ended.ending) == (CommandEnding.TIMED_OUT, CommandEnding.CANCELLED)
        assert again.stdout == b"one heard again\n"
        assert not server.is_answering

    def test_a_port_that_was_not_requested_is_an_error(self) -> None:
        """The error names the ports that the sandbox has."""
        complaint = "none"
        with self.provider().open(self.with_ports([EchoServer("one").port])) as sandbox:
            try:
                sandbox.port("other")
            except SandboxError as error:
                complaint = str(error)

        assert "'other'" in complaint
        assert "one" in complaint

    def test_nothing_but_the_ports_can_be_reached(self) -> None:
        """Neither a server of the host, nor the ports of another sandbox."""
        if not self.is_isolated():
            return
        one, other = EchoServer("one"), EchoServer("other")
        with (
            create_server(("127.0.0.1", 0)) as host,
            self.provider().open(self.with_ports([one.port])) as sandbox,
            self.provider().open(self.with_ports([other.port], "other")) as neighbour,
            self.provider().open(self.with_ports([], "closed")) as closed,
        ):
            port_of_host = host.getsockname()[1]
            create_connection(("127.0.0.1", port_of_host)).close()

            assert run_shell(sandbox, dial_script(port_of_host, "hi")).exit_code != 0
            assert run_shell(neighbour, dial_script(sandbox.port("one"), "hi")).stdout != b"one heard hi\n"
            assert run_shell(closed, dial_script(sandbox.port("one"), "hi")).exit_code != 0
