"""What a simulation of a cluster is given; docs/scale.md says where each number comes from."""

from dataclasses import dataclass

DAY = 86_400.0
NEVER = float("inf")

ARTIFACT_BYTES = (1_813, 10_491, 39_279, 236_724)
"""Sizes of the public transcripts of Claude Code; a trial draws one of them."""

INLINE_BYTES = 64_000
"""Artifacts up to this size come back through the connection of the host, others through a shared folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterInputs:
    """A plan, the hosts that make it, what a trial needs, and what breaks.

    `trial_seconds` is the mean of a log-normal distribution, `trial_spread` its standard deviation in logarithms; cost
    and tokens of a trial are proportional to its time. Rates of `NEVER` mean that nothing of the kind happens. With
    `is_setting` the limit of tokens is `tokens_per_minute` of the suite: waiting is not timed, and starts keep to it.
    """

    tasks: int = 50_000
    arms: int = 4
    repeats: int = 5
    seed: int = 1

    hosts: int = 217
    slots_per_host: int = 32
    images_per_host: int = 250
    keep_blocks_together: bool = False

    trial_seconds: float = 600.0
    trial_spread: float = 0.92
    timeout_seconds: float = 1_800.0
    usd_per_trial: float = 0.67
    tokens_per_trial: float = 44_400.0
    requests_per_trial: float = 34.0
    share_that_fails: float = 0.002

    tick_seconds: float = 1.0
    lease_seconds: float = 120.0
    node_life_seconds: float = DAY
    node_start_seconds: float = 180.0
    seconds_between_cuts: float = DAY / 2
    cut_median_seconds: float = 10.0
    cut_spread: float = 1.5

    tokens_per_minute: float = NEVER
    is_setting: bool = False
    agents_give_up: bool = False
    refusals_before_giving_up: int = 10
    retry_after_seconds: float = 60.0

    @property
    def trials(self) -> int:
        """How many trials the plan has."""
        return self.tasks * self.arms * self.repeats
