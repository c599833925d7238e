"""Images, videos, audio, and videos with their sound, in whole steps of time: Qwen2.5-Omni.

Paper: https://arxiv.org/abs/2503.20215 (time-aligned M-RoPE).
"""

from __future__ import annotations

import torch

from ordinate.checks import finite_number, whole_number
from ordinate.multimodal.blocks import find_blocks, lay_out, raster
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.neighbours import moved
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.seconds import Seconds, time_of
from ordinate.multimodal.sounding import Sounding, find_sound
from ordinate.multimodal.token_rows import AUDIO, token_rows


def qwen2_5_omni_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    seconds_per_grid: Seconds = None,
    steps_per_second: float,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of Qwen2.5-Omni, thinker and talker.

    A block that begins at p puts frame n, row h, column w at (p + floor(n x seconds x steps), p + h, p + w), where n x seconds, and
    then that x steps, is rounded to float32. What follows goes on one behind the largest position of the block's last token. Audio
    counts like text. The sound inside a video counts from p on, beside the frames; the two markers before such a video share one
    position, and so do the two behind it.

    Args:
        token_types: 0 text, 1 image, 2 video, 3 audio; a video and its sound stand in one run that begins with the video. Tensors
            are never read by the host, except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video.
        seconds_per_grid: seconds from one frame of tokens to the next, of each video; None: 1.
        steps_per_second: how many steps a second is (``position_id_per_seconds``).
        spatial_merge: how many rows, and how many columns, of patches become one token.
        mask: true for a real token; pad slots are given 1, as the model's own code does, and count nothing.

    Returns:
        What unpacks into positions and deltas.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 0, 2, 3, 3, 2, 0, 0, 0]])
        >>> settings = {"seconds_per_grid": [0.2], "steps_per_second": 25, "spatial_merge": 2}
        >>> positions, deltas = qwen2_5_omni_positions(types, video_grids=[(2, 2, 2)], **settings)
        >>> positions[0, :, 0]
        tensor([0, 0, 1, 1, 2, 6, 7, 7, 8])
    """
    rows = token_rows(token_types, mask, AUDIO)
    device = rows.types.device
    by = (1, whole_number("spatial_merge", spatial_merge, least=1))
    images = merged("image_grids", image_grids, by=by, device=device)
    videos = merged("video_grids", video_grids, by=by, device=device)
    blocks = find_blocks(rows, images, videos)
    sounding = find_sound(rows, blocks)
    frame, row, column = raster(blocks.within, blocks.rows, blocks.columns)
    rate = finite_number("steps_per_second", steps_per_second)
    time = time_of(frame, blocks.item, seconds_per_grid, images=len(images), videos=len(videos), rate=rate).long()
    inside = torch.stack((time, row, column), dim=-1)
    inside = torch.where(sounding.sound[..., None], sounding.heard[..., None], inside)
    advance = inside.amax(-1).gather(1, sounding.last) + 1
    placed = lay_out(
        rows,
        block=sounding.block,
        starts=sounding.starts,
        advance=advance,
        inside=inside,
        still=second_markers(sounding),
    )
    return rows.finished(placed, padding=1)


def second_markers(sounding: Sounding) -> torch.Tensor:
    """The second marker before a video with sound, and the second behind it: each shares the position of the first.

    Args:
        sounding: the tokens.

    Returns:
        True for them.

    Shape:
        [B, T]

    Example:
        >>> flags = torch.tensor([[False, False, True, False, False]])
        >>> second_markers(Sounding(flags, flags, flags, flags, flags, with_sound=flags)).long()
        tensor([[0, 1, 0, 0, 1]])
    """
    with_sound = sounding.with_sound
    first, final = with_sound & ~moved(with_sound, 1), with_sound & ~moved(with_sound, -1)
    return moved(first, -1) | moved(final, 2)
