"""Resized tables against float64 loops over the interpolation's definition, and against transformers' models, bit for bit."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"

import itertools
import re

import pytest
import torch
from transformers import (
    BeitConfig,
    CLIPVisionConfig,
    Data2VecVisionConfig,
    DeiTConfig,
    Dinov2Config,
    Dinov2WithRegistersConfig,
    SiglipVisionConfig,
    TimesformerConfig,
    ViTConfig,
)
from transformers.models.beit import modeling_beit as beit
from transformers.models.clip import modeling_clip as clip
from transformers.models.data2vec import modeling_data2vec_vision as data2vec
from transformers.models.deit import modeling_deit as deit
from transformers.models.dinov2 import modeling_dinov2 as dinov2
from transformers.models.dinov2_with_registers import modeling_dinov2_with_registers as registers
from transformers.models.sam import modeling_sam as sam
from transformers.models.siglip import modeling_siglip as siglip
from transformers.models.siglip2 import modeling_siglip2 as siglip2
from transformers.models.timesformer import modeling_timesformer as timesformer
from transformers.models.vit import modeling_vit as vit
from transformers.models.vitdet import modeling_vitdet as vitdet

from interpolation import mix, rounded_once, stretched
from ordinate.checkpoints.tables import resize_bias_table, resize_table
from ordinate.resampling import resample_rows

WIDTH = 8
# float64: a few products and sums of numbers of size 1 to 4, at places up to 40
BOUND = 1e-12
FLOAT32_BOUND = 1e-5


GRIDS = [
    ((4, 4), (6, 5)),
    ((3, 5), (5, 3)),
    ((5, 3), (4, 7)),
    ((7, 6), (3, 2)),
    ((2, 3), (2, 5)),
    ((1, 4), (3, 1)),
    ((5, 4), (5, 4)),
]


@pytest.mark.parametrize("front", [(0, 0), (1, 0), (5, 2)])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("old", "new"), GRIDS)
def test_grids_by_loops(old, new, method, antialias, front):
    kept = sum(front)
    table = torch.randn(kept + old[0] * old[1], WIDTH, dtype=torch.float64)
    options = {"method": method, "antialias": antialias, "prefix_tokens": front[0], "padding_offset": front[1]}
    got = resize_table(table, new, grid=old, **options)
    wanted = stretched(table[kept:], old, new, {"bicubic": "cubic", "bilinear": "linear"}[method], antialias)
    assert torch.equal(got[:kept], table[:kept])
    assert got.shape == (kept + new[0] * new[1], WIDTH)
    assert (got[kept:] - wanted).abs().max() < BOUND
    assert torch.equal(resize_table(table[None], list(new), grid=list(old), **options), got[None])
    if old[0] == old[1]:
        assert torch.equal(resize_table(table, new, **options), got)


@pytest.mark.parametrize("padding_offset", [0, 2])
@pytest.mark.parametrize(("old", "new"), [(4, 9), (9, 4), (37, 39), (5, 5), (1, 3), (3, 1)])
def test_lengths_by_loops(old, new, padding_offset):
    table = torch.randn(padding_offset + old, WIDTH, dtype=torch.float64)
    rows = table[padding_offset:]
    linear = torch.stack([sum(w * row for w, row in zip(mix(old, new, p, "linear"), rows, strict=True)) for p in range(new)])
    for method, wanted in (("linear", linear), ("nearest", rows[[p * old // new for p in range(new)]])):
        got = resize_table(table, new, method=method, padding_offset=padding_offset)
        assert torch.equal(got[:padding_offset], table[:padding_offset])
        assert (got[padding_offset:] - wanted).abs().max() < BOUND
        assert torch.equal(resample_rows(table[padding_offset:], new, method=method), got[padding_offset:])
    if new <= old:
        assert torch.equal(
            resize_table(table, new, method="truncate", padding_offset=padding_offset), table[: padding_offset + new]
        )


WINDOWS = [((2, 2), (3, 4)), ((3, 2), (2, 4)), ((2, 4), (4, 2)), ((1, 3), (2, 2)), ((3, 4), (3, 4)), ((7, 7), (2, 3))]


@pytest.mark.parametrize("extra_rows", [0, 3])
@pytest.mark.parametrize("method", ["bicubic", "bilinear"])
@pytest.mark.parametrize(("old", "new"), WINDOWS)
def test_bias_tables_by_loops(old, new, method, extra_rows):
    sides, wanted_sides = [(2 * h - 1, 2 * w - 1) for h, w in (old, new)]
    table = torch.randn(sides[0] * sides[1] + extra_rows, 3, dtype=torch.float64)
    rows = len(table) - extra_rows
    got = resize_bias_table(table, new, window=old, method=method, extra_rows=extra_rows)
    wanted = stretched(table[:rows], sides, wanted_sides, {"bicubic": "cubic", "bilinear": "linear"}[method])
    assert torch.equal(got[len(wanted) :], table[rows:])
    assert (got[: len(wanted)] - wanted).abs().max() < BOUND
    assert torch.allclose(got[len(wanted) // 2], table[rows // 2], atol=BOUND)  # distance 0
    if old[0] == old[1]:
        assert torch.equal(resize_bias_table(table, new, method=method, extra_rows=extra_rows), got)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_computed_in_float32_and_rounded_once(dtype):
    table = torch.randn(1 + 12, WIDTH).to(dtype)
    got = resize_table(table, (5, 4), grid=(3, 4), method="bicubic", prefix_tokens=1)
    assert torch.equal(got[:1], table[:1])
    assert rounded_once(got[1:], stretched(table[1:], (3, 4), (5, 4), "cubic"), dtype)
    bias = resize_bias_table(table, (2, 2), window=(1, 2), method="bilinear", extra_rows=10)
    assert torch.equal(bias[9:], table[3:])
    assert rounded_once(bias[:9], stretched(table[:3], (1, 3), (3, 3), "linear"), dtype)
    line = torch.stack([sum(w * row for w, row in zip(mix(13, 9, p, "linear"), table.double(), strict=True)) for p in range(9)])
    assert rounded_once(resize_table(table, 9, method="linear"), line, dtype)


def test_nearest_rows_are_exact():
    """Where p old / new is whole, a ratio in float32 takes the row before."""
    for old, new in itertools.product((2, 7, 48, 299), (82, 110, 188, 2990)):
        rows = resample_rows(torch.arange(float(old))[:, None], new, method="nearest")
        assert rows.flatten().tolist() == [p * old // new for p in range(new)]


@pytest.mark.parametrize("new", [20, 10, 5])
def test_the_result_is_new(new):
    table = torch.nn.Parameter(torch.randn(10, 4))
    before = table.detach().clone()
    results = [resize_table(table, new, method=method) for method in ("linear", "nearest") + (("truncate",) if new <= 10 else ())]
    results += [
        resize_table(table, (2, 5), grid=(2, 5), method="bicubic"),
        resize_table(table, (new, 1), grid=(5, 2), method="bilinear"),
    ]
    results += [resize_bias_table(table, (1, 1), method="bilinear", extra_rows=1)]
    for result in results:
        assert not result.requires_grad
        assert result.is_contiguous()
        result.zero_()
    for method in ("nearest", "truncate", "linear"):
        resample_rows(table.data, 10, method=method).zero_()
    assert torch.equal(table, before)


# transformers


def alive(module):
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(torch.randn(weight.shape))
    return module.eval()


def sizes(side, hidden="hidden_size"):
    return {"image_size": 2 * side, "patch_size": 2, hidden: WIDTH, "num_attention_heads": 2, "num_hidden_layers": 1}


MODELS = {
    "ViT": (lambda side: vit.ViTEmbeddings(ViTConfig(**sizes(side))), 1, False),
    "DeiT": (lambda side: deit.DeiTEmbeddings(DeiTConfig(**sizes(side))), 2, False),
    "DINOv2": (lambda side: dinov2.Dinov2Embeddings(Dinov2Config(**sizes(side))), 1, False),
    "DINOv2 with registers": (
        lambda side: registers.Dinov2WithRegistersEmbeddings(Dinov2WithRegistersConfig(**sizes(side))),
        1,
        True,
    ),
    "CLIP": (lambda side: clip.CLIPVisionEmbeddings(CLIPVisionConfig(**sizes(side))), 1, False),
    "SigLIP": (lambda side: siglip.SiglipVisionEmbeddings(SiglipVisionConfig(**sizes(side))), 0, False),
    "BEiT": (lambda side: beit.BeitEmbeddings(BeitConfig(**sizes(side), use_absolute_position_embeddings=True)), 1, False),
}


def table_of(module):
    table = getattr(module, "position_embeddings", None)
    return module.position_embedding.weight[None] if table is None else table


# Only DINOv2's code leaves half precision for the interpolation.
IN_DTYPES = [(model, torch.float32) for model in MODELS] + [(model, torch.bfloat16) for model in MODELS if "DINO" in model]


@pytest.mark.parametrize(("model", "dtype"), IN_DTYPES)
@pytest.mark.parametrize(("side", "new"), [(37, (39, 39)), (4, (6, 5)), (4, (3, 7)), (7, (4, 2))])
def test_grids_of_transformers(model, dtype, side, new):
    make, prefix, antialias = MODELS[model]
    module = alive(make(side)).to(dtype)
    patches = torch.zeros(1, prefix + new[0] * new[1], WIDTH)
    with torch.no_grad():
        theirs = module.interpolate_pos_encoding(patches, 2 * new[0], 2 * new[1])
    ours = resize_table(table_of(module), new, method="bicubic", prefix_tokens=prefix, antialias=antialias)
    assert theirs.shape[1] == prefix + new[0] * new[1]
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("new", [(3, 7), (6, 5), (4, 4), (2, 3)])
def test_siglip2(new):
    """Its own form of bilinear weights with antialiasing, as one product of matrices: equal but for rounding."""
    table = torch.randn(16, WIDTH)
    theirs = siglip2.Siglip2VisionEmbeddings.resize_positional_embeddings(table.view(4, 4, WIDTH), torch.tensor([new]), 50)
    ours = resize_table(table, new, method="bilinear", antialias=True)
    assert (ours - theirs[0, : new[0] * new[1]]).abs().max() < FLOAT32_BOUND


@pytest.mark.parametrize(("side", "new"), [(4, (6, 5)), (4, (3, 7)), (7, (2, 3))])
@pytest.mark.parametrize("family", ["BEiT", "Data2Vec"])
def test_square_windows_of_transformers(family, side, new):
    module = alive(relative(family, (side, side)))
    ours = resize_bias_table(module.relative_position_bias_table, new, method="bilinear", extra_rows=3)
    with torch.no_grad():
        theirs = module(new)
    assert torch.equal(spread(ours, new), theirs)


@pytest.mark.parametrize("family", ["BEiT", "Data2Vec"])
def test_transformers_garbles_windows_that_are_no_square(family):
    """Even where nothing is to be resized: it reads the table as (width, height)."""
    module, window = alive(relative(family, (3, 5))), (3, 5)
    table = module.relative_position_bias_table.detach()
    ours = resize_bias_table(table, window, window=window, method="bilinear", extra_rows=3)
    assert torch.equal(ours, table)
    with torch.no_grad():
        assert (spread(table, window) - module(window)).abs().max() > 0.1


def relative(family, window):
    size = {"image_size": (2 * window[0], 2 * window[1]), "patch_size": 2, "hidden_size": WIDTH, "num_attention_heads": 2}
    if family == "BEiT":
        return beit.BeitRelativePositionBias(BeitConfig(**size))
    return data2vec.Data2VecVisionRelativePositionBias(Data2VecVisionConfig(**size), window_size=window)


def spread(table, window):
    """The bias of every pair of tokens, a class token first: [1, heads, T, T]."""
    (height, width), rows = window, len(table) - 3
    places = [None, *itertools.product(range(height), range(width))]

    def row(query, key):
        if query is None or key is None:
            return rows + (2 if query is None and key is None else 0 if query is None else 1)
        return (query[0] - key[0] + height - 1) * (2 * width - 1) + query[1] - key[1] + width - 1

    return torch.stack([torch.stack([table[row(q, k)] for k in places]) for q in places]).permute(2, 0, 1)[None]


@pytest.mark.parametrize(("old", "new"), [(4, 7), (7, 4), (14, 37)])
def test_decomposed_tables_of_sam_and_vitdet(old, new):
    table = torch.randn(2 * old - 1, WIDTH)
    ours = resize_table(table, 2 * new - 1, method="linear")
    distance = torch.arange(new)[:, None] - torch.arange(new) + new - 1
    assert torch.equal(ours[distance], vitdet.get_rel_pos(new, new, table))
    assert torch.equal(ours[distance], sam.SamVisionAttention.get_rel_pos(None, new, new, table))


@pytest.mark.parametrize("frames", [3, 8, 13])
def test_frames_of_timesformer(frames):
    config = TimesformerConfig(
        image_size=4, patch_size=2, num_channels=1, num_frames=8, hidden_size=WIDTH, hidden_dropout_prob=0.0, num_hidden_layers=1
    )
    module = alive(timesformer.TimesformerEmbeddings(config))
    with torch.no_grad():
        module.cls_token.zero_()
        module.position_embeddings.zero_()
        module.patch_embeddings.projection.weight.zero_()
        module.patch_embeddings.projection.bias.zero_()
        out = module(torch.zeros(1, frames, 1, 4, 4))  # what is left are the vectors of the frames
    ours = resize_table(module.time_embeddings, frames, method="nearest")
    assert torch.equal(out[:, 1:].view(1, 4, frames, WIDTH)[:, 0], ours)


# Faults


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"table": torch.zeros(16, 4, dtype=torch.int64)},
            "table: needed a floating tensor [rows, d] or [1, rows, d], got int64 [16, 4]",
        ),
        ({"table": torch.zeros(2, 16, 4)}, "[1, rows, d], got float32 [2, 16, 4]"),
        ({"table": None}, "got NoneType None"),
        ({"new": (3,)}, "new: needed (height, width), got tuple (3,)"),
        ({"new": (3, 0)}, "new[1]: needed a whole number >= 1, got 0"),
        ({"new": (3, 2.5)}, "new[1]: needed a whole number >= 1, got 2.5"),
        ({"new": 0, "method": "linear"}, "new: needed a whole number >= 1, got 0"),
        ({"new": 8.0, "method": "linear"}, "new: needed a whole number >= 1, got 8.0"),
        ({"new": 8}, "method: needed one of linear, nearest, truncate for a length, got 'bicubic'"),
        ({"method": "linear"}, "method: needed one of bicubic, bilinear for a grid, got 'linear'"),
        ({"new": 8, "method": "linear", "grid": (4, 4)}, "needed (height, width) beside grid=(4, 4) and antialias=False, got 8"),
        ({"new": 8, "method": "linear", "antialias": True}, "needed (height, width) beside grid=None and antialias=True, got 8"),
        ({"antialias": 1}, "antialias: needed True or False, got 1"),
        ({"grid": 4}, "grid: needed (height, width), got int 4"),
        ({"prefix_tokens": 1}, "table: needed the square of a whole number of rows behind those in front, got 15"),
        (
            {"grid": (3, 5)},
            "table: needed 15 (grid=(3, 5)) of rows behind those in front, got 16; grid=(height, width) and prefix_tokens",
        ),
        (
            {"prefix_tokens": 14, "padding_offset": 2},
            "needed more rows than the 16 of prefix_tokens and padding_offset, got float32",
        ),
        ({"new": 20, "method": "truncate"}, 'needed at most 16 rows from "truncate", got 20'),
        (
            {"new": "ab", "prefix_tokens": -1, "method": "x"},
            "prefix_tokens: needed a whole number >= 0, got -1; new: needed (height",
        ),
    ],
)
def test_table_faults(changes, message):
    arguments = {"table": torch.zeros(16, 4), "new": (3, 5), "method": "bicubic", **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        resize_table(arguments.pop("table"), arguments.pop("new"), **arguments)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": torch.zeros(1, 9, 4)}, "table: needed a floating tensor [rows, heads], got float32 [1, 9, 4]"),
        ({"new_window": 3}, "new_window: needed (height, width), got int 3"),
        ({"method": "linear"}, "method: needed one of bicubic, bilinear, got 'linear'"),
        ({"extra_rows": -1}, "extra_rows: needed a whole number >= 0, got -1"),
        ({"window": (0, 2)}, "window[0]: needed a whole number >= 1, got 0"),
        ({"window": (2, 3)}, "table: needed 15 (window=(2, 3)) of rows and extra_rows=0, got 9"),
        ({"table": torch.zeros(16, 4)}, "table: needed the square of an odd number of rows and extra_rows=0, got 16"),
        ({"extra_rows": 9}, "and extra_rows=9, got 9"),
        ({"extra_rows": 3}, "and extra_rows=3, got 9; window=(height, width) says which"),
    ],
)
def test_bias_table_faults(changes, message):
    arguments = {"table": torch.zeros(9, 4), "new_window": (3, 4), "method": "bicubic", **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        resize_bias_table(arguments.pop("table"), arguments.pop("new_window"), **arguments)
