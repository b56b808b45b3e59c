"""A tally counts what is new, and knows which fields anybody knows something about."""

from outweigh.interop.imported_run import imported_run, outcome_check
from outweigh.model.run_record import RunRecord
from outweigh.store.import_folder import ImportCounts


def a_run(number: int, **known: object) -> RunRecord:
    return imported_run(
        run_id=f"run {number}", task_id=f"task {number % 7}", arm=f"arm {number % 2}", repeat=number, **known
    )


def test_a_field_is_known_where_one_run_of_many_knows_it() -> None:
    tally = ImportCounts()
    for number in range(1234):
        known = {"step_count": 0, "checks": (outcome_check("success", None),)} if number == 700 else {}
        tally.count(a_run(number, **known))

    assert tally.known_fields == {"run_id", "trial", "attempt", "status", "agent", "step_count", "checks"}
    assert (tally.runs, tally.arms, len(tally.tasks)) == (1234, {"arm 0": 617, "arm 1": 617}, 7)


def test_what_is_known_can_be_asked_for_again_and_again() -> None:
    tally = ImportCounts()
    assert tally.known_fields == frozenset()

    tally.count(a_run(1))
    assert "extra" not in tally.known_fields

    tally.count(a_run(2, extra={"note": 1}))
    assert "extra" in tally.known_fields
