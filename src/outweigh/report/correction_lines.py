"""What files of corrections did to stores, in a sentence and for scripts."""

from collections.abc import Iterable

from msgspec.structs import asdict

from outweigh.model.corrections import CORRECTIONS_FILE, CorrectionSummary
from outweigh.report.formatting import count_of
from outweigh.report.json_output import Payload

SHOWN_DIGITS = 12


def describe_correction(correction: CorrectionSummary) -> str:
    """What one file did, and its hash."""
    counts = (
        (correction.renamed, "renamed"),
        (correction.moved, "merged or split"),
        (correction.dropped, "dropped"),
    )
    done = [f"{count_of(number, 'run')} {words}" for number, words in counts if number]
    return (
        f"{CORRECTIONS_FILE} (sha256 {correction.sha256[:SHOWN_DIGITS]}) put arms or tasks right after the runs: "
        f"{', '.join(done) or 'no run is changed'} (see {correction.place})."
    )


def corrections_payload(corrections: Iterable[CorrectionSummary]) -> list[Payload]:
    """The same for scripts, with what it means for every arm."""
    return [
        {
            "file": each.place,
            "sha256": each.sha256,
            "renamed_runs": each.renamed,
            "moved_runs": each.moved,
            "dropped_runs": each.dropped,
            "arms": {name: asdict(arm) for name, arm in each.arms.items()},
        }
        for each in corrections
    ]
