"""Ready parts of a model in which a scheme is swapped in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from ordinate.attention import AttentionScheme, attend, attention_at, checked_at
from ordinate.cache import KeyValueCache
from ordinate.checks import described, finite_number, one_of, probability, whole_number
from ordinate.positions import INTEGER_DTYPES, Positions, check
from ordinate.sites import InputScheme, QueryKeyScheme, ScoreScheme
from ordinate.visibility import DocumentIds, Order


class TokenAndPositionEmbedding(nn.Module):
    """Token vectors plus the position vectors of an input scheme, as before a Transformer's first block.

    out = dropout(scale * embedding[token] + P), scale = sqrt(d_model) or 1.

    Args:
        vocabulary_size: number of tokens.
        d_model: width of the vectors.
        scheme: an input scheme, or None for a model whose scheme acts in the attention.
        scale: "sqrt" multiplies token vectors by sqrt(d_model), as the Transformer paper does; None leaves them (BERT, GPT-2).
        dropout: probability, applied to the sum in training. The scheme's own dropout is applied there too: set one of the two.

    Raises:
        TypeError: if the scheme acts in the attention.
        ValueError: if sizes, scale or the two dropouts do not fit.

    Shape:
        tokens [B, T], positions [T] or [B, T] -> [B, T, d_model]

    Example:
        >>> from ordinate import Sinusoidal
        >>> embed = TokenAndPositionEmbedding(vocabulary_size=10, d_model=8, scheme=Sinusoidal(d_model=8), scale="sqrt")
        >>> embed(torch.tensor([[1, 2, 3]]), range(3)).shape
        torch.Size([1, 3, 8])

    Reference:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 3.4 and 3.5
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        scheme: InputScheme | None,
        scale: Literal["sqrt"] | None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if scheme is not None and not isinstance(scheme, InputScheme):
            where = ", which acts in the attention; give it to MultiheadAttention or attend"
            hint = where if isinstance(scheme, (QueryKeyScheme, ScoreScheme)) else ""
            raise TypeError(f"scheme: needed an input scheme or None, got {type(scheme).__name__}{hint}")
        d_model = whole_number("d_model", d_model, least=1)
        if scheme is not None and scheme.d_model != d_model:
            raise ValueError(f"scheme: needed d_model={d_model}, got {scheme!r}")
        vocabulary_size = whole_number("vocabulary_size", vocabulary_size, least=1)
        one_of("scale", scale, ("sqrt", None))
        dropout = probability("dropout", dropout)
        if dropout and scheme is not None and getattr(scheme, "dropout", 0.0):
            raise ValueError(f"dropout: needed one dropout on the sum, got {dropout} here and one in {scheme!r}")
        self.vocabulary_size, self.d_model, self.scale, self.dropout = vocabulary_size, d_model, scale, dropout
        self.tokens = nn.Embedding(vocabulary_size, d_model)
        self.scheme = scheme

    def forward(self, tokens: torch.Tensor, positions: Positions) -> torch.Tensor:
        """Give the sum, [B, T, d_model]."""
        if not isinstance(tokens, torch.Tensor) or tokens.dtype not in INTEGER_DTYPES or tokens.ndim not in (1, 2):
            raise ValueError(f"tokens: needed an integer tensor [B, T], got {described(tokens)}")
        check(positions, length=tokens.shape[-1], batch=tokens.shape[0] if tokens.ndim == 2 else 1)
        x: torch.Tensor = self.tokens(tokens)
        if self.scale == "sqrt":
            x = x * math.sqrt(self.d_model)
        if self.scheme is not None:
            x = self.scheme(x, positions)
        return F.dropout(x, self.dropout, self.training)


class MultiheadAttention(nn.Module):
    """Multi-head attention with a positional scheme of the attention sites (or None).

    q, k, v = x W_q, c W_k, c W_v (c = x, or the context in cross-attention); out = attend(q, k, v, scheme=...) W_o.

    Args:
        d_model: width of the token vectors.
        n_heads: query heads.
        n_kv_heads: key and value heads (grouped-query attention); n_heads if None.
        head_dim: width of a head; d_model / n_heads if None.
        scheme: a query-key scheme, a score scheme or None.
        causal: hide later keys. No default: decoders need True, encoders and cross-attention False.
        window: sliding window, as in ``attend``.
        scale: factor of q . k, as in ``attend`` (T5's checkpoints: 1.0); the scheme's softmax_scale if None.
        bias: whether the four projections have biases.
        dropout: probability of dropping an attention weight in training.

    Raises:
        TypeError: if the scheme acts at the input.
        ValueError: if heads do not divide.

    Shape:
        x [B, T, d_model], positions [T] or [B, T] -> [B, T, d_model]

    Example:
        >>> from ordinate import Rope
        >>> layer = MultiheadAttention(d_model=32, n_heads=4, n_kv_heads=2, scheme=Rope(head_dim=8, layout="half"), causal=True)
        >>> x = torch.randn(1, 6, 32)
        >>> out = layer(x, range(6))
        >>> cache = KeyValueCache()
        >>> steps = [layer(x[:, t : t + 1], range(t, t + 1), cache=cache) for t in range(6)]
        >>> torch.allclose(torch.cat(steps, dim=1), out, atol=1e-5)
        True

    Reference:
        Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.2
    """

    def __init__(
        self,
        *,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        head_dim: int | None = None,
        scheme: AttentionScheme | None,
        causal: bool,
        window: int | None = None,
        scale: float | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_model, n_heads = whole_number("d_model", d_model, least=1), whole_number("n_heads", n_heads, least=1)
        n_kv_heads = n_heads if n_kv_heads is None else whole_number("n_kv_heads", n_kv_heads, least=1)
        if head_dim is None and d_model % n_heads:
            raise ValueError(f"n_heads: needed a number that divides d_model={d_model}, got {n_heads}; or give head_dim")
        head_dim = d_model // n_heads if head_dim is None else whole_number("head_dim", head_dim, least=1)
        if n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads: needed a number that divides n_heads={n_heads}, got {n_kv_heads}")
        if scheme is not None and not isinstance(scheme, (QueryKeyScheme, ScoreScheme)):
            hint = ", which acts at the input; give it to TokenAndPositionEmbedding" if isinstance(scheme, InputScheme) else ""
            raise TypeError(f"scheme: needed a query-key scheme, a score scheme or None, got {type(scheme).__name__}{hint}")
        if isinstance(scheme, QueryKeyScheme) and scheme.head_dim != head_dim:
            raise ValueError(f"scheme: needed head_dim={head_dim}, got {scheme!r}")
        if isinstance(scheme, ScoreScheme):
            _check_score_scheme(scheme, n_heads, head_dim)
        scale = None if scale is None else finite_number("scale", scale)
        if not isinstance(causal, bool):
            raise ValueError(f"causal: needed True or False, got {described(causal)}")
        window = None if window is None else whole_number("window", window, least=1)
        dropout = probability("dropout", dropout)
        self.d_model, self.n_heads, self.n_kv_heads, self.head_dim = d_model, n_heads, n_kv_heads, head_dim
        self.causal, self.window, self.scale, self.dropout = causal, window, scale, dropout
        self.scheme = scheme
        self.q = nn.Linear(d_model, n_heads * self.head_dim, bias=bias)
        self.k = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.v = nn.Linear(d_model, n_kv_heads * self.head_dim, bias=bias)
        self.out = nn.Linear(n_heads * self.head_dim, d_model, bias=bias)

    def forward(
        self,
        x: torch.Tensor,
        positions: Positions,
        *,
        at: Any = None,
        context: torch.Tensor | None = None,
        context_positions: Positions | None = None,
        cache: KeyValueCache | None = None,
        order: Order | None = None,
        document_ids: DocumentIds | None = None,
        mask: torch.Tensor | None = None,
        extras: Mapping[str, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Attend.

        Args:
            x: token vectors that ask.
            positions: their positions.
            at: ``attention_at(scheme, positions, positions)`` (or ``(scheme, positions, context_positions)``), computed once for
                all layers; only saves work.
            context: vectors that are looked at in cross-attention; x itself if None.
            context_positions: their positions.
            cache: keys and values of earlier tokens; the new ones are added to it. One cache a layer.
            order: as in ``attend``; with a cache, of all keys.
            document_ids: as in ``attend``.
            mask: as in ``attend``.
            extras: as in ``attend``.

        Returns:
            One vector a token of x.

        Shape:
            [B, T, d_model] -> [B, T, d_model]

        Raises:
            ValueError: if context and context_positions do not come together, a context comes with a cache, or more does not fit.
        """
        if (context is None) != (context_positions is None):
            raise ValueError("context: needed together with context_positions, got one of the two")
        for name, vectors in (("x", x), ("context", x if context is None else context)):
            if not isinstance(vectors, torch.Tensor) or vectors.ndim != 3 or vectors.shape[-1] != self.d_model:
                raise ValueError(f"{name}: needed a tensor [B, T, d_model={self.d_model}], got {described(vectors)}")
        if cache is not None and not isinstance(cache, KeyValueCache):
            raise ValueError(f"cache: needed a KeyValueCache, got {described(cache)}")
        if cache is not None and context is not None:
            raise ValueError("cache: needed no context beside it, got both; a context's keys do not grow")
        source, places = (x, positions) if context is None or context_positions is None else (context, context_positions)
        q, k, v = (self._heads(layer(inputs)) for layer, inputs in ((self.q, x), (self.k, source), (self.v, source)))
        scheme, scale = self.scheme, self.scale
        if cache is not None:
            if isinstance(scheme, QueryKeyScheme):
                at = attention_at(scheme, positions, places, device=x.device) if at is None else at
                q_at, k_at = checked_at(at, positions, places)
                q, k = scheme.queries(q, q_at), scheme.keys(k, k_at)
                scale = scheme.softmax_scale(self.head_dim) if scale is None else scale
                scheme = None
            k, v, places = joined = cache.joined(k, v, places)
            at = None
        attended = attend(
            q,
            k,
            v,
            scheme=scheme,
            q_positions=positions,
            k_positions=places,
            causal=self.causal,
            at=at,
            order=order,
            document_ids=document_ids,
            mask=mask,
            window=self.window,
            scale=scale,
            dropout=self.dropout if self.training else 0.0,
            extras=extras,
        )
        if cache is not None:  # only now: a refused call leaves the cache as it was
            cache.k, cache.v, cache.positions = joined
        out: torch.Tensor = self.out(attended.transpose(1, 2).flatten(2))
        return out

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(*x.shape[:-1], x.shape[-1] // self.head_dim, self.head_dim).transpose(1, 2)


def _check_score_scheme(scheme: ScoreScheme, n_heads: int, head_dim: int) -> None:
    if scheme.n_heads not in (None, n_heads):
        raise ValueError(f"scheme: needed n_heads={n_heads}, got {scheme!r}")
    if scheme.head_dim not in (None, head_dim):
        raise ValueError(f"scheme: needed head_dim={head_dim}, got {scheme!r}")
