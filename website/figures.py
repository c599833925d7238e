"""The figure of each scheme and of each scaling rule, with the words that stand for it where it cannot be seen."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ordinate import plots, scaling
from ordinate.catalogue import build
from ordinate.schemes import Rope
from website import composed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD_DIM, TRAINED = 64, 4096
Drawing = tuple[Callable[[], "Figure"], str]


def _scheme(name: str, *, n_heads: int = 8) -> Any:
    """As ``ordinate plot`` has it."""
    torch.manual_seed(0)
    parts = build(name, d_model=HEAD_DIM * n_heads, n_heads=n_heads, max_length=512, causal=False)
    return parts.input_scheme or parts.attention_scheme


SCHEMES: dict[str, Drawing] = {
    "nope": (
        composed.causal_weights,
        "Two matrices of attention weights for equal tokens: without a mask all weights are one sixteenth; under a causal mask row "
        "i spreads its weight evenly over the i + 1 tokens it sees, so that rows differ by their place.",
    ),
    "sinusoidal": (
        lambda: plots.heatmap(_scheme("sinusoidal")),
        "Heat map of sinusoidal vectors, one row a position and one column a dimension: the left columns swing from position to "
        "position, the right ones hardly change.",
    ),
    "learned": (
        lambda: plots.heatmap(_scheme("learned")),
        "Heat map of a learned table before training: noise, one row of free numbers a position.",
    ),
    "rope": (
        lambda: plots.scores_by_distance(_scheme("rope")),
        "Curve of the score of equal queries and keys against their distance: highest at distance 0, falling on both sides, with "
        "oscillations that come from the pairs' frequencies.",
    ),
    "axial_rope": (
        lambda: composed.over_grid("Axial RoPE", composed.axial(), time=False),
        "Heat map of the score between a patch in the middle and every other patch of a grid: highest in the middle, with a cross "
        "along its row and its column, since each half of the pairs sees one coordinate.",
    ),
    "multimodal_rope": (
        lambda: composed.over_grid("Multimodal RoPE", composed.multimodal(), time=True),
        "Heat map of the score between a patch in the middle of one frame and every other patch: highest in the middle, falling "
        "along rows and columns.",
    ),
    "entrywise_rope": (
        lambda: composed.over_grid("Entrywise RoPE", composed.entrywise(), time=False),
        "Heat map of the score between a patch in the middle and every other patch: highest one column beside the middle, and not "
        "the same at opposite offsets, since scores do not depend on differences of positions alone.",
    ),
    "alibi": (
        lambda: plots.bias(_scheme("alibi")),
        "Bias against distance, one straight line a head, all 0 at distance 0 and falling on both sides with slopes from 1/2 to "
        "1/256; beside it the bias of one head as a matrix with constant diagonals.",
    ),
    "t5": (
        lambda: plots.bias(_scheme("t5", n_heads=3)),
        "Bias against distance, one line of steps a head: the steps are one token wide near distance 0 and widen with the "
        "distance; beside it one head as a matrix with constant diagonals. Random weights.",
    ),
    "shaw": (
        lambda: plots.bias(_scheme("shaw")),
        "Row of the table against distance: a straight ramp between the two clipping distances, flat beyond; beside it the row "
        "that every query and key reads.",
    ),
    "deberta": (
        lambda: plots.bias(_scheme("deberta")),
        "Row of the table against distance: straight near distance 0, flattening where buckets widen; beside it the row that "
        "every query and key reads.",
    ),
    "transformer_xl": (
        composed.distance_sinusoids,
        "Heat map of the sinusoids of the distance that keys are made of: columns of fast pairs swing within a few tokens, those "
        "of slow pairs hardly change over 60 tokens.",
    ),
}

# Settings that a checkpoint might have; where a rule takes lists, simple ones.
RULES: dict[str, scaling.Rule] = {
    "linear": scaling.Linear(factor=4.0),
    "ntk_alpha": scaling.NTK(alpha=4.0),
    "dynamic": scaling.DynamicNTK(factor=4.0, original_length=TRAINED),
    "yarn": scaling.YaRN(factor=4.0, original_length=TRAINED),
    "longrope": scaling.LongRoPE(
        short_factors=(1.0,) * 32, long_factors=tuple(1.0 + pair / 8 for pair in range(32)), original_length=TRAINED, factor=4.0
    ),
    "llama3": scaling.Llama3(factor=8.0, low_frequency_factor=1.0, high_frequency_factor=4.0, original_length=TRAINED),
    "proportional": scaling.Proportional(proportion=0.25),
    "learned_scale": scaling.LearnedScale(logarithms=tuple(-pair / 32 for pair in range(32))),
    "turns": scaling.Turns(),
}


def of_rule(name: str) -> Figure:
    """Draw the wavelengths under a rule and without it.

    Args:
        name: a key of ``RULES``.

    Returns:
        The figure.
    """
    rule = RULES[name]
    rope = Rope(head_dim=HEAD_DIM, layout="half", scaling=rule, length=4 * TRAINED if rule.needs_length else None)
    return plots.wavelengths(rope, trained=TRAINED)


def picture(figure: Figure) -> bytes:
    """Give a figure as a PNG file's bytes: text in an SVG would need the reader's fonts.

    Args:
        figure: drawn.

    Returns:
        The file.
    """
    with tempfile.TemporaryDirectory() as folder:
        plots.save(figure, path := Path(folder) / "figure.png")
        return path.read_bytes()
