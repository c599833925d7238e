"""phases="exact": cos and sin of position times the model's own float32 frequency, against mpmath."""

import mpmath
import numpy as np
import pytest
import torch
from test_attach_running import lively
from transformers import AutoModelForCausalLM
from transformers.models.llama import LlamaConfig

import ordinate

SIZES = {"hidden_size": 128, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 9}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
PLACES = torch.tensor([[100_000, 131_071, 999_983, 10_000_019, 2**31 - 1]])
ULPS = 0.51


@pytest.mark.parametrize("rope", [{"rope_type": "default", "rope_theta": 10000.0}, LLAMA3], ids=["default", "llama3"])
def test_half_an_ulp_far_away(rope):
    model = lively(AutoModelForCausalLM.from_config(LlamaConfig(**SIZES, rope_parameters=rope)))
    rotary = model.model.rotary_emb
    frequencies = rotary.inv_freq.tolist()  # the float32 values, as the model has them
    theirs = rotary(torch.zeros(1), PLACES)[0][0, :, : len(frequencies)]
    with ordinate.attach(model, phases="exact"):
        made = rotary(torch.zeros(1), PLACES)
    worst = [0.0, 0.0]
    with mpmath.workdps(60):
        for row, place in enumerate(PLACES[0].tolist()):
            for pair, frequency in enumerate(frequencies):
                angle = mpmath.mpf(place) * mpmath.mpf(frequency)
                right = mpmath.cos(angle), mpmath.sin(angle)
                for table, value in zip(made, right, strict=True):
                    got = table[0, row, pair].item()
                    worst[0] = max(
                        worst[0], float(abs(mpmath.mpf(got) - value) / mpmath.mpf(float(np.spacing(np.float32(abs(value))))))
                    )
                worst[1] = max(worst[1], float(abs(theirs[row, pair].item() - right[0])))
    assert worst[0] <= ULPS
    assert worst[1] > 0.5  # what float32 products are off by, at 2^31
