"""Largest error of cos and sin by position, for the exact recipe and for float32 angles, against mpmath. Prints JSON."""

import json
import platform

import mpmath
import torch

from ordinate import phases

POSITIONS = (1000, 4095, 32767, 131071, 999_999, 9_999_999, 2**31 - 1)
WIDTH = 128
BASES = (10_000.0, 500_000.0)


def errors(position, base):
    """Largest absolute error over all pairs, by recipe."""
    pairs = [(2 * i, WIDTH) for i in range(WIDTH // 2)]
    place = torch.tensor([position])
    tables = {
        "exact": phases.exact(place, phases.from_base(base, pairs)),
        "float32": phases.float32(place, phases.float32_from_base(base, WIDTH)),
    }
    worst = {}
    for recipe, (cos, sin) in tables.items():
        worst[recipe] = 0.0
        for i, (numerator, denominator) in enumerate(pairs):
            angle = position * mpmath.mpf(base) ** (-mpmath.mpf(numerator) / denominator)
            for got, true in ((cos[0, i], mpmath.cos(angle)), (sin[0, i], mpmath.sin(angle))):
                worst[recipe] = max(worst[recipe], float(abs(got.item() - true)))
    return {recipe: float(f"{value:.3g}") for recipe, value in worst.items()}


def measure():
    mpmath.mp.dps = 60
    return {
        "command": "python benchmarks/phase_accuracy.py",
        "versions": {"torch": torch.__version__, "python": platform.python_version(), "mpmath": mpmath.__version__},
        "head_dim": WIDTH,
        "largest_error": {str(base): {str(position): errors(position, base) for position in POSITIONS} for base in BASES},
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
