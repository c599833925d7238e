"""Smallest forms of what is known of other libraries, each with the check that finds it, or the reason why none does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.testing import (
    Report,
    by_offset,
    by_tensor,
    check_bias,
    check_frequencies,
    check_input,
    check_model,
    check_rotary,
    counting_from_zero,
    from_length,
    from_score_mod,
)

SHORT, LONG = [1.0 + 0.01 * i for i in range(16)], [2.0 + 0.1 * i for i in range(16)]


@dataclass(frozen=True)
class Case:
    """One thing known of a package.

    Attributes:
        package: distribution.
        what: is known.
        check: finds it; None if nothing can, and ``why`` says so.
        kind: that must be among the findings.
        why: not, or what else there is to say.
    """

    package: str
    what: str
    check: Callable[[], Report] | None
    kind: str | None
    why: str = ""


# transformers


def _turned_once(module: Any, width: int, **more: Any) -> Callable[[int], torch.Tensor]:
    """Frequencies that a rotary module uses for a sequence of a length, from cos and sin at position 1."""

    def by_length(length: int) -> torch.Tensor:
        cos, sin = module(torch.zeros(1), torch.arange(length)[None], **more)
        return torch.atan2(sin[0, 1], cos[0, 1])[: width // 2]

    return by_length


def olmo3_theta() -> Report:
    from transformers.models.olmo3.modeling_olmo3 import Olmo3Config, Olmo3RotaryEmbedding, apply_rotary_pos_emb

    module = Olmo3RotaryEmbedding(Olmo3Config(rope_theta=123.0, hidden_size=64, num_attention_heads=4))

    def turn(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> Any:
        rows = positions if positions.ndim == 2 else positions[None].expand(q.shape[0], -1)
        return apply_rotary_pos_emb(q, k, *module(q, rows, "sliding_attention"))

    return check_rotary(turn, base=123.0, layout="half")


def nested_truncate() -> Report:
    from transformers import Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

    given = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 2048, "truncate": False}
    rope = {"full_attention": given, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    module = Gemma3RotaryEmbedding(Gemma3TextConfig(head_dim=64, max_position_embeddings=8192, rope_parameters=rope))
    return check_frequencies(lambda: module.full_attention_inv_freq, rule="yarn", width=64, factor=4.0, truncate=False)


def phimoe_longrope() -> Report:
    from transformers.models.phimoe.modeling_phimoe import PhimoeConfig, PhimoeRotaryEmbedding

    given = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": SHORT, "long_factor": LONG, "factor": 4.0}
    given |= {"original_max_position_embeddings": 64, "short_mscale": 1.0, "long_mscale": 1.0}
    config = PhimoeConfig(hidden_size=64, num_attention_heads=2, head_dim=32, max_position_embeddings=256, rope_parameters=given)
    lists = {"short_factor": SHORT, "long_factor": LONG, "factor": 4.0}
    return check_frequencies(
        _turned_once(PhimoeRotaryEmbedding(config), 32), rule="longrope", width=32, original_length=64, **lists
    )


def dynamic_history() -> Report:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    given = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    config = LlamaConfig(head_dim=32, max_position_embeddings=64, rope_parameters=given)
    by_length = _turned_once(LlamaRotaryEmbedding(config), 32)
    return check_frequencies(by_length, rule="dynamic", width=32, original_length=64, factor=2.0)


def no_head_dim() -> Report:
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    given = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 2048}
    config = LlamaConfig(hidden_size=128, num_attention_heads=2, max_position_embeddings=8192, rope_parameters=given)
    config.head_dim = None
    return check_frequencies(lambda: ROPE_INIT_FUNCTIONS["yarn"](config, "cpu"), rule="yarn", width=64, factor=4.0)


def wav2vec2_bert_dtype() -> Report:
    from transformers import Wav2Vec2BertConfig
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertRotaryPositionalEmbedding as Rotary

    class Turned(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rotary = Rotary(Wav2Vec2BertConfig(hidden_size=64, num_attention_heads=4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            states = x.new_zeros(1, x.shape[2], 64)  # of which length and dtype are read
            cos, sin = (each[:, 0, 0] for each in self.rotary(states))
            a, b = x.chunk(2, -1)
            return x * cos + torch.cat((-b, a), -1) * sin

    return check_rotary(counting_from_zero(Turned()), layout="half")


def detr_memoised() -> Report:
    from transformers.models.detr.modeling_detr import DetrLearnedPositionEmbedding

    module = DetrLearnedPositionEmbedding(8)

    def column_vectors(positions: torch.Tensor) -> torch.Tensor:
        if positions.min() < 0:
            raise ValueError("a column is at 0 or beyond")
        grid = module((1, 1, 2, 50), "cpu", torch.float32)
        return grid.reshape(1, 16, 2, 50)[0, :8, 0].T[positions]

    return check_input(column_vectors, scheme="learned", d_model=8, max_length=50, table=module.column_embeddings.weight)


def phi3_rows() -> Report:
    from transformers import Phi3Config, Phi3ForCausalLM

    torch.manual_seed(0)
    given = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": SHORT[:8], "long_factor": LONG[:8]}
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = Phi3Config(
        **sizes,
        pad_token_id=0,
        num_key_value_heads=2,
        initializer_range=0.3,
        max_position_embeddings=64,
        original_max_position_embeddings=16,
        rope_parameters=given,
    )
    return check_model(Phi3ForCausalLM(config).eval())


# x-transformers


def x_width_two() -> Report:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    class Turned:
        def __init__(self, dim: int, base: float = 10000.0) -> None:
            self.rotary = RotaryEmbedding(dim, base=base)

        def __call__(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
            frequencies, scale = self.rotary(positions)
            return apply_rotary_pos_emb(x, frequencies, scale)  # type: ignore[no-any-return]

    return check_rotary(Turned, layout="interleaved")


def x_xpos() -> Report:
    from x_transformers.x_transformers import RotaryEmbedding, apply_rotary_pos_emb

    class Turned(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rotary = RotaryEmbedding(16, use_xpos=True)

        def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
            frequencies, scale = self.rotary(positions)
            return apply_rotary_pos_emb(x, frequencies, scale)  # type: ignore[no-any-return]

    return check_rotary(by_tensor(Turned()), formula=False)


def x_sinusoids() -> Report:
    from x_transformers.x_transformers import ScaledSinusoidalEmbedding

    module = ScaledSinusoidalEmbedding(16)
    with torch.no_grad():
        module.scale.fill_(1.0)

    def at(positions: torch.Tensor) -> torch.Tensor:
        return module(torch.zeros(1, len(positions), 16), pos=positions[None])[0]  # type: ignore[no-any-return]

    return check_input(at, scheme="sinusoidal", d_model=16)


def x_data_dependent_alibi() -> Report:
    from x_transformers import Decoder, TransformerWrapper

    torch.manual_seed(0)
    layers = Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, attn_data_dependent_alibi=True)
    model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers, use_abs_pos_emb=False).eval()

    def cached(ids: torch.Tensor, cache: Any) -> tuple[torch.Tensor, Any]:
        whole = ids if cache is None else torch.cat((cache[0], ids), 1)
        logits, kept = model(whole, return_intermediates=True, cache=None if cache is None else cache[1])
        return logits[:, -ids.shape[1] :], (whole, kept)

    return check_model(model, vocabulary=64, maximum=64, cached=cached, compiled=False)


# rotary-embedding-torch


def rotary_embedding_torch() -> Report:
    from rotary_embedding_torch import RotaryEmbedding

    class Turned:
        def __init__(self, dim: int, theta: float = 10000.0) -> None:
            self.rotary = RotaryEmbedding(dim, theta=theta)

        def __call__(self, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
            return self.rotary.rotate_queries_or_keys(x, offset=offset)  # type: ignore[no-any-return]

    return check_rotary(Turned, layout="interleaved")


def axial_offsets() -> Report:
    from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

    class Turned(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rotary = RotaryEmbedding(16)

        def forward(self, x: torch.Tensor, offset: int = 0) -> torch.Tensor:
            frequencies = self.rotary.get_axial_freqs(x.shape[-2], offsets=(offset,))
            return apply_rotary_emb(frequencies, x)  # type: ignore[no-any-return]

    return check_rotary(Turned(), formula=False)


def custom_frequencies() -> Report:
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(16, custom_freqs=torch.tensor([1.0, 0.1, 0.01, 0.001]))

    def turned(x: torch.Tensor, offset: int = 0) -> torch.Tensor:
        return rotary.rotate_queries_or_keys(x, offset=offset)  # type: ignore[no-any-return]

    return check_rotary(by_offset(turned), rotary_dim=8, inverse_frequencies=[1.0, 0.1, 0.01, 0.001], layout="interleaved")


# positional-encodings, torchtune, FlexAttention


def positional_encodings() -> Report:
    from positional_encodings.torch_encodings import PositionalEncoding1D

    module = PositionalEncoding1D(16)

    def added(x: torch.Tensor) -> torch.Tensor:
        return module(x)  # type: ignore[no-any-return]

    return check_input(from_length(lambda n: added(torch.zeros(1, n, 16))[0]), scheme="sinusoidal", d_model=16)


def torchtune_rotary() -> Report:
    from benchmarks.speed.peers import torchtune_positions

    made = torchtune_positions().RotaryPositionalEmbeddings(16, max_seq_len=8192)

    def turn(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return made(q, input_pos=positions), made(k, input_pos=positions)

    return check_rotary(turn, layout="interleaved", tokens_first=True)


def flex_alibi() -> Report:
    def alibi(score: torch.Tensor, _: Any, h: Any, q_idx: Any, kv_idx: Any) -> torch.Tensor:
        return score + (kv_idx - q_idx) * torch.exp2(-((h + 1) * 8.0 / 6))  # the usual example, for 6 heads

    return check_bias(from_score_mod(alibi, 6), scheme="alibi", n_heads=6, causal=True)


CASES = (
    Case("transformers", "`Olmo3Config(rope_theta=123)`: sliding layers keep 500000", olmo3_theta, "config-key-dropped"),
    Case("transformers", "YaRN's `truncate` inside a layer type's dictionary is not read", nested_truncate, "config-key-dropped"),
    Case("transformers", "PhiMoE's LongRoPE always uses the short factors", phimoe_longrope, "longrope-switch"),
    Case("transformers", "dynamic NTK depends on earlier calls", dynamic_history, "dynamic-ntk"),
    Case("transformers", "`head_dim=None`: TypeError in yarn, dynamic, longrope", no_head_dim, "config-key-dropped"),
    Case(
        "transformers",
        "Wav2Vec2-BERT keeps cos and sin by length alone: a stale dtype",
        wav2vec2_bert_dtype,
        "cache-key-and-sharing",
    ),
    Case("transformers", "DETR's learned positions are memoised, stale after an update", detr_memoised, "cache-key-and-sharing"),
    Case("transformers", "Phi-3's LongRoPE: one long row changes the others", phi3_rows, "longrope-switch"),
    Case(
        "transformers",
        "float32 angles: off by 5.4e-3 in cos at 131072 (base 5e5)",
        None,
        None,
        "no fault of a kind: the report of every family gives the error at 65537 beside what float32 allows",
    ),
    Case(
        "transformers",
        "Llama 4's vision buffer of complex numbers turns real when cast",
        None,
        None,
        "it turns by two axes, which `check_rotary` does not take; its complex numbers are what the text family is reported for",
    ),
    Case("x-transformers", "a rotary width of 2 divides by zero", x_width_two, "fused-kernel-shape"),
    Case("x-transformers", "xPos: the scale depends on the largest position of the call", x_xpos, "decode-offset"),
    Case("x-transformers", "scaled sinusoids fail with positions of their own", x_sinusoids, "sinusoid-construction"),
    Case("x-transformers", "data-dependent ALiBi is wrong with a cache", x_data_dependent_alibi, "decode-offset"),
    Case(
        "x-transformers",
        "`PolarEmbedding(bias_uniform_init=True)` raises",
        None,
        None,
        "it cannot be made, so there is nothing to check; the error is loud",
    ),
    Case(
        "rotary-embedding-torch",
        "bfloat16 positions are kept; later float32 calls are wrong",
        rotary_embedding_torch,
        "cache-key-and-sharing",
    ),
    Case("rotary-embedding-torch", "a width of 2 divides by zero", rotary_embedding_torch, "fused-kernel-shape"),
    Case("rotary-embedding-torch", "`get_axial_freqs` ignores offsets once it is cached", axial_offsets, "cache-key-and-sharing"),
    Case("rotary-embedding-torch", "custom frequencies whose number is not dim / 2 fail", custom_frequencies, "layout-mismatch"),
    Case(
        "positional-encodings",
        "the cache is by shape alone, and is what is given out",
        positional_encodings,
        "cache-key-and-sharing",
    ),
    Case("torchtune", "nothing known from a run; interleaved pairs, tokens first", torchtune_rotary, None),
    Case("FlexAttention", "the usual ALiBi example has one geometric series for any number of heads", flex_alibi, "alibi-slopes"),
)


def checked(case: Case) -> Report | None:
    """Run a case, quietly."""
    if case.check is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case.check()
