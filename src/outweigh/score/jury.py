"""The rules that judges work under: how often each is asked, how its passes become one, and whether it may decide."""

from collections.abc import Mapping
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
class Jury:
    """Rules by judge, and the agreement with human labels that voices have shown, by their hash.

    A voice that is in `alphas` with None was calibrated, and its labels could not show any agreement.
    """

    rules: Mapping[str, JudgeRule] = field(default_factory=dict)
    alphas: Mapping[str, float | None] = field(default_factory=dict)

    def rule(self, judge: JudgeIdentity) -> JudgeRule:
        """The suite's rule for a judge, or that of a judge nobody said anything about."""
        return self.rules.get(judge.name, DEFAULT_RULE)

    def objection(self, judge: JudgeIdentity) -> str | None:
        """Why a judge is shown but decides nothing; None where it may decide."""
        least = self.rule(judge).minimum_alpha
        if least is None:
            return None
        voice = voice_of(judge).sha256
        if voice not in self.alphas:
            return f"an alpha of {least:g} with human labels is demanded, and it was not calibrated"
        alpha = self.alphas[voice]
        if alpha is None:
            return f"an alpha of {least:g} with human labels is demanded, and its labels cannot show one"
        return None if alpha >= least else f"its alpha with human labels is {alpha:.3f}, and {least:g} is demanded"


NO_RULES = Jury()
