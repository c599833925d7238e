"""Whether a model was built with the frequencies that its configuration declares now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

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
    for kind, scheme in schemes.items():
        # One table at least: Molmo 2 makes a second one for layers that are not scaled, even where there are none.
        owns = [getattr(module, f"{kind}_inv_freq", getattr(module, "inv_freq", None)) for module in found.rotaries]
        if _none_is_declared(owns, scheme):
            return [
                "needed a model built with the frequencies that its configuration has now, got others in its module; "
                "build it again from the changed configuration, or give the rule as scaling="
            ]
    return []


def _none_is_declared(owns: list[object], scheme: Plan) -> bool:
    if scheme.scaling is not None and scheme.scaling.needs_length:
        return False
    ours = torch.tensor(rope_of(scheme).inverse_frequencies, dtype=torch.float32).abs()
    tables = [own.detach().cpu() for own in owns if _is_a_table(own) and own.shape == ours.shape]
    return bool(tables) and not any(torch.allclose(own, ours, rtol=ROUNDED, atol=0.0) for own in tables)


def _is_a_table(own: object) -> TypeGuard[torch.Tensor]:
    """Falling positive numbers in float32, as no memory that was never filled has."""
    if not isinstance(own, torch.Tensor) or own.is_meta or own.dtype != torch.float32 or own.ndim != 1 or own.numel() < 2:
        return False
    return bool((own.isfinite() & (own > 0)).all()) and bool((own[1:] <= own[:-1]).all()) and bool(own[0] > own[-1])
