"""Where the code of single model types in transformers 5.24 departs from their configurations, or stops; ours against formulas."""

import pytest
import torch
from reading_models import config_of, file_of, frequencies, plan_of, rotary_of
from reading_rules import plain_spelling
from test_read_where_transformers_errs import EXACT, MISTAKE, exact, off_by, powers


def dbrx(**changes):
    values = plain_spelling("dbrx", "default")
    return {**values, "attn_config": {**values["attn_config"], **changes}}


def test_dbrxs_base_is_ignored_and_ours_reads_it():
    """It stands in attn_config, as in the published models; their attention modules ask for it and do not use it."""
    values = dbrx(rope_theta=500000.0)
    assert off_by(exact(plan_of(values)), powers(500000.0, 48)) < EXACT
    theirs = frequencies(rotary_of(config_of(values)), "dbrx", None)[0].tolist()
    assert off_by(theirs, powers(10000.0, 48)) < 1e-6
    assert off_by(theirs, powers(500000.0, 48)) > MISTAKE


def test_dbrxs_attention_cannot_be_made_without_a_base_there():
    values = dbrx()
    del values["attn_config"]["rope_theta"]
    with pytest.raises(AttributeError, match="rope_theta"):
        file_of("dbrx").DbrxAttention(config_of(values))
    assert off_by(exact(plan_of(values)), powers(10000.0, 48)) < EXACT


def test_dbrxs_attention_stops_without_a_bound_of_its_vectors():
    module = file_of("dbrx").DbrxAttention(config_of(dbrx(clip_qkv=None)))
    with pytest.raises(RuntimeError, match="clamp"):
        module(torch.zeros(1, 3, 192))


def test_dbrxs_two_bases_must_agree():
    with pytest.raises(ValueError, match=r"rope_theta = 123.0 and attn_config.rope_theta = 10000.0 disagree"):
        plan_of({**dbrx(), "rope_parameters": {"rope_theta": 123.0}})
    with pytest.raises(ValueError, match=r"attn_config.alibi: cannot be honoured"):
        plan_of(dbrx(alibi=True))
    with pytest.raises(ValueError, match="attn_config: needed a dictionary or null, got 3"):
        plan_of({**dbrx(), "attn_config": 3})


def test_gpt_neox_japanese_does_not_read_rope_theta_and_ours_does():
    values = {**plain_spelling("gpt_neox_japanese", "default"), "rope_theta": 1234.5}
    assert off_by(exact(plan_of(values)), powers(1234.5, 48)) < EXACT
    theirs = frequencies(rotary_of(config_of(values)), "gpt_neox_japanese", None)[0].tolist()
    assert off_by(theirs, powers(10000.0, 48)) < 1e-6
