"""Deberta against transformers' DeBERTa v2 and v3: logarithmic buckets, a normalised table, often the layer's own projections."""

import math

import mpmath
import pytest
import torch
from transformers import DebertaV2Config
from transformers.models.deberta_v2 import modeling_deberta_v2 as deberta

from ordinate import Deberta, DebertaTable, attend
from ordinate.positions import from_padding_mask

# Two float32 softmax attentions with outputs of size 1 to 10, their scores sums of three products in another order: a few ulp.
BOUND = 1e-5
BOTH = ("c2p", "p2c")
# Buckets, largest distance and a distance that lies a float32 rounding or less from a border.
CLOSE = [(18, 65, 24), (50, 65, 40), (64, 16384, 2190), (90, 81, 60), (98, 65, 56), (160, 4096, 3896), (512, 4096, 1643)]


def tokens_of(length):
    return torch.randint(3, 60, (2, length), generator=torch.Generator().manual_seed(0))


def model_of(lively, terms=BOTH, buckets=8, span=-1, max_length=32, share=True, norm="layer_norm"):
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    places = {"max_position_embeddings": max_length, "max_relative_positions": span, "position_biased_input": False}
    kind = {"position_buckets": buckets, "share_att_key": share, "norm_rel_ebd": norm, "pos_att_type": list(terms)}
    return lively(deberta.DebertaV2Model(DebertaV2Config(vocab_size=64, relative_attention=True, **sizes, **places, **kind)))


def scheme_of(layer, terms=BOTH):
    buckets = layer.position_buckets if layer.position_buckets > 0 else None
    sizes = {"n_heads": 4, "head_dim": 8, "buckets": buckets, "max_distance": layer.max_relative_positions}
    return Deberta(**sizes, content_to_position="c2p" in terms, position_to_content="p2c" in terms)


def tables(model, layer, terms=BOTH):
    """The model's relative table in this layer's projections."""
    norm = getattr(model.encoder, "LayerNorm", None)
    shared = DebertaTable(d_model=32, span=layer.pos_ebd_size, layer_norm=norm is not None)
    state = {} if norm is None else {f"norm.{name}": weight for name, weight in norm.state_dict().items()}
    shared.load_state_dict({"weight": model.encoder.rel_embeddings.weight, **state}, strict=True)
    own, prefix = layer.share_att_key, "" if layer.share_att_key else "pos_"
    assert own != hasattr(layer, "pos_key_proj") or "c2p" not in terms
    names = {"keys": f"{prefix}key_proj"} if "c2p" in terms else {}
    names |= {"queries": f"{prefix}query_proj"} if "p2c" in terms else {}
    return {name: getattr(layer, projection)(shared.table()).unflatten(-1, (4, 8)) for name, projection in names.items()}


def ours(layer, x, scheme, places, **rest):
    projections = (layer.query_proj, layer.key_proj, layer.value_proj)
    q, k, v = (projection(x).unflatten(-1, (4, 8)).transpose(1, 2) for projection in projections)
    out = attend(q, k, v, scheme=scheme, q_positions=places, k_positions=places, causal=False, **rest)
    return out.transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("buckets", "max_distance"), [(256, 512), (256, 1024), (128, 512), (64, 512), (32, 128), (8, 32), (9, 32), (4, 16), (320, 768)]
)
def test_buckets(buckets, max_distance):
    distance = torch.arange(-20000, 20001)
    theirs = deberta.make_log_bucket_position(distance, buckets, max_distance).long()
    terms = {"content_to_position": True, "position_to_content": False}
    scheme = Deberta(n_heads=1, head_dim=2, **terms, buckets=buckets, max_distance=max_distance)
    # the tables are ordered by query - key, and rows() takes key - query
    assert torch.equal(scheme.rows(-distance), (theirs + buckets).clamp(0, 2 * buckets - 1))
    assert not torch.equal(scheme.rows(distance), (theirs + buckets).clamp(0, 2 * buckets - 1))


def test_theirs_misses_borders_that_ours_keeps():
    missed = []
    for buckets, max_distance, reach in CLOSE:
        middle = buckets // 2
        end, steps = max_distance - 1, middle - 1
        # the definition in whole numbers: the first t with (reach / middle)^steps <= (end / middle)^t
        right = next(t for t in range(steps + 1) if reach**steps * middle**t <= middle**steps * end**t)
        with mpmath.workdps(60):
            share = mpmath.log(mpmath.mpf(reach) / middle) / mpmath.log(mpmath.mpf(end) / middle) * steps
            assert right == math.ceil(share - mpmath.mpf(10) ** -40)  # some borders are whole numbers
        terms = {"content_to_position": True, "position_to_content": False}
        scheme = Deberta(n_heads=1, head_dim=2, **terms, buckets=buckets, max_distance=max_distance)
        assert scheme.rows(torch.tensor(-reach)) == buckets + middle + right
        missed.append(deberta.make_log_bucket_position(torch.tensor(reach), buckets, max_distance) != middle + right)
    # which ones a float32 logarithm misses is up to the processor
    assert any(missed)


@pytest.mark.parametrize("share", [True, False], ids=["own projections", "projections for positions"])
@pytest.mark.parametrize(
    ("buckets", "span", "length"), [(8, -1, 1), (8, -1, 30), (8, 20, 80), (7, -1, 80), (-1, -1, 30), (-1, 6, 80)]
)
@pytest.mark.parametrize("terms", [BOTH, ("c2p",), ("p2c",)], ids="+".join)
def test_attention(terms, buckets, span, length, share, lively, watched, near):
    model = model_of(lively, terms, buckets, span, share=share)
    layer = model.encoder.layer[1].attention.self
    seen = watched(model, layer, tokens_of(length))
    scheme = scheme_of(layer, terms)
    with torch.no_grad():
        extras = tables(model, layer, terms)
        out = ours(layer, seen["x"], scheme, range(length), extras=extras)
        near(f"DeBERTa v2 {'+'.join(terms)}, span {scheme.span}, length {length}", out, seen["out"], BOUND)
        if length > 1:
            bare = ours(layer, seen["x"], None, range(length), scale=scheme.softmax_scale(8))
            backwards = ours(layer, seen["x"], scheme, range(length, 0, -1), extras=extras)
            wrong_scale = ours(layer, seen["x"], scheme, range(length), extras=extras, scale=8**-0.5)
            for wrong in (bare, backwards, wrong_scale):
                assert (wrong - seen["out"]).abs().max() > 0.1


@pytest.mark.parametrize("length", [512, 700])
def test_v3s_sizes(length, lively, watched, near):
    model = model_of(lively, buckets=256, max_length=512)
    layer = model.encoder.layer[1].attention.self
    seen = watched(model, layer, tokens_of(length))
    scheme = scheme_of(layer)
    clipped = Deberta(n_heads=4, head_dim=8, content_to_position=True, position_to_content=True, max_distance=256)
    with torch.no_grad():
        extras = tables(model, layer)
        near(f"DeBERTa v3, length {length}", ours(layer, seen["x"], scheme, range(length), extras=extras), seen["out"], BOUND)
        assert (ours(layer, seen["x"], clipped, range(length), extras=extras) - seen["out"]).abs().max() > 0.1
        # the third term read as in the paper, at the distance from key to query
        rows = (512 - torch.arange(512)).clamp(max=511)
        paper = {"keys": extras["keys"], "queries": extras["queries"][rows]}
        assert (ours(layer, seen["x"], scheme, range(length), extras=paper) - seen["out"]).abs().max() > 0.1


def test_a_table_without_its_norm_is_another_model(lively, watched, near):
    model = model_of(lively, norm="none")
    layer = model.encoder.layer[1].attention.self
    seen = watched(model, layer, tokens_of(30))
    with torch.no_grad():
        out = ours(layer, seen["x"], scheme_of(layer), range(30), extras=tables(model, layer))
        near("DeBERTa v2, no norm", out, seen["out"], BOUND)
        model.encoder.LayerNorm = torch.nn.LayerNorm(32, eps=1e-7)
        normed = ours(layer, seen["x"], scheme_of(layer), range(30), extras=tables(model, layer))
        assert (normed - seen["out"]).abs().max() > 0.1


def test_left_padded_attention(padded, lively, watched, near):
    tokens, mask = padded
    model = model_of(lively, buckets=4)
    layer, real, places = model.encoder.layer[1].attention.self, mask.bool(), from_padding_mask(mask)
    seen = watched(model, layer, tokens, attention_mask=mask)
    with torch.no_grad():
        extras = tables(model, layer)
        out = ours(layer, seen["x"], scheme_of(layer), places, mask=real[:, None, None, :], extras=extras)
        near("DeBERTa v2, left-padded", out[real], seen["out"][real], BOUND)
        assert (ours(layer, seen["x"], scheme_of(layer), places, extras=extras) - seen["out"])[real].abs().max() > 0.1
