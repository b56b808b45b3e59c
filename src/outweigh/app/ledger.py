"""Enter a verdict in the ledger of its repository. `app/decide.py` holds every later reading of the store to it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from outweigh.errors import OutweighError
from outweigh.report.ci_outcome import LedgerNote
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.ledger import (
    LEDGER_FILE,
    Ledger,
    LedgerLine,
    copy_to_store,
    enter_in_ledger,
    mark_store,
)
from outweigh.store.pins import PIN_FILE
from outweigh.verdict.decision import Verdict
from outweigh.verdict.policy import POLICIES
from outweigh.verdict.promotion_ledger import (
    FAMILY_ERROR,
    SHOWN_VERDICTS,
    error_left,
    power_left,
    promotion_level,
    promotion_p,
)


def default_ledger(reuse: Iterable[str], store: Path) -> Path:
    """Beside the pins where a pin or a folder of pins is given, else beside the store."""
    folders = [Path(path) for path in reuse if not (Path(path) / EXPERIMENT_FILE).exists()]
    if not folders:
        return store.parent / LEDGER_FILE
    return (folders[0].parent if (folders[0] / PIN_FILE).exists() else folders[0]) / LEDGER_FILE


def enter_verdict(store: Path, suite: str, verdict: Verdict, ledger: Path) -> LedgerNote:
    """Enter the verdict about a store, once for the same evidence; what goes wrong is said, and forbids a promotion."""
    if not POLICIES[verdict.policy].infers:
        words = f"Policy {verdict.policy} states no error rate, so the ledger of verdicts has no say in its promotions."
        return LedgerNote(words=words, level=None, error_left=None)
    is_new = not ledger.exists()
    try:
        mark_store(store)
        entered = enter_in_ledger(ledger, verdict.evidence_hashes, lambda known: _line(known, suite, verdict))
        line = entered.find(*verdict.evidence_hashes)
        assert line is not None
        copy_to_store(store, line)
    except OutweighError as fault:
        words = f"The ledger of verdicts could not be written, so nothing may be promoted: {fault}"
        return LedgerNote(words=words, level=None, error_left=None)
    words = _words(entered, line, started=ledger if is_new else None)
    return LedgerNote(words=words, level=line.level, error_left=error_left(entered.unpromoted))


def _line(ledger: Ledger, suite: str, verdict: Verdict) -> LedgerLine:
    level, p_value = promotion_level(ledger.unpromoted), promotion_p(verdict)
    return LedgerLine(
        entered_at=datetime.now(UTC),
        suite=suite,
        evidence_sha256=verdict.evidence_sha256,
        decision=verdict.decision.value,
        p_value=p_value,
        level=level,
        promotable=p_value is not None and p_value <= level,
    )


def _words(ledger: Ledger, line: LedgerLine, started: Path | None) -> str:
    number, promotable = ledger.lines.index(line) + 1, ledger.verdicts - ledger.unpromoted
    outcome = (
        f"it has p = {line.p_value:.2g}" if line.p_value is not None else "nothing improved, and that level is used up"
    )
    shares = [f"{100 * power_left(promotion_level(place - 1)):.0f}" for place in SHOWN_VERDICTS]
    places = f"{', '.join(map(str, SHOWN_VERDICTS[:-1]))} and {SHOWN_VERDICTS[-1]}"
    words = (
        f"Ledger: verdict {number} of {ledger.verdicts} here, {promotable} of them promotable. A promotion of this one "
        f"needs p ≤ {line.level:.2g}; {outcome}. Of the {100 * FAMILY_ERROR:g} % chance that a change without effect "
        f"is ever promoted, {100 * error_left(ledger.unpromoted):.1f} are left. A gain that a verdict alone finds 8 "
        f"times in 10 is promoted {', '.join(shares[:-1])} and {shares[-1]} times in 100 as verdict {places}, where "
        "nothing was promoted before."
    )
    if started is None:
        return words
    return f"{words} There was no ledger, so one begins with all of its {100 * FAMILY_ERROR:g} %: {started}"
