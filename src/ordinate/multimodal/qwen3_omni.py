"""Images, videos, audio, and videos with their sound, in fractions of a step of time: Qwen3-Omni.

Paper: https://arxiv.org/abs/2509.17765 (time-aligned M-RoPE).
"""

from __future__ import annotations

import torch

from ordinate.checks import finite_number, whole_number
from ordinate.multimodal.blocks import find_blocks, raster
from ordinate.multimodal.grids import Grids, merged
from ordinate.multimodal.neighbours import moved
from ordinate.multimodal.placed import MultimodalPositions
from ordinate.multimodal.seconds import Seconds, time_of
from ordinate.multimodal.sounding import Sounding, find_sound
from ordinate.multimodal.token_rows import AUDIO, TokenRows, require, token_rows


def qwen3_omni_positions(
    token_types: torch.Tensor,
    *,
    image_grids: Grids = None,
    video_grids: Grids = None,
    seconds_per_grid: Seconds = None,
    n_audios: int,
    steps_per_second: float,
    spatial_merge: int,
    mask: torch.Tensor | None = None,
) -> MultimodalPositions:
    """Positions (t, h, w) of Qwen3-Omni, thinker and talker: float32, for a frame may stand between two whole numbers.

    A block that begins at p puts frame n, row h, column w at (p + n x seconds x steps, p + h, p + w). What follows goes on one
    behind the largest position of the block's last token. Audio counts like text; the sound inside a video counts from p on, beside
    the frames. Every sum is rounded to float32 where the model's own code rounds it: at each marker, block and stretch of text, one
    after the other. So this is a short loop over images, videos and audios, whose number is known without reading a tensor.

    Args:
        token_types: 0 text, 1 image, 2 video, 3 audio; a video and its sound stand in one run that begins with the video; one text
            token, the marker, stands before and behind each block, two where sound is inside. Tensors are never read by the host,
            except to word an error.
        image_grids: (frames, rows, columns) of each image in patches, in order, row after row of the batch.
        video_grids: the same of each video.
        seconds_per_grid: seconds from one frame of tokens to the next, of each video; None: 1.
        n_audios: how many audios the batch has, those inside of videos too.
        steps_per_second: how many steps a second is (``position_id_per_seconds``).
        spatial_merge: how many rows, and how many columns, of patches become one token.
        mask: true for a real token; pad slots are given 0 (1 in a batch without images and videos) and count nothing.

    Returns:
        What unpacks into positions and deltas, both float32.

    Shape:
        token_types [B, T] -> positions [B, T, 3], deltas [B]

    Raises:
        ValueError: for wrong shapes, dtypes or sizes; on the CPU also where tokens and grids do not agree.

    Example:
        >>> types = torch.tensor([[0, 0, 2, 3, 3, 2, 0, 0]])
        >>> settings = {"seconds_per_grid": [0.1], "n_audios": 1, "steps_per_second": 13, "spatial_merge": 2}
        >>> positions, deltas = qwen3_omni_positions(types, video_grids=[(2, 2, 2)], **settings)
        >>> positions[0, :, 0]
        tensor([0.0000, 1.0000, 2.0000, 2.0000, 3.0000, 3.3000, 4.3000, 5.3000])
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
    time = time_of(frame, blocks.item, seconds_per_grid, images=len(images), videos=len(videos), rate=rate)
    inside = torch.stack((time, row.float(), column.float()), dim=-1)
    inside = torch.where(sounding.sound[..., None], sounding.heard[..., None].float(), inside)
    alone = (rows.types == AUDIO) & ~sounding.sound
    heard = (alone & ~moved(alone, 1)) | (sounding.starts & sounding.with_sound)
    n_audios = whole_number("n_audios", n_audios)
    require(heard.sum() == n_audios, lambda: f"n_audios: needed {int(heard.sum())}, the runs of audio there are, got {n_audios}")
    placed = _one_after_the_other(rows, sounding, inside, len(images) + len(videos) + n_audios)
    return rows.finished(placed, padding=0 if len(images) + len(videos) else 1)


def _one_after_the_other(rows: TokenRows, sounding: Sounding, inside: torch.Tensor, n_items: int) -> torch.Tensor:
    """Positions of all tokens: the start of their stretch (text, markers before, block, markers behind) + the place in it."""
    alone = (rows.types == AUDIO) & ~sounding.sound
    begins = sounding.starts | (alone & ~moved(alone, 1))
    ends = (sounding.block & (torch.arange(alone.shape[1], device=alone.device) == sounding.last)) | (alone & ~moved(alone, -1))
    borders, bases = _stretches(begins, ends, sounding, inside, n_items)
    index = torch.arange(alone.shape[1], device=alone.device).expand_as(rows.types).contiguous()
    own = torch.searchsorted(borders, index, right=True) - 1
    steps = (index - borders.gather(1, own)).float()[..., None]
    return torch.where(sounding.block[..., None], inside, steps) + bases.gather(1, own)[..., None]


def _stretches(
    begins: torch.Tensor, ends: torch.Tensor, sounding: Sounding, inside: torch.Tensor, n_items: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where each stretch of each row begins, as an index and as a position; the stretches of items that are not there are empty."""
    length = begins.shape[1]
    numbers = torch.arange(1, n_items + 1, device=begins.device).expand(len(begins), -1).contiguous()
    firsts = torch.searchsorted(begins.long().cumsum(1), numbers)
    lasts = torch.searchsorted(ends.long().cumsum(1), numbers)
    top = inside.amax(-1)
    index, place = firsts.new_zeros(len(begins)), top.new_zeros(len(begins))
    borders, bases = [index], [place]
    for first, last in zip(firsts.unbind(1), lasts.unbind(1), strict=True):
        at_first, at_last = (at.clamp(max=length - 1)[:, None] for at in (first, last))
        markers = 1 + sounding.with_sound.gather(1, at_first)[:, 0].long()
        before = place + (first - markers - index)
        block = before + markers
        reach = torch.where(sounding.block.gather(1, at_last), top.gather(1, at_last), (last - first)[:, None].float())[:, 0]
        behind = (reach + block) + 1
        borders += [first - markers, first, last + 1, last + 1 + markers]
        index, place = last + 1 + markers, (behind + (markers - 1)) + 1
        bases += [before, block, behind, place]
        borders[-4:] = [torch.where(first < length, border, length) for border in borders[-4:]]
    return torch.stack(borders, dim=1), torch.stack(bases, dim=1)
