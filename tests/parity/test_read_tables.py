"""Position tables as ``read`` plans them against the models that own them: rows of padded batches, and every softmax scale."""

import dataclasses

import pytest
import torch
from reading_models import config_of, plan_of
from reading_spy import heard_in
from transformers import AutoModel

from ordinate.positions import from_padding_mask

PAD = 5  # no model's default
SIZES = {"vocab_size": 64, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 6, "intermediate_size": 16}
ENDS = {"pad_token_id": PAD, "bos_token_id": 1, "eos_token_id": 2}
PAIR = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in (("layers", 2), ("ffn_dim", 16))}
PAIR |= {"vocab_size": 64, "d_model": 48, "encoder_attention_heads": 6, "decoder_attention_heads": 3, **ENDS}
PAIR |= {"decoder_start_token_id": 2, "forced_eos_token_id": None}
MODELS = {
    "bert": {**SIZES, "pad_token_id": PAD, "max_position_embeddings": 40},
    "roberta": {**SIZES, **ENDS, "max_position_embeddings": 40},
    "gpt2": {"vocab_size": 64, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": 40, "bos_token_id": 1, "eos_token_id": 2},
    "opt": {**SIZES, **ENDS, "max_position_embeddings": 40, "ffn_dim": 16, "word_embed_proj_dim": 24},
    "bart": {**PAIR, "max_position_embeddings": 40},
    "whisper": {**PAIR, "max_source_positions": 60, "max_target_positions": 40, "num_mel_bins": 8},
}
TABLES = {
    "bert": {"encoder": "embeddings.position_embeddings"},
    "roberta": {"encoder": "embeddings.position_embeddings"},
    "gpt2": {"decoder": "wpe"},
    "opt": {"decoder": "decoder.embed_positions"},
    "bart": {"encoder": "encoder.embed_positions", "decoder": "decoder.embed_positions"},
    "whisper": {"decoder": "decoder.embed_positions"},
}
DECODER = {"is_decoder": True}
CASES = [(model_type, side) for model_type, sides in TABLES.items() for side in sides]


def model_of(model_type, **changes):
    config = config_of({"model_type": model_type, **MODELS[model_type], **changes})
    torch.manual_seed(0)
    return AutoModel.from_config(config).eval()


def plan_for(model_type, **changes):
    return plan_of({"model_type": model_type, **MODELS[model_type], **changes})


def padded_batch(side):
    """Tokens and mask: three of padding in the first row, none in the second."""
    tokens = torch.randint(6, 60, (2, 10), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 10, dtype=torch.int64)
    mask[0, slice(None, 3) if side == "left" else slice(7, None)] = 0
    return tokens.masked_fill(mask == 0, PAD), mask


def rows_of(model, name, tokens, mask):
    """What the model's own table gives, and the table."""
    table, seen = model.get_submodule(name), []
    handle = table.register_forward_hook(lambda _, __, rows: seen.append(rows))
    inputs = {"input_ids": tokens, "attention_mask": mask}
    if "Whisper" in type(model).__name__:
        frames = torch.randn(2, 8, 120, generator=torch.Generator().manual_seed(0))
        inputs = {"input_features": frames, "decoder_input_ids": tokens, "decoder_attention_mask": mask}
    elif "Bart" in type(model).__name__:
        inputs |= {"decoder_input_ids": tokens, "decoder_attention_mask": mask}
    with torch.no_grad():
        model(**inputs)
    handle.remove()
    return seen[0].expand(2, -1, -1), table


def counted(ids, tokens, mask):
    """Positions as a plan says that they are counted."""
    if ids.counted_from == "order":
        return torch.arange(tokens.shape[1]).expand(tokens.shape)
    return from_padding_mask(mask if ids.counted_from == "mask" else tokens != ids.padding_token)


def ours(stack, table, tokens, mask):
    scheme = stack.build().input
    scheme.load_state_dict(table.state_dict(), strict=True)
    return scheme.eval().at(counted(stack.position_ids, tokens, mask))


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize(("model_type", "side"), CASES)
def test_rows_bit_for_bit(model_type, side, padding):
    tokens, mask = padded_batch(padding)
    rows, table = rows_of(model_of(model_type), TABLES[model_type][side], tokens, mask)
    stack = plan_for(model_type).stack(side)
    real = mask.bool() if stack.position_ids.counted_from != "order" else torch.ones_like(mask, dtype=torch.bool)
    with torch.no_grad():
        assert torch.equal(ours(stack, table, tokens, mask)[real], rows[real])
        for wrong in other_stacks(stack, padding):
            assert not torch.equal(ours(wrong, table, tokens, mask)[real], rows[real])


def other_stacks(stack, padding):
    """The same stack, with another first row, or another way to count, which padding on the right does not tell."""
    row = stack.input.padding_offset
    yield dataclasses.replace(
        stack, input=dataclasses.replace(stack.input, max_length=stack.input.max_length + row - 3, padding_offset=3)
    )
    if padding == "right":
        return
    other = "mask" if stack.position_ids.counted_from == "order" else "order"
    yield dataclasses.replace(stack, position_ids=dataclasses.replace(stack.position_ids, counted_from=other))


@pytest.mark.parametrize(("model_type", "side"), CASES)
def test_the_longest_sequence_is_the_last_row(model_type, side):
    stack, model = plan_for(model_type).stack(side), model_of(model_type)
    table = model.get_submodule(TABLES[model_type][side])
    scheme = stack.build().input
    scheme.load_state_dict(table.state_dict(), strict=True)
    last = stack.input.max_length - 1
    assert torch.equal(scheme.at(range(last, last + 1))[0], table.weight[-1])
    assert stack.max_length == last + 1


def test_whispers_sinusoids(near):
    """Its table is made of float32 angles, ours of exact ones: over 60 frames within 1e-5, over its own 1500 within 1e-4."""
    for frames, bound in ((60, 1e-5), (1500, 1e-4)):
        stack = plan_for("whisper", max_source_positions=frames).stack("encoder")
        theirs = model_of("whisper", max_source_positions=frames).encoder.embed_positions.weight
        found = stack.build().input.at(range(frames))
        near(f"Whisper's sinusoids, {frames} frames", found, theirs.detach(), bound)
        step = torch.tensor([10000.0 ** (-pair / 23) for pair in range(24)], dtype=torch.float64)
        angles = torch.arange(frames, dtype=torch.float64)[:, None] * step
        exact = torch.cat((angles.sin(), angles.cos()), dim=1)
        assert (found - exact).abs().max() <= 2.0**-24 < (theirs - exact).abs().max()


def scales_of(model, side):
    """Softmax scales of a stack's attention modules, by whether they look at another stack."""
    root = getattr(model, side) if hasattr(model, side) and "bert" not in model.config.model_type else model
    own, cross = [], []
    for name, module in root.named_modules():
        if hasattr(module, "scaling"):
            (cross if "encoder_attn" in name else own).append(module.scaling)
    return own, cross


@pytest.mark.parametrize(("model_type", "side"), [*CASES, ("whisper", "encoder")])
def test_softmax_scales(model_type, side):
    model, stack = model_of(model_type), plan_for(model_type).stack(side)
    own, cross = scales_of(model, side)
    assert [layer.softmax_scale for layer in stack.layers] == own
    assert len(own) in (2, 3)
    assert all(layer.scheme is None and layer.window is None for layer in stack.layers)
    assert (stack.cross_attention is None) == (cross == [])
    assert all(stack.cross_attention.softmax_scale == scale for scale in cross)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("by_layer", [True, False])
def test_gpt2s_switches(scaled, by_layer):
    switches = {"scale_attn_weights": scaled, "scale_attn_by_inverse_layer_idx": by_layer}
    own, _ = scales_of(model_of("gpt2", **switches), "decoder")
    assert [layer.softmax_scale for layer in plan_for("gpt2", **switches).layers] == own
    assert len(set(own)) == (3 if by_layer else 1)
    assert (own[0] == 1.0) != scaled


@pytest.mark.parametrize(
    ("model_type", "changes"), [("bert", {}), ("bert", DECODER), ("roberta", {}), ("roberta", DECODER), ("gpt2", {}), ("opt", {})]
)
def test_who_looks_back(model_type, changes):
    model = AutoModel.from_config(config_of({"model_type": model_type, **MODELS[model_type], **changes}), attn_implementation="spy")
    tokens, _ = padded_batch("left")
    masks = [heard.mask for heard in heard_in(model.eval(), tokens)]
    assert len(masks) == 3
    seen = [torch.ones(10, 10, dtype=torch.bool) if mask is None else mask[1, 0] == 0 for mask in masks]
    causal = plan_for(model_type, **changes).stack().causal
    expected = torch.ones(10, 10, dtype=torch.bool)
    assert all(torch.equal(one, expected.tril() if causal else expected) for one in seen)
    assert causal == (model_type in ("gpt2", "opt") or bool(changes))
