"""Rules that depend on the length: each row by its own, whatever came before, and what happens to keys in a cache.

The oracle is a fresh model of transformers that sees one sequence once, without a cache: nothing else can reach its numbers.
"""

import copy

import pytest
import torch
from test_attach_running import SIZES, lively, own_parts
from transformers import DynamicCache, StaticCache
from transformers.models.llama import LlamaConfig, LlamaForCausalLM
from transformers.models.mistral import MistralConfig, MistralForCausalLM

import ordinate
from ordinate.scaling import DynamicNTK, LongRoPE

ORIGINAL = 32
SHORT, LONG = [1.0 + 0.05 * pair for pair in range(6)], [2.0 + 0.5 * pair for pair in range(6)]
RULES = {
    "dynamic": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0},
    "longrope": {
        "rope_type": "longrope",
        "short_factor": SHORT,
        "long_factor": LONG,
        "factor": 4.0,
        "original_max_position_embeddings": ORIGINAL,
        "rope_theta": 10000.0,
    },
}
TOKENS = torch.randint(3, 64, (2, 64), generator=torch.Generator().manual_seed(5))
NEAR = 1e-5  # float32 sums in another order
SHOWS = 1e-2


def llama(rule, layers=1, **changes):
    changes = {"num_hidden_layers": layers, "max_position_embeddings": ORIGINAL, "rope_parameters": copy.deepcopy(rule), **changes}
    return lively(LlamaForCausalLM(LlamaConfig(**{**SIZES, **changes})))


def logits(model, tokens, **named):
    with torch.no_grad():
        return model(tokens, **named).logits


def once(rule, tokens, layers=1):
    """What a fresh model of transformers makes of one sequence."""
    return logits(llama(rule, layers), tokens, use_cache=False)


def near(ours, theirs):
    return (ours - theirs).abs().max() <= NEAR


@pytest.fixture(params=RULES.values(), ids=RULES.keys())
def rule(request):
    return request.param


# Without a cache


@pytest.mark.parametrize("length", [5, ORIGINAL, ORIGINAL + 1, 50])
def test_one_sequence_is_the_same_bits(rule, length):
    model = llama(rule, layers=2)
    with ordinate.attach(model):
        assert torch.equal(logits(model, TOKENS[:, :length], use_cache=False), once(rule, TOKENS[:, :length], layers=2))


def test_no_memory_of_earlier_calls():
    rule = RULES["dynamic"]
    theirs, model = llama(rule), llama(rule)
    with ordinate.attach(model):
        for length in (64, 40, 20, 50):
            right = once(rule, TOKENS[:, :length])
            assert torch.equal(logits(model, TOKENS[:, :length], use_cache=False), right)
            logits(theirs, TOKENS[:, :64], use_cache=False)
            history = (logits(theirs, TOKENS[:, :length], use_cache=False) - right).abs().max()
            assert (history > SHOWS) == (ORIGINAL < length < 64)  # transformers keeps the base of the longest sequence


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_other_rows_change_nothing(rule, side, given):
    """A row of 20 tokens beside one of 50; transformers gives both the long one's frequencies."""
    seen = torch.zeros(2, 50, dtype=torch.int64)
    seen[0] = 1
    real = slice(30, 50) if side == "left" else slice(20)
    seen[1, real] = 1
    tokens = TOKENS[:, :50].clone()
    tokens[1, real] = TOKENS[1, :20]
    named = {"attention_mask": seen, "use_cache": False}
    if given:
        named["position_ids"] = (seen.cumsum(dim=1) - 1).clamp(min=0)
    model = llama(rule)
    with ordinate.attach(model):
        both = logits(model, tokens, **named)
    assert near(both[:1], once(rule, tokens[:1]))
    alone = once(rule, TOKENS[1:, :20])
    assert near(both[1:, real], alone)
    assert (logits(llama(rule), tokens, **named)[1:, real] - alone).abs().max() > SHOWS


def test_a_rule_in_place_of_the_models_own():
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    model = llama(plain, layers=2)
    with ordinate.attach(model, scaling=DynamicNTK(factor=4.0, original_length=ORIGINAL)):
        assert torch.equal(logits(model, TOKENS, use_cache=False), once(RULES["dynamic"], TOKENS, layers=2))
    with ordinate.attach(model, scaling=LongRoPE(short_factors=SHORT, long_factors=LONG, original_length=ORIGINAL, factor=4.0)):
        assert torch.equal(logits(model, TOKENS, use_cache=False), once(RULES["longrope"], TOKENS, layers=2))
        assert torch.equal(logits(model, TOKENS[:, :9], use_cache=False), once(RULES["longrope"], TOKENS[:, :9], layers=2))
    assert torch.equal(logits(model, TOKENS, use_cache=False), once(plain, TOKENS, layers=2))


def test_gradients(rule):
    gradients = []
    for attached in (False, True):
        model = llama(rule, layers=2).train()
        model.activation_checkpointing_enable()
        if attached:
            ordinate.attach(model)
        model(TOKENS[:, :50], labels=TOKENS[:, :50], use_cache=False).loss.backward()
        gradients.append([weight.grad for weight in model.parameters()])
    assert all(torch.equal(ours, theirs) for theirs, ours in zip(*gradients, strict=True))


def test_detaching_leaves_nothing(rule):
    model = llama(rule, layers=2)
    before = own_parts(model)
    held = copy.copy(before)
    with ordinate.attach(model):
        logits(model, TOKENS)
        assert sum(len(module._forward_hooks) for module in model.modules()) == 1
    assert own_parts(model) == held
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


# With a cache


def decoded(model, tokens, start, stop, cache=None, **named):
    """Logits of the last token after a prompt and after each further token."""
    cache = DynamicCache(config=model.config) if cache is None else cache
    made = [logits(model, tokens[:, :start], cache=cache, **named)[:, -1]]
    return made + [logits(model, tokens[:, place : place + 1], cache=cache, **named)[:, -1] for place in range(start, stop)]


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_returned_keys_equal_a_forward_without_a_cache(rule, kind):
    """In a model of one layer, whose raw keys depend on nothing but tokens."""
    model = llama(rule)
    cache = DynamicCache() if kind == "dynamic" else StaticCache(config=model.config, max_cache_len=64)
    with ordinate.attach(model, on_switch="returned"):
        ours = decoded(model, TOKENS, 28, 40, cache)
    for length, made in zip(range(28, 41), ours, strict=True):
        assert near(made, once(rule, TOKENS[:, :length])[:, -1])
    theirs = decoded(llama(rule), TOKENS, 28, 40)
    assert (theirs[-1] - once(rule, TOKENS[:, :40])[:, -1]).abs().max() > SHOWS  # two sets of frequencies in one cache


def test_deeper_layers_keep_what_was_computed(rule):
    """Turning keys again cannot change what earlier tokens had attended to by the frequencies of their time."""
    model = llama(rule, layers=2)
    with ordinate.attach(model):
        ours = decoded(model, TOKENS, 28, 40)
    assert near(ours[4], once(rule, TOKENS[:, :32], layers=2)[:, -1])
    assert (ours[-1] - once(rule, TOKENS[:, :40], layers=2)[:, -1]).abs().max() > SHOWS


def test_rows_that_switch_at_different_times(rule):
    """Left padding, positions as generate makes them: each row as if it were alone."""
    seen = torch.ones(2, 40, dtype=torch.int64)
    seen[1, :9] = 0
    tokens = TOKENS[:, :40].clone()
    places = (seen.cumsum(dim=1) - 1).clamp(min=0)
    model, cache = llama(rule), DynamicCache()
    with ordinate.attach(model):
        for part in (slice(28), *(slice(place, place + 1) for place in range(28, 40))):
            named = {"attention_mask": seen[:, : part.stop], "position_ids": places[:, part], "cache": cache}
            last = logits(model, tokens[:, part], **named)[:, -1]
            assert near(last[:1], once(rule, tokens[:1, : part.stop])[:, -1])
            assert near(last[1:], once(rule, tokens[1:, 9 : part.stop])[:, -1])


def test_pinned_frequencies_are_those_of_the_prompt(rule):
    """A prompt within the original length: as a model that knows no other frequencies."""
    plain = {"rope_type": "default", "rope_theta": 10000.0}
    if rule["rope_type"] == "longrope":
        plain = {**rule, "long_factor": SHORT}
    model, still = llama(rule, layers=2), llama(plain, layers=2)
    right = decoded(still, TOKENS, 20, 40)
    with ordinate.attach(model, on_switch="pin"):
        ours = decoded(model, TOKENS, 20, 40)
    assert all(torch.equal(made, theirs) for made, theirs in zip(ours, right, strict=True))
    with ordinate.attach(model, on_switch="returned"):
        assert not torch.equal(decoded(model, TOKENS, 20, 40)[-1], right[-1])


def test_a_new_sequence_is_pinned_anew(rule):
    model = llama(rule, layers=2)
    with ordinate.attach(model, on_switch="pin"):
        cache = StaticCache(config=model.config, max_cache_len=64)
        first = decoded(model, TOKENS, 20, 40, cache)
        cache.reset()
        long = decoded(model, TOKENS, 40, 44, cache)
        cache.reset()
        again = decoded(model, TOKENS, 20, 40, cache)
    assert near(long[0], once(rule, TOKENS[:, :40], layers=2)[:, -1])
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))


def test_switches_are_refused(rule):
    model, name = llama(rule, layers=2), {"dynamic": "DynamicNTK", "longrope": "LongRoPE"}[rule["rope_type"]]
    with ordinate.attach(model, on_switch="error"):
        made = decoded(model, TOKENS, 20, ORIGINAL)
        assert near(made[-1], once(rule, TOKENS[:, :ORIGINAL], layers=2)[:, -1])
        message = f"got row 0 growing from 20 to {ORIGINAL + 1} tokens, where {name} has others than the keys in the cache"
        with pytest.raises(ValueError, match=message):
            decoded(model, TOKENS, 20, ORIGINAL + 1)
        if name == "LongRoPE":  # beyond the boundary there is one list
            assert near(decoded(model, TOKENS, 40, 50)[-1], once(rule, TOKENS[:, :50], layers=2)[:, -1])
        else:
            with pytest.raises(ValueError, match="growing from 40 to 41 tokens"):
                decoded(model, TOKENS, 40, 50)


def test_a_cache_that_was_filled_before_is_refused(rule):
    model = llama(rule)
    cache = DynamicCache()
    logits(model, TOKENS[:, :9], cache=cache)
    for on_switch in ("returned", "pin", "error"):
        with (
            ordinate.attach(model, on_switch=on_switch),
            pytest.raises(ValueError, match="filled while attached, got one of 9 tokens"),
        ):
            logits(model, TOKENS[:, 9:10], cache=cache)


def test_a_shortened_cache(rule):
    """What assisted decoding does: tokens are taken back."""
    model, cache = llama(rule), DynamicCache()
    with ordinate.attach(model):
        decoded(model, TOKENS, 28, 38, cache)
        cache.crop(-8)
        made = logits(model, TOKENS[:, 30:34], cache=cache)[:, -1]
    assert near(made, once(rule, TOKENS[:, :34])[:, -1])


@pytest.mark.parametrize("on_switch", ["returned", "pin"])
def test_generation_crosses_the_original_length(rule, on_switch):
    model, named = llama(rule), {"attention_mask": torch.ones(2, 20, dtype=torch.int64), "do_sample": False, "max_new_tokens": 24}
    with ordinate.attach(model, on_switch=on_switch):
        made = model.generate(TOKENS[:, :20], min_new_tokens=24, **named)
        if on_switch == "returned":
            for length in range(20, 44):
                best = once(rule, made[:, :length])[:, -1].clone()
                best[:, 2] = -torch.inf  # min_new_tokens keeps the end away
                assert torch.equal(best.argmax(-1), made[:, length])
        beams = model.generate(TOKENS[:, :20], num_beams=3, **named)
    assert made.shape == (2, 44)
    assert beams.shape[0] == 2


# Windows


def windowed(rule, layers=1):
    changes = {"num_hidden_layers": layers, "max_position_embeddings": ORIGINAL, "rope_parameters": copy.deepcopy(rule)}
    return lively(MistralForCausalLM(MistralConfig(**{**SIZES, **changes}, sliding_window=12)))


def test_a_window_holds_the_last_keys(rule):
    model = windowed(rule)
    with ordinate.attach(model):
        ours = decoded(model, TOKENS, 28, 40)
    for length, made in zip(range(28, 41), ours, strict=True):
        assert near(made, logits(windowed(rule), TOKENS[:, :length], use_cache=False)[:, -1])


def test_a_deep_copy_knows_nothing_of_the_models_forwards(rule):
    """Each begins a forward inside the other's: what either computes is what it computes alone."""
    model = llama(rule)
    with ordinate.attach(model):
        again, heard = copy.deepcopy(model), []
        alone = logits(model, TOKENS[:, :20], use_cache=False)
        handle = model.model.layers[0].register_forward_pre_hook(
            lambda *_: heard.append(logits(again, TOKENS[:, :50], use_cache=False))
        )
        assert torch.equal(logits(model, TOKENS[:, :20], use_cache=False), alone)
        handle.remove()
    assert near(heard[0], once(rule, TOKENS[:, :50]))


def test_a_rotary_module_by_itself_has_no_memory(rule):
    model = llama(rule)
    with ordinate.attach(model):
        rotary, x = model.model.rotary_emb, torch.zeros(1, 1, 64)
        short = rotary(x, torch.arange(8)[None])
        rotary(torch.zeros(3, 1, 64), torch.arange(70).expand(3, -1))
        again = rotary(x, torch.arange(8)[None])
        assert all(torch.equal(one, other) for one, other in zip(short, again, strict=True))
        layer, states = model.model.layers[0], torch.zeros(1, 4, model.config.hidden_size)
        ordinate.detach(model)
        ordinate.attach(model)
        with pytest.raises(ValueError, match="or its rotary module before its layers, got a layer alone"):
            layer(states, position_embeddings=tuple(part[:, :4] for part in short), cache=DynamicCache())


def test_a_static_window_is_refused(rule):
    model = windowed(rule)
    with ordinate.attach(model), pytest.raises(ValueError, match="got a StaticCache with a StaticSlidingWindowLayer"):
        logits(model, TOKENS[:, :20], cache=StaticCache(config=model.config, max_cache_len=64))
    with ordinate.attach(model, on_switch="pin"):
        decoded(model, TOKENS, 20, 40, StaticCache(config=model.config, max_cache_len=64))


def test_a_deep_copy_and_a_graph_with_breaks(rule):
    model = llama(rule)
    with ordinate.attach(model):
        again = copy.deepcopy(model)
        fast = torch.compile(model, backend="eager")
        for length in (20, 50):
            assert near(logits(fast, TOKENS[:, :length], use_cache=False), once(rule, TOKENS[:, :length]))
    assert near(decoded(again, TOKENS, 28, 40)[-1], once(rule, TOKENS[:, :40])[:, -1])
    ordinate.detach(again)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in again.modules())
    torch._dynamo.reset()
