"""Figures that ``ordinate.plots`` has no kind for: schemes of coordinates, attention without positions, sinusoids of distances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ordinate import AxialRope, EntrywiseRope, MultimodalRope, positions
from ordinate.plots import canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ordinate.schemes.angles import AngleScheme

SIDE, HEAD_DIM, TOKENS = 31, 64, 16
DISTANCES = 60


def axial() -> AngleScheme:
    """Give a RoPE of rows and columns, of a vision encoder's usual size.

    Returns:
        The scheme.
    """
    return AxialRope(head_dim=HEAD_DIM, layout="half", base=100.0)


def multimodal() -> AngleScheme:
    """Give the RoPE of time, rows and columns, whose axes take turns as in Qwen3-VL.

    Returns:
        The scheme.
    """
    return MultimodalRope(head_dim=HEAD_DIM, layout="half", sections=(12, 10, 10), order="interleaved", base=10000.0)


def entrywise() -> AngleScheme:
    """Give a scheme whose entries, not pairs, have coordinates, as HunYuan-VL's.

    Returns:
        The scheme.
    """
    return EntrywiseRope(head_dim=HEAD_DIM, layout="half", shares=(HEAD_DIM // 2, HEAD_DIM // 2), spectrum="shared")


def over_grid(name: str, scheme: AngleScheme, *, time: bool) -> Figure:
    """Draw the score between the patch in the middle of a grid and every patch, all contents equal.

    Args:
        name: for the title.
        scheme: turns by rows and columns.
        time: whether a coordinate for the frame comes first.

    Returns:
        The figure.
    """
    places = positions.grid(SIDE, SIDE, frames=1 if time else None)
    ones = torch.full((1, 1, SIDE * SIDE, HEAD_DIM), HEAD_DIM**-0.5)
    at = scheme.at(places)
    middle = SIDE * SIDE // 2
    scores = (scheme.keys(ones, at)[0, 0] @ scheme.queries(ones, at)[0, 0, middle]).view(SIDE, SIDE)
    offsets = range(-(SIDE // 2), SIDE // 2 + 1)
    figure = canvas.empty(f"{name}: score of every patch with the one in the middle", repr(scheme), size=(7.2, 5.6))
    axes = figure.subplots()
    label = "q · k for q = k = (1, …, 1) / √64"
    lowest = math.floor(10 * float(scores.min())) / 10
    canvas.image(
        axes, scores.double().numpy(), rows=offsets, columns=offsets, limits=(lowest, 1), colours=canvas.COUNTED, label=label
    )
    axes.set(xlabel="columns from the query", ylabel="rows from the query")
    return figure


def causal_weights() -> Figure:
    """Draw the attention weights of equal tokens without positions, without and with a causal mask.

    Returns:
        The figure.
    """
    hidden = torch.ones(TOKENS, TOKENS).triu(1).bool()
    scores = torch.zeros(TOKENS, TOKENS, dtype=torch.float64)
    panels = {
        "no mask: every row is the same": scores,
        "causal mask: rows tell their place": scores.masked_fill(hidden, -torch.inf),
    }
    figure = canvas.empty("No scheme: attention weights of equal tokens", "softmax of equal scores, 16 tokens", size=(9.6, 4.4))
    for axes, (title, panel) in zip(figure.subplots(1, 2), panels.items(), strict=True):
        canvas.image(
            axes,
            panel.softmax(-1).numpy(),
            rows=range(TOKENS),
            columns=range(TOKENS),
            limits=(0, 0.25),
            colours=canvas.COUNTED,
            label="weight (1/4 and more: the last colour)",
        )
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="key position (tokens)", ylabel="query position (tokens)")
    return figure


def distance_sinusoids() -> Figure:
    """Draw the sinusoids of the distance that Transformer-XL projects to keys.

    Returns:
        The figure.
    """
    distances = torch.arange(-DISTANCES, DISTANCES + 1, dtype=torch.float64)
    frequencies = 10000.0 ** (-torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM)
    angles = distances[:, None] * frequencies
    table = torch.cat([angles.sin(), angles.cos()], dim=1).numpy()
    caption = "TransformerXL(d_model=64, layout='sin_cos'): R(d) before the projection; sines on the left, cosines on the right"
    figure = canvas.empty("Transformer-XL: sinusoids of the distance", caption, size=(8.4, 5.0))
    axes = figure.subplots()
    canvas.image(
        axes,
        table,
        rows=[int(each) for each in distances],
        columns=range(HEAD_DIM),
        limits=(-1, 1),
        colours=canvas.SIGNED,
        label="value",
    )
    axes.set(xlabel="dimension of the vector", ylabel="query position − key position (tokens)")
    return figure
