"""Checks of the contract that look at a whole attention layer: shifts, caches, padding, packing, permutations, shards."""

from __future__ import annotations

import itertools

import torch

import ordinate
from cases import Case
from contract_oracles import expected_layer, expected_row, visible_pairs
from contract_tools import LENGTH, attend, draw, inner, layer, near, qkv, tokens

BOTH_WAYS = (True, False)
CROSSINGS = (
    (range(4, 6), range(9)),
    (range(5, 6), range(6)),
    (range(6, 0, -2), range(0, 10, 2)),
    (range(3), range(1)),
    (range(5, -1, -1), range(5, -1, -1)),
    (range(0, 12, 3), range(0, 12, 3)),
)


def constant_shift(case: Case) -> None:
    """Only distances count: every position moved by one constant gives the same output."""
    scheme, x = case.make(), tokens(case)
    for causal, by in itertools.product(BOTH_WAYS, (-5, 1000, 2**20)):
        if case.phase_error and by > 1000:
            continue  # float32 angles are 0.06 rad off there: the recipe's own error
        want = layer(case, scheme, x, range(LENGTH), causal=causal)
        # an angle error e moves a score by at most e |q| |k|, and |q| |k| < 20 here
        bound = 6e-6 + 20 * case.phase_error * abs(by)
        near(layer(case, scheme, x, range(by, by + LENGTH), causal=causal), want, bound, f"shift {by}, causal {causal}")
        near(layer(case, scheme, x, torch.arange(by, by + LENGTH), causal=causal), want, bound, f"shift {by}, tensor")


def decode_raw_keys(case: Case) -> None:
    """3 tokens at once, then one by one against a cache of keys as projected = one causal forward."""
    scheme, x = case.make(), tokens(case)
    want = layer(case, scheme, x, range(LENGTH), causal=True)
    _, k, v = qkv(case, scheme, x[:, :3], range(3))
    places = torch.arange(3)
    for t in range(3, LENGTH):
        place = ordinate.positions.continued(t, 1)
        q, new_k, new_v = qkv(case, scheme, x[:, t : t + 1], place)
        k, v = torch.cat((k, new_k), 2), torch.cat((v, new_v), 2)
        places = torch.cat((places, torch.tensor(list(place))))
        for k_positions in (places, range(t + 1)):
            got = attend(case, scheme, (q, k, v), place, k_positions, causal=True)
            near(got, want[:, :, t : t + 1], what=f"token {t}")


def decode_turned_keys(case: Case) -> None:
    """The same with turned keys in the cache, which attention must not turn again."""
    scheme, x = case.make(), tokens(case)
    assert isinstance(scheme, ordinate.QueryKeyScheme), "has no turned keys"
    want = layer(case, scheme, x, range(LENGTH), causal=True)
    _, k, v = qkv(case, scheme, x[:, :3], range(3))
    cache, scale = scheme.keys(k, range(3)), scheme.softmax_scale(case.head_dim)
    for t in range(3, LENGTH):
        place = ordinate.positions.continued(t, 1)
        q, new_k, new_v = qkv(case, scheme, x[:, t : t + 1], place)
        cache, v = torch.cat((cache, scheme.keys(new_k, place)), 2), torch.cat((v, new_v), 2)
        turned = scheme.queries(q, scheme.at(place))
        got = ordinate.attend(turned, cache, v, scheme=None, scale=scale, q_positions=place, k_positions=range(t + 1), causal=True)
        near(got, want[:, :, t : t + 1], what=f"token {t}")


def left_padding(case: Case) -> None:
    """Rows padded on the left give their real tokens what they get without padding."""
    scheme, x = case.make(), tokens(case, batch=3)
    pads = (0, 2, 5)
    real = torch.tensor([[t >= pad for t in range(LENGTH)] for pad in pads])
    positions = ordinate.positions.from_padding_mask(real)
    for causal in BOTH_WAYS:
        got = layer(case, scheme, x, positions, causal=causal, mask=real[:, None, None, :])
        for row, pad in enumerate(pads):
            alone = layer(case, scheme, x[row : row + 1, pad:], range(LENGTH - pad), causal=causal)
            near(got[row : row + 1, :, pad:], alone, what=f"row {row}, causal {causal}")


def packed_documents(case: Case) -> None:
    """Documents laid end to end equal the same documents alone; ids as a tensor, by row, as a pair, as ``packed`` gave them."""
    scheme, x = case.make(), tokens(case, length=9)
    packed = ordinate.positions.packed([3, 0, 1, 5])
    positions, ids = packed
    forms = {"tensor": ids, "rows": ids.expand(2, -1), "pair": (ids, ids), "packed": packed}
    for causal, window in itertools.product(BOTH_WAYS, (None, 2)):
        pieces = [x[:, :3], x[:, 3:4], x[:, 4:]]
        alone = [layer(case, scheme, piece, range(piece.shape[1]), causal=causal, window=window) for piece in pieces]
        for form, given in forms.items():
            got = layer(case, scheme, x, positions, causal=causal, window=window, document_ids=given)
            near(got, torch.cat(alone, 2), what=f"{form}, causal {causal}, window {window}")


def permutation(case: Case) -> None:
    """Tokens permuted together with their positions give the output permuted: the order of storage means nothing."""
    scheme, x = case.make(), tokens(case)
    order = torch.tensor([4, 0, 6, 2, 5, 1, 3])
    for causal, window in itertools.product(BOTH_WAYS, (None, 3)):
        want = layer(case, scheme, x, range(LENGTH), causal=causal, window=window)
        got = layer(case, scheme, x[:, order], order, causal=causal, window=window)
        near(got, want[:, :, order], what=f"causal {causal}, window {window}")


def context_parallel(case: Case) -> None:
    """Each rank's queries against all keys, gathered in rank order, equal the same rows of the whole."""
    scheme, x = case.make(), tokens(case, length=8)
    splits = {"contiguous": ([0, 1, 2, 3], [4, 5, 6, 7]), "zigzag": ([0, 1, 6, 7], [2, 3, 4, 5])}
    for causal, (split, ranks) in itertools.product(BOTH_WAYS, splits.items()):
        want = layer(case, scheme, x, range(8), causal=causal)
        shards = [torch.tensor(rank) for rank in ranks]
        parts = [qkv(case, scheme, x[:, shard], shard) for shard in shards]
        k, v = (torch.cat([part[i] for part in parts], 2) for i in (1, 2))
        for shard, (q, _, _) in zip(shards, parts, strict=True):
            at = ordinate.attention_at(inner(scheme), shard, torch.cat(shards))
            for given in (None, at):
                got = attend(case, scheme, (q, k, v), shard, torch.cat(shards), causal=causal, at=given)
                near(got, want[:, :, shard], what=f"{split}, causal {causal}")


def given_scale(case: Case) -> None:
    """A scale of the caller's takes the place of the scheme's: of q . k, and of the terms that are made of q or k with it."""
    scheme, x = case.make(), tokens(case, length=9)
    packed = ordinate.positions.packed([3, 0, 1, 5])
    ids = packed.document_ids.expand(2, -1)
    for causal, scale in itertools.product(BOTH_WAYS, (1.0, 0.1)):
        want = expected_layer(case, x, packed.positions, causal=causal, scale=scale, document_ids=ids)
        for given in (packed, ids):
            got = layer(case, scheme, x, packed.positions, causal=causal, scale=scale, document_ids=given)
            near(got, want, what=f"scale {scale}, causal {causal}")


def cross_lengths(case: Case) -> None:
    """Queries and keys of different lengths, starts and steps equal the definition, as ranges and as tensors."""
    scheme = case.make()
    for (asked, held), causal in itertools.product(CROSSINGS, BOTH_WAYS):
        q = draw(1, case.n_heads, len(asked), case.head_dim)
        k, v = (draw(1, case.n_kv_heads, len(held), case.head_dim, seed=s) for s in (1, 2))
        visible = visible_pairs(asked, held, causal=causal)
        parts = (part[0].double().numpy() for part in (q, k, v))
        want = torch.from_numpy(expected_row(case, *parts, asked, held, visible))[None]
        for rows, columns in ((asked, held), (torch.tensor(list(asked)), torch.tensor(list(held)))):
            got = attend(case, scheme, (q, k, v), rows, columns, causal=causal)
            near(got, want, what=f"{rows} {columns}")
