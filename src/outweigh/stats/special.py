"""Distribution functions of the normal, beta, Student and binomial laws, for one number at a time."""

import math
from functools import cache
from statistics import NormalDist

from outweigh.stats.incomplete_beta import beta_quantile_logit, log_beta_cdf, log_beta_kernel, logistic

_STANDARD_NORMAL = NormalDist()
_LARGE_DF = 1e5


def normal_cdf(z: float) -> float:
    """P(Z <= z) of the standard normal, accurate far into the lower tail."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_sf(z: float) -> float:
    """P(Z > z) of the standard normal, accurate far into the upper tail."""
    return normal_cdf(-z)


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p; infinite at 0 and 1."""
    _require_probability(p)
    if p in (0.0, 1.0):
        return math.inf if p else -math.inf
    return _STANDARD_NORMAL.inv_cdf(p)


def chi_square_sf(x: float) -> float:
    """P(X > x) of the chi-square law with one degree of freedom."""
    return math.erfc(math.sqrt(x / 2))


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    _require_positive(a, b)
    if math.isnan(x):
        return math.nan
    if x <= 0 or x >= 1:
        return float(x >= 1)
    return math.exp(log_beta_cdf(x, 1 - x, a, b))


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with I_x(a, b) = p."""
    _require_probability(p)
    _require_positive(a, b)
    if p in (0.0, 1.0):
        return p
    if p > 0.5:
        return logistic(-beta_quantile_logit(1 - p, b, a))
    return logistic(beta_quantile_logit(p, a, b))


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) of Student's law; `df` is any positive number, infinity included."""
    _require_positive(df)
    if math.isnan(t):
        return math.nan
    if math.isinf(df) or math.isinf(t):
        return normal_cdf(t)
    lower_tail = 0.5 * _two_tails(abs(t), df)
    return lower_tail if t < 0 else 1 - lower_tail


def t_sf(t: float, df: float) -> float:
    """P(T > t) of Student's law, accurate far into the upper tail."""
    return t_cdf(-t, df)


@cache
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p of Student's law."""
    _require_probability(p)
    _require_positive(df)
    if math.isinf(df) or p in (0.0, 0.5, 1.0):
        return normal_quantile(p)
    if p > 0.5:
        return -t_quantile(1 - p, df)
    if df > _LARGE_DF:
        return _large_df_quantile(p, df)
    if p < 0.25:
        return -math.sqrt(df) * _exp(-beta_quantile_logit(2 * p, df / 2, 0.5) / 2)
    return -math.sqrt(df) * _exp(beta_quantile_logit(1 - 2 * p, 0.5, df / 2) / 2)


def binomial_pmf(k: int, n: int, p: float) -> float:
    """P(X = k) of n trials with success probability p."""
    _require_probability(p)
    if not 0 <= k <= n:
        return 0.0
    if p in (0.0, 1.0):
        return float(k == n * p)
    if k in (0, n):
        return math.exp(n * (math.log(p) if k else math.log1p(-p)))
    log_density = log_beta_kernel(p, 1 - p, k, n - k)
    return math.exp(log_density) * n / (k * (n - k))


def binomial_cdf(k: int, n: int, p: float) -> float:
    """P(X <= k) of n trials with success probability p."""
    _require_probability(p)
    if k < 0 or k >= n:
        return float(k >= n)
    if p in (0.0, 1.0):
        return 1 - p
    return math.exp(log_beta_cdf(1 - p, p, n - k, k + 1))


def binomial_sf(k: int, n: int, p: float) -> float:
    """P(X > k) of n trials with success probability p."""
    _require_probability(p)
    if k < 0 or k >= n or p in (0.0, 1.0):
        return 1 - binomial_cdf(k, n, p)
    return math.exp(log_beta_cdf(p, 1 - p, k + 1, n - k))


def _two_tails(t: float, df: float) -> float:
    """P(|T| > t): the beta variable is passed with its complement, so that neither tail loses digits."""
    if df > _LARGE_DF:
        return 2 * normal_sf(_normal_equivalent(t, df))
    square = t * t
    if math.isinf(square):
        return 0.0
    return math.exp(log_beta_cdf(df / (df + square), square / (df + square), df / 2, 0.5))


def _normal_equivalent(t: float, df: float) -> float:
    """The z of equal tail probability, by G. W. Hill's expansion (1970); its error is of order df^-4."""
    shrunk = df - 0.5
    w = math.sqrt(shrunk * math.log1p(t * (t / df)))
    return w + (w**3 + 3 * w) / (48 * shrunk**2)


def _large_df_quantile(p: float, df: float) -> float:
    """The inverse of `_normal_equivalent`, whose correction is too small to need a second step."""
    z, shrunk = normal_quantile(p), df - 0.5
    w = z - (z**3 + 3 * z) / (48 * shrunk**2)
    return -math.sqrt(df * math.expm1(w * w / shrunk))


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def _require_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueError(f"a probability lies in [0, 1], got {p}")


def _require_positive(*parameters: float) -> None:
    if not all(parameter > 0 for parameter in parameters):
        raise ValueError(f"shape parameters and degrees of freedom are positive, got {parameters}")
