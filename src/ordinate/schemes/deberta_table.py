"""The table that all layers of a DeBERTa share. He et al., https://arxiv.org/abs/2006.03654, section 3.1

table = dropout(norm(weight)), 2 span rows; row r belongs to the distance (or bucket) query - key = r - span
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.arguments import call_arguments, fixed
from ordinate.checks import probability, whole_number
from ordinate.schemes.learned import INITIAL_STANDARD_DEVIATION

LAYER_NORM_EPSILON = 1e-7


class DebertaTable(nn.Module):
    """The relative table of a DeBERTa model, one for all layers: a vector for every clipped distance or bucket.

    table() = dropout(norm(weight)); row r is the distance query - key (or its bucket) r - span. Every layer projects it to the
    ``keys`` and ``queries`` that ``Deberta.bias`` takes. DeBERTa draws the dropout anew in each layer: set it here only if one
    draw for all layers will do.

    Args:
        d_model: width.
        span: distances, or buckets, of one direction; ``Deberta.span``.
        layer_norm: whether the rows are normalised (norm_rel_ebd="layer_norm" of v2 and v3; v1 does not). No default:
            weights decide.
        layer_norm_epsilon: added to the variance; layer_norm_eps of a configuration.
        dropout: probability, applied to the table in training.

    Raises:
        ValueError: if a size, layer_norm, layer_norm_epsilon or dropout does not fit.

    Shape:
        -> [2 span, d_model]

    Example:
        >>> DebertaTable(d_model=8, span=4, layer_norm=True).table().shape
        torch.Size([8, 8])

    Reference:
        He et al. 2021, https://arxiv.org/abs/2006.03654, section 3.1
    """

    d_model: int = fixed("d_model")
    span: int = fixed("span")

    def __init__(
        self, *, d_model: int, span: int, layer_norm: bool, layer_norm_epsilon: float = LAYER_NORM_EPSILON, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.d_model = whole_number("d_model", d_model, least=1)
        self.span = whole_number("span", span, least=1)
        if not isinstance(layer_norm, bool):
            raise ValueError(f"layer_norm: needed True or False, got {layer_norm!r}")
        if not isinstance(layer_norm_epsilon, (int, float)) or not 0 < layer_norm_epsilon < 1:
            raise ValueError(f"layer_norm_epsilon: needed a number between 0 and 1, got {layer_norm_epsilon!r}")
        self.layer_norm, self.dropout = layer_norm, probability("dropout", dropout)
        self.weight = nn.Parameter(torch.empty(2 * self.span, self.d_model))
        self.layer_norm_epsilon = layer_norm_epsilon
        self.norm = nn.LayerNorm(self.d_model, eps=layer_norm_epsilon) if layer_norm else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from N(0, 0.02^2)."""
        nn.init.normal_(self.weight, std=INITIAL_STANDARD_DEVIATION)
        if self.norm is not None:
            self.norm.reset_parameters()

    def table(self) -> torch.Tensor:
        """Give the table [2 span, d_model], normalised and dropped out: once per forward, for all layers."""
        rows: torch.Tensor = self.weight if self.norm is None else self.norm(self.weight)
        return F.dropout(rows, self.dropout, self.training)

    def forward(self) -> torch.Tensor:
        """Give ``table()``."""
        return self.table()

    def extra_repr(self) -> str:
        """Give the call's arguments."""
        return call_arguments(
            d_model=self.d_model,
            span=self.span,
            layer_norm=self.layer_norm,
            layer_norm_epsilon=self.layer_norm_epsilon,
            dropout=self.dropout,
        )
