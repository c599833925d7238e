"""Where transformers 5.24 stops, or contradicts itself, so that there is nothing to reproduce: ``read`` refuses it."""

import pytest
import torch
from reading_gemma4 import GEMMA4
from reading_models import config_of, plan_of, rotary_of
from reading_rules import new_spelling
from reading_sizes import TRAINED
from reading_spy import TOKENS, heard_in, lively, model_from, run
from transformers.integrations.heterogeneity.configuration_utils import AmbiguousGlobalPerLayerAttributeError


@pytest.mark.parametrize("model_type", GEMMA4)
def test_longrope_of_heads_of_two_widths(model_type):
    """Its check of the lists asks for the one width of a head, which there is not."""
    values = new_spelling(model_type, "longrope, factor")
    with pytest.raises(AmbiguousGlobalPerLayerAttributeError):
        config_of(values)
    with pytest.raises(ValueError, match=r"rope_type: needed one of default, .*, got 'longrope'"):
        plan_of(values)


@pytest.mark.parametrize("model_type", ["gemma4_text", "gemma4_unified_text"])
def test_gemma4s_window_of_both_directions_has_two_widths(model_type):
    """A window of 9 is 4 tokens either way for flash attention, which is given 5 and leaves its border out; the mask has it in."""
    values = {"model_type": model_type, **GEMMA4[model_type], "use_bidirectional_attention": "all"}
    heard = heard_in(lively(model_from(config_of(values), "spy")), TOKENS, use_cache=False)[0]
    places = torch.arange(40)
    distance = (places[:, None] - places).abs()
    assert heard.window == 5
    assert torch.equal(heard.mask[0, 0] == 0, distance <= 5)
    with pytest.raises(ValueError, match="use_bidirectional_attention: cannot be honoured: needed 'vision', got 'all'"):
        plan_of(values)


@pytest.mark.parametrize("kind", ["default", "proportional"])
def test_mistral4_turns_more_than_its_slice_under_rules_without_a_share(kind):
    values = new_spelling("mistral4", kind)
    with pytest.raises(RuntimeError, match="must match the size"):
        run(values)
    with pytest.raises(ValueError, match=r"rope_type: needed one of yarn, .*, got .*; the code would turn more than"):
        plan_of(values)


def test_phimoe_never_comes_to_the_long_factors():
    """Its module makes its frequencies anew without the length, which longrope takes for a short one; the magnitude does change."""
    values = new_spelling("phimoe", "longrope, factor")
    values["rope_parameters"] |= {"short_mscale": 1.25, "long_mscale": 1.5}
    module, width = rotary_of(config_of(values)), 32
    powers = torch.tensor([123456.7 ** (-2 * pair / width) for pair in range(width // 2)], dtype=torch.float64)
    short = powers / torch.tensor(values["rope_parameters"]["short_factor"], dtype=torch.float64)
    for place, magnitude in ((500, 1.25), (5000, 1.5)):
        cos, sin = (made[0, 0, : width // 2] for made in module(torch.zeros(1), torch.tensor([[place]])))
        assert ((cos.double() / magnitude - (place * short).cos()).abs() < 1e-3).all()
        assert ((sin.double() / magnitude - (place * short).sin()).abs() < 1e-3).all()
    built = plan_of(values).build()
    cos, _ = module(torch.zeros(1), torch.arange(TRAINED)[None])
    rope = built.at_length(TRAINED).layers[0]
    assert rope.magnitude == 1.25
    assert torch.equal(rope.at(range(TRAINED)).cos * rope.magnitude, cos[0, :, : width // 2])
    longer = built.at_length(TRAINED + 1).layers[0]
    assert longer.magnitude == 1.5
    for ours, theirs, factor in zip(
        longer.inverse_frequencies, powers.tolist(), values["rope_parameters"]["long_factor"], strict=True
    ):
        assert ours == pytest.approx(theirs / factor, rel=1e-6)
    for key in ("short_mscale", "long_mscale"):
        lacking = {name: value for name, value in values["rope_parameters"].items() if name != key}
        with pytest.raises(ValueError, match=f"rope_parameters.{key}: needed, got nothing"):
            plan_of({**values, "rope_parameters": lacking})
