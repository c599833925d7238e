"""Random prompts with audio, and videos with their sound between the frames, laid out as transformers' processors do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from prompts import Grid, draw_grid

TEXT_ID, VISION_START, VISION_END, AUDIO_START, AUDIO_END = 5, 10, 11, 12, 13
IDS = {0: TEXT_ID, 1: 20, 2: 21, 3: 22}
MERGE = 2

Order = Callable[[np.ndarray, int], list[int]]
"""From the times of a video's tokens and a number of sound tokens: the types in the order of the prompt."""


@dataclass
class OmniPrompt:
    types: torch.Tensor
    ids: torch.Tensor
    mask: torch.Tensor
    images: list[Grid] = field(default_factory=list)
    videos: list[Grid] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    audios: list[int] = field(default_factory=list)  # tokens of each


def times_of(grid: Grid, seconds: float, rate: float) -> np.ndarray:
    per_frame = (grid[1] // MERGE) * (grid[2] // MERGE)
    return np.repeat(np.arange(grid[0]), per_frame) * seconds * rate


def draw_omni_prompt(
    seed: int, order: Order | None, *, rate: float, kinds: tuple[int, ...] = (0, 1, 2, 3), seconds: tuple[float, ...] | None = None
) -> OmniPrompt:
    """One to three rows of at least two tokens. With an order, every video has sound; without one, none has."""
    draw = random.Random(seed)
    prompt = OmniPrompt(torch.empty(0), torch.empty(0), torch.empty(0))
    rows = []
    for _ in range(draw.randint(1, 3)):
        row = [(0, TEXT_ID)] * draw.randint(2, 4)
        for kind in draw.choices(kinds, k=draw.randint(0, 5)):
            row += _piece(draw, kind, prompt, order, rate, seconds)
            row += [(0, TEXT_ID)] * draw.randint(0, 3)
        rows.append(row)
    length = max(map(len, rows)) + draw.randint(0, 2)
    side = draw.choice(("left", "right"))
    prompt.types, prompt.mask = (torch.zeros(len(rows), length, dtype=torch.int64) for _ in range(2))
    prompt.ids = torch.full_like(prompt.types, 99)
    for index, row in enumerate(rows):
        place = slice(length - len(row), length) if side == "left" else slice(0, len(row))
        prompt.types[index, place] = torch.tensor([kind for kind, _ in row])
        prompt.ids[index, place] = torch.tensor([token for _, token in row])
        prompt.mask[index, place] = 1
    return prompt


def _piece(
    draw: random.Random, kind: int, prompt: OmniPrompt, order: Order | None, rate: float, seconds: tuple[float, ...] | None
) -> list[tuple[int, int]]:
    if kind == 0:
        return []
    if kind == 3:
        prompt.audios.append(draw.randint(1, 12))
        return _marked([(3, IDS[3])] * prompt.audios[-1], (AUDIO_START, AUDIO_END))
    grid = draw_grid(draw, kind, MERGE, 1)
    if kind == 1:
        prompt.images.append(grid)
        return _marked([(1, IDS[1])] * (grid[1] * grid[2] // MERGE**2), (VISION_START, VISION_END))
    prompt.videos.append(grid)
    prompt.seconds.append(draw.choice(seconds) if seconds else draw.uniform(0.01, 2.5))
    times = times_of(grid, prompt.seconds[-1], rate)
    if order is None:
        return _marked([(2, IDS[2])] * len(times), (VISION_START, VISION_END))
    prompt.audios.append(draw.randint(1, 40))
    inner = _marked([(kind, IDS[kind]) for kind in order(times, prompt.audios[-1])], (AUDIO_START, AUDIO_END))
    return _marked(inner, (VISION_START, VISION_END))


def _marked(tokens: list[tuple[int, int]], markers: tuple[int, int]) -> list[tuple[int, int]]:
    return [(0, markers[0]), *tokens, (0, markers[1])]
