"""Random prompts of text, images and videos, padded on either side, and transformers' own methods as the oracle."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch

Grid = tuple[int, int, int]
Runs = Callable[[int, Grid], list[list[int]]]
"""From a kind and a grid in patches: the runs of token types of the item; text goes between the runs."""


@dataclass
class Prompt:
    """A batch: token types, the padding mask, and the grids in patches."""

    types: torch.Tensor
    mask: torch.Tensor
    images: list[Grid] = field(default_factory=list)
    videos: list[Grid] = field(default_factory=list)


def whole_item(merge: int, temporal_merge: int = 1) -> Runs:
    """All tokens of an item side by side."""

    def runs(kind: int, grid: Grid) -> list[list[int]]:
        frames = grid[0] // (temporal_merge if kind == 2 else 1)
        return [[kind] * (frames * (grid[1] // merge) * (grid[2] // merge))]

    return runs


def frame_by_frame(merge: int) -> Runs:
    """A run of tokens for every frame of a video."""

    def runs(kind: int, grid: Grid) -> list[list[int]]:
        frame = (grid[1] // merge) * (grid[2] // merge)
        return [[2] * frame] * grid[0] if kind == 2 else [[1] * (grid[0] * frame)]

    return runs


def draw_grid(draw: random.Random, kind: int, merge: int, temporal_merge: int) -> Grid:
    """H and W always differ, so that axes cannot be confused."""
    rows, columns = draw.sample(range(1, 6), 2)
    frames = draw.randint(1, 5) * temporal_merge if kind == 2 else 1
    return frames, rows * merge, columns * merge


def draw_prompt(seed: int, runs: Runs, *, kinds: tuple[int, ...] = (0, 1, 2), merge: int = 2, temporal_merge: int = 1) -> Prompt:
    """One to four rows, each of up to six pieces; padding on the left, on the right, on both sides, or none."""
    draw = random.Random(seed)
    prompt = Prompt(torch.empty(0), torch.empty(0))
    rows = []
    for _ in range(draw.randint(1, 4)):
        row = [0] * draw.randint(0, 3)
        for kind in draw.choices(kinds, k=draw.randint(0, 6)):
            if kind:
                grid = draw_grid(draw, kind, merge, temporal_merge)
                (prompt.images if kind == 1 else prompt.videos).append(grid)
                for run in runs(kind, grid):
                    row += [*run, *[0] * draw.randint(1, 3)]
            row += [0] * draw.randint(1, 4)
        rows.append(row or [0])
    side = draw.choice(("left", "right", "both", "none"))
    length = max(map(len, rows)) + (0 if side == "none" else draw.randint(0, 2))
    types = torch.zeros(len(rows), length, dtype=torch.int64)
    prompt.mask = torch.zeros(len(rows), length, dtype=torch.int64)
    for index, row in enumerate(rows):
        left = {"left": length - len(row), "both": (length - len(row)) // 2}.get(side, 0)
        types[index, left : left + len(row)] = torch.tensor(row)
        prompt.mask[index, left : left + len(row)] = 1
    prompt.types = types
    return prompt


def grids_tensor(grids: list[Grid]) -> torch.Tensor | None:
    return torch.tensor(grids, dtype=torch.int64) if grids else None


def transformers_class(model: str, name: str) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{model}.modeling_{model}"), name)


def oracle(model: str, name: str, prompt: Prompt, *, vision: dict[str, Any], masked: bool = True, **inputs: Any) -> Any:
    """transformers' get_rope_index of that class on the prompt, axes last, deltas [B]."""
    owner = transformers_class(model, name)
    config = SimpleNamespace(vision_config=SimpleNamespace(**vision))
    self = SimpleNamespace(config=config, get_vision_position_ids=lambda *a, **k: owner.get_vision_position_ids(None, *a, **k))
    positions, deltas = owner.get_rope_index(
        self,
        torch.zeros_like(prompt.types),
        mm_token_type_ids=prompt.types,
        image_grid_thw=grids_tensor(prompt.images),
        video_grid_thw=grids_tensor(prompt.videos),
        attention_mask=prompt.mask if masked else None,
        **inputs,
    )
    return positions.permute(1, 2, 0), deltas[:, 0]


def require_equal(got: Any, want: Any) -> None:
    """Values, shapes and dtypes, of positions and deltas."""
    for ours, theirs in zip(got, want, strict=True):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs), f"{ours.tolist()} is not {theirs.tolist()}"
