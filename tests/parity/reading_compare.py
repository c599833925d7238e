"""The comparison of a plan's rotations with a rotary module of transformers, bit for bit."""

import torch
from reading_models import COMPLEX, SINUSOIDS, cos_sin, frequencies, rotary_of
from reading_multimodal import ours as as_ours
from reading_multimodal import spread

# torch.polar, which Llama 4 and DeepSeek-V2 make cos and sin with, rounds otherwise than cos and sin: there within an ulp of 1.
ULP = 2.0**-23
NEAR, FAR = torch.arange(41), torch.tensor([1000, 40000, 1000003])


def compare(model_type, module, plan, built, positions):
    """Compare one layer of each type that turns; give how many frequencies were compared."""
    compared = 0
    turning = {layer.kind: scheme for layer, scheme in zip(plan.layers, built.layers, strict=True) if scheme}
    for label, scheme in turning.items():
        for places in spread(positions, model_type):
            same_angles(model_type, module, label, scheme, places)
        if model_type not in SINUSOIDS:  # after the call: some modules change their frequencies by the length
            inverse_frequencies, magnitude = frequencies(module, model_type, label)
            assert list(scheme.inverse_frequencies) == inverse_frequencies.tolist()
            assert scheme.magnitude == magnitude
        compared += len(scheme.inverse_frequencies)
    return compared


def same_angles(model_type, module, label, scheme, places):
    cos, sin = cos_sin(module, model_type, places, label)
    at = scheme.at(as_ours(places))
    assert at.cos.shape[-2:] == cos.shape
    for ours, theirs in ((at.cos, cos), (at.sin, sin)):
        if model_type in COMPLEX:
            assert (ours * scheme.magnitude - theirs).abs().max() <= ULP * scheme.magnitude
        else:
            assert torch.equal(ours.reshape(theirs.shape) * scheme.magnitude, theirs)


def compare_all(config, plan, places):
    """Compare at each of some positions; a rule that depends on the length gets a new module each time, since theirs remember."""
    built, module = plan.build(), rotary_of(config)
    by_length = any(scheme and scheme.scaling and scheme.scaling.needs_length for scheme in built.layers)
    compared = []
    for positions in places:
        module = rotary_of(config) if by_length else module
        longer = built.at_length(int(positions.max()) + 1)
        assert by_length or longer is built
        compared.append(compare(config.model_type, module, plan, longer, positions))
    return min(compared)
