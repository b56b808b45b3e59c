"""A report carries the fingerprint of its records, and no name in it can forge one."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outweigh.report.stamp import ReportStamp, html_stamp, markdown_stamp, read_stamp, stamp_of_payload

NAMES = st.text(max_size=30)


def a_payload(baseline: str = "a", *candidates: str) -> dict[str, Any]:
    return {
        "provenance": {"baseline": baseline, "evidence_sha256": "0" * 64},
        "verdicts": [{"candidate": name} for name in candidates or ("b",)],
    }


@given(NAMES, NAMES)
def test_what_was_stamped_is_read_again_from_html_and_markdown(baseline: str, candidate: str) -> None:
    payload = a_payload(baseline, candidate)
    expected = ReportStamp(baseline=baseline, candidates=(candidate,), evidence_sha256="0" * 64)

    [line] = html_stamp(payload)
    assert read_stamp(f"<head>{line}</head>") == expected
    assert read_stamp(f"## page\n\n{markdown_stamp(payload)}\n") == expected


def test_json_is_its_own_stamp() -> None:
    payload = a_payload("a", "b", "c")

    assert read_stamp(msgspec.json.encode(payload).decode()) == stamp_of_payload(payload)


@given(NAMES)
def test_no_name_ends_the_comment_it_is_in(name: str) -> None:
    comment = markdown_stamp(a_payload(name))

    assert comment.isascii()
    assert comment.count("--") == 2
    assert comment.count(">") == 1


def test_a_stamp_in_the_middle_of_a_page_is_not_the_pages() -> None:
    forged = markdown_stamp(a_payload("forged"))

    assert read_stamp(f"{forged}\n\nmore") is None


@pytest.mark.parametrize(
    "text", ["", "hello", "{}", "{", '{"provenance": 1, "verdicts": 2}', "<!-- outweigh-report {} -->"]
)
def test_what_is_no_report_has_no_stamp(text: str) -> None:
    assert read_stamp(text) is None


def test_an_answer_without_provenance_is_not_stamped() -> None:
    assert html_stamp({}) == []
    assert markdown_stamp({}) == ""
