"""Rules that depend on the length, for tokens with several coordinates: a row reaches as far as its farthest coordinate.

The oracle is a fresh model of transformers that sees one sequence once, without a cache, as in test_attach_lengths.
"""

import copy

import pytest
import torch
from test_attach_running import SIZES, lively
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLTextConfig, Qwen2VLTextModel

import ordinate

ORIGINAL = 32
SHORT, LONG = [1.0 + 0.05 * pair for pair in range(8)], [2.0 + 0.5 * pair for pair in range(8)]
SECTIONS = {"rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
LONGROPE = {"rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "original_max_position_embeddings": ORIGINAL}
RULES = {"dynamic": {"rope_type": "dynamic", "factor": 4.0}, "longrope": {**LONGROPE, "factor": 4.0}}
TOKENS = torch.randint(3, 60, (2, 40), generator=torch.Generator().manual_seed(5))
# Ten tokens of text, an image of 4 x 5 whose columns are 7 apart, and text after the farthest one.
ROWS, COLUMNS = torch.arange(20) // 5, torch.arange(20) % 5
IMAGE = 10 + torch.stack((0 * ROWS, ROWS, 7 * COLUMNS))
PLACES = torch.cat((torch.arange(10).expand(3, -1), IMAGE, torch.arange(39, 49).expand(3, -1)), dim=1)[:, None]
TEXT = torch.arange(40).expand(3, 1, -1) // 2  # never beyond the original length
NEAR = 1e-5  # float32 sums in another order
SHOWS = 1e-2


def model_of(rule, layers=1):
    sizes = {**SIZES, "hidden_size": 64, "num_hidden_layers": layers, "max_position_embeddings": ORIGINAL}
    return lively(Qwen2VLTextModel(Qwen2VLTextConfig(**sizes, rope_parameters=copy.deepcopy({**SECTIONS, **rule}))))


def output(model, tokens, places, **named):
    with torch.no_grad():
        return model(tokens, position_ids=places, **named)[0]


def once(rule, tokens, places, layers=1):
    return output(model_of(rule, layers), tokens, places, use_cache=False)


def in_parts(model, tokens, places, borders):
    """The last token's output after each part."""
    cache, made = None, []
    for start, stop in zip((0, *borders), (*borders, places.shape[-1]), strict=True):
        with torch.no_grad():
            out = model(tokens[:, start:stop], position_ids=places[..., start:stop], cache=cache, use_cache=True)
        cache = out.cache
        made.append(out[0][:, -1])
    return made


@pytest.fixture(params=RULES.values(), ids=RULES.keys())
def rule(request):
    return request.param


@pytest.mark.parametrize("length", [9, 12, 13, 14, 16, 30, 40])
def test_one_sequence_is_the_same_bits(rule, length):
    """Its columns cross the original length where time and rows are far below."""
    model = model_of(rule, layers=2)
    with ordinate.attach(model):
        ours = output(model, TOKENS[:1, :length], PLACES[..., :length], use_cache=False)
    assert torch.equal(ours, once(rule, TOKENS[:1, :length], PLACES[..., :length], layers=2))


@pytest.mark.parametrize("axis", range(3))
def test_any_axis_counts(rule, axis):
    places = TEXT.clone()
    places[axis, 0, 20] = 45
    model = model_of(rule)
    with ordinate.attach(model):
        ours = output(model, TOKENS[:1], places, use_cache=False)
    assert torch.equal(ours, once(rule, TOKENS[:1], places))
    assert (ours - output(model_of({**RULES["dynamic"], "factor": 1.0}), TOKENS[:1], places)).abs().max() > SHOWS


def test_other_rows_change_nothing(rule):
    places = torch.cat((PLACES, TEXT), dim=1)
    model = model_of(rule)
    with ordinate.attach(model):
        both = output(model, TOKENS, places, use_cache=False)
    alone = once(rule, TOKENS[1:], TEXT)
    assert (both[:1] - once(rule, TOKENS[:1], PLACES)).abs().max() <= NEAR
    assert (both[1:] - alone).abs().max() <= NEAR
    assert (once(rule, TOKENS, places)[1:] - alone).abs().max() > SHOWS


def test_returned_keys_and_an_image_in_parts(rule):
    """A later part of the image holds columns that are nearer than those before: the row does not get shorter."""
    borders = (8, 12, 17, 25, 27, 31, 32)
    model = model_of(rule)
    with ordinate.attach(model, on_switch="returned"):
        ours = in_parts(model, TOKENS[:1], PLACES, borders)
    for stop, made in zip((*borders, 40), ours, strict=True):
        assert (made - once(rule, TOKENS[:1, :stop], PLACES[..., :stop])[:, -1]).abs().max() <= NEAR


def test_pinned_and_refused(rule):
    plain = {"rope_type": "default"} if rule["rope_type"] == "dynamic" else {**rule, "long_factor": SHORT}
    right = in_parts(model_of(plain, layers=2), TOKENS[:1], PLACES, (12, 20))
    model = model_of(rule, layers=2)
    with ordinate.attach(model, on_switch="pin"):
        ours = in_parts(model, TOKENS[:1], PLACES, (12, 20))
    assert all(torch.equal(made, theirs) for made, theirs in zip(ours, right, strict=True))
    with ordinate.attach(model, on_switch="error"):
        in_parts(model, TOKENS[:1], TEXT, (12, 20))
        with pytest.raises(ValueError, match="got row 0 growing from 18 to 39 tokens"):
            in_parts(model, TOKENS[:1], PLACES, (12, 20))
