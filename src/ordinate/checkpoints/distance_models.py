"""Reading encoders of sound whose queries meet vectors of distances: learned (Shaw), or projected sinusoids (Transformer-XL)."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import one_of, whole
from ordinate.checkpoints.plan import LayerPlan, ShawPlan, StackPlan, TransformerXLPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, layers_of, sizes

KIND = "position_embeddings_type"
# Of other kinds of positions, and of a convolution that Wav2Vec2-Conformer holds and does not call.
BESIDE = ("rotary_embedding_base", "max_source_positions", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups")
SIDES = ("left_max_position_embeddings", "right_max_position_embeddings")
MOST_ROWS = 2**20
MOST_HEADS = 2**12


def _conformer(fields: Fields, *, kinds: tuple[str, ...]) -> Stacks:
    """Read a Conformer: vectors of distances for each layer, by the first kind unless a key says another; null is none."""
    n_layers, n_heads, width = sizes(fields)
    scale = head_scale(fields, width, n_heads)
    if KIND in fields.values and fields.values[KIND] is None:
        fields.used.add(KIND)
        fields.note(KIND, None, "attention does nothing with positions")
        _unread(fields, *BESIDE, *SIDES)
        return (_encoder(layers_of(n_layers, scale)),)
    kind = fields.take((KIND,), one_of(*kinds), "vectors of distances: {}", default=kinds[0])
    if kind == "relative_key":
        _unread(fields, *BESIDE)
        plans: Iterator[ShawPlan | TransformerXLPlan] = _learned(fields, n_layers, n_heads, width)
    else:
        _unread(fields, *BESIDE, *SIDES)
        plans = _projected(fields, n_layers, n_heads, width)
    return (_encoder(tuple(LayerPlan(scheme=plan, softmax_scale=scale) for plan in plans)),)


def _learned(fields: Fields, n_layers: int, n_heads: int, width: int) -> Iterator[ShawPlan]:
    """Tables of keys, past and future clipped at distances of their own."""
    became = "{} distances have vectors of their own"
    past = fields.take(SIDES[:1], whole(least=1, most=MOST_ROWS), f"in the past {became}", default=64)
    future = fields.take(SIDES[1:], whole(most=MOST_ROWS), f"in the future {became}", default=8)
    head_dim = 1 if fields.faults else width // n_heads
    for layer in range(n_layers):
        yield ShawPlan(head_dim=head_dim, max_distance=past, max_future=future, values=False, table=layer)


def _projected(fields: Fields, n_layers: int, n_heads: int, width: int) -> Iterator[TransformerXLPlan]:
    """Sinusoids of the distance as wide as the model, sine beside cosine, projected in each layer."""
    if n_heads > MOST_HEADS:
        fields.fault("num_attention_heads", f"needed at most {MOST_HEADS}, got {n_heads}")
    if not fields.faults and width % 2:
        fields.fault("hidden_size", f"needed an even width for sinusoids, got {width}")
    head_dim = 1 if fields.faults else width // n_heads
    for layer in range(n_layers):
        yield TransformerXLPlan(n_heads=n_heads, head_dim=head_dim, d_model=width, layout="interleaved", table=layer)


def _unread(fields: Fields, *keys: str) -> None:
    """Note keys of other kinds of positions: transformers writes them all."""
    for key in keys:
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], "nothing: not of this kind of positions")


def _encoder(layers: tuple[LayerPlan, ...]) -> StackPlan:
    return StackPlan(name="encoder", causal=False, max_length=None, input=None, layers=layers)


READERS: dict[str, Reader] = {
    "wav2vec2-bert": functools.partial(_conformer, kinds=("relative_key", "relative")),
    "wav2vec2-conformer": functools.partial(_conformer, kinds=("relative",)),
}
