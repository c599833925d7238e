"""Videos whose sound stands between their frames: which audio tokens belong to a video, and where each block ends."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ordinate.multimodal.blocks import Blocks
from ordinate.multimodal.neighbours import latest, moved, nearest_ahead
from ordinate.multimodal.token_rows import AUDIO, TEXT, VIDEO, TokenRows, require


@dataclass(frozen=True, eq=False)
class Sounding:
    """For every token, in the order of ``TokenRows.types``.

    Attributes:
        block: bool [B, T]: of an image, of a video, or of the sound inside a video.
        starts: bool [B, T]: the first token of its block.
        last: int64 [B, T]: index of the last token of its block (means nothing outside of blocks).
        heard: int64 [B, T]: how many sound tokens of the same video stand before it.
        sound: bool [B, T]: of the sound inside a video.
        with_sound: bool [B, T]: of a video that has sound inside, or of that sound.
    """

    block: torch.Tensor
    starts: torch.Tensor
    last: torch.Tensor
    heard: torch.Tensor
    sound: torch.Tensor
    with_sound: torch.Tensor


def find_sound(rows: TokenRows, blocks: Blocks) -> Sounding:
    """Tell the sound of videos from audio that stands alone: it follows a video's tokens directly.

    Args:
        rows: the tokens.
        blocks: their images and videos.

    Returns:
        One number a token and question.

    Raises:
        ValueError: on the CPU, where a block is broken, or a video with sound has not two text tokens before and behind it.

    Example:
        >>> from ordinate.multimodal.blocks import find_blocks
        >>> from ordinate.multimodal.token_rows import token_rows
        >>> rows = token_rows(torch.tensor([[0, 0, 2, 3, 3, 0, 0, 3, 0]]), None, AUDIO)
        >>> blocks = find_blocks(rows, torch.ones(0, 3, dtype=torch.int64), torch.ones(1, 3, dtype=torch.int64))
        >>> find_sound(rows, blocks).sound[0].long()
        tensor([0, 0, 0, 1, 1, 0, 0, 0, 0])
    """
    types = rows.types
    index = torch.arange(types.shape[1], device=types.device).expand_as(types)
    media = (types == VIDEO) | (types == AUDIO)
    run_start = latest(media & ~moved(media, 1), index)
    sound = (types == AUDIO) & (types.gather(1, run_start) == VIDEO)
    block, starts = blocks.vision | sound, blocks.vision & (blocks.within == 0)
    last = nearest_ahead(block & (~moved(block, -1) | moved(starts, -1)), index)
    start = latest(starts, index)
    counted = sound.long().cumsum(1)
    heard = counted - counted.gather(1, start) - 1
    with_sound = (types != TEXT) & block & (counted.gather(1, last) > counted.gather(1, start))
    _require_order(rows, blocks, start, with_sound)
    return Sounding(block, starts, last, heard, sound, with_sound)


def _require_order(rows: TokenRows, blocks: Blocks, start: torch.Tensor, with_sound: torch.Tensor) -> None:
    """Blocks whole and in one row, and the four markers of a video with sound."""
    text = rows.types == TEXT
    first = with_sound & ~moved(with_sound, 1)
    final = with_sound & ~moved(with_sound, -1)
    markers = (~first | (moved(text, 1) & moved(text, 2))) & (~final | (moved(text, -1) & moved(text, -2)))
    require(markers.all(), lambda: "token_types: needed two text tokens (the markers) before and behind a video with sound")
    follows = moved(blocks.vision | (rows.types == 3), 1) & (blocks.item == blocks.item.gather(1, start))
    whole = ~blocks.vision | (blocks.within == 0) | follows
    require(
        whole.all(), lambda: "token_types: needed the tokens of one image or video side by side, got a gap; see the grids' sizes"
    )
