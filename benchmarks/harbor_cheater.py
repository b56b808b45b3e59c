"""An agent that leaves a prepared workspace and does nothing else; Harbor's own Python imports it."""

from typing import Any

from harbor.agents.base import BaseAgent  # type: ignore[import-not-found]
from harbor.environments.base import BaseEnvironment  # type: ignore[import-not-found]


class Cheater(BaseAgent):  # type: ignore[misc]
    """`left` is the workspace as a folder of the host, `script` what is run in it before the agent ends."""

    def __init__(self, *given: Any, left: str, script: str | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self._left, self._script = left, script

    @staticmethod
    def name() -> str:
        return "cheater"

    def version(self) -> str:
        return "1.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:  # noqa: ARG002
        await environment.exec("find /app -mindepth 1 -delete")
        await environment.upload_dir(self._left, "/app")
        if self._script is not None:
            await environment.exec(self._script)
