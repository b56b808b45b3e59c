"""What the doors of every sandbox must do. A part of the sandbox contract."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from socket import create_connection, create_server

from outweigh.ports.sandboxes import Door, Ending, SandboxError, SandboxRequest
from outweigh.testing.sandbox_setting import (
    PATIENCE_SECONDS,
    SOON_SECONDS,
    Porter,
    SandboxSetting,
    a_request,
    dial,
    shell,
)


class DoorContract(SandboxSetting):
    """Claims about the doors of a SandboxProvider."""

    def with_doors(self, doors: Sequence[Door], folder: str = "own") -> SandboxRequest:
        """A request with doors."""
        other = a_request(self.folder() / folder)
        return replace(self.request(), workspace=other.workspace, home=other.home, doors=tuple(doors))

    def test_doors_lead_to_who_answers_behind_them(self) -> None:
        """Every door to its own, from every command."""
        one, other = Porter("one"), Porter("other")
        with self.provider().open(self.with_doors([one.door, other.door])) as sandbox:
            for word in ("first", "second"):
                asked = dial(sandbox.port("one"), word), dial(sandbox.port("other"), word)
                done = shell(sandbox, "; ".join(asked))

                assert done.stdout.decode() == f"one heard {word}\nother heard {word}\n", done.stderr

    def test_doors_are_open_before_the_command_begins(self) -> None:
        """Whoever dials at once is not turned away, time after time."""
        porter = Porter("one")
        with self.provider().open(self.with_doors([porter.door])) as sandbox:
            for _ in range(5):
                assert shell(sandbox, dial(sandbox.port("one"), "hi")).stdout == b"one heard hi\n"

    def test_doors_are_closed_when_the_sandbox_is_left(self) -> None:
        """Nobody answers any more, and no socket is left open, however it was left."""
        porter = Porter("one")
        with suppress(LookupError), self.provider().open(self.with_doors([porter.door])) as sandbox:
            shell(sandbox, ":")
            raise LookupError

        assert porter.sockets
        assert not porter.is_answering
        assert {listening.fileno() for listening in porter.sockets} == {-1}

    def test_doors_outlast_neither_a_timeout_nor_a_cancellation(self) -> None:
        """After a timeout the next command finds them open again; after a cancellation there is none."""
        porter = Porter("one")
        request = self.with_doors([porter.door])
        with self.provider().open(request) as sandbox:
            late = shell(sandbox, f"{dial(sandbox.port('one'), 'hi')}; sleep 60", SOON_SECONDS)
            again = shell(sandbox, dial(sandbox.port("one"), "again"))
            ended = sandbox.exec(
                ["sh", "-c", "echo begun; sleep 600"],
                environment={},
                timeout_seconds=PATIENCE_SECONDS,
                listen=lambda _: request.cancel.set(),
            )

        assert (late.ending, ended.ending) == (Ending.TIMED_OUT, Ending.CANCELLED)
        assert again.stdout == b"one heard again\n"
        assert not porter.is_answering

    def test_a_door_that_is_not_there_has_no_port(self) -> None:
        """The sandbox says which doors it has."""
        complaint = "none"
        with self.provider().open(self.with_doors([Porter("one").door])) as sandbox:
            try:
                sandbox.port("other")
            except SandboxError as error:
                complaint = str(error)

        assert "'other'" in complaint
        assert "one" in complaint

    def test_nothing_but_the_doors_can_be_reached(self) -> None:
        """Not a server of the host, and not the doors of the sandbox next to it."""
        if not self.has_walls():
            return
        one, other = Porter("one"), Porter("other")
        with (
            create_server(("127.0.0.1", 0)) as host,
            self.provider().open(self.with_doors([one.door])) as sandbox,
            self.provider().open(self.with_doors([other.door], "other")) as neighbour,
            self.provider().open(self.with_doors([], "closed")) as closed,
        ):
            port_of_host = host.getsockname()[1]
            create_connection(("127.0.0.1", port_of_host)).close()

            assert shell(sandbox, dial(port_of_host, "hi")).exit_code != 0
            assert shell(neighbour, dial(sandbox.port("one"), "hi")).stdout != b"one heard hi\n"
            assert shell(closed, dial(sandbox.port("one"), "hi")).exit_code != 0
