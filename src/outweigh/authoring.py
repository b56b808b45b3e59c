"""Everything that the author of an adapter imports: protocols, their values, helpers, and contracts to test against.

An adapter is a class whose constructor takes no arguments, registered by an entry point in one of these groups:
`outweigh.agents`, `outweigh.sandboxes`, `outweigh.judges`, `outweigh.importers`, `outweigh.suite_readers`,
`outweigh.forges`. docs/write-an-adapter.md shows an agent from end to end.

What only the tests of an adapter need (contracts, sandboxes, the scripted model) is loaded on first use, so that an
adapter at work does not load it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from outweigh.agents.command_line import (
    CommandLineAgent,
    Launch,
    LocationOptions,
    ProgramOptions,
    TurnOptions,
    build_prompt,
    read_whole,
)
from outweigh.agents.exchanges import ReportScope
from outweigh.agents.home_files import HomeArtifacts
from outweigh.agents.outcomes import early_end, outcome_from_report
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.model.agent_files import AgentFileLocations, ConfigurationKind, file_locations_of
from outweigh.model.arm import Arm, McpServer
from outweigh.model.codec import InvalidLine
from outweigh.model.failure import Failure, FailureKind, Status, failure_from_http, failure_from_text, make_failure
from outweigh.model.json_text import JsonObject
from outweigh.model.judgment import CriterionScore, JudgeIdentity, Judgment
from outweigh.model.run_record import (
    AgentIdentity,
    AgentKind,
    AlignedAction,
    CheckResult,
    ObservedServer,
    ObservedSetup,
    RunRecord,
    Step,
    StepSource,
    ToolCall,
    Trial,
)
from outweigh.model.suite import JudgeSpec, SuiteSpec
from outweigh.model.task import Task, TaskSettings
from outweigh.model.untrusted_json import (
    amount_at,
    bool_at,
    count_at,
    dict_at,
    dicts_at,
    int_at,
    name_at,
    names_at,
    parse_arguments,
    seconds_at,
    str_at,
    timestamp_at,
    to_text,
    value_at,
)
from outweigh.model.usage import (
    NO_USAGE,
    UNKNOWN_COST,
    Component,
    ComponentTokens,
    Cost,
    CostProvenance,
    Usage,
    reported_cost,
    sum_usage,
)
from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest, UserReplies, build_outcome
from outweigh.ports.forges import Forge, ForgeError, ForgeProject, PullRequest, PullRequestDraft
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.importers import FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    ForwardedPort,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from outweigh.ports.suites import DraftFile, SuiteDraft, SuiteOverrides, SuiteReader, TaskDraft
from outweigh.transcript.agent_report import AgentReport, EventReader, TranscriptReader, failure_or_unfinished
from outweigh.transcript.token_counts import add_counts, read_provider_usage, subtract_counts
from outweigh.transcript.tool_calls import setup_from_calls, used_skills
from outweigh.transcript.trajectory_builder import TrajectoryBuilder

if TYPE_CHECKING:
    from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
    from outweigh.sandbox.container import ContainerSandboxProvider
    from outweigh.sandbox.local import LocalSandboxProvider
    from outweigh.testing.agent_contract import AgentContract, AttemptResult, an_agent_arm, an_attempt
    from outweigh.testing.forge_contract import ForgeContract, ForgeTestProject
    from outweigh.testing.importer_contract import ImporterContract
    from outweigh.testing.judge_contract import CancellableJudgeContract, JudgeContract, a_question
    from outweigh.testing.model_server import ErrorSpec, LedgerEntry, ModelServer, Script, Tokens, Turn, UsageSpec
    from outweigh.testing.sandbox_contract import SandboxContract
    from outweigh.testing.sandbox_fixtures import a_sandbox_request
    from outweigh.testing.suite_reader_contract import SuiteReaderContract

_TEST_MODULES = {
    "outweigh.sandbox.bubblewrap": ("BubblewrapSandboxProvider",),
    "outweigh.sandbox.container": ("ContainerSandboxProvider",),
    "outweigh.sandbox.local": ("LocalSandboxProvider",),
    "outweigh.testing.agent_contract": (
        "AgentContract",
        "AttemptResult",
        "an_agent_arm",
        "an_attempt",
    ),
    "outweigh.testing.forge_contract": (
        "ForgeContract",
        "ForgeTestProject",
    ),
    "outweigh.testing.importer_contract": ("ImporterContract",),
    "outweigh.testing.judge_contract": (
        "CancellableJudgeContract",
        "JudgeContract",
        "a_question",
    ),
    "outweigh.testing.model_server": (
        "ErrorSpec",
        "LedgerEntry",
        "ModelServer",
        "Script",
        "Tokens",
        "Turn",
        "UsageSpec",
    ),
    "outweigh.testing.sandbox_contract": ("SandboxContract",),
    "outweigh.testing.sandbox_fixtures": ("a_sandbox_request",),
    "outweigh.testing.suite_reader_contract": ("SuiteReaderContract",),
}
_MODULE_OF = {name: module for module, names in _TEST_MODULES.items() for name in names}

__all__ = [
    "NO_USAGE",
    "UNKNOWN_COST",
    "Agent",
    "AgentContract",
    "AgentFileLocations",
    "AgentIdentity",
    "AgentKind",
    "AgentReport",
    "AlignedAction",
    "Arm",
    "AttemptOutcome",
    "AttemptRequest",
    "AttemptResult",
    "BubblewrapSandboxProvider",
    "CancellableJudgeContract",
    "CheckResult",
    "CommandEnding",
    "CommandLineAgent",
    "CompletedCommand",
    "Component",
    "ComponentTokens",
    "ConfigurationKind",
    "ContainerSandboxProvider",
    "Cost",
    "CostProvenance",
    "CriterionScore",
    "DraftFile",
    "ErrorSpec",
    "EventReader",
    "EvidenceError",
    "Failure",
    "FailureKind",
    "FieldOrigin",
    "Forge",
    "ForgeContract",
    "ForgeError",
    "ForgeProject",
    "ForgeTestProject",
    "ForwardedPort",
    "HomeArtifacts",
    "ImportNotes",
    "ImportRequest",
    "Importer",
    "ImporterContract",
    "InvalidLine",
    "JsonObject",
    "Judge",
    "JudgeAnswer",
    "JudgeContract",
    "JudgeIdentity",
    "JudgeQuestion",
    "JudgeSpec",
    "Judgment",
    "Launch",
    "LedgerEntry",
    "LocalSandboxProvider",
    "LocationOptions",
    "McpServer",
    "ModelAccess",
    "ModelServer",
    "ObservedServer",
    "ObservedSetup",
    "OutweighError",
    "ProgramOptions",
    "PullRequest",
    "PullRequestDraft",
    "ReportScope",
    "RunRecord",
    "Sandbox",
    "SandboxContract",
    "SandboxError",
    "SandboxProvider",
    "SandboxRequest",
    "Script",
    "Status",
    "Step",
    "StepSource",
    "SuiteDraft",
    "SuiteOverrides",
    "SuiteReader",
    "SuiteReaderContract",
    "SuiteSpec",
    "Task",
    "TaskDraft",
    "TaskSettings",
    "Tokens",
    "ToolCall",
    "TrajectoryBuilder",
    "TranscriptReader",
    "Trial",
    "Turn",
    "TurnOptions",
    "Usage",
    "UsageError",
    "UsageSpec",
    "UserReplies",
    "a_question",
    "a_sandbox_request",
    "add_counts",
    "amount_at",
    "an_agent_arm",
    "an_attempt",
    "bool_at",
    "build_outcome",
    "build_prompt",
    "count_at",
    "dict_at",
    "dicts_at",
    "early_end",
    "failure_from_http",
    "failure_from_text",
    "failure_or_unfinished",
    "file_locations_of",
    "int_at",
    "make_failure",
    "name_at",
    "names_at",
    "outcome_from_report",
    "parse_arguments",
    "read_provider_usage",
    "read_whole",
    "reported_cost",
    "seconds_at",
    "setup_from_calls",
    "str_at",
    "subtract_counts",
    "sum_usage",
    "timestamp_at",
    "to_text",
    "used_skills",
    "value_at",
]


def __getattr__(name: str) -> Any:
    """Load a name that only tests need from the module that defines it."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'outweigh.authoring' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
