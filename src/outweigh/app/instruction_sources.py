"""Where the words of mined instructions may come from besides the history: sessions of the user, and a model."""

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from outweigh.app.judging_round import find_judges
from outweigh.app.observer import StopSignals
from outweigh.engine.judging.ask import JudgingContext
from outweigh.errors import UsageError
from outweigh.mining.candidate import Candidate
from outweigh.mining.fairness import ChangedCode, TaskInstruction
from outweigh.mining.repository import HistoryRepository
from outweigh.mining.rewrite import rewrite_instruction
from outweigh.mining.session_words import read_sessions, typed_words
from outweigh.model.suite import JudgeSpec
from outweigh.prices import price_tables

REWRITER = "rewriter"
_CODE_BYTES = 8


class SessionWords:
    """What the user typed to an agent for a change, from the sessions in their home folder."""

    def __init__(self, history: HistoryRepository, repository: Path, home: Path) -> None:
        self._history = history
        self._sessions = read_sessions(home, repository)

    def __call__(self, candidate: Candidate) -> Sequence[str]:
        """The words for one candidate; none where no session made it."""
        before = self._history.read("log", "-1", "--format=%cI", candidate.base).decode().strip()
        return typed_words(
            self._sessions,
            committed=candidate.date,
            previous=datetime.fromisoformat(before),
            files=(*candidate.source_files, *candidate.test_files),
        )


class InstructionRewriter:
    """A model that turns instructions into issue reports; counts what it cost and how often its words were used."""

    def __init__(self, named: str, signals: StopSignals) -> None:
        self._judge = _judge(named)
        found = find_judges([self._judge])
        if complaint := found.missing.get(REWRITER):
            raise UsageError(f"--rewrite {named}: {complaint}")
        self._context = JudgingContext(
            backends=found.backends,
            artifact=lambda _: b"",
            prices=price_tables(None),
            draw_code=lambda: secrets.token_hex(_CODE_BYTES),
            now=lambda: datetime.now(UTC),
            drain=signals.drain,
            cancel=signals.cancel,
        )
        self._lock = Lock()
        self.rewritten = 0
        self.asked = 0
        self.cost_usd: float | None = 0.0

    def __call__(self, written: TaskInstruction, changed: ChangedCode) -> TaskInstruction:
        """The rewritten instruction, or the one from before where the model gave none that can be used."""
        answered = rewrite_instruction(written, changed, self._judge, self._context)
        with self._lock:
            self.asked += 1
            self.rewritten += answered.kept_because is None
            known = self.cost_usd is not None and answered.cost.usd is not None
            self.cost_usd = (self.cost_usd or 0.0) + (answered.cost.usd or 0.0) if known else None
        return answered.instruction


def _judge(named: str) -> JudgeSpec:
    backend, separator, model = named.partition(":")
    if not separator or not backend or not model:
        raise UsageError(
            f"--rewrite {named} does not name a judge; write its backend and its model, as in "
            "--rewrite anthropic:claude-haiku-4-5."
        )
    return JudgeSpec(name=REWRITER, backend=backend, model=model)
