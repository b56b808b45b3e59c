"""What claims about agents are made with: arms, tasks, requests, and a door to a model server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from socket import SHUT_RDWR, SHUT_WR, create_connection, socket
from threading import Thread
from typing import Any

import msgspec

from outweigh.ports import AttemptRequest, Door, ModelAccess
from outweigh.record.trial import Trial
from outweigh.task.arm import Arm
from outweigh.task.task import Task

MODEL_DOOR = "model"
INSTRUCTION = "Write 42 to answer.txt.\n"
ACCESS = ModelAccess(base_url="http://127.0.0.1:9", key="run-key-1")
_CHUNK = 2**16


def an_arm(agent: str, options: Mapping[str, Any] | None = None, **fields: Any) -> Arm:
    """An arm of this agent with nothing else to it but what is stated."""
    arm = Arm(
        name="plain",
        agent=agent,
        model=None,
        tier=None,
        overlay=(),
        skills=(),
        mcp_servers={},
        extra_prompt=None,
        environment={},
        secrets=(),
        flags=(),
        options=dict(options or {}),
        option_files={},
    )
    return msgspec.structs.replace(arm, **fields)


def a_task(instruction: str = INSTRUCTION) -> Task:
    """A task that is only words."""
    return Task(
        id="task-1",
        instruction=instruction,
        checks=(),
        family=None,
        expected_steps=(),
        workspace=None,
        timeout_seconds=None,
        tests_folder=None,
        solution_folder=None,
        checksum="0" * 64,
    )


def an_attempt(arm: Arm, instruction: str = INSTRUCTION, **fields: Any) -> AttemptRequest:
    """A request to attempt such a task, with a model behind `ACCESS` unless stated otherwise."""
    request = AttemptRequest(
        trial=Trial(task_id="task-1", arm=arm.name, repeat=1, seed=1),
        task=a_task(instruction),
        arm=arm,
        timeout_seconds=300.0,
        budget_usd=None,
        environment=arm.environment,
        model_access=ACCESS,
    )
    return replace(request, **fields)


def door_to(port: int) -> Door:
    """A door of a sandbox behind which somebody on the host's loopback answers."""

    @contextmanager
    def serve(listening: socket) -> Iterator[None]:
        accepting = Thread(target=_accept, args=(listening, port), daemon=True)
        accepting.start()
        try:
            yield
        finally:
            with suppress(OSError):
                listening.shutdown(SHUT_RDWR)
            accepting.join()

    return Door(name=MODEL_DOOR, serve=serve)


def _accept(listening: socket, port: int) -> None:
    while True:
        try:
            caller, _ = listening.accept()
        except OSError:
            return
        answerer = create_connection(("127.0.0.1", port))
        for source, target in ((caller, answerer), (answerer, caller)):
            Thread(target=_pass_on, args=(source, target), daemon=True).start()


def _pass_on(source: socket, target: socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(SHUT_WR)
