"""How far a judge agreed with people when it was last compared with them."""

from outweigh.record.run_record import Sha256
from outweigh.record.stored import Count, Fraction, Name, Stored, require_finite
from outweigh.record.voice import Voice


class Range(Stored, frozen=True):
    """A confidence interval."""

    low: float
    high: float
    level: Fraction
    method: Name


class Measured(Stored, frozen=True):
    """A number with its interval. `value` is None where it cannot be known, and `warnings` says why."""

    value: float | None
    interval: Range | None
    items: Count
    method: Name
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        """Only finite numbers are stored."""
        require_finite("measured", value=self.value)


class Agreement(Stored, frozen=True):
    """A judge and people about the same things: whole runs (`criterion` None), or one criterion of them.

    `accuracy` and `kappa` are about passed or not. `alpha` is about scores where people gave scores throughout.
    """

    criterion: Name | None
    labels: Count
    accuracy: Measured
    kappa: Measured
    alpha: Measured


class Calibration(Stored, frozen=True, tag_field="schema", tag="outweigh.calibration/1"):
    """One voice against one file of labels. It says nothing about any other voice.

    `overall` decides whether the judge may drive anything; `retest` is its agreement with itself, pass by pass.
    `rubrics` are those whose runs were labelled. `unused_labels` name runs or criteria that this voice did not judge.
    """

    judge: Voice
    judge_sha256: Sha256
    labels_sha256: Sha256
    judgments_sha256: Sha256
    seed: Count
    overall: Agreement
    criteria: tuple[Agreement, ...]
    retest: Measured
    rubrics: tuple[str, ...]
    unused_labels: Count
    warnings: tuple[str, ...]
