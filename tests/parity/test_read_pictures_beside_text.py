"""Text models that look at pictures, too: how IDEFICS counts its positions, and what attention to pictures does with them."""

import torch
from reading_models import config_of, model_from, plan_of
from reading_spy import LENGTH, TOKENS, attentions_of, beside, heard_in, lively
from reading_text import TEXT

from ordinate import positions

PADDING = 7


def values(model_type):
    return {"model_type": model_type, **TEXT[model_type]}


def test_idefics_counts_real_tokens_by_the_mask():
    config = config_of(values("idefics"))
    model = lively(model_from(config, "spy"))
    mask = torch.ones(1, LENGTH, dtype=torch.int64)
    mask[:, :PADDING] = 0
    given = []
    attentions_of(model)[0].register_forward_pre_hook(lambda _, __, named: given.append(named["position_ids"]), with_kwargs=True)
    heard_in(model, TOKENS, attention_mask=mask, use_cache=False, **beside(config))
    expected = positions.from_padding_mask(mask.bool())
    assert plan_of(values("idefics")).position_ids.counted_from == "mask"
    assert torch.equal(given[0][:, PADDING:], expected[:, PADDING:])
    assert not torch.equal(given[0], torch.arange(LENGTH)[None])


def test_idefics_attention_to_pictures_is_given_no_angles():
    config, cross = config_of(values("idefics")), plan_of(values("idefics")).stack().cross_attention
    heard = heard_in(lively(model_from(config, "spy")), TOKENS, use_cache=False, **beside(config))
    to_pictures = [one for one in heard if one.key.shape[2] == 2]
    assert len(to_pictures) == config.num_hidden_layers
    assert cross.scheme is None
    assert {one.scale for one in to_pictures} == {cross.softmax_scale}
    same = heard_in(model_of_ones(config), TOKENS, use_cache=False, **beside(config))
    turned = next(one.query for one in same if one.key.shape[2] == 2)
    assert torch.equal(turned, turned[:, :, :1].expand_as(turned))  # like tokens have like queries, wherever they are


def model_of_ones(config):
    """A model whose tokens are all alike."""
    model = lively(model_from(config, "spy"))
    with torch.no_grad():
        model.embed_tokens.weight.copy_(model.embed_tokens.weight[:1].expand_as(model.embed_tokens.weight))
    return model


def test_llama_3_2s_layers_for_pictures():
    """They do not turn, have the same scale, and are the ones listed."""
    config, plan = config_of(values("mllama_text_model")), plan_of(values("mllama_text_model"))
    model = lively(model_from(config, "spy"))
    pictures = torch.ones(1, 3, config.hidden_size)
    rest = {"cross_attention_states": pictures, "cross_attention_mask": torch.zeros(1, 1, LENGTH, 3)}
    rest["full_text_row_masked_out_mask"] = torch.ones(1, 1, LENGTH, 1)
    heard = heard_in(model, TOKENS, use_cache=False, **rest)
    assert [one.key.shape[2] == 3 for one in heard] == [not layer.attends for layer in plan.layers]
    cross = plan.stack().cross_attention
    assert cross.scheme is None
    assert {one.scale for one in heard} == {cross.softmax_scale}
