"""Reading models whose queries meet a learned vector for every clipped distance, as Shaw et al. have it."""

from __future__ import annotations

from ordinate.checkpoints.fields import Fields
from ordinate.checkpoints.kinds import one_of, whole
from ordinate.checkpoints.plan import LayerPlan, ShawPlan, StackPlan
from ordinate.checkpoints.table_models import Reader, Stacks, head_scale, layers_of, sizes

KIND = "position_embeddings_type"
MOST_ROWS = 2**20
MOST_HEADS = 2**12


def _wav2vec2_bert(fields: Fields) -> Stacks:
    """Read Wav2Vec2-BERT: a table of keys for each layer, past and future clipped at distances of their own; or nothing."""
    n_layers, n_heads, width = sizes(fields)
    scale = head_scale(fields, width, n_heads)
    for key in ("rotary_embedding_base", "max_source_positions"):  # transformers writes both, for other kinds
        fields.used.add(key)
        if fields.has(key):
            fields.note(key, fields.values[key], "nothing: not of this kind of position embeddings")
    if KIND in fields.values and fields.values[KIND] is None:
        fields.used.add(KIND)
        fields.note(KIND, None, "attention does nothing with positions")
        return (_encoder(layers_of(n_layers, scale)),)
    fields.take((KIND,), one_of("relative_key"), "learned vectors for distances", default="relative_key")
    became = "{} distances have vectors of their own"
    past = fields.take(("left_max_position_embeddings",), whole(least=1, most=MOST_ROWS), f"in the past {became}", default=64)
    future = fields.take(("right_max_position_embeddings",), whole(most=MOST_ROWS), f"in the future {became}", default=8)
    head_dim = 1 if fields.faults else width // n_heads
    plans = (
        ShawPlan(head_dim=head_dim, max_distance=past, max_future=future, values=False, table=layer) for layer in range(n_layers)
    )
    return (_encoder(tuple(LayerPlan(scheme=plan, softmax_scale=scale) for plan in plans)),)


def _encoder(layers: tuple[LayerPlan, ...]) -> StackPlan:
    return StackPlan(name="encoder", causal=False, max_length=None, input=None, layers=layers)


READERS: dict[str, Reader] = {"wav2vec2-bert": _wav2vec2_bert}
