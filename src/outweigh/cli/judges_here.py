"""Which judges can be asked from here."""

from collections.abc import Iterator

from outweigh.cli.judging import panel_of
from outweigh.plugins import names
from outweigh.report.doctor_view import Part
from outweigh.run.loading import LoadedSuite
from outweigh.verdict.gated_metric import JUDGE_SCORE


def look_at_judges(suite: LoadedSuite | None) -> Iterator[Part]:
    """Every backend there is; with a suite, its judges. Runs stand without them, unless the suite decides by them."""
    if suite is None:
        for name in names("judge"):
            yield Part(kind="judge backend", name=name, missing=None, required=False, detail="installed")
        return
    missing = panel_of(suite.spec.judges).missing
    required = JUDGE_SCORE in (suite.spec.policy.gates or ())
    for judge in suite.spec.judges:
        detail = f"{judge.backend}, {judge.model or 'its own model'}"
        yield Part(kind="judge", name=judge.name, missing=missing.get(judge.name), required=required, detail=detail)
