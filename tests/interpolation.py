"""The definition of linear and cubic interpolation of rows, in float64 loops over every new place."""

import itertools
import math

import torch

FLOAT32_BOUND = 1e-5


def triangle(x, a):  # noqa: ARG001
    return max(1 - abs(x), 0.0)


def cubic(x, a):
    """Keys 1981."""
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def mix(old, new, place, kind, antialias=False):
    """Weights of the old places for one new place, centres of cells on centres of cells; beyond the ends the last place counts.

    Keys' a is -0.75 without and -0.5 with antialiasing, which widens the kernel and leaves the places beyond the ends out.
    """
    kernel, reach = {"linear": (triangle, 1), "cubic": (cubic, 2)}[kind]
    centre, wide = (place + 0.5) * old / new - 0.5, max(old / new, 1.0) if antialias else 1.0
    weights = [0.0] * old
    for source in range(math.floor(centre - reach * wide) - 1, math.ceil(centre + reach * wide) + 2):
        if 0 <= source < old or not antialias:
            weights[min(max(source, 0), old - 1)] += kernel((source - centre) / wide, -0.5 if antialias else -0.75)
    return [weight / sum(weights) for weight in weights]


def stretched(rows, old, new, kind, antialias=False):
    """Loops over every new place of a grid; rows of a grid follow one another, height before width."""
    rows, out = rows.double(), []
    for y, x in itertools.product(range(new[0]), range(new[1])):
        ys, xs = mix(old[0], new[0], y, kind, antialias), mix(old[1], new[1], x, kind, antialias)
        out.append(sum(ys[i] * xs[j] * rows[i * old[1] + j] for i in range(old[0]) for j in range(old[1])))
    return torch.stack(out)


def rounded_once(got, wanted, dtype):
    """Whether numbers are the wanted ones, off by float32's errors and then rounded."""
    low, high = (wanted - FLOAT32_BOUND).to(dtype), (wanted + FLOAT32_BOUND).to(dtype)
    return got.dtype == dtype and bool(((low <= got) & (got <= high)).all())
