"""Reading Parakeet's conformer and the streaming one of Nemotron: projected sinusoids of the distance (Transformer-XL)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ordinate.checkpoints.distance_models import MOST_HEADS
from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import MOST_LAYERS, short, whole
from ordinate.checkpoints.plan import LayerPlan, StackPlan
from ordinate.checkpoints.recording import check_leftovers
from ordinate.checkpoints.scheme_plans import TransformerXLPlan
from ordinate.checkpoints.table_models import Reader, Stacks
from ordinate.checkpoints.wide_heads import WIDEST_HEAD

DEFAULTS = {"num_hidden_layers": 24, "num_attention_heads": 8, "hidden_size": 1024, "max_position_embeddings": 5000}
TOLD = "a call may tell another look-ahead than default_num_lookahead_tokens: chunks are of one more token than that"


def parakeet(fields: Fields) -> Stacks:
    """Read the encoder of Parakeet, which sees both ways.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8}
        >>> parakeet(Fields(config, source="mapping", model_type="parakeet_encoder"))[0].layers[1].scheme.table
        1
    """
    return (_stack(fields, {}, ()),)


def streaming(fields: Fields) -> Stacks:
    """Read the streaming encoder of Nemotron: frames see their own chunk and some before it.

    Args:
        fields: the configuration.

    Returns:
        Its one stack.

    Example:
        >>> config = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 8}
        >>> layer = streaming(Fields(config, source="mapping", model_type="nemotron_asr_streaming_encoder"))[0].layers[0]
        >>> layer.chunk, layer.chunks_back
        (14, 5)
    """
    ahead = fields.take(("default_num_lookahead_tokens",), whole(), "frames come in chunks of {} and one more", default=13)
    became = "a chunk sees as many earlier ones as {} frames less one hold"
    back = fields.take(("sliding_window",), whole(least=1), became, default=71)
    return (_stack(fields, {"chunk": ahead + 1, "chunks_back": (back - 1) // (ahead + 1)}, (TOLD,)),)


def _stack(fields: Fields, seen: Mapping[str, int], left: tuple[str, ...]) -> StackPlan:
    fields.defaults = DEFAULTS
    n_layers = fields.size(("num_hidden_layers",), "{} layers", most=MOST_LAYERS)
    n_heads = fields.size(("num_attention_heads",), "{} heads", most=MOST_HEADS)
    width = fields.size(("hidden_size",), "sinusoids {} wide")
    length = fields.take(("max_position_embeddings",), whole(least=1), "longest sequence {}")
    if not fields.faults and width % 2:
        fields.fault("hidden_size", f"needed an even width for sinusoids, got {width}")
    head_dim = fields.take(
        ("head_dim",), whole(least=1, most=WIDEST_HEAD), "width of a head {}", default=max(min(width // n_heads, WIDEST_HEAD), 1)
    )
    layers = [
        LayerPlan(
            scheme=TransformerXLPlan(n_heads=n_heads, head_dim=head_dim, d_model=width, layout="interleaved", table=layer),
            softmax_scale=float(head_dim**-0.5),
            **seen,  # type: ignore[arg-type]
        )
        for layer in range(n_layers)
    ]
    return StackPlan(name="encoder", causal=False, max_length=length, input=None, layers=tuple(layers), left_to_model=left)


def _within(reader: Callable[[Fields], Stacks]) -> Reader:
    """Read a recogniser's encoder; what predicts words after it is recurrent, or one projection."""

    def read(fields: Fields) -> Stacks:
        value: Any = fields.values.get("encoder_config")
        if value is not None and not isinstance(value, Mapping):
            fields.fault("encoder_config", f"needed a dictionary or null, got {short(value)}")
        part = fields.part("encoder_config", value if isinstance(value, Mapping) else {})
        part.sizes_given = False
        part.used.add("model_type")
        stacks = reader(part)
        check_leftovers(part)
        return stacks

    return read


READERS: dict[str, Reader] = {"parakeet_encoder": parakeet, "nemotron_asr_streaming_encoder": streaming}
READERS |= dict.fromkeys(("parakeet_ctc", "parakeet_rnnt", "parakeet_tdt"), _within(parakeet))
READERS |= {"nemotron_asr_streaming": _within(streaming)}
