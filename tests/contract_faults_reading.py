"""Faults of reading configurations: keys dropped, sources that differ, layers alike that are not. Right values by hand."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from contract_tools import draw, identical, near, refuses
from ordinate import attend, checkpoints
from ordinate.checkpoints.plan import PositionPlan
from ordinate.checkpoints.scheme_plans import RopePlan

SIZES = {"num_hidden_layers": 2, "hidden_size": 512, "num_attention_heads": 4, "max_position_embeddings": 4096}


def _llama(**keys: Any) -> dict[str, Any]:
    return {"model_type": "llama", **SIZES, **keys}


def _rope(plan: PositionPlan, layer: int = 0) -> RopePlan:
    scheme = plan.layers[layer].scheme
    assert isinstance(scheme, RopePlan)
    return scheme


def _frequencies(config: dict[str, Any], layer: int = 0, length: int | None = None) -> tuple[float, ...]:
    built = checkpoints.read(config).build(phases="exact")
    scheme = (built if length is None else built.at_length(length)).layers[layer]
    return scheme.inverse_frequencies  # type: ignore[union-attr]


def _near(got: float, want: float, digits: float = 6e-7) -> None:
    assert abs(got - want) <= digits * abs(want), f"{got}, needed {want}"


def declared_base() -> None:
    """d = 128, base 1e6: the angle of pair 1 at position 1000 is 805.8422 (a silent 1e4 gives 865.9643), in every spelling."""
    nested = {"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}}
    for keys in ({"rope_theta": 1e6}, nested, {"rope_theta": 1e6, **nested}, {"rope_theta": 1_000_000, "rope_scaling": None}):
        _near(1000 * _frequencies(_llama(**keys))[1], 805.8422, 1e-7)
    neox = {"model_type": "gpt_neox", **SIZES, "rotary_emb_base": 1e6, "rotary_pct": 1.0}
    _near(1000 * _frequencies(neox)[1], 805.8422, 1e-7)
    _near(1000 * _frequencies(_llama())[1], 865.9643, 1e-7)


def sources_that_disagree() -> None:
    both = _llama(rope_theta=10000, rope_parameters={"rope_theta": 500000, "rope_type": "default"})
    refuses(lambda: checkpoints.read(both), ValueError, "rope_parameters.rope_theta = 500000 and rope_theta = 10000 disagree")
    two = _llama(rope_scaling={"rope_type": "linear", "type": "dynamic", "factor": 2.0})
    refuses(
        lambda: checkpoints.read(two), ValueError, "rope_scaling.rope_type = 'linear' and rope_scaling.type = 'dynamic' disagree"
    )
    partial = {"model_type": "phi", **SIZES, "partial_rotary_factor": 0.5, "rope_parameters": {"partial_rotary_factor": 0.25}}
    refuses(lambda: checkpoints.read(partial), ValueError, "partial_rotary_factor = 0.25 and partial_rotary_factor = 0.5 disagree")


def every_fault_at_once() -> None:
    broken = _llama(rope_theta="x", rope_scaling={"type": "yarn", "factor": 0.5, "mrope_section": [1], "beta": 1}, alibi=True)
    del broken["num_hidden_layers"]
    named = ("num_hidden_layers: needed", "rope_theta: needed", "factor: needed", "mrope_section: cannot", "beta", "alibi: cannot")
    for words in named:
        refuses(lambda: checkpoints.read(broken), ValueError, words)
    unknown = _llama(rope_scaling={"type": "longropes", "factor": 4.0})
    refuses(lambda: checkpoints.read(unknown), ValueError, "needed one of default, linear, dynamic, yarn, longrope")


def keys_that_change_nothing() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = checkpoints.read(_llama(sliding_window=4096, rope_scaling={"type": "linear", "factor": 2.0, "beta_fast": 32}))
    said = [str(warning.message) for warning in caught]
    assert len(said) == len(plan.warnings) == 2
    assert any("sliding_window: changes nothing" in text for text in said), said
    assert any("rope_scaling.beta_fast: changes nothing" in text for text in said), said
    assert {entry.key for entry in plan.entries if entry.became == "nothing"} == {"sliding_window", "rope_scaling.beta_fast"}


def declared_bands() -> None:
    """Llama 3's numbers: 29 pairs kept, 6 blended, 29 divided by 8."""
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    scaling["original_max_position_embeddings"] = 8192
    got = _frequencies(_llama(rope_theta=5e5, rope_scaling=scaling))
    ratios = [w / 5e5 ** (-2 * i / 128) for i, w in enumerate(got)]
    assert [sum(abs(ratio - want) < 1e-12 for ratio in ratios) for want in (1.0, 0.125)] == [29, 29]
    for ratio, want in zip(ratios[29:35], (0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211), strict=True):
        _near(ratio, want, 4e-6)
    _near(got[-1], 3.068926e-07)


def layout_by_model_type() -> None:
    """[1, 2, 3, 4] at position 1: Llama's weights want half pairs, Cohere's interleaved ones."""
    wanted = {"llama": (-1.984111, 1.959901, 2.462378, 4.019800), "cohere": (-1.142640, 1.922076, 2.959851, 4.029800)}
    for model_type, values in wanted.items():
        config = {"model_type": model_type, **SIZES, "hidden_size": 16, "rope_theta": 10000.0}
        rope = checkpoints.read(config).build().layers[0]
        near(rope.queries(torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]]), range(1, 2))[0, 0, 0], torch.tensor(values), 1e-6)  # type: ignore[union-attr]


def layers_that_differ() -> None:
    """Global layers: base 1e6, linear factor 8; local ones: base 1e4. Position 8, pair 0."""
    spelled = [
        {"rope_theta": 1e6, "rope_local_base_freq": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
        {
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            }
        },
    ]
    for keys in spelled:
        config = {"model_type": "gemma3_text", **SIZES, "num_hidden_layers": 7, "head_dim": 64, "sliding_window_pattern": 3, **keys}
        plan = checkpoints.read(config)
        assert [layer.window for layer in plan.layers] == [4096, 4096, None, 4096, 4096, None, 4096]
        cosines = [at[0].cos[0, 0].item() for at in plan.at(range(8, 9), range(8, 9))]
        for layer, cosine in enumerate(cosines):
            assert abs(cosine - (0.540302 if layer % 3 == 2 else -0.145500)) < 1e-6, (layer, cosine)
        _near(_frequencies(config, layer=2)[1], 1e6 ** (-2 / 64) / 8)
        _near(_frequencies(config, layer=0)[1], 1e4 ** (-2 / 64))


def declared_magnitudes() -> None:
    """YaRN: given, 0.1 log(factor) + 1, or DeepSeek's two numbers; never one constant twice, or folded into another."""
    yarn = {"type": "yarn", "original_max_position_embeddings": 4096}
    for keys, want in (
        ({"factor": 128.0, "attention_factor": 1.485203}, 1.485203),
        *(({"factor": factor}, want) for factor, want in ((4, 1.138629), (16, 1.277259), (32, 1.346574), (40, 1.368888))),
        ({"factor": 64.0, "mscale": 1.0}, 1.415888),
        ({"factor": 4.0, "attn_factor": 0.8782488562869419}, 1.0),
    ):
        built = checkpoints.read(_llama(rope_scaling={**yarn, **keys})).build()
        _near(built.layers[0].magnitude, want)  # type: ignore[union-attr]
        assert built.plan.layers[0].softmax_scale == 128**-0.5
    sizes = {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
    for model_type in ("deepseek_v2", "deepseek_v3"):
        for strength, want in ((0.707, 1.589626), (1.0, 1.873854)):
            scaling = {**yarn, "factor": 40, "mscale": strength, "mscale_all_dim": strength}
            built = checkpoints.read({"model_type": model_type, **SIZES, **sizes, "rope_scaling": scaling}).build()
            assert built.layers[0].magnitude == 1.0  # type: ignore[union-attr]
            _near(built.plan.layers[0].softmax_scale * 192**0.5, want)


def declared_ramp() -> None:
    """d = 8, L = 512: the ramp runs from pair 0 to 2, or from 0.40594 to 1.91109 unrounded; also for one layer type alone."""
    share = (1 - 0.405940) / (1.911090 - 0.405940)
    blends = {True: 0.1 * 0.5 + 0.025 * 0.5, False: 0.1 * (1 - share) + 0.025 * share}
    for truncate, want in blends.items():
        yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512, "truncate": truncate}
        for pair, frequency in zip(
            _frequencies(_llama(hidden_size=32, rope_scaling=yarn)), (1, want, 0.0025, 0.00025), strict=True
        ):
            _near(pair, frequency)
        nested = {"full_attention": {**yarn, "rope_theta": 1e4}, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
        olmo = {"model_type": "olmo3", **SIZES, "hidden_size": 32, "num_hidden_layers": 4, "rope_parameters": nested}
        _near(_frequencies(olmo, layer=3)[1], want)
        _near(_frequencies(olmo, layer=0)[1], 0.1)


def declared_switch() -> None:
    """LongRoPE, original length 4: lengths up to 4 are divided by the short factors, 5 and more by the long ones."""
    lists = {"short_factor": [1.0, 2.0], "long_factor": [1.0, 8.0]}
    phi = {"model_type": "phi3", **SIZES, "hidden_size": 16, "max_position_embeddings": 16, "original_max_position_embeddings": 4}
    for name in ("longrope", "su"):
        config = {**phi, "rope_scaling": {"type": name, **lists}}
        for length, slow in ((3, 0.005), (4, 0.005), (5, 0.00125), (3, 0.005)):
            _near(_frequencies(config, length=length)[1], slow)
        _near(checkpoints.read(config).build().layers[0].magnitude, math.sqrt(1 + math.log(4) / math.log(4)))  # type: ignore[union-attr]


def declared_dynamic_base() -> None:
    """Length 8, then 4: the base is 43267.487, then 10000; d = 128: 30527.737 at 4096 and 10009.921 at 2049."""
    small = _llama(hidden_size=32, max_position_embeddings=4, rope_scaling={"type": "dynamic", "factor": 2.0})
    large = _llama(max_position_embeddings=2048, rope_scaling={"type": "dynamic", "factor": 2.0})
    for config, length, base, width in (
        (small, 8, 43267.487, 8),
        (small, 4, 10000.0, 8),
        (small, 3, 10000.0, 8),
        (large, 4096, 30527.737, 128),
        (large, 2049, 10009.921, 128),
        (large, 2048, 10000.0, 128),
    ):
        got = _frequencies(config, length=length)
        _near(got[-1], base ** (-(width - 2) / width))


def declared_share() -> None:
    """Head 8, half of it turns: frequencies [1, 0.01], entries 4 to 7 are left alone."""
    config = {"model_type": "gpt_neox", **SIZES, "hidden_size": 32, "rotary_pct": 0.5, "rotary_emb_base": 10000}
    near(torch.tensor(_frequencies(config)), torch.tensor([1.0, 0.01]), 1e-9)
    q = torch.arange(1.0, 9.0).reshape(1, 1, 1, 8)
    turned = checkpoints.read(config).build().layers[0].queries(q, range(3, 4))  # type: ignore[union-attr]
    identical(turned[..., 4:], q[..., 4:])
    near(turned[0, 0, 0, [0, 2]], torch.tensor([math.cos(3) - 3 * math.sin(3), 3 * math.cos(3) + math.sin(3)]), 1e-6)


def layers_without_rotation() -> None:
    """SmolLM3 keeps every fourth layer unturned: moved tokens leave it alone, and only it."""
    plan = checkpoints.read({"model_type": "smollm3", **SIZES, "num_hidden_layers": 4, "hidden_size": 32})
    assert [layer.scheme is None for layer in plan.layers] == [False, False, False, True]
    built, x = plan.build(), draw(1, 4, 5, 8)
    for layer in (2, 3):
        here, moved = (
            attend(x, x, x, scheme=built.layers[layer], q_positions=places, k_positions=range(5), causal=False)
            for places in (range(5), range(9, 14))
        )
        assert torch.equal(here, moved) == (layer == 3)


def built_on_meta() -> None:
    """Frequencies are [1, 0.1, 0.01, 0.001] also after meta and to_empty, and a cast."""
    with torch.device("meta"):
        built = checkpoints.read(_llama(hidden_size=32)).build(phases="exact")
    built = built.to_empty(device="cpu").to(torch.bfloat16)
    wanted = torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
    near(built.at(range(1, 2), range(1, 2))[0][0].sin[0], wanted.sin().float(), 1e-7)


FAULTS = (
    declared_base,
    sources_that_disagree,
    every_fault_at_once,
    keys_that_change_nothing,
    declared_bands,
    layout_by_model_type,
    layers_that_differ,
    declared_magnitudes,
    declared_ramp,
    declared_switch,
    declared_dynamic_base,
    declared_share,
    layers_without_rotation,
    built_on_meta,
)
