"""The model that needs no positions: a recurrent network reads tokens in order, and cannot read them in parallel."""

from __future__ import annotations

import torch
from torch import nn

from ordinate.positions import Positions


class Recurrent(nn.Module):
    """A gated recurrent network as wide and as deep as the Transformer beside it. Cho et al. 2014, https://arxiv.org/abs/1406.1078

    Args:
        vocabulary_size: number of tokens.
        d_model: width.
        n_layers: layers.

    Shape:
        tokens [B, T] -> logits [B, T, vocabulary_size]

    Example:
        >>> Recurrent(vocabulary_size=16, d_model=8, n_layers=2)(torch.tensor([[1, 2, 3]]), range(3)).shape
        torch.Size([1, 3, 16])
    """

    def __init__(self, *, vocabulary_size: int, d_model: int, n_layers: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary_size, d_model)
        self.layers = nn.GRU(d_model, d_model, n_layers, batch_first=True)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocabulary_size)

    def vectors(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:  # noqa: ARG002
        """Give the last layer's states, normalised, [B, T, d_model]; where a token is, is when it is read."""
        out: torch.Tensor = self.norm(self.layers(self.tokens(tokens))[0])
        return out

    def forward(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give the logits at every position."""
        logits: torch.Tensor = self.head(self.vectors(tokens, positions))
        return logits
