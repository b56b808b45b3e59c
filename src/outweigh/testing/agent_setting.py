"""What claims about agents are made with: arms, tasks, requests, and a door to a model server."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from socket import socket
from typing import Any

import msgspec

from outweigh.gateway.background import Background
from outweigh.gateway.splice import Line, hanging_up, splice
from outweigh.ports.agents import AttemptRequest
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import Door
from outweigh.record.trial import Trial
from outweigh.task.arm import Arm, bare_arm
from outweigh.task.task import Task

MODEL_DOOR = "model"
INSTRUCTION = "Write 42 to answer.txt.\n"
ACCESS = ModelAccess(base_url="http://127.0.0.1:9", key="run-key-1")
_IDLE_SECONDS = 3600.0


def an_arm(agent: str, options: Mapping[str, Any] | None = None, **fields: Any) -> Arm:
    """An arm of this agent with nothing else to it but what is stated."""
    arm = bare_arm("plain", agent)
    return msgspec.structs.replace(arm, options=dict(options or {}), **fields)


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

    async def connect(reader: StreamReader, writer: StreamWriter) -> None:
        there = Line(*await asyncio.open_connection("127.0.0.1", port))
        async with hanging_up(Line(reader, writer)) as caller, hanging_up(there) as answerer:
            await splice(caller, answerer, _IDLE_SECONDS)

    @contextmanager
    def serve(listening: socket) -> Iterator[None]:
        with Background() as background:
            server = background.run(asyncio.start_server(connect, sock=listening))
            try:
                yield
            finally:
                background.run(_close(server))

    return Door(name=MODEL_DOOR, serve=serve)


async def _close(server: asyncio.Server) -> None:
    server.close()
