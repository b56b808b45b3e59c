"""Cells, promises and sections."""

import pickle
from dataclasses import replace

import pytest
from calibration.cell_table import cell_table
from calibration.cells import Cell, Measurement, Readings, at_least, at_most, mean_of, share_of
from calibration.claims import claims
from calibration.sections import SECTIONS
from calibration.study import cell_jobs, perform
from tests.calibration.studies import good_study


def half(draws: int, seed: int) -> Readings:
    return {"improved": share_of(draws // 2, draws), "tasks used": mean_of([float(seed), float(seed + 2)])}


def measured(**promise: float) -> Measurement:
    cell = Cell(
        name="half",
        measure=half,
        arguments=(),
        draws=100,
        promises=tuple(at_most(name.replace("_", " "), limit) for name, limit in promise.items()),
    )
    return Measurement(section="Halves", cell=cell, draws=100, readings=half(100, 7))


def test_a_share_has_the_standard_error_of_a_binomial() -> None:
    reading = share_of(36, 100)

    assert (reading.value, reading.error) == pytest.approx((0.36, 0.048))
    assert (reading.shown, reading.shown_error) == ("36.0", "4.80")


def test_a_mean_has_the_standard_error_of_its_draws_and_is_shown_as_it_is() -> None:
    reading = mean_of([1.0, 2.0, 3.0, 6.0])

    assert (reading.value, reading.error) == pytest.approx((3.0, 1.0801234))
    assert (reading.shown, reading.shown_error) == ("3.0", "1.08")


def test_an_upper_limit_is_exceeded_from_above_and_a_lower_one_from_below() -> None:
    reading = share_of(30, 100)

    assert at_most("improved", 0.2).excess(reading) == pytest.approx(0.1)
    assert at_least("improved", 0.2).excess(reading) == pytest.approx(-0.1)


def test_a_table_of_cells_shows_every_number_and_the_error_of_what_is_promised() -> None:
    row = cell_table([measured(improved=0.6)]).splitlines()[-1]

    assert row == "| half | 100 | 50.0 ± 5.00 | 8.0 | improved at most 60 % |"


def test_a_number_beyond_its_limit_by_more_than_three_standard_errors_is_a_broken_promise() -> None:
    assert "**broken**" not in cell_table([measured(improved=0.36)])
    assert "**broken**" in cell_table([measured(improved=0.34)])
    assert "tasks used at most 4 (**broken**)" in cell_table([measured(tasks_used=4.0)])


def test_the_table_of_promises_has_the_worst_cell_of_every_limit() -> None:
    study = good_study(cells=(measured(improved=0.6), measured(improved=0.34), measured(tasks_used=9.0)))

    found = {claim.sentence: claim for claim in claims(study) if claim.sentence.startswith("Halves")}

    assert {sentence: claim.holds for sentence, claim in found.items()} == {
        "Halves: improved at most 60 %": True,
        "Halves: improved at most 34 %": False,
        "Halves: tasks used at most 9": True,
    }


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_every_cell_of_a_section_can_be_measured_in_another_process(section: object) -> None:
    jobs = [job for job in cell_jobs(0.0) if job.arguments[0] is section]

    assert all(pickle.loads(pickle.dumps(job)).seed == job.seed for job in jobs)
    assert len({job.arguments[1].name for job in jobs}) == len(jobs)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_every_promise_is_about_a_number_that_its_cell_measures(section: object) -> None:
    job = next(job for job in cell_jobs(0.0) if job.arguments[0] is section)
    found = perform(replace(job, draws=2))

    assert {promise.reading for promise in found.cell.promises} <= set(found.readings)
