"""After the agent: what was measured, what was proven, and what the attempt therefore counts as."""

from dataclasses import replace

from outweigh.record.status import EXCLUDED, Status
from outweigh.run.draft import Draft, nothing_said
from outweigh.run.metering import measured
from outweigh.run.proof import prove
from outweigh.run.watchlist import Watchlist


def settle(draft: Draft, watch: Watchlist) -> None:
    """Put measured figures in the place of reported ones, and throw out a run that was not its arm's."""
    outcome = draft.outcome or nothing_said(draft.arm)
    if draft.account is not None:
        found = measured(outcome, draft.account)
        outcome, draft.metering, draft.reported = found.outcome, found.metering, found.reported
        if draft.account.bodies:
            draft.artifacts["model-traffic.jsonl"] = draft.account.bodies
    proof = prove(draft.arm, watch, outcome.loaded, draft.account)
    outcome = replace(outcome, loaded=proof.loaded)
    if proof.faults and outcome.status not in EXCLUDED:
        outcome = replace(outcome, status=Status.ARM_NOT_APPLIED, status_detail="; ".join(proof.faults))
    draft.outcome = outcome
