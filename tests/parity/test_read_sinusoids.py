"""Sinusoids as ``read`` plans them, layout, frequencies, first position and what counts, against the models that own them.

Marian's and Pegasus's tables are made in float64: those must be equal bit for bit. The others are made of float32 angles,
ours of exact ones: within 1e-5 for the few positions here; another layout, spacing or first position is farther off than 1e-2.
"""

import dataclasses

import pytest
import torch
from reading_tables import MODELS, counted, given_by, inputs_of, model_of, padded_batch, plan_for

BOUND = 1e-5
EVERY = {f"{side}.embed_positions": side for side in ("encoder", "decoder")}
ALONE = {"model.decoder.embed_positions": "decoder"}
NAMES = dict.fromkeys(("marian", "pegasus", "m2m_100", "nllb-moe", "fsmt", "speech_to_text"), EVERY)
NAMES |= {"trocr": ALONE, "xglm": {"embed_positions": "decoder"}}
CASES = [(model_type, name) for model_type, names in NAMES.items() for name in names]
CHANGES = {"trocr": {"use_learned_position_embeddings": False}}


def vectors_of(model_type, name, padding, **changes):
    """What the model adds, the plan of that stack, and the tokens and mask by which it counts."""
    changes = {**CHANGES.get(model_type, {}), **changes}
    model, stack = model_of(model_type, **changes), plan_for(model_type, **changes).stack(NAMES[model_type][name])
    tokens, mask = padded_batch(padding)
    rows, module = given_by(model, name, tokens, mask)
    if model_type == "speech_to_text" and name.startswith("encoder"):
        tokens, mask = frames_of(model, module, tokens, mask)
    return rows.expand(2, -1, -1), stack, tokens, mask


def frames_of(model, module, tokens, mask):
    """The marks of padding that the encoder's table is given, and the mask that they stand for."""
    seen = []
    handle = module.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with torch.no_grad():
        model(**inputs_of(model, tokens, mask))
    handle.remove()
    return seen[0], (seen[0] == 0).long()


def ours(stack, tokens, mask):
    return stack.build().input.at(counted(stack.position_ids, tokens, mask))


def others(stack, padding):
    """Other plans, each of which must show."""
    scheme, ids = stack.input, stack.position_ids
    yield dataclasses.replace(stack, input=dataclasses.replace(scheme, spacing="open" if scheme.spacing == "closed" else "closed"))
    yield dataclasses.replace(stack, input=dataclasses.replace(scheme, layout="interleaved"))
    yield dataclasses.replace(stack, position_ids=dataclasses.replace(ids, first=ids.first + 1))
    if padding == "left" and ids.counted_from != "order":
        yield dataclasses.replace(stack, position_ids=dataclasses.replace(ids, counted_from="order"))


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize(("model_type", "name"), CASES)
def test_vectors(model_type, name, padding, near):
    rows, stack, tokens, mask = vectors_of(model_type, name, padding)
    real = mask.bool() if stack.position_ids.counted_from != "order" else torch.ones_like(mask, dtype=torch.bool)
    found = ours(stack, tokens, mask)
    if model_type in ("marian", "pegasus"):
        assert torch.equal(found, rows)
    near(f"{model_type} {name}", found[real], rows[real], BOUND)
    for wrong in others(stack, padding):
        assert (ours(wrong, tokens, mask)[real] - rows[real]).abs().max() > 1e-2


@pytest.mark.parametrize("padding_token", [1, 5])
def test_frames_of_padding_in_speech_to_text(padding_token, near):
    """Frames of padding are marked with 1: with another padding token all frames count."""
    rows, stack, tokens, mask = vectors_of("speech_to_text", "encoder.embed_positions", "none", pad_token_id=padding_token)
    assert 0 < mask.sum() < mask.numel()
    assert stack.position_ids.counted_from == ("mask" if padding_token == 1 else "order")
    real = mask.bool() if padding_token == 1 else torch.ones_like(mask, dtype=torch.bool)
    near(f"frames, padding token {padding_token}", ours(stack, tokens, mask)[real], rows[real], BOUND)


def test_speech_to_text_that_takes_frames_for_padding():
    rows, _, _, _ = vectors_of("speech_to_text", "encoder.embed_positions", "none", pad_token_id=1)
    assert rows[0].unique(dim=0).shape[0] > 1
    model = model_of("speech_to_text", pad_token_id=0)
    same, _ = given_by(model, "encoder.embed_positions", *padded_batch("none"))
    assert (same[1] == 0).all()  # its longer row has no padding, and every frame the padding row
    with pytest.raises(ValueError, match="pad_token_id: cannot be honoured"):
        plan_for("speech_to_text", pad_token_id=0)


@pytest.mark.parametrize("model_type", ["musicgen_decoder", "musicgen_melody_decoder"])
def test_musicgens_vectors(model_type, near):
    model, stack = model_of(model_type), plan_for(model_type).stack()
    table = model.model.decoder.embed_positions.weights
    assert len(table) == stack.max_length == 40
    assert stack.position_ids.first == 0
    near(model_type, stack.build().input.at(range(40)), table, BOUND)
    seen, module = [], model.model.decoder.embed_positions
    module.register_forward_hook(lambda _, __, rows: seen.append(rows))
    with torch.no_grad():
        model(input_ids=torch.randint(6, 60, (4, 10)), encoder_hidden_states=torch.randn(2, 7, 48))
    assert torch.equal(seen[0], table[: len(seen[0])])
    assert len(seen[0]) == (10 if stack.cross_attention is not None else 17)


def test_odd_widths_of_marian():
    """Half a sine more than cosines, which no layout here has."""
    odd = {"d_model": 45, "encoder_attention_heads": 3, "decoder_attention_heads": 3}
    with pytest.raises(ValueError, match="d_model: needed an even width"):
        plan_for("marian", **odd)
    assert model_of("marian", **odd).encoder.embed_positions.weight.shape[1] == 45


def test_the_padding_tokens_row_of_xglm():
    """It is zero, also for the real token that stands there."""
    rows, table = given_by(model_of("xglm", pad_token_id=5), "embed_positions", *padded_batch("none"))
    assert (rows[0] == 0).all(dim=-1).nonzero().tolist() == [[5 - 2]]
    with pytest.raises(ValueError, match="pad_token_id: cannot be honoured"):
        plan_for("xglm", pad_token_id=5)
    assert plan_for("xglm", pad_token_id=0).position_ids.first == table.offset


def test_every_type_with_sinusoids_is_compared():
    fixed = {name for name in MODELS if "Sinusoidal" in {type(stack.input).__name__[:10] for stack in plan_for(name).stacks}}
    assert fixed | {"trocr"} == {*NAMES, "musicgen_decoder", "musicgen_melody_decoder", "whisper"}
