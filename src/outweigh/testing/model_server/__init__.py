"""A scripted model behind a loopback HTTP server: real agents run offline, without a key, the same way every time."""

from outweigh.testing.model_server.ledger import Ending, LedgerEntry, Tokens, Totals
from outweigh.testing.model_server.model_script import (
    BillingSpec,
    CallSpec,
    Conversation,
    CutSpec,
    ErrorSpec,
    Script,
    Turn,
    UsageSpec,
    When,
    parse_script,
    read_script,
)
from outweigh.testing.model_server.server_thread import ModelServer

__all__ = [
    "BillingSpec",
    "CallSpec",
    "Conversation",
    "CutSpec",
    "Ending",
    "ErrorSpec",
    "LedgerEntry",
    "ModelServer",
    "Script",
    "Tokens",
    "Totals",
    "Turn",
    "UsageSpec",
    "When",
    "parse_script",
    "read_script",
]
