"""The verbs and the line that `outweigh --help` shows for each. A verb's module is imported when it is called."""

from typing import NamedTuple


class Verb(NamedTuple):
    """Where a verb lives and what it is for. One that builds anything up takes it down when a signal ends it."""

    module: str
    summary: str
    takes_down: bool = False


VERBS = {
    "demo": Verb("outweigh.cli.demo", "the whole flow, offline, in seconds: run, verdict, report", takes_down=True),
    "init": Verb(
        "outweigh.cli.init", "write a suite: a starter that runs as it is, or one from evals you have", takes_down=True
    ),
    "doctor": Verb(
        "outweigh.cli.doctor", "what works here, and whether a suite's tasks can show anything", takes_down=True
    ),
    "run": Verb(
        "outweigh.cli.run", "attempt every trial of a suite in sandboxes; resumes what was begun", takes_down=True
    ),
    "import": Verb("outweigh.cli.import_", "results of other harnesses as run records; finds the format itself"),
    "judge": Verb(
        "outweigh.cli.judge", "score recorded runs by their rubrics; asks only what is missing", takes_down=True
    ),
    "compare": Verb("outweigh.cli.compare", "two arms side by side: summaries, pairs, deltas"),
    "verdict": Verb("outweigh.cli.verdict", "did the candidate improve, and may it be promoted?"),
    "ladder": Verb("outweigh.cli.ladder", "arms as tiers: uplift, variance, range, grades, best value"),
    "report": Verb("outweigh.cli.report", "a baseline and its candidates on one page: .html, .md, .json, .xml or .csv"),
    "diff": Verb("outweigh.cli.diff", "two runs side by side: where they part, patches, checks, cost"),
    "scan": Verb("outweigh.cli.scan", "signs of cheating in transcripts and diffs, run by run and arm by arm"),
    "view": Verb("outweigh.cli.view", "stores in a browser: runs, trajectories, two runs side by side"),
    "aa": Verb("outweigh.cli.aa", "the self-check: how often would each policy cry wolf on this data?"),
    "plan": Verb("outweigh.cli.plan", "what the next experiment could see, and what it would cost"),
    "ci": Verb(
        "outweigh.cli.ci", "base against head as one step of a CI job, with outputs and a comment", takes_down=True
    ),
    "comment": Verb("outweigh.cli.comment", "put what `ci` wrote on a pull request, in place of what was there"),
    "baseline": Verb("outweigh.cli.baseline", "pinned runs of a baseline: pin, list, check for drift", takes_down=True),
    "model-server": Verb("outweigh.cli.model_server", "a scripted model: real agents offline, without a key"),
    "export": Verb("outweigh.cli.export", "records as .jsonl or .parquet, scores as .csv, runs as .xml, trajectories"),
    "promote": Verb("outweigh.cli.promote", "open the pull request that a verdict allows; a plan unless --execute"),
}
