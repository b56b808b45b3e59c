"""A desk for suites of real agents: the scripted model behind the gateway, and records to look at."""

import os
from pathlib import Path
from typing import Any

from tests.cli.engines import Ended, Engine, records
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import require

from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import ModelServer, Script, Totals, Turn, UsageSpec

INSTALLED = Path(__file__).resolve().parents[2] / ".agents" / "bin"
"""Where `make agents` puts the command lines that tests start."""

PRICES = {
    "input_usd_per_million": 3.0,
    "output_usd_per_million": 15.0,
    "cache_read_usd_per_million": 0.3,
    "cache_write_usd_per_million": 3.75,
}
ACT = Turn(
    run="echo 42 >answer.txt",
    usage=UsageSpec(input_tokens=1_234, output_tokens=56, cache_read_tokens=789, cache_write_tokens=0),
)
END = Turn(
    text="Done.", usage=UsageSpec(input_tokens=11, output_tokens=7, cache_read_tokens=2_000, cache_write_tokens=0)
)
SOLVED = Script(turn=[ACT, END])


def require_agent(program: str) -> None:
    """Skip, or fail where everything must be there, when an agent is not installed."""
    require("agent", None if (INSTALLED / program).exists() else f"{program} is not installed; run `make agents`")


class PatientEngine(Engine):
    """Agents start slowly, above all on a busy machine."""

    patience = 600.0


class AgentDesk:
    """One suite of real agents and its store. The model is scripted, the agents and the sandboxes are real."""

    def __init__(self, folder: Path, model: str) -> None:
        self.folder, self.model = folder, model
        self.store = folder / "store"
        self._temporary = folder / "tmp"
        self._temporary.mkdir()
        require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())

    @property
    def suite(self) -> Path:
        """The suite's folder, made when first asked for."""
        suite = self.folder / "suite"
        suite.mkdir(exist_ok=True)
        return suite

    def write(self, server: ModelServer, arms: dict[str, Any], **settings: Any) -> None:
        """A suite whose gateway leads to the scripted model, at prices of its own."""
        bare = self.model.rpartition("/")[2]
        listed = "".join(f"{name} = {value}\n" for name, value in PRICES.items())
        (self.suite / "prices.toml").write_text(f'name = "listed"\n[models."{bare}"]\n{listed}')
        provider = {"url": server.url, "key": ""}
        gateway = dict.fromkeys(("anthropic", "openai", "gemini"), provider) | {"prices": "prices.toml"}
        known: dict[str, Any] = {"repeats": 1, "sandbox": {"kind": "bubblewrap"}, "limits": {"timeout_seconds": 240}}
        write_suite(self.suite, arms, gateway=gateway, **(known | settings))

    def run(self, *arguments: str, **variables: str) -> Ended:
        """Like `run_checked`, whatever the checks before the first run find."""
        return self.run_checked("-y", *arguments, **variables)

    def run_checked(self, *arguments: str, **variables: str) -> Ended:
        """The engine with nothing of the caller's environment but the way to programs."""
        engine = PatientEngine(
            *("-c", str(self.suite), "-o", str(self.store), *arguments),
            temporary=self._temporary,
            folder=self.folder,
            PATH=f"{INSTALLED}:{os.environ['PATH']}",
            HOME=str(self.folder),
            **variables,
        )
        try:
            return engine.wait()
        finally:
            engine.close()

    def records(self) -> list[RunRecord]:
        return records(self.store)


def used(runs: list[RunRecord]) -> Usage:
    """The tokens of all runs together."""
    parts = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return Usage(**{part: sum(getattr(run.usage, part) for run in runs) for part in parts})


def handed_out(totals: Totals) -> Usage:
    """The same, as the scripted model counts."""
    tokens = totals.tokens
    return Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
    )
