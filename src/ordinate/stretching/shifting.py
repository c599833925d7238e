"""The same passage at growing absolute positions: what changes is the precision of the angles, since nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ordinate.stretching.running import losses_of
from ordinate.stretching.settings import Settings

OFFSETS = (0, 1_000, 10_000, 100_000, 1_000_000)
PASSAGE = 256


@torch.inference_mode()
def shifted(
    model: Any, tokens: torch.Tensor, settings: Settings, trained: int, done: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Run a passage at each offset.

    Args:
        model: with its angles.
        tokens: of the whole text.
        settings: where the text starts.
        trained: trained length; the passage is no longer.
        done: offsets that an earlier run has found.

    Yields:
        One record an offset: mean loss, and the largest and the root mean square difference of a log-probability from offset 0.
    """
    passage = tokens[settings.start : settings.start + min(PASSAGE, trained) + 1]
    finished = {line["offset"] for line in done if "offset" in line}
    if finished >= set(OFFSETS):
        return
    at_zero = _logits(model, passage[:-1], 0).log_softmax(-1)
    for offset in OFFSETS:
        if offset in finished:
            continue
        logits = _logits(model, passage[:-1], offset)
        difference = (logits.log_softmax(-1) - at_zero).double()
        yield {
            "offset": offset,
            "loss": losses_of(logits, passage[1:]).double().mean().item(),
            "largest": difference.abs().max().item(),
            "rms": difference.square().mean().sqrt().item(),
        }


def _logits(model: Any, passage: torch.Tensor, offset: int) -> torch.Tensor:
    places = torch.arange(offset, offset + len(passage), device=model.device)[None]
    logits: torch.Tensor = model(input_ids=passage[None].to(model.device), position_ids=places, use_cache=False).logits
    return logits[0].float()
