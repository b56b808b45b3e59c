"""Each sentence of the methods paragraph is there where the records show it, and only there."""

from typing import Any

import pytest
from msgspec.structs import replace

from outweigh.report.ladder_methods import ChoiceFact, MethodsFacts, methods_paragraph, methods_sentences

PLAIN = MethodsFacts(
    arms=3,
    configurations=3,
    tiers=3,
    tasks=12,
    families=0,
    runs=180,
    repeats=(5, 5),
    version="1.2.3",
    evidence_sha256="ab" * 32,
    baseline="T0",
    quality="passed",
    weights={},
)
CHOICE = ChoiceFact(arm="T5", chosen="T1-b", tiers=(0, 1), by="median-judge", repeats=2, held_out=True)


def sentences(**changes: Any) -> list[str]:
    return list(methods_sentences(replace(PLAIN, **changes)))


def test_what_every_study_has_is_said_and_nothing_else() -> None:
    assert sentences() == [
        "3 arms on 3 tiers were run on 12 tasks with 5 repeats each, which gives 180 counted runs.",
        "No run was judged, so tiers are compared and graded by their pass rate.",
        "Each tier counts its configurations once; the baseline is 'T0'.",
        f"Figures were computed by outweigh 1.2.3 from records with the SHA-256 {'ab' * 32}.",
    ]


def test_the_paragraph_is_all_sentences_in_order() -> None:
    paragraph = methods_paragraph(PLAIN)

    assert paragraph.title == "What was done"
    assert paragraph.text == " ".join(sentences())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"suite": "s", "families": 3, "repeats": (1, 3), "arms": 1, "configurations": 1, "tiers": 1},
            "1 arm on 1 tier was run on 12 tasks of 3 families of the suite 's' with 1 to 3 repeats each, which gives "
            "180 counted runs.",
        ),
        (
            {"configurations": 2},
            "Arms of a tier with the same fingerprint are replicates of one configuration, which leaves 2 "
            "configurations.",
        ),
        (
            {"seed": 7, "ordered_runs": 180},
            "The trials were made in a recorded order that was drawn with seed 7.",
        ),
        ({"reused": 4}, "4 runs were taken over from an earlier store."),
        ({"simulated_runs": 180}, "All runs were made by a simulated agent, which spends nothing."),
        ({"simulated_runs": 1}, "1 run was made by a simulated agent, which spends nothing."),
        (
            {"agents": {"claude 2.1": 90, "codex 0.9": 90}},
            "The recorded agents are claude 2.1 (90 runs) and codex 0.9 (90 runs).",
        ),
        (
            {"cost_sources": {"metered": 179, "estimated": 1}},
            "Costs are metered for 179 runs and estimated for 1 run.",
        ),
        (
            {"quality": "composite", "weights": {"passed": 0.5, "judge score": 0.5}},
            "Tiers are compared by a composite of 0.5 passed and 0.5 judge score.",
        ),
        (
            {"judges": ("opus", "haiku"), "judgments": 360},
            "2 judges (opus and haiku) gave 360 judgments.",
        ),
        ({"unusable_judgments": 4}, "4 judgments were unusable."),
        ({"judging_notes": ("two answers were filled in.",)}, "Two answers were filled in."),
        (
            {"excluded": {"infrastructure failure": 3, "cancelled": 1}},
            "4 runs were excluded: 3 infrastructure failure and 1 cancelled.",
        ),
        ({"superseded": 1}, "1 attempt was replaced by a later attempt at the same trial."),
        ({"stale": 2}, "2 reused runs were set aside as stale, because fresh runs stand beside them."),
        ({"quarantined": ("t1",)}, "1 task was in quarantine: t1."),
        ({"unread_lines": 3}, "3 lines were skipped because they could not be read."),
        (
            {"choices": (CHOICE,)},
            "'T5' was built on 'T1-b', chosen from the tiers 0 and 1 by median-judge on the first 2 repeats; other "
            "runs are reported.",
        ),
        (
            {"choices": (replace(CHOICE, held_out=False, tiers=(1,), repeats=0),)},
            "'T5' was built on 'T1-b', chosen from the tier 1 by median-judge; the same runs are reported, which is "
            "optimistic.",
        ),
        (
            {"choices": (replace(CHOICE, chosen=None),)},
            "For 'T5' no arm could be chosen from the tiers 0 and 1 by median-judge, so it was not run.",
        ),
        (
            {"interval_level": 0.95, "interval_methods": ("Student t",)},
            "Intervals are 95 % intervals over tasks (Student t).",
        ),
        ({"omnibus_tests": ("Friedman",)}, "Whether tiers differ at all was tested by Friedman."),
        (
            {"contrasts": 2},
            "2 contrasts of tiers were tested together by Bonferroni's intervals and Holm's correction, because a "
            "bootstrap of so few units has no tails.",
        ),
        (
            {"contrasts": 2, "contrast_draws": 10_000, "contrast_seed": 0, "is_holm_shown": True},
            "2 contrasts of tiers were tested together by max-t from 10,000 bootstrap draws, seed 0, with Holm's "
            "correction beside it.",
        ),
        (
            {"chance_draws": 10_000},
            "Probabilities of being best, of being on the frontier and of each grade are shares of 10,000 bootstrap "
            "draws of tasks.",
        ),
    ],
)
def test_a_sentence_is_there_with_its_fact_and_not_without(changes: dict[str, Any], sentence: str) -> None:
    assert sentence in sentences(**changes)
    assert sentence not in sentences()


@pytest.mark.parametrize("changes", [{"seed": 7, "ordered_runs": 179}, {"seed": None, "ordered_runs": 180}])
def test_the_order_is_not_called_drawn_where_a_run_or_the_seed_does_not_show_it(changes: dict[str, Any]) -> None:
    assert not any("order" in sentence for sentence in sentences(**changes))


def test_long_lists_are_counted() -> None:
    agents = {f"agent-{number}": 1 for number in range(9)}

    assert any(sentence.endswith("agent-5 (1 run) and 3 more.") for sentence in sentences(agents=agents))
