"""The text of a pull request that promotes: the verdict, and how to check that this is what it is about."""

from dataclasses import replace

from outweigh.report.document import Report, Table

LONGEST_BODY = 60_000
"""Forges take a little more; what is beyond is cut off at the end of a line."""
_CUT = "\n\n(cut here: a forge takes no longer text)\n"


def with_identity(verdict: Report, *, evidence_sha256: str, fingerprints: dict[str, str], onto: str) -> Report:
    """The verdict's page, with the hashes that tie the change to what was tested."""
    rows = (
        ("evidence", evidence_sha256),
        *((f"fingerprint of {name}", value) for name, value in fingerprints.items()),
        ("base commit", onto),
    )
    table = Table(title="What was tested, and is proposed here byte for byte", columns=("", "hash"), rows=rows)
    return replace(verdict, blocks=(*verdict.blocks, table))


def bounded(body: str) -> str:
    """The text where it is short enough, else its beginning, in whole lines."""
    if len(body) <= LONGEST_BODY:
        return body
    return body[: LONGEST_BODY - len(_CUT)].rpartition("\n")[0] + _CUT
