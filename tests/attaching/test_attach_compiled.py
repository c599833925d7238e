"""torch.compile: whole graphs where the model's own are whole, no more compilations, and never the model's own rotation."""

import pytest
import torch
from test_attach_running import SIZES, TOKENS, lively, llama, logits
from torch._dynamo.testing import CompileCounter
from transformers import AutoModelForCausalLM, StaticCache
from transformers.models.gemma3 import Gemma3TextConfig
from transformers.models.gpt_neox import GPTNeoXConfig
from transformers.models.llama import modeling_llama
from transformers.models.qwen3 import Qwen3Config

import ordinate

MODELS = {
    "llama": llama,
    "qwen3": lambda: lively(AutoModelForCausalLM.from_config(Qwen3Config(**SIZES, head_dim=12))),
    "gpt_neox": lambda: lively(AutoModelForCausalLM.from_config(GPTNeoXConfig(**{**SIZES, "hidden_size": 64}))),
    "gemma3_text": lambda: lively(AutoModelForCausalLM.from_config(Gemma3TextConfig(**SIZES, head_dim=12, sliding_window=8))),
}
TOKENS = TOKENS.repeat(1, 2)


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(model):
    counter = CompileCounter()
    return torch.compile(model, fullgraph=True, backend=counter), counter


def run(model, lengths=(8, 9, 10, 24, 40)):
    return [logits(model, TOKENS[:, :length], use_cache=False) for length in lengths]


def forbidden(*_, **__):
    raise AssertionError("the model's own rotation was called")


@pytest.mark.parametrize("name", MODELS)
def test_whole_graphs_and_no_more_of_them(name):
    model = MODELS[name]()
    before = run(model)
    own, own_count = compiled(model)
    run(own)
    torch._dynamo.reset()
    with ordinate.attach(model):
        ours, count = compiled(model)
        assert all(torch.equal(got, right) for got, right in zip(run(ours), before, strict=True))
    assert 0 < count.frame_count <= own_count.frame_count


def test_the_models_own_function_is_in_no_graph(monkeypatch):
    model = llama()
    before = run(model)
    with ordinate.attach(model):
        monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", forbidden)
        assert all(torch.equal(got, right) for got, right in zip(run(compiled(model)[0]), before, strict=True))


def test_attached_and_detached_after_compiling():
    model = llama()
    before = run(model)
    fast, _ = compiled(model)
    assert all(torch.equal(got, right) for got, right in zip(run(fast), before, strict=True))
    with ordinate.attach(model, scaling=ordinate.scaling.Linear(factor=2.0)):
        scaled = run(model)
        assert not any(torch.equal(got, right) for got, right in zip(scaled, before, strict=True))
        assert all(torch.equal(got, right) for got, right in zip(run(fast), scaled, strict=True))
    assert all(torch.equal(got, right) for got, right in zip(run(fast), before, strict=True))


def test_a_compiled_model_can_be_attached():
    model = llama()
    before = run(model)
    fast, _ = compiled(model)
    with ordinate.attach(fast):
        assert all(torch.equal(got, right) for got, right in zip(run(fast), before, strict=True))


def test_a_static_cache_in_a_graph():
    model = llama()

    def decoded(run):
        cache = StaticCache(config=model.config, max_cache_len=64)
        made = [logits(run, TOKENS[:, :20], cache=cache)]
        return made + [logits(run, TOKENS[:, place : place + 1], cache=cache) for place in range(20, 26)]

    own, own_count = compiled(model)
    before = decoded(own)
    torch._dynamo.reset()
    with ordinate.attach(model):
        ours, count = compiled(model)
        assert all(torch.equal(got, right) for got, right in zip(decoded(ours), before, strict=True))
    assert count.frame_count <= own_count.frame_count


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_inductor():
    model = llama()
    before = run(model, (8, 24))
    with ordinate.attach(model):
        made = run(torch.compile(model, fullgraph=True), (8, 24))
    assert all((got - right).abs().max() < 1e-4 for got, right in zip(made, before, strict=True))


def test_exact_phases_in_a_graph():
    model = llama()
    with ordinate.attach(model, phases="exact"):
        before = run(model)
        assert all(torch.equal(got, right) for got, right in zip(run(compiled(model)[0]), before, strict=True))
