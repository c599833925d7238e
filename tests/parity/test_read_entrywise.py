"""HunYuan-VL's text model and V-JEPA 2, as ``read`` plans them, against their own modules: bit for bit, though neither rotates."""

import copy
import dataclasses
import functools
import warnings

import pytest
import torch
from encoder_spy import as_loaded
from reading_entrywise import FOUR, HUNYUAN, OLD, VJEPA2
from reading_models import config_of, plan_of
from reading_rules import BASE, RULES
from reading_sizes import TRAINED
from reading_spy import TOKENS, heard_in, lively
from transformers import VJEPA2Model
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan
from transformers.models.vjepa2 import modeling_vjepa2 as vjepa2

from ordinate.checkpoints import read

DTYPES = [torch.float32, torch.bfloat16]
LENGTH = 40
FAR = torch.tensor([*range(LENGTH - 3), 1000, 40000, 1000003])
PLACES = (torch.arange(41), torch.tensor([TRAINED - 1]), torch.tensor([TRAINED]), torch.tensor([1000, 40000, 1000003]))
BOUND = 1e-5  # two float32 softmax attentions, summed in another order


def text(rule=None):
    values = {"model_type": "hunyuan_vl_text", **copy.deepcopy(HUNYUAN)}
    if rule in ("four", "published"):
        return {"model_type": "hunyuan_vl_text", **copy.deepcopy({**HUNYUAN, "rope_parameters": FOUR} if rule == "four" else OLD)}
    if rule is not None:
        rope = {**HUNYUAN["rope_parameters"], **RULES[rule], "rope_theta": BASE}
        if "short_factor" in rope:
            rope |= {"short_factor": [1.0 + 0.01 * i for i in range(16)], "long_factor": [1.0 + 0.3 * i for i in range(16)]}
        values |= {"rope_parameters": rope} | ({"max_position_embeddings": TRAINED} if rule == "dynamic" else {})
    return values


def spread(places, axes):
    """Coordinates [1, T, A] that differ on every axis."""
    return torch.stack([places // (axis + 1) + axis * (places > 0) for axis in range(axes)], dim=-1)[None]


@pytest.mark.parametrize("rule", [None, "four", "published", *RULES])
def test_frequencies_cos_and_sin(rule):
    values = text(rule)
    plan = plan_of(values)
    axes = plan.position_ids.axes
    for places in PLACES:
        for ours in (places[None], spread(places, axes)):
            module = hunyuan.HunYuanVLRotaryEmbedding(config_of(values))  # anew, since theirs remembers the longest
            scheme = plan.build().at_length(int(ours.max()) + 1).layers[0]
            theirs = ours.expand(axes, 1, -1) if ours.ndim == 2 else ours.permute(2, 0, 1)
            at = scheme.at(ours)
            for one, other in zip((at.cos, at.sin), module(torch.zeros(1), theirs), strict=True):
                assert torch.equal(one * scheme.magnitude, other)
            assert list(scheme.inverse_frequencies) == 2 * module.inv_freq.tolist()


@functools.cache
def text_model(rule):
    return lively(hunyuan.HunYuanVLTextModel._from_config(config_of(text(rule)), attn_implementation="spy"))


def text_vectors(rule, dtype, places, monkeypatch):
    """What the function that turns was given in each layer, and gave."""
    found, turn = [], hunyuan.apply_rotary_pos_emb

    def listen(q, k, *rest):
        found.append(((q, k), turn(q, k, *rest)))
        return found[-1][1]

    model = copy.deepcopy(text_model(rule))
    as_loaded(model, dtype)
    with monkeypatch.context() as patch:
        patch.setattr(hunyuan, "apply_rotary_pos_emb", listen)
        with torch.no_grad():
            model(TOKENS, position_ids=places.permute(2, 0, 1), use_cache=False)
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rule", [None, "four", "yarn, attention factor"])
def test_queries_and_keys(rule, dtype, monkeypatch):
    plan = plan_of(text(rule))
    places = spread(FAR, plan.position_ids.axes)
    found = text_vectors(rule, dtype, places, monkeypatch)
    assert len(found) == len(plan.layers)
    scheme, others = plan.layers[0].scheme, [plan.build(arithmetic=how).layers[0] for how in ("float32", "input")]
    wrong = dataclasses.replace(plan.layers[0], scheme=dataclasses.replace(scheme, shares=scheme.shares[::-1]))
    shuffled = dataclasses.replace(plan.stack(), layers=(wrong,)).build().layers[0]
    for before, after in found:
        ours = plan.build().layers[0](*before, places)
        assert all(torch.equal(one, theirs) and theirs.dtype == dtype for one, theirs in zip(ours, after, strict=True))
        assert not torch.equal(shuffled.keys(before[1], places), after[1])
        assert dtype == torch.float32 or not any(torch.equal(other.keys(before[1], places), after[1]) for other in others)


def test_hunyuans_layers_scale_and_mask():
    heard = heard_in(text_model(None), TOKENS, use_cache=False)
    stack = plan_of(text()).stack()
    assert stack.causal
    assert len(heard) == len(stack.layers)
    for one, layer in zip(heard, stack.layers, strict=True):
        assert one.scale == layer.softmax_scale
        assert torch.equal(one.mask[0, 0] == 0, torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril())
        assert (layer.window, layer.chunk) == (None, None)


def test_hunyuans_attention(near, monkeypatch):
    """Norms after the turn are the model's: vectors are given to the function beside it."""
    plan, places = plan_of(text()), spread(torch.arange(LENGTH), 3)
    (q, k), (turned_q, turned_k) = text_vectors(None, torch.float32, places, monkeypatch)[0]
    v = torch.randn(k.shape, generator=torch.Generator().manual_seed(0))
    order = (range(LENGTH), range(LENGTH))
    ours = plan.build().attend(0, q, k, v, q_positions=places, k_positions=places, order=order)
    theirs = torch.nn.functional.scaled_dot_product_attention(turned_q, turned_k, v, is_causal=True, enable_gqa=True)
    near("hunyuan_vl", ours, theirs, BOUND)


def test_norms_change_and_text_is_rope(monkeypatch):
    (q, _), (turned, _) = text_vectors(None, torch.float32, spread(FAR, 3), monkeypatch)[0]
    assert (turned.norm(dim=-1) / q.norm(dim=-1) - 1).abs().max() > 0.1
    alike = FAR[None, :, None].expand(1, LENGTH, 3)
    (q, _), (turned, _) = text_vectors(None, torch.float32, alike, monkeypatch)[0]
    assert (turned.norm(dim=-1) / q.norm(dim=-1) - 1).abs().max() < 1e-5
    assert torch.equal(plan_of(text()).build().layers[0].queries(q, FAR), turned)


def test_older_files_say_the_same():
    """Another name of the rule and of the sections, and the base beside them."""
    rope = {key: value for key, value in OLD["rope_scaling"].items() if key not in ("type", "xdrope_section")}
    new = {**OLD, "rope_scaling": None, "rope_theta": None}
    new["rope_parameters"] = {**rope, "rope_theta": 10000.0, "rope_type": "dynamic", "mrope_section": [4, 4, 4, 4]}
    plan = plan_of({"model_type": "hunyuan_vl_text", **OLD})
    assert plan.stacks == plan_of({"model_type": "hunyuan_vl_text", **new}).stacks
    flat = {"model_type": "hunyuan_vl", **OLD, "attention_head_dim": 32}
    assert plan.stacks == plan_of(flat).stacks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert plan.stacks == read(config_of({"model_type": "hunyuan_vl_text", **OLD})).stacks
        assert plan.stacks == read(config_of({"model_type": "hunyuan_vl", **OLD})).stacks


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"rope_parameters": None}, "rope_parameters: needed, got nothing: its mrope_section shares out the pairs"),
        ({"rope_parameters": {"mrope_section": [16]}}, "mrope_section: needed two numbers or more"),
        ({"rope_parameters": {"mrope_section": [4, 4]}}, "mrope_section: needed two numbers or more that add up to 16 pairs"),
        ({"rope_parameters": {"mrope_section": [8, 8], "xdrope_section": [4, 12]}}, "xdrope_section = .* disagree"),
        ({"rope_parameters": {"mrope_section": [8, "8"]}}, "mrope_section: in the list: needed a whole number"),
        ({"head_dim": None}, "head_dim: needed, got nothing: its attention does not divide"),
        ({"use_rotary_pos_emb": False}, "use_rotary_pos_emb: cannot be honoured"),
    ],
)
def test_what_is_refused_of_hunyuan(changes, fault):
    with pytest.raises(ValueError, match=fault):
        read({**text(), **changes})


def video(**changes):
    return {"model_type": "vjepa2", **VJEPA2, **changes}


@functools.cache
def video_vectors(dtype):
    """Each layer of the encoder, then of the predictor: the numbers of its patches, queries and keys before and after."""
    model = lively(VJEPA2Model._from_config(config_of(video()), attn_implementation="spy")).to(dtype)
    found = {"encoder": [], "predictor": []}
    turn, ids = vjepa2.VJEPA2RopeAttention.apply_rotary_embeddings, vjepa2.VJEPA2RopeAttention.get_position_ids
    current = []

    def places(self, x, masks=None):
        made = ids(self, x, masks)
        current[:] = [one[:, 0] if one.ndim == 3 else one[None] for one in made]
        return made

    def listen(self, vectors, pos_ids):
        out = turn(self, vectors, pos_ids)
        name = "encoder" if self.hidden_size == VJEPA2["hidden_size"] else "predictor"
        found[name].append((torch.stack(list(current), dim=-1), vectors, out))
        return out

    vjepa2.VJEPA2RopeAttention.apply_rotary_embeddings, vjepa2.VJEPA2RopeAttention.get_position_ids = listen, places
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randn(2, VJEPA2["frames_per_clip"], 3, 10, 10, generator=generator).to(dtype)
    drawn = [torch.randperm(75, generator=generator)[:24].expand(2, -1) for _ in range(2)]
    try:
        heard = heard_in(model, pixels, context_mask=[drawn[0]], target_mask=[drawn[1]])
    finally:
        vjepa2.VJEPA2RopeAttention.apply_rotary_embeddings, vjepa2.VJEPA2RopeAttention.get_position_ids = turn, ids
    return found, heard, drawn


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["encoder", "predictor"])
def test_frames_rows_and_columns(name, dtype):
    stack = plan_of(video()).stack(name)
    found, heard, drawn = video_vectors(dtype)
    grid = stack.grid.positions(5, 5, frames=3)
    if name == "predictor":  # chosen patches, in the grid's order
        grid = grid[0, torch.cat(drawn, dim=1).sort(dim=1).values]
    scheme = stack.build().layers[0]
    assert len(found[name]) == 2 * len(stack.layers)
    for places, before, after in found[name]:
        assert torch.equal(places, grid[: len(places)])
        assert after.dtype == dtype
        assert torch.equal(scheme.queries(before, places), after)
        assert torch.equal(scheme.queries(before, scheme.at(places)), after)
        assert not torch.equal(after, before)
        for wrong in ({"shares": (2, 2, 2)}, {"layout": "half"}, {"spectrum": "shared"}):
            layer = dataclasses.replace(stack.layers[0], scheme=dataclasses.replace(stack.layers[0].scheme, **wrong))
            assert not torch.equal(dataclasses.replace(stack, layers=(layer,)).build().layers[0].queries(before, places), after)
        if dtype == torch.bfloat16 and name == "encoder":  # whose heads are wide enough for frequencies that bfloat16 rounds
            assert not torch.equal(stack.build(phases="float32").layers[0].queries(before, places), after)
    scales = [one.scale for one in heard[: 2 if name == "encoder" else None]][-2:]
    assert scales == [layer.softmax_scale for layer in stack.layers]
    assert all(one.mask is None for one in heard)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [2, 8, 20, 42, 64])
def test_the_function_of_vjepa2(width, dtype):
    """Other widths, and positions that bfloat16 cannot hold."""
    x = torch.randn(2, 3, LENGTH, 3 * width, generator=torch.Generator().manual_seed(0)).to(dtype)
    values = video(hidden_size=4 * (3 * width + 2 * (width == 2)), num_attention_heads=4)
    scheme = plan_of(values).stack("encoder").build().layers[0]
    assert scheme.shares == (width,) * 3
    places = spread(FAR, 3)
    wanted = [vjepa2.rotate_queries_or_keys(part, places[0, :, axis]) for axis, part in enumerate(x.split(width, dim=-1))]
    padded = torch.nn.functional.pad(x, (0, scheme.head_dim - 3 * width))
    assert torch.equal(scheme.keys(padded, places)[..., : 3 * width], torch.cat(wanted, dim=-1))


def test_the_attention_of_vjepa2(near):
    stack = plan_of(video()).stack("encoder")
    found, heard, _ = video_vectors(torch.float32)
    for layer in range(2):  # keys are turned first
        (places, k, _), (_, q, _) = found["encoder"][2 * layer : 2 * layer + 2]
        ours = stack.build().attend(layer, q, k, heard[layer].value, q_positions=places, k_positions=places)
        near("vjepa2", ours, heard[layer].out, BOUND)


def test_defaults_and_faults_of_vjepa2():
    sizes = {"hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24}
    assert read(config_of({"model_type": "vjepa2"})).stacks == read({"model_type": "vjepa2", **sizes}).stacks
    faults = {"hidden_size": (81, "multiple of the 4 heads"), "pred_hidden_size": (15, "6 to 65536 entries each, got 15")}
    faults |= {"crop_size": (1, "needed at least patch_size = 2"), "patch_size": ([2, 2], "needed a whole number")}
    for key, (value, fault) in faults.items():
        with pytest.raises(ValueError, match=f"{key}: needed .*{fault.removeprefix('needed ')}"):
            read(video(**{key: value}))
    with pytest.raises(ValueError, match=r"height, width: needed \(5, 5\), the one grid of the model"):
        plan_of(video()).stack("encoder").grid.positions(5, 6, frames=3)
