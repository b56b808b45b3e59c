"""Run by Inspect's own interpreter, in a folder of logs: prints as JSON what Inspect makes of them."""

import json
import sys
from typing import Any

from inspect_ai.analysis import SampleMessages, SampleSummary, evals_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
from inspect_ai.scorer import SampleScore, Score, accuracy, stderr


def main(folder: str) -> None:
    """Read every log in all the ways that Inspect has."""
    samples = samples_df(folder, columns=[*SampleSummary, *SampleMessages], quiet=True)
    evaluations = evals_df(folder, quiet=True)
    print(
        json.dumps(
            {
                "logs": [_log(info) for info in list_eval_logs(folder, descending=False)],
                "samples_df": json.loads(samples.to_json(orient="records")),
                "evals_df": json.loads(evaluations.to_json(orient="records")),
            }
        )
    )


def _log(info: Any) -> dict[str, Any]:
    log = read_eval_log(info)
    one = log.samples[0]
    scored = [
        SampleScore(score=Score(value=each.value), sample_id=each.sample_id)
        for reduction in log.reductions or []
        for each in reduction.samples
    ]
    return {
        "listed": [info.task, info.task_id],
        "log": json.loads(log.model_dump_json(exclude_none=True)),
        "summaries": [json.loads(each.model_dump_json()) for each in read_eval_log_sample_summaries(info)],
        "summaries_of_samples": [json.loads(each.summary().model_dump_json()) for each in log.samples],
        "alone": read_eval_log_sample(info, id=one.id, epoch=one.epoch).uuid == one.uuid,
        "accuracy": accuracy()(scored),
        "stderr": float(stderr()(scored)),
        "completion": one.output.completion,
    }


if __name__ == "__main__":
    main(sys.argv[1])
