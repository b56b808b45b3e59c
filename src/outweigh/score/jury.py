"""The rules that judges work under: how often each is asked, how its passes become one, and whether it may decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from outweigh.record.judgment import JudgeIdentity
from outweigh.record.voice import voice_of
from outweigh.score.consensus import Consensus


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRule:
    """What a suite says about one judge. Without `most_passes`, every run is judged `passes` times."""

    passes: int = 1
    most_passes: int | None = None
    consensus: Consensus = Consensus.MEAN
    minimum_alpha: float | None = None


DEFAULT_RULE = JudgeRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAgreement:
    """How far a voice agreed with people about runs that were judged by these rubrics. None: it could not be shown."""

    alpha: float | None
    rubrics: frozenset[str] = frozenset()

    def covers(self, rubric_sha256: str | None) -> bool:
        """Whether it says anything about a rubric; one that nobody recorded is covered only by others like it."""
        return not self.rubrics if rubric_sha256 is None else rubric_sha256 in self.rubrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """Rules by judge, and the agreement with human labels that voices have shown, by their hash."""

    rules: Mapping[str, JudgeRule] = field(default_factory=dict)
    agreements: Mapping[str, Sequence[ShownAgreement]] = field(default_factory=dict)

    def rule(self, judge: JudgeIdentity) -> JudgeRule:
        """The suite's rule for a judge, or that of a judge nobody said anything about."""
        return self.rules.get(judge.name, DEFAULT_RULE)

    def objection(self, judge: JudgeIdentity) -> str | None:
        """Why a judge is shown but decides nothing; None where it may decide. The worst that it has shown counts."""
        least = self.rule(judge).minimum_alpha
        if least is None:
            return None
        shown = self.agreements.get(voice_of(judge).sha256, ())
        alphas = [agreement.alpha for agreement in shown if agreement.covers(judge.rubric_sha256)]
        known = [alpha for alpha in alphas if alpha is not None]
        demand = f"an alpha of {least:g} with human labels is demanded, and"
        if not shown:
            return f"{demand} it was not calibrated"
        if not alphas:
            return f"{demand} no run that was judged by this rubric was labelled"
        if len(known) < len(alphas):
            return f"{demand} its labels cannot show one"
        return (
            None
            if min(known) >= least
            else f"its alpha with human labels is {min(known):.3f}, and {least:g} is demanded"
        )


NO_RULES = Jury()
