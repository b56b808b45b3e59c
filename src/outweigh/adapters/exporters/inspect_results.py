"""The figures of a log, by Inspect's own definitions: epochs are averaged first, then samples."""

from collections import defaultdict
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from outweigh.adapters.exporters.inspect_sample import CORRECT, OUTCOME, Sample
from outweigh.adapters.exporters.inspect_usage import ModelUsage, summed
from outweigh.record.status import Status

REDUCER = "mean"


class Figures:
    """Sees every sample once and holds no more of it than its outcome and its tokens."""

    def __init__(self) -> None:
        self._outcomes: dict[str, list[float]] = defaultdict(list)
        self._usage: dict[str, ModelUsage] = {}
        self._usage_complete = True
        self._samples = 0
        self._completed = 0

    def see(self, sample: Sample) -> None:
        """Count one sample."""
        self._samples += 1
        self._completed += "error" not in sample
        outcomes = self._outcomes[sample["id"]]
        if (outcome := sample.get("scores", {}).get(OUTCOME)) is not None:
            outcomes.append(float(outcome["value"] == CORRECT))
        if "model_usage" in sample:
            self._usage = summed([self._usage, sample["model_usage"]])
        elif sample["metadata"]["status"] != Status.NOT_RUN:
            self._usage_complete = False

    @property
    def usage(self) -> dict[str, ModelUsage]:
        """The tokens of all samples; nothing where some of them are unknown, because a part is no sum."""
        return self._usage if self._usage_complete else {}

    def results(self) -> dict[str, Any]:
        """Accuracy and standard error over samples; no score at all where no sample has one."""
        means = list(self._means().values())
        counts = {"total_samples": self._samples, "completed_samples": self._completed}
        if not means:
            return {**counts, "scores": []}
        spread = stdev(means) / sqrt(len(means)) if len(means) > 1 else 0.0
        score = {
            "name": OUTCOME,
            "scorer": OUTCOME,
            "reducer": REDUCER,
            "scored_samples": len(means),
            "unscored_samples": len(self._outcomes) - len(means),
            "metrics": {
                "accuracy": {"name": "accuracy", "value": fmean(means)},
                "stderr": {"name": "stderr", "value": spread},
            },
        }
        return {**counts, "scores": [score], "headline": {"scorer": OUTCOME, "metric": "accuracy"}}

    def reductions(self) -> list[dict[str, Any]]:
        """What the epochs of every sample come to."""
        samples = [{"sample_id": sample_id, "value": mean} for sample_id, mean in self._means().items()]
        return [{"scorer": OUTCOME, "reducer": REDUCER, "samples": samples}] if samples else []

    def _means(self) -> dict[str, float]:
        return {sample_id: fmean(outcomes) for sample_id, outcomes in self._outcomes.items() if outcomes}
