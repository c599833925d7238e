"""What a longer table of positions does to an encoder where the old one was long enough: how far pooled embeddings turn.

drift = cosine of (mean of the last layer's vectors, old table) and (the same, resized table), of one and the same passage
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from ordinate.stretching.settings import Settings

PARTS = (8, 4, 2, 1)  # of the trained length
EACH = 2


def passages(tokenizer: Any, tokens: torch.Tensor, settings: Settings, trained: int) -> list[torch.Tensor]:
    """Cut passages that the old table is long enough for, with the encoder's own first and last token.

    Args:
        tokenizer: of the model.
        tokens: of the whole text.
        settings: where the text starts.
        trained: length of the old table.

    Returns:
        Ids, the short passages first.
    """
    ends = [[] if token is None else [token] for token in (tokenizer.cls_token_id, tokenizer.sep_token_id)]
    found, place = [], settings.start
    for part in PARTS:
        room = trained // part - len(ends[0]) - len(ends[1])
        for _ in range(EACH):
            inner = tokens[place : place + room].tolist()
            found.append(torch.tensor([*ends[0], *inner, *ends[1]]))
            place += room
    return found


@torch.inference_mode()
def pooled(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """Give the mean of the last layer's vectors.

    Args:
        model: an encoder.
        ids: of one passage.

    Returns:
        A vector in float32.

    Shape:
        [T] -> [d]
    """
    states: torch.Tensor = model(input_ids=ids[None].to(model.device)).last_hidden_state
    return states[0].float().mean(0).cpu()


def drifted(
    model: Any, before: list[torch.Tensor], given: list[torch.Tensor], done: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Compare the embeddings of passages.

    Args:
        model: with the resized table.
        before: embeddings with the old one.
        given: the passages.
        done: what an earlier run has found.

    Yields:
        One record a passage: its number, its tokens, the cosine.
    """
    finished = {line["passage"] for line in done if "passage" in line}
    for number, (old, ids) in enumerate(zip(before, given, strict=True)):
        if number not in finished:
            cosine = F.cosine_similarity(old.double(), pooled(model, ids).double(), dim=0).item()
            yield {"passage": number, "tokens": len(ids), "cosine": cosine}
