"""Encoders of images as ``read`` reads them, against transformers' own encoders running on images: bit for bit.

The encoder's rotary module tells the coordinates that it is given and the cos and sin that it makes, the function that turns tells
queries and keys before and after, the attention function tells the softmax scale and which patches see each other.
"""

import copy
import dataclasses
import importlib
import warnings

import pytest
import torch
from encoder_cases import drawn
from encoder_spy import heard, rotary_of
from encoders_of_images import BORROWED, ENCODERS_OF_IMAGES
from segmenter_cases import SEGMENTERS
from transformers import PreTrainedConfig

from ordinate.checkpoints import read
from ordinate.checkpoints.axial_types import AXIAL_TYPES
from ordinate.checkpoints.axial_types.layers import convolutions_by_type
from ordinate.checkpoints.patches import window_ids
from ordinate.rotation import rotate

ULP = 2.0**-23
DTYPES = [torch.float32, torch.bfloat16]
WITHOUT_IDS = ("dinov3_vit", "sapiens2", "eomt_dinov3", "efficientloftr", "llama4_vision_model")
COMPLEX = ("llama4_vision_model",)
LEARNED_CLASS = ("mlcd_vision_model",)  # its first token is turned by angles that are weights
ENCODERS = [name for name in ENCODERS_OF_IMAGES if name not in SEGMENTERS]  # test_read_segmenters has those
WINDOWED = [name for name, kind in AXIAL_TYPES.items() if name in ENCODERS and kind.policy not in (None, convolutions_by_type)]


def plan_of(model_type, **changes):
    case = ENCODERS_OF_IMAGES[model_type]
    return read({"model_type": model_type, **copy.deepcopy(case.values), **changes})


def places_of(model_type, plan):
    """Our coordinates of all images of a run, and which frame, image or video every patch is of."""
    case, grid = ENCODERS_OF_IMAGES[model_type], plan.stack().grid
    found = [
        grid.positions(rows, columns, frames=frames, **options)
        for (frames, rows, columns), options in zip(case.images, case.options, strict=True)
    ]
    return torch.cat(found, dim=1)


def order_of(seen, length):
    """The order in which the layers take patches: window by window where an encoder has windows."""
    if seen.windows is None:
        return torch.arange(length)
    blocks = seen.windows[0]
    unit = length // len(blocks)
    return (blocks[:, None] * unit + torch.arange(unit)).flatten()


def spread(table, scheme):
    """cos or sin of each pair -> of each entry."""
    if scheme.layout == "interleaved":
        return table.repeat_interleave(2, dim=-1)
    return torch.cat([half for part in table.chunk(scheme._parts, dim=-1) for half in (part, part)], dim=-1)


def turning(plan):
    return [(layer, scheme) for layer, scheme in zip(plan.layers, plan.build().layers, strict=True) if scheme is not None]


def test_every_row_of_the_table_is_held():
    assert set(ENCODERS_OF_IMAGES) == set(AXIAL_TYPES)


@pytest.mark.parametrize("model_type", [name for name in ENCODERS if name not in WITHOUT_IDS])
def test_coordinates(model_type):
    """Ours are those that the encoder gives its rotary module, of several images and frames with unequal sides."""
    case, seen, plan = ENCODERS_OF_IMAGES[model_type], heard(model_type, torch.float32), plan_of(model_type)
    theirs, ours = seen.made[0][0][-1].reshape(1, -1, plan.position_ids.axes), places_of(model_type, plan)
    assert ours.dtype == theirs.dtype == torch.int64
    if case.x_first:
        ours = ours.flip(-1)
        if seen.windows is not None:  # they are given in the layers' order
            ours = ours[:, order_of(seen, ours.shape[1])]
    assert torch.equal(ours, theirs)
    assert len({row.numel() for row in (ours[0, :, -1].unique(), ours[0, :, -2].unique())}) == 2


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model_type", ENCODERS)
def test_cos_and_sin(model_type, dtype):
    plan, seen = plan_of(model_type), heard(model_type, dtype)
    made, places = seen.made[0][2], places_of(model_type, plan)
    if ENCODERS_OF_IMAGES[model_type].x_first:  # made in the layers' order
        places = places[:, order_of(seen, places.shape[1])]
    (_, scheme), *_ = turning(plan)
    at = scheme.at(places)
    if model_type in COMPLEX:
        assert torch.equal(at.cos[0], made[:, 0].real)
        assert torch.equal(at.sin[0], made[:, 0].imag)
        return
    before = places.shape[1] - made[0].numel() // spread(at.cos, scheme).shape[-1]
    for ours, theirs in zip((at.cos, at.sin), made, strict=True):
        kept = spread(ours, scheme)[0, before:].to(theirs.dtype)
        assert torch.equal(kept, theirs.reshape(kept.shape))
    assert (at.cos[:, :before] == 1).all()
    assert (at.sin[:, :before] == 0).all()
    assert before == (0 if before == 0 else plan.stack().grid.prefix)


def in_a_row(found):
    """(vectors before, vectors after) of a call of the function that turns."""
    inputs, named, out = found
    vectors = [value for value in (*inputs, *named.values()) if isinstance(value, torch.Tensor) and value.ndim > 2]
    return [(vectors[0], out)] if isinstance(out, torch.Tensor) else list(zip(vectors[:2], out, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("model_type", ENCODERS)
def test_queries_and_keys(model_type, dtype):
    case, seen, plan = ENCODERS_OF_IMAGES[model_type], heard(model_type, dtype), plan_of(model_type)
    places = places_of(model_type, plan)
    places = places[:, order_of(seen, places.shape[1])]
    calls = [pair for call in seen.turned for pair in in_a_row(call)]
    layers = turning(plan)
    assert len(calls) == 2 * len(layers)
    for number, (before, after) in enumerate(calls):
        scheme, first = layers[number // 2][1], case.sequence_dim
        if model_type in LEARNED_CLASS:
            before, after = before.narrow(first, 1, places.shape[1]), after.narrow(first, 1, places.shape[1])
        extra = before.shape[first] - places.shape[1]
        assert extra == 0 or model_type == "eomt_dinov3"
        here = torch.cat((places.new_zeros(1, extra, places.shape[2]), places), dim=1)
        ours = scheme.queries(before, here, sequence_dim=first)
        assert ours.dtype == after.dtype == dtype
        assert (ours - before).abs().max() > 0.1
        if model_type not in COMPLEX:
            assert torch.equal(ours, after)
        elif dtype == torch.float32:  # products of complex numbers round otherwise
            assert ((ours - after).abs() <= 2 * ULP * after.abs().max()).all()
        else:
            assert torch.equal(ours, after)


@pytest.mark.parametrize("model_type", ENCODERS)
def test_layers_and_softmax_scale(model_type):
    plan, seen = plan_of(model_type), heard(model_type, torch.float32)
    assert len(plan.layers) == len(seen.model.config.layer_types if hasattr(seen.model.config, "layer_types") else plan.layers)
    assert len(turning(plan)) == len(seen.turned) // (2 if model_type == "gemma4_vision" else 1)
    for query, _, _, scale, _ in seen.attended:
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        assert plan.layers[-1].softmax_scale == scale


@pytest.mark.parametrize("model_type", WINDOWED)
def test_windows(model_type):
    """Attention of each layer as ours gives it, with windows from the plan and frames from the caller."""
    case, seen, plan = ENCODERS_OF_IMAGES[model_type], heard(model_type, torch.float32), plan_of(model_type)
    places, built = places_of(model_type, plan), plan.build()
    sizes = [rows * columns for frames, rows, columns in case.images for _ in range(frames)]
    frames = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    order = order_of(seen, len(frames))
    places, frames = places[:, order], frames[order]
    kinds = {layer.grid_window for layer in plan.layers}
    assert None in kinds
    assert len(kinds) == 2
    calls = iter(seen.attended)
    for number, (layer, turned) in enumerate(zip(plan.layers, seen.turned, strict=True)):
        parts = [next(calls)]
        while sum(part[0].shape[2] for part in parts) < len(frames):
            parts.append(next(calls))
        values, theirs = (torch.cat([part[place] for part in parts], dim=2) for place in (2, 4))
        q, k = (x.reshape(1, *x.shape[-3:]).transpose(1, 2) for x in turned[0][:2])
        v = values.repeat_interleave(q.shape[1] // values.shape[1], dim=1) if values.shape[1] != k.shape[1] else values
        ours = built.attend(number, q, k, v, q_positions=places, k_positions=places, document_ids=frames)
        assert (ours - theirs).abs().max() < 2e-5
        told = window_ids(places, layer.grid_window, first=plan.stack().grid.first)[0] if layer.grid_window else 0 * frames
        ids = torch.stack((frames, told)).unique(dim=1, return_inverse=True)[1]
        lengths = torch.tensor([part[0].shape[2] for part in parts])
        own = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
        assert torch.equal(ids[:, None] == ids, own[:, None] == own)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_class_token_of_mlcd(dtype):
    """The plan leaves it to the model: weights are its angles."""
    seen, plan = heard("mlcd_vision_model", dtype), plan_of("mlcd_vision_model")
    angles = seen.model.class_pos_emb
    assert "class_pos_emb" in plan.stack().left_to_model[0]
    for call in seen.turned:
        for before, after in in_a_row(call):
            ours = rotate(before[:, :1], angles.cos(), angles.sin(), layout="half", sequence_dim=-3)
            assert torch.equal(ours, after[:, :1])


CENTRED = ["dinov3_vit", "sapiens2", "eomt_dinov3"]


@pytest.mark.parametrize("head_dim", [4, 8, 16, 32, 64, 128, 256, 512])
@pytest.mark.parametrize("model_type", CENTRED)
def test_frequencies_of_centred_grids(model_type, head_dim):
    """They are powers of fractions that are made otherwise than everywhere else: by steps, not by a division."""
    sizes = {"hidden_size": 2 * head_dim, "num_attention_heads": 2}
    case, plan = ENCODERS_OF_IMAGES[model_type], plan_of(model_type, **sizes)
    scheme, places = turning(plan)[0][1], plan.stack().grid.positions(5, 7, prefix=0)
    made, at = rotary_of(case, case.config_with(**sizes))(drawn(1, 3, 10, 14)), scheme.at(places)
    assert torch.equal(spread(at.cos, scheme)[0], made[0])
    assert torch.equal(spread(at.sin, scheme)[0], made[1])


@pytest.mark.parametrize("model_type", CENTRED)
def test_other_widths_of_centred_grids_are_refused(model_type):
    sizes = {"hidden_size": 160, "num_attention_heads": 2}
    case = ENCODERS_OF_IMAGES[model_type]
    usual = 1 / 100.0 ** (torch.arange(0, 40, 2) / 40.0)
    assert not torch.equal(rotary_of(case, case.config_with(**sizes)).inv_freq, usual)
    with pytest.raises(ValueError, match="needed a power of two, got 80"):
        plan_of(model_type, **sizes)


BASES = [name for name in ENCODERS_OF_IMAGES if AXIAL_TYPES[name].dictionary]


@pytest.mark.parametrize("spelling", ["dictionary", "beside"])
@pytest.mark.parametrize("model_type", BASES)
def test_the_base_is_read(model_type, spelling):
    case, kind = ENCODERS_OF_IMAGES[model_type], AXIAL_TYPES[model_type]
    rule = {"rope_type": "axial" if kind.declares_axial else "default", "rope_theta": 777.0}
    if kind.joined:
        rule["partial_rotary_factor"] = 4.0
    changes = {"rope_parameters": rule} if spelling == "dictionary" else {"rope_theta": 777.0}
    plan, module = plan_of(model_type, **copy.deepcopy(changes)), rotary_of(case, case.config_with(**copy.deepcopy(changes)))
    scheme = turning(plan)[0][1]
    assert plan.layers[-1].scheme.base == 777.0
    if hasattr(module, "inv_freq"):
        assert set(module.inv_freq.tolist()) == set(scheme.inverse_frequencies)


@pytest.mark.parametrize("model_type", ENCODERS)
def test_the_comparison_can_fail(model_type):
    """Other axes, bases, layouts and numbers of the first row show."""
    plan, seen, case = plan_of(model_type), heard(model_type, torch.float32), ENCODERS_OF_IMAGES[model_type]
    places, own = places_of(model_type, plan), plan.layers[-1].scheme
    places = places[:, order_of(seen, places.shape[1])]
    changes = [{"base": own.base * 1.001}, {"layout": "half" if own.layout != "half" else "interleaved"}]
    changes += [{"axis_order": tuple(reversed(own.axis_order))}]
    before, after = in_a_row(seen.turned[0])[0]
    before, after = (
        x.narrow(case.sequence_dim, x.shape[case.sequence_dim] - places.shape[1], places.shape[1]) for x in (before, after)
    )
    for change in changes:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            layers = tuple(dataclasses.replace(layer, scheme=dataclasses.replace(own, **change)) for layer in plan.layers)
            scheme = dataclasses.replace(plan.stack(), layers=layers).build().layers[0]
        assert (scheme.queries(before, places, sequence_dim=case.sequence_dim) - after).abs().max() > 1e-4


def test_heads_that_are_turned_as_one():
    """EfficientLoFTR's attention within an image, as ours gives it from 8 heads; between images nothing turns."""
    plan, seen = plan_of("efficientloftr"), heard("efficientloftr", torch.float32)
    built, places = plan.build(), places_of("efficientloftr", plan)
    for number, call in enumerate(seen.turned):
        query, _, v, scale, theirs = seen.attended[3 * number]
        q, k = (x.view(*x.shape[:2], 8, 8).transpose(1, 2) for x in call[0][:2])
        assert scale == plan.layers[number].softmax_scale == plan.stack().cross_attention.softmax_scale
        for at in (None, built.at(places, places)):
            ours = built.attend(number, q, k, v, q_positions=places, k_positions=places, at=at)
            assert (ours - theirs).abs().max() < 1e-6
        alone = q.transpose(1, 2).flatten(2)[:, None]
        assert torch.equal(built.layers[number].queries(alone, places)[:, 0].view(q.shape[0], -1, 8, 8).transpose(1, 2), query)
        assert not torch.equal(q, query)
    assert len(seen.attended) == 3 * len(seen.turned)
    assert plan.stack().cross_attention.scheme is None


@pytest.mark.parametrize("share", [2.0, 8.0, 1.0])
def test_other_shares_of_joined_heads_are_refused(share):
    with pytest.raises(ValueError, match=f"partial_rotary_factor: needed 4, half of 8 heads on each axis, got {share:g}"):
        plan_of("efficientloftr", partial_rotary_factor=share)


@pytest.mark.parametrize("directory", BORROWED)
def test_directories_whose_encoder_is_another_ones(directory):
    """Their own code has no encoder that turns: the configuration inside theirs says which type it is."""
    place = importlib.import_module(f"transformers.models.{directory}.configuration_{directory}")
    whole = next(kind for kind in vars(place).values() if getattr(kind, "model_type", None) == directory)()
    found, *_ = [inner for inner in inner_configurations(whole) if inner.model_type == BORROWED[directory]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert read(found).model_type == BORROWED[directory]


def inner_configurations(config):
    for value in vars(config).values():
        if isinstance(value, PreTrainedConfig):
            yield value
            yield from inner_configurations(value)
