"""Position tables as ``read`` plans them against the models that own them: rows of padded batches, and every softmax scale."""

import dataclasses

import pytest
import torch
from reading_spy import heard_in
from reading_tables import TABLES, counted, given_by, model_of, padded_batch, plan_for

CASES = [(model_type, side) for model_type, sides in TABLES.items() for side in sides]
DECODER = {"is_decoder": True}


def ours(stack, table, tokens, mask):
    scheme = stack.build().input
    scheme.load_state_dict({"weight": table.weight}, strict=True)
    return scheme.eval().at(counted(stack.position_ids, tokens, mask))


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize(("model_type", "side"), CASES)
def test_rows_bit_for_bit(model_type, side, padding):
    tokens, mask = padded_batch(padding)
    rows, table = given_by(model_of(model_type), TABLES[model_type][side], tokens, mask)
    rows = rows.expand(2, -1, -1)
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
    scheme.load_state_dict({"weight": table.weight}, strict=True)
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


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("by_layer", [True, False])
def test_gpt2s_switches(scaled, by_layer):
    switches = {"scale_attn_weights": scaled, "scale_attn_by_inverse_layer_idx": by_layer}
    own = [block.attn.scaling for block in model_of("gpt2", **switches).h]
    assert [layer.softmax_scale for layer in plan_for("gpt2", **switches).layers] == own
    assert len(set(own)) == (3 if by_layer else 1)
    assert (own[0] == 1.0) != scaled


@pytest.mark.parametrize(
    ("model_type", "changes"), [("bert", {}), ("bert", DECODER), ("roberta", {}), ("roberta", DECODER), ("gpt2", {}), ("opt", {})]
)
def test_who_looks_back(model_type, changes):
    model = model_of(model_type, "spy", **changes)
    tokens, _ = padded_batch("left")
    masks = [heard.mask for heard in heard_in(model, tokens)]
    assert len(masks) == 3
    seen = [torch.ones(10, 10, dtype=torch.bool) if mask is None else mask[1, 0] == 0 for mask in masks]
    causal = plan_for(model_type, **changes).stack().causal
    expected = torch.ones(10, 10, dtype=torch.bool)
    assert all(torch.equal(one, expected.tril() if causal else expected) for one in seen)
    assert causal == (model_type in ("gpt2", "opt") or bool(changes))
