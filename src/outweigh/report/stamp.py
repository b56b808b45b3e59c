"""The stamp in a written report that says which records it rests on, so that `report --check` can tell a stale one."""

import json
import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Any

import msgspec

_IN_HTML = re.compile(r'<meta name="outweigh-report" content="([^"]*)">')
_IN_MARKDOWN = re.compile(r"<!-- outweigh-report (\{[^<>]*\}) -->\s*\Z")
# What could end a comment is written by its code, which JSON allows everywhere in a text.
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&-"}


class ReportStamp(msgspec.Struct, frozen=True, kw_only=True):
    """The arms of a report, and the fingerprint of everything recorded about them."""

    baseline: str
    candidates: tuple[str, ...]
    evidence_sha256: str


def stamp_of_payload(payload: Mapping[str, Any]) -> ReportStamp | None:
    """The stamp of a report's JSON; None for any other answer, which has no provenance."""
    provenance, verdicts = payload.get("provenance"), payload.get("verdicts")
    if not provenance or not verdicts:
        return None
    return ReportStamp(
        baseline=provenance["baseline"],
        candidates=tuple(verdict["candidate"] for verdict in verdicts),
        evidence_sha256=provenance["evidence_sha256"],
    )


def html_stamp(payload: Mapping[str, Any]) -> list[str]:
    """A line for the head of a page, or none."""
    written = _encode_stamp(payload)
    return [] if written is None else [f'<meta name="outweigh-report" content="{escape(written, quote=True)}">']


def markdown_stamp(payload: Mapping[str, Any]) -> str:
    """An invisible comment, or nothing; it has to be the last line."""
    written = _encode_stamp(payload)
    return "" if written is None else f"<!-- outweigh-report {written} -->"


def read_stamp(text: str) -> ReportStamp | None:
    """Find the stamp in a report, be it HTML, Markdown or JSON."""
    try:
        if text.startswith("{"):
            return stamp_of_payload(msgspec.json.decode(text, type=dict[str, Any]))
        if found := _IN_HTML.search(text):
            return msgspec.json.decode(unescape(found[1]), type=ReportStamp)
        found = _IN_MARKDOWN.search(text)
        return None if found is None else msgspec.json.decode(found[1], type=ReportStamp)
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def _encode_stamp(payload: Mapping[str, Any]) -> str | None:
    stamp = stamp_of_payload(payload)
    if stamp is None:
        return None
    # Unlike msgspec's, this one writes all that is not ASCII by its code, so that no name can change the page.
    return json.dumps(msgspec.to_builtins(stamp)).translate(_UNSAFE)
