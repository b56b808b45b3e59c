"""The limit of tokens per minute of a run: refused where nothing would keep to it, and what keeps to it here."""

from outweigh.app.run_request import RunRequest
from outweigh.engine.events import EventListener
from outweigh.engine.executor import AttemptExecutor
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.token_pace import PacedExecutor, TokenUse
from outweigh.errors import UsageError
from outweigh.gateway.token_queue import LocalTokens, TokenQueue
from outweigh.model.suite import Executor


def refuse_unkept_token_limit(suite: LoadedSuite) -> None:
    """Refuse a limit that nothing would keep to, because requests do not pass the gateway."""
    if suite.spec.limits.tokens_per_minute is None:
        return
    if suite.spec.executor is Executor.HARBOR:
        raise UsageError(
            "limits.tokens_per_minute: Harbor's runs do not pass the gateway, which keeps it. Leave it out."
        )
    if suite.spec.gateway.mode == "direct":
        raise UsageError(
            'limits.tokens_per_minute: with mode = "direct" under [gateway], requests do not pass the gateway, which '
            "keeps it. Leave one of them out."
        )


class RunTokens:
    """What keeps to the limit of a run in this process. A shard has its share of it."""

    def __init__(self, suite: LoadedSuite, request: RunRequest) -> None:
        limit = suite.spec.limits.tokens_per_minute
        if limit is not None and request.shard is not None:
            limit = max(1, limit // request.shard.count)
        self.limit = limit
        self._tokens = None if limit is None else LocalTokens(limit)

    @property
    def queue(self) -> TokenQueue | None:
        """Where requests wait; None where nothing is limited."""
        return None if self._tokens is None else self._tokens.queue

    def paced(self, executor: AttemptExecutor, listen: EventListener) -> AttemptExecutor:
        """The executor, with no more attempts at once than the limit serves."""
        tokens = self._tokens
        if tokens is None:
            return executor

        def use() -> TokenUse:
            return TokenUse(tokens=tokens.used, held_seconds=tokens.queue.held_seconds(), is_paused=tokens.is_paused)

        return PacedExecutor(executor, self.limit, use, listen)
