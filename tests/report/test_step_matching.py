"""Equal items belong together in an order that both sequences have."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from outweigh.report.run_alignment import ItemMatch, SequenceRange, gaps_between, match_items

letters = st.text(alphabet="abcd", max_size=30)


@given(letters, letters)
def test_matches_rise_on_both_sides_and_join_equal_items(left: str, right: str) -> None:
    found = match_items(left, right)

    assert all(left[match.left] == right[match.right] for match in found)
    assert all(a.left < b.left and a.right < b.right for a, b in pairwise(found))


@given(letters)
def test_a_sequence_matches_itself_wholly(text: str) -> None:
    assert match_items(text, text) == [ItemMatch(place, place) for place in range(len(text))]


@given(letters, letters)
def test_matches_and_gaps_cover_everything_once(left: str, right: str) -> None:
    found = match_items(left, right)
    stretches = list(gaps_between(found, SequenceRange(0, len(left), 0, len(right))))

    assert sum(gap.left_end - gap.left for gap in stretches) + len(found) == len(left)
    assert sum(gap.right_end - gap.right for gap in stretches) + len(found) == len(right)


@given(st.lists(st.integers(), unique=True, max_size=40), st.data())
def test_what_is_left_of_a_sequence_is_found_in_it(whole: list[int], data: st.DataObject) -> None:
    part = [item for item in whole if data.draw(st.booleans())]

    assert len(match_items(whole, part)) == len(part)


def test_an_item_that_was_put_in_moves_nothing() -> None:
    assert match_items("abcd", "axbcd") == [ItemMatch(0, 0), ItemMatch(1, 2), ItemMatch(2, 3), ItemMatch(3, 4)]


def test_a_hundred_thousand_repeated_items_are_matched_in_lock_step() -> None:
    left, right = ["x", "y"] * 50_000, ["y", "x"] * 50_000

    found = match_items(["a", *left, "b"], ["c", *right, "d"])

    assert all(a.left < b.left and a.right < b.right for a, b in pairwise(found))
