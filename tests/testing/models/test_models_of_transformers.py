"""The kit on small models of transformers: what is known to be wrong in them is found, and nothing else."""

from __future__ import annotations

import pytest
import torch

import ordinate
import tiny_models
from ordinate.testing.models import check_model

pytest.importorskip("transformers")
CAST = ("low-precision-phase", "angles survive .to(torch.bfloat16)")  # inv_freq is a buffer
# What each is known to do; the rest must hold.
KNOWN = {
    "llama": {CAST},
    "gpt2": set(),
    "bloom": set(),
    "bert": set(),
    "roberta": set(),  # the first token is at position 2
    "gptj": {CAST},
    "mistral": {CAST},
    "gemma3": {CAST},
    "phi3": {
        CAST,
        ("longrope-switch", "rows of a batch are independent"),
        ("longrope-switch", "cached across the trained length"),
    },
    "dynamic": {
        CAST,
        ("dynamic-ntk", "rows of a batch are independent"),
        ("dynamic-ntk", "no dependence on earlier calls"),
        ("dynamic-ntk", "cached across the trained length"),
    },
}
ASKED = {  # of properties that must not be passed over
    "llama": 14,
    "gpt2": 14,
    "bloom": 12,
    "bert": 11,
    "roberta": 14,
    "gptj": 14,
    "mistral": 14,
    "gemma3": 14,
    "phi3": 15,
    "dynamic": 15,
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_found_and_nothing_else(name):
    report = check_model(getattr(tiny_models, name)())
    assert {(finding.kind, finding.property) for finding in report.broken} == KNOWN[name], str(report)
    assert sum(finding.verdict != "does not apply" for finding in report) >= ASKED[name], str(report)


def test_the_buffer_and_its_number_are_named():
    report = check_model(tiny_models.llama())
    assert "model.rotary_emb.inv_freq" in report.broken[0].said
    assert "model.rotary_emb.inv_freq[1] = 0.1;" in report.broken[0].expected
    assert "model.rotary_emb.inv_freq[1] = 0.1000977;" in report.broken[0].actual


@pytest.mark.parametrize("on_switch", ["returned", "pin"])
def test_ordinate_in_their_place_mends_what_they_do(on_switch):
    model = tiny_models.dynamic()
    with ordinate.attach(model, on_switch=on_switch):
        report = check_model(model)
    assert report.broken == (), str(report)


def finding_of(report, name):
    return next(finding for finding in report if finding.property == name)


SCHEDULE = "every layer turns by its own settings"


def test_one_schedule_for_all_layers_is_named():
    model = tiny_models.gemma3()
    rotary = model.model.rotary_emb
    own = type(rotary)
    rotary.__class__ = type(own.__name__, (own,), {"forward": lambda self, x, ids, _: own.forward(self, x, ids, "full_attention")})
    found = finding_of(check_model(model), SCHEDULE)
    assert (found.kind, found.said) == ("per-layer-schedule", "layer 0 (sliding_attention) is given the angles of full_attention")


def test_exchanged_schedules_are_named():
    model = tiny_models.gemma3()
    rotary = model.model.rotary_emb
    one, other = rotary.sliding_attention_inv_freq, rotary.full_attention_inv_freq
    rotary.sliding_attention_inv_freq, rotary.full_attention_inv_freq = other, one
    found = finding_of(check_model(model), SCHEDULE)
    assert found.kind == "per-layer-schedule"
    assert found.expected.startswith("cos [-0.1455, ")


def test_a_rule_that_no_layer_follows_is_named():
    model = tiny_models.llama()
    model.config.rope_parameters = {"rope_type": "linear", "rope_theta": 1e4, "factor": 8.0}
    found = finding_of(check_model(model), SCHEDULE)
    assert found.kind == "config-key-dropped"
    assert found.expected.startswith("cos [0.540302, ")
    assert found.actual.startswith("cos [-0.1455, ")


def test_an_encoder_with_a_decoder_is_refused():
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 32}
    model = T5ForConditionalGeneration(T5Config(**sizes)).eval()
    with pytest.raises(ValueError, match="encoder with a decoder; give a function"):
        check_model(model)
    states = torch.randn(1, 4, 16)

    def decoder(ids):
        return model(encoder_outputs=(states.expand(len(ids), -1, -1),), decoder_input_ids=ids, use_cache=False)

    report = check_model(decoder, vocabulary=32)
    assert report.broken == (), str(report)
    assert report.subject == "decoder"
