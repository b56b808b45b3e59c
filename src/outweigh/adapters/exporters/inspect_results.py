"""The figures of a log, by Inspect's own definitions: epochs are averaged first, then samples."""

from collections import defaultdict
from datetime import datetime, timedelta
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from outweigh.adapters.exporters.inspect_sample import CORRECT, OUTCOME, Sample
from outweigh.adapters.exporters.inspect_usage import ModelUsage, summed
from outweigh.record.status import Status

REDUCER = "mean"


class Figures:
    """Sees every sample once and holds no more of it than its outcome, its tokens and its end."""

    def __init__(self) -> None:
        self._outcomes: dict[str, list[float]] = defaultdict(list)
        self._usage: dict[str, ModelUsage] = {}
        self._usage_complete = True
        self._last_end: datetime | None = None
        self._ends_known = True
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
        elif _was_run(sample):
            self._usage_complete = False
        if "started_at" in sample and "total_time" in sample:
            end = datetime.fromisoformat(sample["started_at"]) + timedelta(seconds=sample["total_time"])
            self._last_end = end if self._last_end is None else max(end, self._last_end)
        elif _was_run(sample):
            self._ends_known = False

    @property
    def usage(self) -> dict[str, ModelUsage]:
        """The tokens of all samples; nothing where some of them are unknown, because a part is no sum."""
        return self._usage if self._usage_complete else {}

    @property
    def completed_at(self) -> datetime | None:
        """When the last sample ended; None where the end of one is unknown, because it may have been the last."""
        return self._last_end if self._ends_known else None

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


def _was_run(sample: Sample) -> bool:
    status: str = sample["metadata"]["status"]
    return status != Status.NOT_RUN
