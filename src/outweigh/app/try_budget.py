"""What a small budget buys of an experiment: the price of a run, its cap, and how many tasks, which ones."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from math import ceil, floor

from outweigh.app.build_engine import prices_for_provider
from outweigh.app.plan_prices import TYPICAL_USAGE
from outweigh.app.probe_agents import provider_of_arm
from outweigh.app.try_agent import TryAgent
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.model.arm import bare_arm
from outweigh.model.pricing import PriceTables
from outweigh.model.task import Task
from outweigh.plugins import load_adapter
from outweigh.prices import listed_models
from outweigh.report.formatting import format_dollars
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

TYPICAL_RUN_SECONDS = 300.0
"""An assumption, like the tokens of a typical run."""
CAP_FACTOR = 3
"""A run may cost so many times what a typical one does; it is stopped there."""
FEWEST_TASKS = 2
DEFAULT_BUDGET_USD = 5.0
ASSUMED_MODELS = {"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "gemini": "gemini-2.5-pro"}
"""The prices that are taken where an arm names no model and its agent takes its own."""
PRETENDED_RUN_USD = 0.16
"""What a run of the scripted agent pretends to cost, as its script says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPrice:
    """What a run is expected to cost on average over both arms, its cap, and where the figure comes from."""

    run_usd: float
    cap_usd: float
    source: str

    def usd_for(self, tasks: int) -> float:
        """The least budget that buys so many tasks, in whole cents."""
        return ceil(100 * ((2 * tasks - 1) * self.run_usd + self.cap_usd) - 1e-9) / 100

    def tasks_within(self, budget_usd: float) -> int:
        """The tasks that both arms can attempt once; the last run must be affordable at its cap."""
        return max(0, floor((budget_usd + self.run_usd - self.cap_usd) / (2 * self.run_usd) + 1e-9))


def price_runs(suite: LoadedSuite, agent: TryAgent, candidate_model: str | None, stated: float | None) -> RunPrice:
    """The price of a run: as stated, as a typical run at the price list, or as that of a usual model."""
    if stated is not None:
        return _capped(suite, stated, "as stated by --run-cost")
    if agent.name == "scripted":
        return _capped(suite, PRETENDED_RUN_USD, "simulated")
    models = [agent.spec.model, candidate_model or agent.spec.model]
    prices = prices_for_provider(suite, agent.spec.provider)
    provider = provider_of_arm(bare_arm("baseline", agent.name, agent.spec.model)) or "anthropic"
    assumed = ASSUMED_MODELS[provider]
    known = {model: _typical_usd(model or assumed, agent.name, provider, prices) for model in models}
    if all(usd is not None for usd in known.values()):
        named = ", ".join(dict.fromkeys(model or f"{assumed}, as no model is named" for model in models))
        mean = sum(known[model] or 0.0 for model in models) / 2
        return _capped(suite, mean, f"a typical run at the prices of {named}")
    if suite.spec.limits.budget_usd is not None:
        return _capped(suite, suite.spec.limits.budget_usd, "the most that a run may cost, as no price is known")
    usual = _typical_usd(assumed, agent.name, provider, prices)
    if usual is None:
        raise UsageError("no price of the agent's model is known. State what a run costs with --run-cost USD.")
    return _capped(suite, usual, f"a typical run at the prices of {assumed}, as those of its model are not known")


def default_budget(price: RunPrice) -> float:
    """What is spent where nobody says how much: fewer tasks than the verdict takes would decide nothing."""
    return max(DEFAULT_BUDGET_USD, price.usd_for(MINIMUM_TASKS))


def require_two_tasks(price: RunPrice, budget_usd: float) -> int:
    """How many tasks the budget buys; UsageError where they are fewer than two."""
    tasks = price.tasks_within(budget_usd)
    if tasks < FEWEST_TASKS:
        raise UsageError(
            f"--budget {format_dollars(budget_usd)} buys fewer than {FEWEST_TASKS} tasks: a run costs about "
            f"{format_dollars(price.run_usd)} ({price.source}) and at most {format_dollars(price.cap_usd)}, and every "
            f"task takes one run of each arm. {format_dollars(price.usd_for(FEWEST_TASKS))} is enough; --run-cost "
            "states another price."
        )
    return tasks


def choose_tasks(tasks: Sequence[Task], number: int) -> tuple[Task, ...]:
    """So many tasks, spread evenly over the families; the same ones every time, in an order that favours none."""
    families: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda task: sha256(task.id.encode()).digest()):
        families[task.family or task.id].append(task)
    turns = [(place, task) for members in families.values() for place, task in enumerate(members)]
    turns.sort(key=lambda turn: turn[0])
    chosen = {task.id for _, task in turns[:number]}
    return tuple(task for task in tasks if task.id in chosen)


def _capped(suite: LoadedSuite, usd: float, source: str) -> RunPrice:
    cap = suite.spec.limits.budget_usd
    return RunPrice(
        run_usd=usd if cap is None else min(usd, cap),
        cap_usd=ceil(100 * CAP_FACTOR * usd) / 100 if cap is None else cap,
        source=source,
    )


def _typical_usd(model: str, agent: str, provider: str, prices: PriceTables) -> float | None:
    """What a typical run costs with a model, or with the most expensive one that an alias may stand for."""
    patterns = getattr(load_adapter("agent", agent), "model_aliases", {}).get(model, ())
    named = [name for name in listed_models(provider) if any(fnmatchcase(name, pattern) for pattern in patterns)]
    costs = [prices.cost(name, TYPICAL_USAGE, None)[0] for name in named or [model]]
    return max((cost.usd for cost in costs if cost is not None and cost.usd is not None), default=None)
