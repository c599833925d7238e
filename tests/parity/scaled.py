"""What the comparisons of scaled rotary modules share: configurations, and the two checks."""

import torch

from ordinate import Rope

ORIGINAL = 64
MISTAKE = 0.01  # what another setting changes at least


def config_of(kind, base, head_dim, parameters, max_length=32 * ORIGINAL, **rest):
    """Two heads; ``max_length`` fits factor 32, so that transformers has nothing to warn of."""
    rope = {"rope_theta": base, **parameters}
    settings = {
        "hidden_size": 2 * head_dim,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "vocab_size": 64,
        "pad_token_id": 0,
    }
    return kind(**settings, max_position_embeddings=max_length, rope_parameters=rope, **rest)


def rope_of(head_dim, base, rule, **rest):
    return Rope(head_dim=head_dim, layout="half", base=base, scaling=rule, phases="float32", arithmetic="input", **rest)


def vectors(places, head_dim, dtype):
    drawn = torch.randn(2, len(places), 2, places.shape[1], head_dim, generator=torch.Generator().manual_seed(0))
    return drawn.to(dtype)


def assert_same_module(rope, module, apply, places, dtype):
    """cos, sin, queries and keys, bit for bit; a table of both halves or of one, cast as theirs."""
    q, k = vectors(places, rope.head_dim, dtype)
    cos, sin = module(q, places)
    at = rope.at(places)
    for ours, theirs in ((at.cos, cos), (at.sin, sin)):
        for half in theirs.split(rope.rotary_dim // 2, dim=-1):
            assert torch.equal((ours * rope.magnitude).to(dtype), half)
    for ours, theirs in zip(rope(q, k, at), apply(q, k, cos, sin), strict=True):
        assert ours.dtype == theirs.dtype == dtype
        assert torch.equal(ours, theirs)


def assert_another_shows(rope, module, apply, places):
    q, k = vectors(places, rope.head_dim, torch.float32)
    theirs, _ = apply(q, k, *module(q, places))
    assert (rope.queries(q, places) - theirs).abs().max() > MISTAKE
