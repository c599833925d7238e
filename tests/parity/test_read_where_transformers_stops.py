"""Where transformers 5.24 stops, or contradicts itself, so that there is nothing to reproduce: ``read`` refuses it."""

import pytest
import torch
from reading_gemma4 import GEMMA4
from reading_models import config_of, plan_of
from reading_rules import new_spelling
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
    with pytest.raises(ValueError, match=r"rope_type: needed one of yarn, .*, got .*; mistral4 accepts no other"):
        plan_of(values)
