"""The few sums behind every figure."""

import math
import statistics


def summary(samples):
    """Median and quartiles; one sample is all three."""
    if len(samples) == 1:
        return samples[0], (samples[0], samples[0])
    first, median, third = statistics.quantiles(samples, n=4, method="inclusive")
    return median, (first, third)


def ratio(value, limit):
    """How many times the limit; None of a limit of nothing, as of bytes that a copy keeps."""
    return value / limit if limit else None


def paired_ratio(row, limit):
    """Median of the ratios within a round, which share what else went on; of the medians where no round has both."""
    others = dict(zip(limit.get("turns", ()), limit.get("seconds", ()), strict=True))
    pairs = [
        (seconds, others[turn])
        for turn, seconds in zip(row.get("turns", ()), row.get("seconds", ()), strict=True)
        if turn in others
    ]
    if not pairs:
        return ratio(row["median"], limit["median"])
    return statistics.median(seconds / other for seconds, other in pairs)


def met(value, at_most):
    """Whether a ratio is within its target, both as they are printed; a row without a figure never is."""
    return value is not None and round(value, 3) <= round(at_most, 3)


def fitted_exponent(sizes, seconds):
    """The e of seconds = c size^e: least squares through the logarithms. None for fewer than two sizes."""
    if len(sizes) < 2:
        return None
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(value) for value in seconds]).slope
