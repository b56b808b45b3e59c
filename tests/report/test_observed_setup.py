"""What was seen of the arms is told to scripts as it is to people."""

import msgspec

from outweigh.compare.comparison import Comparison, compare_arms
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, ObservedSetup
from outweigh.report.json_output import observed_setup_payload
from outweigh.report.verdict_page import verdict_payload
from outweigh.testing.builders import a_run, evidence_of
from outweigh.verdict.decision import PolicySource
from outweigh.verdict.policy import decide

AGENT = AgentIdentity(kind=AgentKind.REAL, name="claude-code", version="2.1.0", model="m")
LOADED = ObservedSetup(
    skills=("testing",),
    skills_used=(),
    mcp_servers=None,
    tools=None,
    memory_files=None,
    seen_by=("requests",),
    agents=("reviewer",),
    commands=("fix",),
    plugins=("zoo",),
    hooks=("Stop",),
)


def seen(version: str = "2.1.0") -> Comparison:
    agent = msgspec.structs.replace(AGENT, version=version)
    runs = [a_run("task-1", "new", number, agent=agent, loaded=LOADED, warnings=("odd",)) for number in (1, 2)]
    lost = a_run("task-1", "new", 3, status=Status.ARM_NOT_APPLIED, status_detail="no skill")
    return compare_arms(evidence_of(a_run("task-1", "old"), runs, lost), "old", "new")


def test_agents_pieces_warnings_and_setbacks_are_told_by_arm() -> None:
    told = msgspec.json.decode(msgspec.json.encode(observed_setup_payload(seen())))

    assert told["new"] == {
        "agents": [{"kind": "real", "name": "claude-code", "version": "2.1.0", "model": "m", "runs": 2}],
        "proven": 2,
        "pieces": [
            {"kind": kind, "name": name, "runs": 2}
            for kind, name in (
                ("command", "fix"),
                ("hook", "Stop"),
                ("plugin", "zoo"),
                ("skill", "testing"),
                ("sub-agent", "reviewer"),
            )
        ],
        "models": [],
        "warned": 2,
        "warnings": [{"words": "odd", "runs": 2}],
        "past_gateway": 0,
        "setbacks": [
            {"task_id": "task-1", "repeat": 3, "attempt": 1, "status": "arm_not_applied", "detail": "no skill"}
        ],
    }
    assert told["old"]["proven"] == 0


def test_a_verdict_tells_them_too_and_its_hash_is_over_the_answer_alone() -> None:
    one, other = (
        verdict_payload(decide([comparison], "gates", {})[0], comparison, PolicySource.DEFAULT, may_promote=False)
        for comparison in (seen(), seen(version="2.1.1"))
    )

    assert one["sightings"] != other["sightings"]
    assert one["verdict_sha256"] == other["verdict_sha256"]
