"""Checks of the contract on the ready parts: MultiheadAttention, its cache, and the embedding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

import ordinate
from cases import Case
from contract_oracles import expected_row, visible_pairs
from contract_tools import LENGTH, SHUFFLED, draw, inner, is_input, near, tables, tokens


def _attention(case: Case, scheme: Any, causal: bool, **settings: Any) -> ordinate.MultiheadAttention:
    torch.manual_seed(3)
    sizes = {"d_model": case.d_model, "n_heads": case.n_heads, "n_kv_heads": case.n_kv_heads}
    return ordinate.MultiheadAttention(**sizes, scheme=inner(scheme), causal=causal, **settings)


def module_oracle(case: Case) -> None:
    """The layer equals its definition: four maps with biases around attention, on itself and on a context elsewhere."""
    scheme = case.make()
    for causal in (True, False):
        attention = _attention(case, scheme, causal, bias=True, window=6)
        maps = {name: _numbers(getattr(attention, name)) for name in ("q", "k", "v", "out")}
        x, context = draw(2, LENGTH, case.d_model), draw(2, 5, case.d_model, seed=1)
        asked, held = torch.tensor([SHUFFLED, SHUFFLED[::-1]]), torch.tensor([4, 1, 0, 9, 6])
        crossed = attention(x, asked, context=context, context_positions=held, extras=tables(case))
        itself = attention(x, asked, extras=tables(case))
        for got, source, places in ((crossed, context, held.expand(2, -1)), (itself, x, asked)):
            rows = []
            for b in range(2):
                vectors = {"q": x[b], "k": source[b], "v": source[b]}
                heads = [_heads(vectors[name].double().numpy(), maps[name], case.head_dim) for name in "qkv"]
                both = asked[b].tolist(), places[b].tolist()
                mixed = expected_row(case, *heads, *both, visible_pairs(*both, causal=causal, window=6))
                weight, bias = maps["out"]
                rows.append(mixed.swapaxes(0, 1).reshape(LENGTH, -1) @ weight.T + bias)
            near(got.detach(), torch.from_numpy(np.stack(rows)), what=f"causal {causal}, {len(places[0])} keys")


def _numbers(part: torch.nn.Linear) -> list[Any]:
    return [parameter.detach().double().numpy() for parameter in (part.weight, part.bias)]


def _heads(vectors: Any, maps: list[Any], head_dim: int) -> Any:
    weight, bias = maps
    return (vectors @ weight.T + bias).reshape(len(vectors), -1, head_dim).swapaxes(0, 1)


def decode_module(case: Case) -> None:
    """MultiheadAttention with a cache, a left-padded batch and grouped heads = each row alone in one forward."""
    scheme = case.make()
    attention = _attention(case, scheme, causal=True)
    x, pads = tokens(case), (0, 2)
    real = torch.tensor([[t >= pad for t in range(LENGTH)] for pad in pads])
    past = torch.tensor([4 - pad for pad in pads])
    cache, got = ordinate.KeyValueCache(), []
    steps = [(slice(0, 4), ordinate.positions.from_padding_mask(real[:, :4]))]
    steps += [(slice(t, t + 1), ordinate.positions.continued(past + t - 4, 1)) for t in range(4, LENGTH)]
    for place, positions in steps:
        vectors = scheme(x[:, place], positions) if is_input(scheme) else x[:, place]
        got.append(attention(vectors, positions, cache=cache, mask=real[:, None, None, : place.stop], extras=tables(case)))
    for row, pad in enumerate(pads):
        alone = x[row : row + 1, pad:]
        vectors = scheme(alone, range(LENGTH - pad)) if is_input(scheme) else alone
        want = attention(vectors, range(LENGTH - pad), extras=tables(case))
        near(torch.cat(got, 1)[row : row + 1, pad:], want, what=f"row {row}")


def embedding_module(case: Case) -> None:
    """sqrt(d) E[token] + P, then dropout on the sum; without a scheme the token vectors alone."""
    scheme, ids = case.make(), torch.tensor([[3, 0, 4, 4, 1, 2, 0], [1, 1, 2, 3, 0, 4, 2]])
    positions = torch.tensor(SHUFFLED)
    for scale, factor in (("sqrt", math.sqrt(case.d_model)), (None, 1.0)):
        embed = ordinate.TokenAndPositionEmbedding(
            vocabulary_size=5, d_model=case.d_model, scheme=scheme, scale=scale, dropout=0.25
        )
        want = embed.tokens.weight.detach().double()[ids] * factor
        if scheme is not None:
            want = want + torch.from_numpy(case.oracle(SHUFFLED))
        # one rounding of sqrt(d) E, one of the sum: numbers up to 20
        near(embed.eval()(ids, positions).detach(), want, 3e-6, f"scale {scale}")
        got = embed.train()(ids, positions).detach()
        kept = got != 0
        assert 0.5 < kept.double().mean().item() < 0.95, "a quarter of the entries should be dropped"
        near(got[kept], want[kept] / 0.75, 4e-6, "kept entries are scaled by 1 / (1 - p)")


def no_tokens_in_modules(case: Case) -> None:
    """An empty sequence, and an empty batch, pass through."""
    attention = _attention(case, case.make(), causal=True)
    for batch, length in ((2, 0), (0, 3)):
        out = attention(torch.zeros(batch, length, case.d_model), range(length), extras=tables(case))
        assert out.shape == (batch, length, case.d_model)
