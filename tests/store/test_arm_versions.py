"""What a store calls the arms of a suite that has changed since its first run."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from outweigh.store.arm_versions import ArmVersion, name_versions, suite_arm, versions_of

BEGUN = datetime(2026, 3, 1, tzinfo=UTC)


def version(arm: str, number: int) -> ArmVersion:
    return ArmVersion(arm=arm, number=number, begun_at=BEGUN)


def test_arms_that_did_not_change_keep_their_names() -> None:
    assert name_versions({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, {}) == {"a": "a", "b": "b"}


def test_a_changed_arm_gets_the_next_number() -> None:
    known, versions = {"a": "1", "b": "2", "b@2": "3"}, {"b@2": version("b", 2)}

    assert name_versions({"a": "1", "b": "4"}, known, versions) == {"a": "a", "b": "b@3"}


def test_a_change_that_is_taken_back_finds_its_version() -> None:
    known, versions = {"a": "1", "b": "2", "b@2": "3"}, {"b@2": version("b", 2)}

    assert name_versions({"a": "1", "b": "2"}, known, versions)["b"] == "b"
    assert name_versions({"a": "1", "b": "3"}, known, versions)["b"] == "b@2"


def test_an_arm_that_is_called_like_a_version_is_not_taken_for_one() -> None:
    """A suite may have an arm of its own that is called b@2."""
    assert name_versions({"b": "4", "b@2": "3"}, {"b": "2", "b@2": "3"}, {}) == {"b": "b@3", "b@2": "b@2"}
    taken = name_versions({"b": "2", "b@2": "9"}, {"b": "2", "b@2": "3"}, {"b@2": version("b", 2)})
    assert taken == {"b": "b", "b@2": "b@2@1"}


def test_versions_know_their_arm() -> None:
    versions = {"b@2": version("b", 2)}

    assert (suite_arm("b@2", versions), suite_arm("b", versions)) == ("b", "b")
    assert versions_of("b", {"a": "1", "b": "2", "b@2": "3"}, versions) == ["b", "b@2"]


@given(st.lists(st.sampled_from("0123456789"), min_size=1, max_size=30))
def test_in_any_order_of_edits_one_content_has_one_name_and_no_name_two(edits: list[str]) -> None:
    known: dict[str, str] = {}
    versions: dict[str, ArmVersion] = {}
    named: dict[str, str] = {}
    for fingerprint in edits:
        name = name_versions({"skill": fingerprint}, known, versions)["skill"]
        if name not in known:
            if known:
                versions[name] = version("skill", len(known) + 1)
            known[name] = fingerprint
        assert named.setdefault(fingerprint, name) == name
    assert len(set(named.values())) == len(named) == len(known)
