"""For every claim, wrong formulas that must change its verdict."""

from __future__ import annotations

from typing import Any

from perturbations_order import PERTURBED_ORDER
from perturbations_schemes import PERTURBED_SCHEMES
from perturbations_sinusoids import PERTURBED_SINUSOIDS
from perturbations_words import PERTURBED_WORDS

PERTURBED: dict[str, list[dict[str, Any]]] = {
    **PERTURBED_ORDER,
    **PERTURBED_SINUSOIDS,
    **PERTURBED_SCHEMES,
    **PERTURBED_WORDS,
}
