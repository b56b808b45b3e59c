"""Any agent that speaks the Agent Client Protocol over its standard input and output."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from outweigh.adapters.agents import acp_bridge
from outweigh.adapters.agents.command_line import CommandLineAgent, PlaceOptions
from outweigh.adapters.agents.installed import this_python
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.prompt import prompt
from outweigh.ports.agents import AttemptRequest
from outweigh.task.arm import Arm, McpServer, VariableName
from outweigh.transcript.acp import AcpReader

_BRIDGE, _SETTINGS = "acp_bridge.py", "acp_settings.json"
_MODEL = "{model}"


class AcpOptions(PlaceOptions, frozen=True, kw_only=True):
    """How to start the agent and lead it to its model.

    `command` starts it in the protocol's mode. `access` are variables that lead it to the gateway: `{url}`, `{key}` and
    `{model}` in them stand for what they say, `{model}` in the command too; where the model is named in neither, it
    is chosen by the protocol. `authenticate` is the method to sign in by, where the agent wants one.
    """

    command: Annotated[list[str], Meta(min_length=1)]
    access: dict[VariableName, str] = {}  # noqa: RUF012 - msgspec copies defaults
    authenticate: str | None = None


class Acp(CommandLineAgent):
    """Starts the agent beside a small client that opens a session, sends the prompt and allows what it is asked."""

    name = "acp"
    install = "see its own documents"
    options = AcpOptions
    keys = ()

    def program_of(self, arm: Arm) -> str:
        """The first word of the command."""
        return str(self.options_of(arm).command[0])

    def version(self, arm: Arm) -> str | None:  # noqa: ARG002 - the driver's signature
        """Told by the protocol alone: what words the program understands, nobody knows."""
        return None

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """Where the agent is installed, and the Python that the client runs on."""
        return tuple(
            dict.fromkeys((*super().read_only(arm), *(() if self.options_of(arm).in_image else this_python().needs)))
        )

    def command(self, arm: Arm) -> tuple[str, ...]:
        """The client, which starts the agent itself."""
        return ("python3",) if self.options_of(arm).in_image else this_python().command

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """The client's settings in a file, and the agent's own messages on standard output."""
        reader = AcpReader()
        return Launch(
            arguments=("-I", "-S", f"{home}/{_BRIDGE}", f"{home}/{_SETTINGS}"),
            listen=reader.feed,
            report=lambda _: reader.report(),
            files={
                _BRIDGE: Path(acp_bridge.__file__).read_bytes(),
                _SETTINGS: msgspec.json.encode(self._settings(request)),
            },
            access=self._access(request),
        )

    def _settings(self, request: AttemptRequest) -> dict[str, Any]:
        arm, options = request.arm, self.options_of(request.arm)
        named = any(_MODEL in words for words in (*options.command, *options.access.values()))
        _, *words = options.command
        return {
            "command": [*super().command(arm), *(word.replace(_MODEL, arm.model or "") for word in words)],
            "authenticate": options.authenticate,
            "servers": [_server(name, server) for name, server in arm.mcp_servers.items()],
            "model": None if named else arm.model,
            "prompt": prompt(request),
        }

    def _access(self, request: AttemptRequest) -> dict[str, str]:
        if request.model_access is None:
            return {}
        words = {
            "{url}": request.model_access.base_url,
            "{key}": request.model_access.key,
            _MODEL: request.arm.model or "",
        }
        found = dict(self.options_of(request.arm).access)
        for mark, word in words.items():
            found = {name: value.replace(mark, word) for name, value in found.items()}
        return found


def _server(name: str, server: McpServer) -> dict[str, Any]:
    if server.url is not None:
        return {"type": "http", "name": name, "url": server.url, "headers": []}
    program, *arguments = server.command
    environment = [{"name": variable, "value": value} for variable, value in server.environment.items()]
    return {"name": name, "command": program, "args": arguments, "env": environment}
