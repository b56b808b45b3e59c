"""`python column_engines.py ENGINE DATASET CANDIDATE…`: what a verdict needs, by another engine, from the same columns.

For every candidate and metric: the means by task and arm, the mean difference over tasks (of logs, for a resource) with
its standard error, and the median of the runs of each arm.
"""

import sys
from pathlib import Path

METRICS = ("passed", "duration_seconds", "non_cache_tokens", "cost_usd")
BASELINE = "baseline"


def by_duckdb(dataset: Path, candidates: list[str]) -> list[object]:
    """In one query for every metric."""
    import duckdb  # noqa: PLC0415 - one engine is measured at a time

    duckdb.sql("set threads to 2")
    files = f"'{dataset}/part-*[0-9].parquet'"
    found: list[object] = []
    for metric in METRICS:
        value = metric if metric == "passed" else f"ln({metric})"
        query = f"""
            with means as (select arm, task_id, avg({value}) as mean from {files}
                           where role = 'counted' group by arm, task_id)
            select candidate.arm, avg(candidate.mean - base.mean), stddev(candidate.mean - base.mean) / sqrt(count(*))
            from means candidate join means base on candidate.task_id = base.task_id and base.arm = '{BASELINE}'
            where candidate.arm in ({", ".join(f"'{name}'" for name in candidates)}) group by candidate.arm"""
        median = f"select arm, median({metric}) from {files} where role = 'counted' group by arm"
        for each in (query, median):
            answer = duckdb.sql(each)
            found += [] if answer is None else answer.fetchall()
    return found


def by_pandas(dataset: Path, candidates: list[str]) -> list[object]:
    """Columns read once, with names as categories."""
    import numpy as np  # noqa: PLC0415 - one engine is measured at a time
    from pyarrow import parquet  # noqa: PLC0415

    files = sorted(dataset.glob("part-*[0-9].parquet"))
    table = parquet.read_table(
        files, columns=["arm", "task_id", "role", *METRICS], read_dictionary=["arm", "task_id", "role"]
    )
    frame = table.filter(parquet.filters_to_expression([("role", "=", "counted")])).unify_dictionaries().to_pandas()
    found: list[object] = []
    for metric in METRICS:
        values = frame[metric] if metric == "passed" else np.log(frame[metric])
        means = values.groupby([frame["arm"], frame["task_id"]], observed=True).mean()
        found.append(frame.groupby("arm", observed=True)[metric].median())
        for name in candidates:
            moved = (means.loc[name] - means.loc[BASELINE]).dropna()
            found.append((moved.mean(), moved.sem()))
    return found


ENGINES = {"duckdb": by_duckdb, "pandas": by_pandas}

if __name__ == "__main__":
    engine, dataset, *candidates = sys.argv[1:]
    print(ENGINES[engine](Path(dataset), candidates))
