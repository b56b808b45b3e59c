"""The outcome of one objective assertion on the sandbox after a run."""

from outweigh.record.stored import Count, Name, Stored


class CheckResult(Stored, frozen=True):
    """`passed` is None when the check itself could not be evaluated. A check that counts cases states both counts."""

    name: Name
    required: bool
    passed: bool | None
    cases_passed: Count | None
    cases_total: Count | None
    exit_code: int | None
    detail: str | None

    def __post_init__(self) -> None:
        """Refuse counts that contradict each other or the outcome."""
        if (self.cases_passed is None) != (self.cases_total is None):
            raise ValueError("a check states both cases_passed and cases_total, or neither")
        if self.cases_passed is None or self.cases_total is None:
            return
        if self.cases_passed > self.cases_total:
            raise ValueError(f"{self.cases_passed} of {self.cases_total} cases passed is impossible")
        if (
            self.cases_total
            and self.passed is not None
            and self.cases_passed == (0 if self.passed else self.cases_total)
        ):
            raise ValueError(
                f"passed is {str(self.passed).lower()}, yet {self.cases_passed} of {self.cases_total} cases passed; "
                "leave the counts null where they do not decide"
            )
