"""The regularised incomplete beta function and its inverse, on log scales so that no tail underflows."""

import math

_LOG_TWO_PI = math.log(2 * math.pi)
_TINY = 1e-300
_STIRLING_COEFFICIENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def log_beta_cdf(x: float, y: float, a: float, b: float) -> float:
    """Log of I_x(a, b) with y = 1 - x; on the far side of the mean it is one minus the other tail."""
    if x == 0 or y == 0:
        return -math.inf if x == 0 else 0.0
    if x > (a + 1) / (a + b + 2):
        other = log_beta_kernel(y, x, b, a) + math.log(_continued_fraction(y, b, a) / b)
        return math.log1p(-math.exp(min(other, 0.0))) if other < 0 else -math.inf
    return log_beta_kernel(x, y, a, b) + math.log(_continued_fraction(x, a, b) / a)


def log_beta_kernel(x: float, y: float, a: float, b: float) -> float:
    """Log of x^a y^b / B(a, b), as deviances from the mean so that large a and b do not cancel."""
    n = a + b
    stirling = _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    scale = 0.5 * (math.log(a) + math.log(b) - math.log(n) - _LOG_TWO_PI)
    return scale + stirling - _deviance(a, n * x) - _deviance(b, n * y)


def beta_quantile_logit(p: float, a: float, b: float) -> float:
    """Logit of the beta quantile for p <= 1/2, by Newton's method on the log of the distribution function.

    In the logit that function is concave, so after the first step Newton climbs to the root from the left.
    """
    logit, target, last = math.log(a) - math.log(b), math.log(p), math.inf
    for _ in range(200):
        x, y = logistic(logit), logistic(-logit)
        log_cdf = log_beta_cdf(x, y, a, b)
        step = (target - log_cdf) * math.exp(log_cdf - log_beta_kernel(x, y, a, b))
        logit = max(logit + step, -700.0)
        # Near the root steps shrink until only rounding is left, which may go on for ever.
        if abs(step) <= 1e-15 * max(1.0, abs(logit)) or last <= abs(step) < 1e-9:
            break
        last = abs(step)
    return logit


def logistic(z: float) -> float:
    """1 / (1 + exp(-z)) without overflow."""
    return 1 / (1 + math.exp(-z)) if z > 0 else math.exp(z) / (1 + math.exp(z))


def _deviance(observed: float, expected: float) -> float:
    """observed log(observed / expected) - (observed - expected), without cancellation near equality."""
    if expected < 0.5 * observed:
        return observed * (math.log(observed) - math.log(max(expected, _TINY))) + expected - observed
    excess = (observed - expected) / expected
    return expected * ((1 + excess) * math.log1p(excess) - excess)


def _stirling_error(z: float) -> float:
    """Log-gamma(z) minus Stirling's leading terms."""
    if z < 15:
        return math.lgamma(z) - (z - 0.5) * math.log(z) + z - 0.5 * _LOG_TWO_PI
    power, inverse_square = 1 / z, 1 / (z * z)
    total = 0.0
    for coefficient in _STIRLING_COEFFICIENTS:
        total += coefficient * power
        power *= inverse_square
    return total


def _continued_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b), evaluated by the modified Lentz method."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 200 + 20 * math.isqrt(int(a + b) + 1)):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for numerator in (even, odd):
            d = 1 / _away_from_zero(1 + numerator * d)
            c = _away_from_zero(1 + numerator / c)
            value *= c * d
        if abs(value - before) <= 1e-16 * abs(value):
            return value
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
