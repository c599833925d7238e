"""A small Transformer, which is also the example of how the library is used.

Positions enter once, at the top. What depends on them alone is computed there and handed to every layer; which scheme it is, and at
which site it acts, the model does not know.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.attention import AttentionScheme, attention_at
from ordinate.modules import MultiheadAttention, TokenAndPositionEmbedding
from ordinate.positions import Positions
from ordinate.schemes.deberta_table import DebertaTable
from ordinate.schemes.learned import INITIAL_STANDARD_DEVIATION
from ordinate.sites import InputScheme

WIDENING = 2


class Block(nn.Module):
    """Attention and a feed-forward layer, each after a normalisation and beside a residual connection."""

    def __init__(self, *, d_model: int, n_heads: int, causal: bool, scheme: AttentionScheme | None) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = MultiheadAttention(d_model=d_model, n_heads=n_heads, scheme=scheme, causal=causal)
        self.feed_norm = nn.LayerNorm(d_model)
        self.widen = nn.Linear(d_model, WIDENING * d_model)
        self.narrow = nn.Linear(WIDENING * d_model, d_model)

    def forward(self, x: torch.Tensor, positions: Positions, at: Any, table: torch.Tensor | None) -> torch.Tensor:
        """Give the block's output, [B, T, d_model]."""
        extras = None if table is None else self._projected(table)
        x = x + self.attention(self.attention_norm(x), positions, at=at, extras=extras)
        out: torch.Tensor = x + self.narrow(F.gelu(self.widen(self.feed_norm(x))))
        return out

    def _projected(self, table: torch.Tensor) -> dict[str, torch.Tensor]:
        """DeBERTa's table as this layer sees it, through its own query and key maps."""
        shape = (len(table), self.attention.n_heads, self.attention.head_dim)
        return {"keys": self.attention.k(table).view(shape), "queries": self.attention.q(table).view(shape)}


class Transformer(nn.Module):
    """A language model (causal) or an encoder with an input scheme, an attention scheme, both or none.

    Args:
        vocabulary_size: number of tokens.
        d_model: width.
        n_layers: blocks.
        n_heads: attention heads of a block.
        causal: whether tokens see only those before them.
        input_scheme: acts on the embeddings, once.
        attention_scheme: acts in every attention; one object for all layers.
        table: what a ``Deberta`` attention scheme reads.

    Shape:
        tokens [B, T], positions [T] or [B, T] -> logits [B, T, vocabulary_size]

    Example:
        >>> from ordinate import Rope
        >>> rope = Rope(head_dim=8, layout="half")
        >>> model = Transformer(vocabulary_size=16, d_model=32, n_layers=2, n_heads=4, causal=True, attention_scheme=rope)
        >>> model(torch.tensor([[1, 2, 3]]), range(3)).shape
        torch.Size([1, 3, 16])
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        n_layers: int,
        n_heads: int,
        causal: bool,
        input_scheme: InputScheme | None = None,
        attention_scheme: AttentionScheme | None = None,
        table: DebertaTable | None = None,
    ) -> None:
        super().__init__()
        self.attention_scheme, self.table = attention_scheme, table
        self.embed = TokenAndPositionEmbedding(vocabulary_size=vocabulary_size, d_model=d_model, scheme=input_scheme, scale="sqrt")
        # After the scale, token vectors start as large as the rows of a learned table.
        nn.init.normal_(self.embed.tokens.weight, std=INITIAL_STANDARD_DEVIATION * d_model**-0.5)
        blocks = (Block(d_model=d_model, n_heads=n_heads, causal=causal, scheme=attention_scheme) for _ in range(n_layers))
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocabulary_size)

    def vectors(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give the last block's vectors, normalised, [B, T, d_model]."""
        at = attention_at(self.attention_scheme, positions, positions, device=tokens.device)
        table = None if self.table is None else self.table.table()
        x = self.embed(tokens, positions)
        for block in self.blocks:
            x = block(x, positions, at, table)
        out: torch.Tensor = self.norm(x)
        return out

    def forward(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give the logits at every position."""
        logits: torch.Tensor = self.head(self.vectors(tokens, positions))
        return logits
