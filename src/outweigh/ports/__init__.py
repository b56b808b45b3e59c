"""One small protocol per kind of adapter, each in a file of its own: the front door for authors of adapters.

Everybody imports from here; which file a name lives in is nobody's business but this package's.
"""

from outweigh.ports.agents import Agent, AttemptOutcome, AttemptRequest
from outweigh.ports.forges import (
    Comments,
    FileChange,
    Forge,
    ForgeError,
    ForgeProject,
    PullRequest,
    PullRequestDraft,
    Upstream,
)
from outweigh.ports.gateways import Gateway, Hosts, Meter, MeterRequest, ModelAccess
from outweigh.ports.importers import MOST_UNREAD_ROWS, FieldOrigin, Importer, ImportNotes, ImportRequest
from outweigh.ports.judges import Judge, JudgeAnswer, JudgeQuestion
from outweigh.ports.outside import OutsideJob, OutsideJobs
from outweigh.ports.reporters import Reporter
from outweigh.ports.sandboxes import Completed, Door, Ending, Sandbox, SandboxError, SandboxProvider, SandboxRequest
from outweigh.ports.stores import RunStore, Store
from outweigh.ports.suites import DEFAULT_AGENT, SuiteReader, SuiteWishes
from outweigh.ports.workspaces import RevisionFile, Revisions, Workspaces
from outweigh.task.suite_draft import SuiteDraft, SuiteFile, TaskDraft

__all__ = [
    "DEFAULT_AGENT",
    "MOST_UNREAD_ROWS",
    "Agent",
    "AttemptOutcome",
    "AttemptRequest",
    "Comments",
    "Completed",
    "Door",
    "Ending",
    "FieldOrigin",
    "FileChange",
    "Forge",
    "ForgeError",
    "ForgeProject",
    "Gateway",
    "Hosts",
    "ImportNotes",
    "ImportRequest",
    "Importer",
    "Judge",
    "JudgeAnswer",
    "JudgeQuestion",
    "Meter",
    "MeterRequest",
    "ModelAccess",
    "OutsideJob",
    "OutsideJobs",
    "PullRequest",
    "PullRequestDraft",
    "Reporter",
    "RevisionFile",
    "Revisions",
    "RunStore",
    "Sandbox",
    "SandboxError",
    "SandboxProvider",
    "SandboxRequest",
    "Store",
    "SuiteDraft",
    "SuiteFile",
    "SuiteReader",
    "SuiteWishes",
    "TaskDraft",
    "Upstream",
    "Workspaces",
]
