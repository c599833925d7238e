"""Where transformers 5.24 drops the old spelling ``rope_scaling``, or a part of it: what ``read`` builds against plain formulas."""

from reading_models import config_of, plan_of, rotary_of
from reading_rules import old_spelling

BASE, EXACT = 123456.7, 1e-12


def off_by(found, expected):
    return max(abs(one / other - 1) for one, other in zip(found, expected, strict=True))


def fourth_of_powers(width):
    return [BASE ** (-2 * pair / width) / 4 for pair in range(width // 2)]


def test_cohere2_moe_declares_the_key_and_never_reads_it():
    values = old_spelling("cohere2_moe", "linear")
    built = plan_of(values).build(phases="exact")
    scheme = next(scheme for scheme in built.layers if scheme)
    assert off_by(scheme.inverse_frequencies, fourth_of_powers(32)) < EXACT
    theirs = rotary_of(config_of(values)).inv_freq.tolist()
    assert off_by([4 * one for one in fourth_of_powers(32)], theirs) < 1e-6


def test_mistral4_puts_its_share_into_the_new_spelling_alone():
    """So that it has frequencies for whole heads, and stops where it turns the slice."""
    values = old_spelling("mistral4", "linear")
    assert off_by(plan_of(values).build(phases="exact").layers[0].inverse_frequencies, fourth_of_powers(32)) < EXACT
    theirs = rotary_of(config_of(values)).inv_freq.tolist()
    assert off_by(theirs, fourth_of_powers(48)) < 1e-6
