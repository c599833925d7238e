"""Whatever a running model is used for, it is used for while attached: the same model, unattached, is the oracle."""

import copy
import gc
import inspect
import pickle
import weakref

import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache
from transformers.models.gemma3 import Gemma3TextConfig
from transformers.models.gpt2 import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel
from transformers.models.llama import LlamaConfig, LlamaForCausalLM, modeling_llama
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as rotated

import ordinate
from ordinate.attaching.classes import AttachedModule

SIZES = {
    "hidden_size": 48,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "max_position_embeddings": 4096,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
TOKENS = torch.randint(3, 64, (2, 24), generator=torch.Generator().manual_seed(3))


def lively(model):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            weight.copy_(drawn * 1.5 * weight.shape[-1] ** -0.5 if weight.ndim > 1 else weight + 0.1 * drawn)
    return model.eval()


def llama(**changes):
    return lively(LlamaForCausalLM(LlamaConfig(**{**SIZES, **changes})))


def logits(model, tokens=TOKENS, **named):
    with torch.no_grad():
        return model(tokens, **named).logits


def own_parts(model):
    return [(name, type(module), dict(vars(module))) for name, module in model.named_modules()]


def test_it_is_a_keyword_call():
    assert [parameter.kind for parameter in inspect.signature(ordinate.attach).parameters.values()] == [
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        *3 * [inspect.Parameter.KEYWORD_ONLY],
    ]
    assert inspect.signature(ordinate.attach).parameters["phases"].default == "float32"


def test_without_with_and_back():
    model = llama()
    before, parts = logits(model), own_parts(model)
    attached = ordinate.attach(model)
    assert repr(attached) == "Attached(llama, phases='float32', scaling=None, on_switch='returned')"
    assert torch.equal(logits(model), before)
    attached.detach()
    assert own_parts(model) == parts
    with pytest.raises(ValueError, match="needed an attached model, got LlamaForCausalLM"):
        attached.detach()
    ordinate.attach(model)
    ordinate.detach(model)
    assert own_parts(model) == parts


def test_an_error_inside_detaches():
    model = llama()
    parts = own_parts(model)
    with pytest.raises(IndexError), ordinate.attach(model):
        logits(model, TOKENS + 1000)
    assert own_parts(model) == parts


def test_detached_inside():
    model = llama()
    with ordinate.attach(model):
        ordinate.detach(model)
    assert not any(isinstance(module, AttachedModule) for module in model.modules())


def test_attached_twice_is_refused_and_changes_nothing():
    model = llama()
    with ordinate.attach(model, phases="exact"):
        parts, far = own_parts(model), logits(model, position_ids=torch.arange(24)[None] + 100_000)
        with pytest.raises(ValueError, match="needed one without an attached rotation"):
            ordinate.attach(model)
        with pytest.raises(ValueError, match="needed one without an attached rotation"):
            ordinate.attach(model.model)
        assert own_parts(model) == parts
        assert torch.equal(logits(model, position_ids=torch.arange(24)[None] + 100_000), far)


def test_two_models_of_a_class_one_attached():
    one, other = llama(), llama()
    before = logits(other)
    with ordinate.attach(one, scaling=ordinate.scaling.Linear(factor=2.0)):
        assert torch.equal(logits(other), before)
        assert not torch.equal(logits(one), before)
        assert not any(isinstance(module, AttachedModule) for module in other.modules())
    assert torch.equal(logits(one), before)


def test_nothing_keeps_the_model_alive():
    model = llama()
    watch = weakref.ref(model)
    ordinate.attach(model).detach()
    del model
    gc.collect()
    assert watch() is None


# Saving and copying


def test_the_state_dict_and_what_is_saved(tmp_path):
    model = llama()
    state = model.state_dict()
    model.save_pretrained(tmp_path / "own")
    with ordinate.attach(model):
        assert list(model.state_dict()) == list(state)
        assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
        model.save_pretrained(tmp_path / "attached")
    for file in (tmp_path / "own").iterdir():
        assert (tmp_path / "attached" / file.name).read_bytes() == file.read_bytes()
    again = LlamaForCausalLM.from_pretrained(tmp_path / "attached")
    assert torch.equal(logits(again), logits(model))


def test_a_deep_copy_is_attached_and_stands_alone():
    model, half = llama(), ordinate.scaling.Linear(factor=2.0)
    own = logits(model)
    with ordinate.attach(model, scaling=half):
        scaled = logits(model)
        again = copy.deepcopy(model)
    assert torch.equal(logits(model), own)
    assert torch.equal(logits(again), scaled)
    assert not {id(module) for module in again.modules()} & {id(module) for module in model.modules()}
    with torch.no_grad():
        again.model.layers[0].self_attn.q_proj.weight.mul_(2)
    assert not torch.equal(logits(again), scaled)
    assert torch.equal(logits(model), own)
    ordinate.detach(again)
    assert [type(module) for module in again.modules()] == [type(module) for module in model.modules()]


def test_a_pickle_is_refused():
    model = llama()
    with ordinate.attach(model), pytest.raises(ValueError, match="pickle it, got an attached one"):
        pickle.dumps(model)
    assert torch.equal(logits(pickle.loads(pickle.dumps(model))), logits(model))


# Dtypes and devices


def test_a_cast_does_not_reach_the_frequencies():
    """transformers' own are rounded by model.to(bfloat16), unlike those of a model that is loaded in bfloat16."""
    places = torch.arange(3000, 3024)[None]
    loaded = llama().to(torch.bfloat16)
    loaded.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(loaded.config)
    right = logits(loaded, position_ids=places)
    before, after = llama().to(torch.bfloat16), llama()
    assert not torch.equal(logits(before, position_ids=places), right)
    ordinate.attach(before)
    ordinate.attach(after)
    after.to(torch.bfloat16)
    assert torch.equal(logits(before, position_ids=places), right)
    assert torch.equal(logits(after, position_ids=places), right)


def test_under_autocast():
    model = llama()
    with torch.autocast("cpu", torch.bfloat16):
        before = logits(model)
        with ordinate.attach(model):
            assert torch.equal(logits(model), before)
    assert before.dtype == torch.bfloat16


def test_in_float64():
    model = llama().double()
    model.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(model.config)
    before = logits(model)
    with ordinate.attach(model):
        assert torch.equal(logits(model), before)


@pytest.mark.parametrize("when", ["on meta", "after loading"])
def test_built_on_meta_and_filled(when):
    """to_empty leaves the model's own frequencies as garbage; ordinate's are no buffers."""
    whole = llama()
    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(**SIZES)).eval()
    if when == "on meta":
        ordinate.attach(model)
    model.to_empty(device="cpu")
    model.model.rotary_emb.inv_freq.fill_(float("nan"))
    model.load_state_dict(whole.state_dict())
    assert not logits(model).isfinite().all() or when == "on meta"
    if when == "after loading":
        ordinate.attach(model)
    assert torch.equal(logits(model), logits(whole))


# Training


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_gradients_are_the_same_bits(dtype, checkpointing):
    gradients = []
    for attached in (False, True):
        model = llama().to(dtype).train()
        model.model.rotary_emb = modeling_llama.LlamaRotaryEmbedding(model.config)
        if checkpointing:
            model.activation_checkpointing_enable()
        if attached:
            ordinate.attach(model)
        model(TOKENS, labels=TOKENS, use_cache=False).loss.backward()
        gradients.append([weight.grad for weight in model.parameters()])
    assert all(torch.equal(ours, theirs) for theirs, ours in zip(*gradients, strict=True))
    assert all(gradient.abs().max() > 0 for gradient in gradients[0])


# Generation


def generated(model, tokens, **named):
    torch.manual_seed(7)
    return model.generate(tokens, **{"max_new_tokens": 12, "min_new_tokens": 12, "do_sample": False, **named})


@pytest.mark.parametrize(
    "named", [{}, {"cache_implementation": "static"}, {"num_beams": 3}, {"do_sample": True}, {"use_cache": False}]
)
def test_generation(named):
    model, seen = llama(), torch.ones_like(TOKENS)
    before = generated(model, TOKENS, attention_mask=seen, **named)
    with ordinate.attach(model):
        assert torch.equal(generated(model, TOKENS, attention_mask=seen, **named), before)


def test_generation_from_a_batch_with_left_padding():
    model, seen, tokens = llama(), torch.ones_like(TOKENS), TOKENS.clone()
    tokens[0, :5] = seen[0, :5] = 0
    before = generated(model, tokens, attention_mask=seen)
    with ordinate.attach(model):
        assert torch.equal(generated(model, tokens, attention_mask=seen), before)
        alone = generated(model, tokens[:1, 5:], attention_mask=seen[:1, 5:])
    assert torch.equal(alone[0, -12:], before[0, -12:])


@pytest.mark.parametrize(
    "make", [DynamicCache, lambda config: StaticCache(config=config, max_cache_len=64)], ids=["dynamic", "static"]
)
def test_a_cache_can_change_hands(make):
    """Keys are turned as the model's own are: what one began, the other goes on with."""
    model = llama()
    caches = [make(config=model.config) for _ in range(3)]
    whole = [logits(model, TOKENS[:, part], cache=caches[0]) for part in (slice(20), slice(20, 24))]
    logits(model, TOKENS[:, :20], cache=caches[1])
    with ordinate.attach(model):
        assert torch.equal(logits(model, TOKENS[:, 20:], cache=caches[1]), whole[1])
        assert torch.equal(logits(model, TOKENS[:, :20], cache=caches[2]), whole[0])
    assert torch.equal(logits(model, TOKENS[:, 20:], cache=caches[2]), whole[1])


def test_attentions_and_hidden_states_are_given():
    model = llama(attn_implementation="eager")
    with torch.no_grad():
        before = model(TOKENS, output_attentions=True, output_hidden_states=True)
        with ordinate.attach(model):
            during = model(TOKENS, output_attentions=True, output_hidden_states=True)
    for name in ("attentions", "hidden_states"):
        assert len(during[name]) == len(before[name]) > 0
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(during[name], before[name], strict=True))


def test_a_configuration_that_was_changed_afterwards_is_refused():
    model = llama()
    model.config.rope_parameters["rope_theta"] = 5e5
    with pytest.raises(ValueError, match="needed a model built with the frequencies that its configuration has now, got others"):
        ordinate.attach(model)
    assert not any(isinstance(module, AttachedModule) for module in model.modules())
    model.to(torch.bfloat16).float()  # frequencies rounded by a cast are no others
    model.config.rope_parameters["rope_theta"] = 10000.0
    with ordinate.attach(model):
        pass


def test_two_bases():
    sizes = {**SIZES, "head_dim": 12, "sliding_window": 8, "query_pre_attn_scalar": 12}
    kinds = ["sliding_attention", "full_attention"]
    model = lively(AutoModelForCausalLM.from_config(Gemma3TextConfig(**sizes, layer_types=kinds)))
    before, cached = logits(model), generated(model, TOKENS, attention_mask=torch.ones_like(TOKENS))
    with ordinate.attach(model) as attached:
        assert torch.equal(logits(model), before)
        assert torch.equal(generated(model, TOKENS, attention_mask=torch.ones_like(TOKENS)), cached)
        assert [layer.scheme.base for layer in attached.plan.layers] == [10000.0, 1000000.0]


# What is refused


def test_choices_are_refused_together():
    with pytest.raises(ValueError, match=r"phases: .* got 'f32'; on_switch: .* got 'no'; scaling: .* got 2.0"):
        ordinate.attach(llama(), phases="f32", on_switch="no", scaling=2.0)


@pytest.mark.parametrize(
    "model", [torch.nn.Linear(2, 2), "llama", None, LlamaConfig(**SIZES)], ids=["Linear", "text", "None", "config"]
)
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ValueError, match="needed a model of transformers with its config"):
        ordinate.attach(model)


def test_no_rotation():
    model = GPT2LMHeadModel(GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=9))
    with pytest.raises(ValueError, match="gpt2: needed layers that turn queries and keys, found no scheme"):
        ordinate.attach(model)


def test_a_forward_set_on_the_module_is_refused():
    """accelerate's hooks and hub kernels put one there, and the class's would not be called."""
    model = llama()
    attention = model.model.layers[1].self_attn
    attention.forward = attention.forward
    parts = own_parts(model)
    with pytest.raises(ValueError, match="LlamaAttention: needed its class's forward, got one set on the module"):
        ordinate.attach(model)
    assert own_parts(model) == parts


def test_code_that_is_not_transformers_own_is_refused():
    class Mine(modeling_llama.LlamaAttention):
        def forward(self, hidden_states, position_embeddings, **_):
            return modeling_llama.apply_rotary_pos_emb(hidden_states, hidden_states, *position_embeddings)

    class Other(modeling_llama.LlamaAttention):
        def forward(self, hidden_states, position_embeddings, **_):
            return rotated(hidden_states, hidden_states, *position_embeddings)

    model = llama()
    model.model.layers[0].self_attn.__class__ = Other
    with pytest.raises(ValueError, match=r"Other: needed a forward from transformers.models.\*, got one from test_attach"):
        ordinate.attach(model)
    model.model.layers[0].self_attn.__class__ = Mine
    with pytest.raises(ValueError, match="needed a module that turns in each of 2 layers, found 1"):
        ordinate.attach(model)


def test_a_rule_that_changes_the_softmax_scale_is_refused():
    rule = ordinate.scaling.YaRN(factor=4.0, original_length=64, mscale=1.0, mscale_all_dim=1.0, scales_softmax=True)
    with pytest.raises(ValueError, match="leave the softmax scale alone"):
        ordinate.attach(llama(), scaling=rule)
