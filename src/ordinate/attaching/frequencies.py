"""Whether a model was built with the frequencies that its configuration declares now."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from ordinate.attaching.angles import Plan, rope_of
from ordinate.attaching.finding import Found

ROUNDED = 1e-2  # twice what a cast to bfloat16 costs


def other_frequencies(found: Found, schemes: Mapping[str, Plan]) -> list[str]:
    """Find rotary modules whose frequencies are others than the configuration's: it was changed after the model was built.

    What a cast rounded, what was never filled and what depends on the length tells nothing, and is passed over.

    Args:
        found: the model's modules.
        schemes: by layer type, as the configuration has them.

    Returns:
        Faults.

    Example:
        >>> other_frequencies(Found(owner=torch.nn.Identity(), rotaries=[], by_type=False, attentions=[], form="cos sin"), {})
        []
    """
    faults = []
    for module in found.rotaries:
        for kind, scheme in schemes.items():
            own = getattr(module, f"{kind}_inv_freq", getattr(module, "inv_freq", None))
            fixed = scheme.scaling is None or not scheme.scaling.needs_length
            if fixed and isinstance(own, torch.Tensor) and _is_a_table(own):
                ours = torch.tensor(rope_of(scheme).inverse_frequencies, dtype=torch.float32).abs()
                if own.shape == ours.shape and not torch.allclose(own.detach().cpu(), ours, rtol=ROUNDED, atol=0.0):
                    faults.append(
                        "needed a model built with the frequencies that its configuration has now, got others in its module; "
                        "build it again from the changed configuration, or give the rule as scaling="
                    )
    return list(dict.fromkeys(faults))


def _is_a_table(own: torch.Tensor) -> bool:
    """Falling positive numbers in float32, as no memory that was never filled has."""
    if own.is_meta or own.dtype != torch.float32 or own.ndim != 1 or own.numel() < 2:
        return False
    return bool((own.isfinite() & (own > 0)).all()) and bool((own[1:] <= own[:-1]).all()) and bool(own[0] > own[-1])
