"""A secret does not pass, however it is torn."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from outweigh.gateway.round_trip import MAX_LOGGED_BODY_BYTES, LoggedBody, TrafficLog
from outweigh.gateway.upstream import SecretMask

SECRET = "sk-secret-0001"


@given(st.lists(st.sampled_from([SECRET, SECRET[:5], "s", "sk-", "text\n\n", "0001"]), max_size=8), st.data())
def test_no_secret_passes_and_everything_else_does(pieces: list[str], data: st.DataObject) -> None:
    content = "".join(pieces).encode()
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=8))
    masking = SecretMask([SECRET])
    places = sorted({0, *cuts, len(content)})
    passed = b"".join(masking.feed(content[start:end]) for start, end in pairwise(places)) + masking.finish()

    assert passed == content.replace(SECRET.encode(), b"*" * len(SECRET))


def test_nothing_is_held_that_cannot_be_a_secret() -> None:
    assert SecretMask([SECRET]).feed(b"data: {}\n\n") == b"data: {}\n\n"


def test_without_a_secret_everything_passes() -> None:
    assert SecretMask([]).feed(b"anything") == b"anything"


def test_bodies_are_kept_without_secrets_even_where_they_are_cut() -> None:
    answer = LoggedBody()
    answer.add(b"x" * (MAX_LOGGED_BODY_BYTES - 5) + SECRET.encode())
    bodies = TrafficLog([SECRET])
    bodies.add(1, "/v1/messages", f'{{"echo": "{SECRET}"}}'.encode(), 200, answer)

    assert SECRET[:3].encode() not in bodies.lines()
    assert b'"is_truncated":true' in bodies.lines()
    assert b"[secret]" in bodies.lines()
